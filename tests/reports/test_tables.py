"""The table of a comparison on the terminal: its cells are the comparison's figures."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tests.reports import synthetic
from towpath.reports.tables import comparison_table
from towpath.runs.comparison import compared


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "c"
    return compared(synthetic.write_comparison(path, 6, weighters=("uniform", "tow"), seeds=(0, 1)))


def rows(result):
    text = io.StringIO()
    Console(file=text, width=250).print(comparison_table(result))
    lines = [line for line in text.getvalue().splitlines() if line.startswith("│")]
    return {
        cells[0]: cells for line in lines if (cells := [c.strip() for c in line[1:-1].split("│")])
    }


def test_a_row_is_the_mean_over_seeds_and_the_paired_difference(result):
    found = rows(result)
    scores = [run.summary.test["omniglot"] for run in result.of("tow")]
    mean = 50 * sum(score.mean for score in scores)
    width = 100 * result.intervals["tow"]["omniglot"]  # over both seeds, task by task
    assert found["tow"][1] == f"{mean:.1f} ±{width:.1f}"
    pooled = result.differences["tow"]["omniglot"].pooled
    assert found["tow"][2].startswith(f"{100 * pooled.mean:+.1f} ±{100 * pooled.interval:.1f}")
    assert found["tow"][2].endswith("(n.s.)") == (not pooled.excludes_zero)
    assert found["tow"][4:] == ["0.50 : 1", "18", "1", "1.00x"]
    assert found["uniform"][2] == "-"


def test_weighters_that_are_not_run_or_not_all_of_whose_seeds_are_say_so(result):
    partly = replace(result, runs=result.runs[:3], weighters=("uniform", "tow", "cvar"))
    found = rows(partly)
    assert found["tow (1 of 2 seeds)"][1] != ""
    assert found["cvar"][1] == "not run"


def test_the_interval_of_a_single_task_is_not_shown_as_infinite(result):
    run = result.runs[0]
    test = {"omniglot": replace(run.summary.test["omniglot"], interval=float("nan"))}
    runs = [replace(run, summary=replace(run.summary, test=test))]
    alone = replace(result, runs=runs, intervals={})
    assert rows(alone)["uniform (1 of 2 seeds)"][1].endswith("±0.0")
