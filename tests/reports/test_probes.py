"""The section on probes: the weights of the same tasks, probe after probe."""

import numpy as np
import pytest

from tests.reports.reading import Page
from towpath.reports.blocks import Figures, Note
from towpath.reports.sections.probes import probe_figures, probes_section
from towpath.runs.read_studies import read_studies
from towpath.runs.records import ProbeRecord
from towpath.runs.study import Study

TASKS = [[{"group": "A"}, {"group": "B"}], [{"group": ""}, {"group": "A"}]]
LINES = [
    ProbeRecord(step, "fixed", [[weight, 1 - weight], [0.5, 0.5]], [[1.0] * 2] * 2, TASKS)
    for step, weight in ((0, 0.5), (5, 0.75))
]


def test_the_lines_are_the_weights_of_the_first_mini_batch_times_m():
    every, first = probe_figures(Study("s", "s", {"tow": []}), "tow", "fixed", LINES)
    drawn = Page(first.svg).lines("s-probe-0-fixed-lines")
    shown = [[y for _, y in line] for line in drawn]
    assert shown == pytest.approx(np.array([[1.0, 1.5], [1.0, 0.5]]), abs=0.01)
    assert every.heat
    for row in ("1.1 A", "1.2 B", "2.1 task", "2.2 A"):
        assert row in every.svg


def test_a_study_without_probes_says_how_to_ask_for_them(comparison):
    (study,) = read_studies([comparison])
    assert all(isinstance(block, Figures) for block in probes_section(study).blocks)
    for run in study.all:
        run.probes = {}
    (note,) = probes_section(study).blocks
    assert isinstance(note, Note)
    assert "under probes" in note.text
