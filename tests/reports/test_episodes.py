"""The section on sample episodes: the most and the least trusted tasks of the last window."""

import pytest

from tests.reports import synthetic
from towpath.reports.blocks import Note, Table
from towpath.reports.sections.episodes import episodes_section
from towpath.runs.read_studies import read_studies


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("episodes") / "c"
    synthetic.write_comparison(path, 20, weighters=("uniform", "tow"), seeds=(0,))
    (found,) = read_studies([path])
    return found


def table_of(study) -> Table:
    (table,) = episodes_section(study).blocks
    assert isinstance(table, Table)
    return table


def test_the_four_largest_and_the_four_smallest_weights_are_shown_in_order(study):
    table = table_of(study)
    assert table.title == "tow, seed 0"
    (run,) = study.runs["tow"]
    weights = sorted((10 * w for record in run.last for w in record.weights), reverse=True)
    assert len(weights) == 50
    shown = [float(row[0].text) for row in table.rows]
    assert shown == pytest.approx([*weights[:4], *weights[-4:]], abs=0.0051)


def test_loss_and_label_stand_beside_the_weight_of_their_own_task(study):
    table = table_of(study)
    assert table.columns[3:6] == ["labels", "loss", "accuracy"]
    (run,) = study.runs["tow"]
    tasks = set()
    for record in run.last:
        for w, task, loss in zip(record.weights, record.tasks, record.losses, strict=True):
            named = "wrong" if task["mislabelled"] else "clean"
            tasks.add((f"{10 * w:.2f}", task["group"], named, f"{loss:.2f}", str(record.step)))
    for row in table.rows:
        weight, group, _, label, loss, _, step = (cell.text for cell in row)
        assert (weight, group, label, loss, step) in tasks


def test_weighters_that_give_all_the_same_have_no_table(study):
    assert study.weighing == ["tow"]
    study = type(study)("s", "s", {"uniform": study.runs["uniform"]})
    (note,) = episodes_section(study).blocks
    assert isinstance(note, Note)
