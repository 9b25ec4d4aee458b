"""A commit is checked by what CI checks it by."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_the_hooks_before_a_commit_are_the_checks_of_make_lint():
    makefile = (ROOT / "Makefile").read_text()
    target = re.search(r"^lint: install\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert target is not None
    lint = [line.strip().replace("$(BIN)", ".venv/bin") for line in target[1].splitlines()]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for hook in local["hooks"]] == lint
    # whole-tree checks, whatever files the commit touches
    assert all(hook["pass_filenames"] is False for hook in local["hooks"])
    assert "make lint" in (ROOT / ".ci" / "run").read_text()
