"""Learning curves: the line is smoothed only where there is enough to smooth."""

import re

import pytest

from tests.reports import synthetic
from towpath.reports.blocks import Figures, Note
from towpath.reports.sections.curves import curve_figure, curves_section
from towpath.runs.read_studies import read_studies
from towpath.runs.smoothing import ENOUGH_TO_SMOOTH


def study_of(path, steps, validate):
    synthetic.write_comparison(
        path, steps, weighters=("uniform", "tow"), seeds=(0, 1), validate=validate
    )
    (study,) = read_studies([path])
    return study


@pytest.mark.parametrize("validations", [ENOUGH_TO_SMOOTH - 1, ENOUGH_TO_SMOOTH])
def test_the_line_is_the_moving_average_only_where_there_is_enough_to_smooth(tmp_path, validations):
    study = study_of(tmp_path / "c", validations, 1)
    figure = curve_figure(study)
    last = {
        label: [100 * run.checks[-1].score for run in study.runs[label]] for label in study.labels
    }
    ends = dict(re.findall(r"(uniform|tow) ends at ([\d.]+)", figure.svg))
    raw = {label: f"{sum(values) / 2:.1f}" for label, values in last.items()}
    assert (ends == raw) == (validations < ENOUGH_TO_SMOOTH)
    assert ("fewer than" in figure.note) == (validations < ENOUGH_TO_SMOOTH)
    assert "2 seeds" in figure.note


def test_without_a_validation_there_is_a_note_and_still_the_loss(tmp_path):
    section = curves_section(study_of(tmp_path / "c", 6, 0))
    note, figures = section.blocks
    assert isinstance(note, Note)
    assert isinstance(figures, Figures)
    assert "No run has been validated yet" in note.text
    assert [figure.title for figure in figures.items] == ["Training loss"]
