"""The index of docs/results is that of its pages, whichever of them is written again."""

import json
import shutil
from pathlib import Path

import pytest
from benchmarks import index
from benchmarks.experiments import EXPERIMENTS

ROOT = Path(__file__).parent.parent


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """A copy of the pages and of the README, as the place that is written to."""
    shutil.copytree(ROOT / "docs/results", tmp_path / "docs/results")
    shutil.copy(ROOT / "README.md", tmp_path / "README.md")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "docs/results"


def test_the_index_and_the_readme_s_table_are_those_of_the_pages(docs):
    index.index()
    assert (docs / "README.md").read_text() == (ROOT / "docs/results/README.md").read_text()
    assert Path("README.md").read_text() == (ROOT / "README.md").read_text()


def test_every_page_belongs_to_an_experiment_whose_command_it_shows():
    for file in (ROOT / "docs/results").glob("*.json"):
        assert file.stem in EXPERIMENTS
        command = json.loads(file.read_text())["command"]
        assert command in file.with_suffix(".md").read_text()
        assert f"--out {file.stem} " in command


def test_the_readme_shows_three_settings_side_by_side_once_they_are_there(docs):
    for name in ("rivals-40", "rivals-0", "rivals-zipf"):
        content = json.loads((docs / "noise-40.json").read_text())
        if name == "rivals-zipf":
            content["weighters"].remove("exploitation")
            content["runs"] = [r for r in content["runs"] if r["label"] != "exploitation"]
        (docs / f"{name}.json").write_text(json.dumps(content))
    index.index()
    table = Path("README.md").read_text().partition(index.BEGIN)[2].partition(index.END)[0]
    rows = {row.split(" | ")[0].strip("| "): row for row in table.strip().splitlines()[2:]}
    assert list(rows) == ["uniform", "exploitation", "tow-targets", "oracle"]
    assert rows["exploitation"].split(" | ")[1:] == [
        *("76.9 ±1.1", "+3.7 ±0.6") * 2,
        *("-", "- |"),
    ]
