"""The tutorial on wrong labels: its code runs as it stands, and the audit names the wrong part."""

import re
import shlex
from pathlib import Path

from towpath.cli.main import main
from towpath.reports.audit import audit
from towpath.runs.folder import RunFolder

PAGE = Path(__file__).parents[1] / "docs" / "wrong-labels.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_tutorial_runs_and_trusts_the_wrong_scripts_least(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in blocks("python"):
        exec(compile(code, str(PAGE), "exec"), names)
    commands = [line for block in blocks("bash") for line in block.strip().splitlines()]
    assert [shlex.split(line)[1] for line in commands] == ["data", "compare", "report", "audit"]
    for line in commands:
        program, *argv = shlex.split(line)
        assert program == "towpath"
        assert main(argv) == 0, f"{line}\n{capsys.readouterr().err}"
    assert (tmp_path / "report.html").stat().st_size > 10_000
    found = audit(RunFolder.open(tmp_path / "runs/characters/tow-targets-seed0").records(), 30)
    assert found is not None
    least = {group.name for group in found.groups[:2]}
    assert least == set(names["WRONG"])
