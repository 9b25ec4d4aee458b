"""The section on weights over training: what it draws of labels and groups."""

import numpy as np
import pytest

from tests.reports import synthetic
from towpath.reports.blocks import Figures, Note
from towpath.reports.sections.weights import weights_section
from towpath.runs.read_studies import read_studies


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
