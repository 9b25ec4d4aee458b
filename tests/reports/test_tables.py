"""The table of a comparison on the terminal: its cells are the comparison's figures."""

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from tests.reports import synthetic
from towpath.metrics import ACCURACY, LOSS, R2, RMSE, ROC_AUC
from towpath.reports.tables import comparison_table, metrics_table
from towpath.runs.comparing import compared
from towpath.runs.differences import PairedDifference, SeedDifferences


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "c"
    return compared(synthetic.write_comparison(path, 6, weighters=("uniform", "tow"), seeds=(0, 1)))


def lines(table):
    text = io.StringIO()
    Console(file=text, width=250).print(table)
    found = [line for line in text.getvalue().splitlines() if line.startswith(("│", "┃"))]
    return [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in found]


def rows(result):
    return {cells[0]: cells for cells in lines(comparison_table(result))}


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


def among(result, chance):
    """The comparison with a `tow` of this p-value, and two weighters beside it."""
    lucky = PairedDifference(0.02, 0.018, chance)
    same = PairedDifference(0.001, 0.02, 0.9)
    differences = {
        label: {"omniglot": SeedDifferences(one, {0: one, 1: one})}
        for label, one in {"tow": lucky, "cvar": same, "trim": same}.items()
    }
    return replace(result, weighters=("uniform", *differences), differences=differences)


@pytest.mark.parametrize(("chance", "clear"), [(0.03, False), (0.01, True)])
def test_the_table_marks_what_the_advice_takes_for_noise(result, chance, clear):
    compared = among(result, chance)
    assert compared.differences["tow"]["omniglot"].pooled.excludes_zero
    assert rows(compared)["tow"][2].endswith("(n.s.)") != clear
    assert compared.advice is not None
    assert (compared.advice.weighter == "tow") == clear
    caption = comparison_table(compared).caption
    assert caption == (
        "(n.s.): not significant, p > 0.05 over test tasks "
        "after Holm's correction for 3 comparisons"
    )
    stored = json.loads(json.dumps(compared.as_json()))["differences"]["tow"]["omniglot"]
    assert stored["p_value"] == chance  # as the test gave it


def test_weighters_that_are_not_run_or_not_all_of_whose_seeds_are_say_so(result):
    partly = replace(result, runs=result.runs[:3], weighters=("uniform", "tow", "cvar"))
    found = rows(partly)
    assert found["tow (1 of 2 seeds)"][1] != ""
    assert found["cvar"][1] == "not run"


def test_the_interval_of_a_single_task_is_not_shown_as_infinite(result):
    run = result.runs[0]
    score = run.summary.test["omniglot"]
    test = {"omniglot": replace(score, main=replace(score.main, interval=float("nan")))}
    runs = [replace(run, summary=replace(run.summary, test=test))]
    alone = replace(result, runs=runs, intervals={})
    assert rows(alone)["uniform (1 of 2 seeds)"][1].endswith("±0.0")


def test_accuracy_alone_has_no_second_table(result):
    assert metrics_table(result) is None
    assert lines(comparison_table(result))[1][1] == "accuracy %"


@pytest.mark.parametrize("metrics", [(ACCURACY, ROC_AUC, LOSS), (R2, RMSE, LOSS)])
def test_the_other_metrics_stand_in_a_table_of_their_own(tmp_path, metrics):
    made = synthetic.write_comparison(
        tmp_path / "c", 6, weighters=("uniform", "tow"), seeds=(0, 1), metrics=metrics
    )
    result = compared(made)
    main = lines(comparison_table(result))
    assert main[1][1] == ("accuracy %" if metrics[0] == ACCURACY else "R2")
    table = metrics_table(result)
    assert table is not None
    found = [row for row in lines(table) if row[0] == "omniglot"]
    assert [(row[1], row[2]) for row in found] == [
        (metric.words, label) for metric in metrics[1:] for label in ("uniform", "tow")
    ]
    for row in found:
        metric = next(one for one in metrics if one.words == row[1])
        outcome = result.others[row[2]]["omniglot"][metric]
        assert row[3] == f"{outcome.mean:.3f} ±{outcome.interval:.3f}"
        assert row[5] == ("10" if metric == ROC_AUC else "0")
        if row[2] == "uniform":
            assert row[4] == "-"
        else:
            assert outcome.difference is not None
            pooled = outcome.difference.pooled
            assert row[4].startswith(f"{pooled.mean:+.3f} ±{pooled.interval:.3f}")
    assert not [cell for row in found for cell in row if "%" in cell]
