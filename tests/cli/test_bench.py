"""`towpath bench`: the recipe is named with or without its option."""

import pytest

from towpath.cli.bench import naming_the_recipe
from towpath.cli.main import main


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["bench", "quick", "--device", "cpu"], ["bench", "--recipe", "quick", "--device", "cpu"]),
        (["bench", "--weighter.name", "tow"], ["bench", "--weighter.name", "tow"]),
        (["bench"], ["bench"]),
        (["train", "quick"], ["train", "quick"]),
    ],
)
def test_the_word_after_bench_is_the_recipe(words, named):
    assert naming_the_recipe(words) == named


def test_the_cost_of_a_run_is_told(here, capsys):
    assert main(["bench", "tiny.yaml", "--weighter.name", "tow"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "tiny with tow: " in said
    assert "times uniform" in said
    assert "expected for 4 steps: " in said
    assert "saves no time" not in said


def test_it_is_told_where_threads_save_no_time(here, capsys):
    assert main(["bench", "tiny.yaml", "--learner.name", "mt-net", "--threads", "2"]) == 0
    assert "threads: 2 saves no time" in " ".join(capsys.readouterr().out.split())
