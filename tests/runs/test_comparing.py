"""Finished runs, compared with the baseline."""

import json

import pytest

from tests.reports import synthetic
from towpath.metrics import ACCURACY, LOSS, ROC_AUC
from towpath.reports.tables import _row
from towpath.runs.comparing import compared
from towpath.runs.comparison_spec import ComparisonSpec
from towpath.runs.differences import SeedDifferences
from towpath.runs.folder import EVALUATIONS, RunFolder
from towpath.runs.read_studies import read_studies
from towpath.runs.results import results


def test_the_finished_runs_are_compared_with_the_baseline(finished):
    result = compared(ComparisonSpec.read(finished))
    assert (result.baseline, result.tests) == ("uniform", ["omniglot"])
    assert [run.folder for run in result.of("tow")] == ["tow-seed0", "tow-seed3"]
    assert [run.overhead for run in result.runs] == [1.0] * 4
    scores = {
        label: {s: RunFolder(finished / f"{label}-seed{s}").evaluations() or {} for s in (0, 3)}
        for label in ("uniform", "tow")
    }
    expected = SeedDifferences.between(
        *(
            {s: own["omniglot"].main for s, own in scores[label].items()}
            for label in ("tow", "uniform")
        )
    )
    assert result.differences == {"tow": {"omniglot": expected}}


def test_the_terminal_and_the_report_show_the_same_intervals(finished):
    result = compared(finished)
    (study,) = read_studies([finished])
    for test in result.tests:
        for label, shown in results(study, test).items():
            assert result.intervals[label][test] == pytest.approx(shown.interval, rel=1e-12)
            line = _row(result, label)
            assert f"±{100 * shown.interval:.1f}" in line[1 + 2 * result.tests.index(test)]


def test_a_run_of_a_release_that_did_not_have_the_metric_is_left_out_of_it(tmp_path):
    made = synthetic.write_comparison(
        tmp_path / "c",
        6,
        weighters=("uniform", "tow"),
        seeds=(0, 1),
        metrics=(ACCURACY, ROC_AUC, LOSS),
    )
    file = made / "tow-seed0" / EVALUATIONS
    old = json.loads(file.read_text(encoding="utf-8"))
    old["omniglot"].pop("metrics")
    file.write_text(json.dumps(old), encoding="utf-8")
    difference = compared(made).others["tow"]["omniglot"][ROC_AUC].difference
    assert difference is not None
    assert list(difference.seeds) == [1]
