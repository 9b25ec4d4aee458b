"""What the commands of `towpath data` have in common."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import towpath
from tests.cli.data.said import one_clear_sentence


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fetch", "omnigloot"), "Did you mean 'omniglot'"),
        (("verify", "glyps"), "Did you mean 'glyphs'"),
        (("verfiy",), "Did you mean 'verify'"),
        (("fetch", "mini-imagenet"), "image-net.org"),
        (("fetch",), "NAME"),
        (("preview", "cub"), "CUB-200-2011 was looked for"),
        (("list", "--colour"), "--colour"),
    ],
)
def test_a_users_mistake_is_one_sentence_and_exit_code_2(run, words, message):
    code, _, err = run(*words)
    assert code == 2
    assert message in err
    assert one_clear_sentence(err)


def test_a_defect_of_ours_is_exit_code_1(run, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("towpath.cli.data.listing.run", broken)
    code, _, err = run("list")
    assert code == 1
    assert "ZeroDivisionError" in err


def test_help_has_an_example_and_the_module_is_the_same_program():
    environment = os.environ | {"PYTHONPATH": str(Path(towpath.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "towpath", "data", "preview", "--help"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0
    assert "example: towpath data preview glyphs" in done.stdout
