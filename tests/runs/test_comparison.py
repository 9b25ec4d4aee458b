"""What came out of a comparison: compared with the baseline, and the same after reading it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.reports import synthetic
from towpath.metrics import ACCURACY, LOSS, ROC_AUC
from towpath.recipes.typed import RecipeError
from towpath.runs.comparing import compared
from towpath.runs.comparison import RESULT, read_comparison, write_comparison
from towpath.runs.comparison_spec import ComparisonSpec
from towpath.runs.differences import SeedDifferences
from towpath.runs.folder import RunFolder


def test_what_came_out_comes_back_from_its_file(finished):
    result = compared(ComparisonSpec.read(finished))
    write_comparison(finished, result)
    assert read_comparison(finished) == result
    (finished / RESULT).write_text("{}")
    with pytest.raises(RecipeError, match=r"comparison\.json is not readable"):
        read_comparison(finished)


def test_a_run_keeps_its_summary_and_says_its_overhead_under_the_clock(finished):
    run = compared(ComparisonSpec.read(finished)).runs[2]
    content = json.loads(json.dumps(run.as_json()))
    assert content["timing"].pop("overhead") == 1.0
    summary = json.loads((finished / run.folder / "summary.json").read_text())
    assert content == {"label": "tow", "folder": "tow-seed0", **summary}
    assert replace(run, overhead=None).as_json()["timing"] == summary["timing"]


def test_other_metrics_are_compared_too_and_come_back_from_the_file(tmp_path):
    made = synthetic.write_comparison(
        tmp_path / "c",
        6,
        weighters=("uniform", "tow"),
        seeds=(0, 3),
        metrics=(ACCURACY, ROC_AUC, LOSS),
    )
    result = compared(made)
    write_comparison(made, result)
    assert read_comparison(made) == result
    assert result.other_metrics("omniglot") == [ROC_AUC, LOSS]
    assert result.metric("omniglot") == ACCURACY
    assert result.others["uniform"]["omniglot"][ROC_AUC].difference is None
    found = result.others["tow"]["omniglot"][ROC_AUC]
    scores = {
        label: {s: RunFolder(made / f"{label}-seed{s}").evaluations() or {} for s in (0, 3)}
        for label in ("uniform", "tow")
    }
    own, base = (
        {s: by_set["omniglot"].of(ROC_AUC) for s, by_set in scores[label].items()}
        for label in ("tow", "uniform")
    )
    assert found.difference == SeedDifferences.between(own, base)
    assert found.left_out == 10
    assert found.mean == pytest.approx(np.mean([one.mean for one in own.values()]))


def test_a_comparison_of_accuracy_alone_has_what_it_always_had(finished):
    result = compared(ComparisonSpec.read(finished))
    assert result.others == {}
    assert "others" not in result.as_json()
