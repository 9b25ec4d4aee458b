"""`towpath data` as a user calls it."""

from pathlib import Path

import pytest

from towpath.cli import main as cli


@pytest.fixture
def run(capsys, tmp_path):
    def run(*words: str, root: Path = tmp_path) -> tuple[int, str, str]:
        code = cli.main(["data", *words, "--data-root", str(root)])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run
