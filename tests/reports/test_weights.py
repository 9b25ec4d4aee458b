"""The section on weights over training: what it draws of labels and groups."""

from array import array

import numpy as np
import pytest

from tests.reports import synthetic
from towpath.reports.blocks import Figures, Note
from towpath.reports.sections.weights import weights_section
from towpath.runs.read_studies import read_studies
from towpath.runs.run_data import RunData
from towpath.runs.study import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "c"
    synthetic.write_comparison(path, 30, weighters=("uniform", "tow"), seeds=(0,))
    (found,) = read_studies([path])
    return found


def figures(section):
    return {
        f.title: f for block in section.blocks if isinstance(block, Figures) for f in block.items
    }


def test_labels_are_shown_of_every_weighter_and_groups_of_those_that_weigh(study):
    assert list(figures(weights_section(study))) == [
        "uniform: clean against mislabelled tasks",
        "tow: clean against mislabelled tasks",
        "tow: weight of each group of tasks",
        "tow: the most and the least trusted groups",
    ]


def test_the_map_names_the_groups_with_the_largest_and_the_smallest_mean(study):
    found = figures(weights_section(study))["tow: weight of each group of tasks"]
    (run,) = study.runs["tow"]
    means = {name: np.mean(values) for name, (_, values) in run.groups.items()}
    most, least = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    assert found.note == (
        f"{most} got most ({means[most]:.2f} of the mean), {least} least ({means[least]:.2f})."
    )


def test_equal_weights_are_said_to_be_equal(study):
    alone = type(study)("s", "s", {"uniform": study.runs["uniform"]})
    notes = [block.text for block in weights_section(alone).blocks if isinstance(block, Note)]
    assert notes == ["Every task had the same weight throughout."]


LONG = "Old_Church_Slavonic_(Cyrillic)"


def named_study(*names):
    steps = [float(step) for step in range(1, 41)]
    run = RunData("run", steps=40, deviations=[(step, 0.1) for step in steps])
    for i, name in enumerate(names):
        run.groups[name] = (array("d", steps), array("d", [0.5 + 0.2 * i] * len(steps)))
    return Study("made-up", "made-up", {"tow": [run]})


def of_groups(*names):
    return figures(weights_section(named_study(*names)))


def test_short_names_stand_at_the_ends_of_the_lines():
    lines = of_groups("Greek", "Latin")["tow: the most and the least trusted groups"]
    assert ">Greek</text>" in lines.svg
    assert lines.legend == ()


def test_long_names_are_in_a_legend_and_in_the_map_as_a_whole():
    found = of_groups(LONG, "Greek", "Latin")
    lines = found["tow: the most and the least trusted groups"]
    assert {item.label for item in lines.legend} == {LONG, "Latin"}
    heat = found["tow: weight of each group of tasks"]
    assert ">Old_Church_Slavonic_</tspan>" in heat.svg
    assert ">(Cyrillic)</tspan>" in heat.svg
    assert "…" not in heat.svg
