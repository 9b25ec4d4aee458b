"""The section on results: every metric of a test set, the way that is better, no stray per cent."""

import html
import re

import numpy as np
import pytest

from tests.reports import synthetic
from towpath.metrics import ACCURACY, AVERAGE_PRECISION, LOSS, R2, RMSE, ROC_AUC
from towpath.reports.blocks import Cell, Table
from towpath.reports.number_text import p_text
from towpath.reports.page import write_report
from towpath.reports.sections.results import finding, results_section
from towpath.runs.read_studies import read_studies
from towpath.runs.results import other_metrics, results
from towpath.runs.scores import Score

TWO_CLASSES = (ACCURACY, ROC_AUC, AVERAGE_PRECISION, LOSS)
REGRESSION = (R2, RMSE, LOSS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A comparison on images, on tables of two classes and on regression."""
    made = {}
    for name, metrics in (
        ("images", synthetic.IMAGES),
        ("classes", TWO_CLASSES),
        ("regression", REGRESSION),
    ):
        made[name] = synthetic.write_comparison(
            tmp_path_factory.mktemp("results") / name,
            60,
            weighters=("uniform", "tow"),
            seeds=(0, 1),
            metrics=metrics,
        )
    return made


def study_of(folder):
    (study,) = read_studies([folder])
    return study


def tables(folder) -> list[Table]:
    return [block for block in results_section(study_of(folder)).blocks if isinstance(block, Table)]


def test_accuracy_and_loss_alone_are_one_table_as_ever(folders):
    (table,) = tables(folders["images"])
    assert table.columns[1] == "accuracy (%)"


def test_the_main_metric_is_in_the_first_table_and_the_others_below(folders):
    main, others = tables(folders["classes"])
    assert main.columns[1] == "accuracy (%)"
    assert others.title == "Other metrics on omniglot"
    assert [(row[0].text, row[1].text) for row in others.rows] == [
        (label, metric)
        for metric in ("ROC AUC", "average precision", "loss")
        for label in ("uniform", "tow")
    ]
    main, others = tables(folders["regression"])
    assert main.columns[1] == "R2"
    assert [row[1].text for row in others.rows] == ["RMSE", "RMSE", "loss", "loss"]


def test_figures_of_other_metrics_are_those_of_the_files(folders):
    study = study_of(folders["classes"])
    assert other_metrics(study, "omniglot") == [ROC_AUC, AVERAGE_PRECISION, LOSS]
    found = results(study, "omniglot", ROC_AUC)["tow"]
    kept = np.arange(100) % 10 != 0
    areas, base = (
        np.mean([run.scores["omniglot"].by_metric[ROC_AUC][kept] for run in study.runs[label]], 0)
        for label in ("tow", "uniform")
    )
    assert found.left_out == 10
    assert found.mean == pytest.approx(areas.mean())
    assert found.difference is not None
    assert found.difference.mean == pytest.approx((areas - base).mean())
    _, others = tables(folders["classes"])
    cells = others.rows[1]
    assert cells[2].text == f"{areas.mean():.3f} ±{found.interval:.3f}"
    assert "10 of the 100 tasks are left out of ROC AUC, where it is undefined: all" in others.note


def test_a_metric_without_per_cent_has_no_sign_of_it(folders, tmp_path):
    out = tmp_path / "page.html"
    write_report([folders["regression"]], out)
    page = re.sub(r"<style>.*?</style>", "", out.read_text(encoding="utf-8"), flags=re.DOTALL)
    words = html.unescape(re.sub(r"<[^>]+>", " ", page))
    assert "Validation R2 during training" in words
    assert "R2 on the validation tasks" in words
    assert "Test R2 on omniglot" in words
    assert "accuracy (%)" not in words
    assert "percentage points" not in words
    for table in tables(folders["regression"]):
        shown = [cell.text for row in table.rows for cell in row]
        assert not [text for text in shown if "%" in text]


def conclude(study, label, values):
    for run in study.runs[label]:
        run.scores["omniglot"] = Score(values)


@pytest.mark.parametrize(("metric", "good"), [(R2, True), (RMSE, False), (LOSS, False)])
def test_what_is_better_depends_on_the_metric(folders, metric, good):
    study = study_of(folders["regression"])
    ones = np.linspace(0.5, 1.5, 100)
    conclude(study, "uniform", {metric: ones, LOSS: ones})
    conclude(study, "tow", {metric: ones + 0.25, LOSS: ones + 0.25})
    table = next(block for block in results_section(study).blocks if isinstance(block, Table))
    assert table.rows[1][2] == Cell("+0.250 ±0.000", "good" if good else "bad")
    words = finding(study)
    if good:
        assert words.startswith("Use tow for this data: +0.250 ±0.000 of R2 on omniglot over 100")
    else:
        assert words.startswith("Stay with uniform: no weighter is better than it beyond noise")
        assert "nearest: tow, +0.250" in words


def test_the_report_takes_for_noise_what_the_advice_does(tmp_path):
    made = synthetic.write_comparison(
        tmp_path / "c", 6, weighters=("uniform", "tow", "cvar", "trim"), seeds=(0,)
    )
    study = study_of(made)
    generator = np.random.default_rng(0)
    ones = np.full(100, 0.5)
    noise = generator.permutation(np.linspace(-0.1, 0.1, 100))
    for label, gain in {"uniform": None, "tow": 0.0128, "cvar": 0.001, "trim": 0.001}.items():
        scores = ones if gain is None else ones + gain + noise
        conclude(study, label, {ACCURACY: scores, LOSS: 1 - scores})
    tow = results(study, "omniglot")["tow"]
    assert tow.difference is not None
    assert tow.difference.p_value < 0.05 < tow.chance == pytest.approx(3 * tow.difference.p_value)
    table = next(block for block in results_section(study).blocks if isinstance(block, Table))
    assert [cell.kind for cell in table.rows[1][2:4]] == ["quiet", "quiet"]
    assert table.rows[1][3].text == p_text(tow.chance)
    assert "p-values are those after Holm's correction for 3 comparisons" in table.note
    assert finding(study).startswith("Stay with uniform")
