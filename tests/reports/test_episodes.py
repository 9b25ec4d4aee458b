"""The section on sample episodes: the most and the least trusted tasks of the last window."""

import base64
import io
import re

import pytest
from PIL import Image

from tests.reports import synthetic
from tests.reports.reading import Page
from towpath.cli.main import main
from towpath.reports.blocks import Note, Picture, Table
from towpath.reports.page import redrawn
from towpath.reports.sections.episodes import Sample, episodes_section
from towpath.runs.read import read_run
from towpath.runs.read_studies import read_studies


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("episodes") / "c"
    synthetic.write_comparison(path, 20, weighters=("uniform", "tow"), seeds=(0,))
    (found,) = read_studies([path])
    return found


def nothing(run):
    return f"{run.name} is elsewhere."


def table_of(study) -> Table:
    table, _ = episodes_section(study, nothing).blocks
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
            named = "wrong" if task["mislabelled"] else "unknown"
            tasks.add((f"{10 * w:.2f}", task["group"], named, f"{loss:.2f}", str(record.step)))
    for row in table.rows:
        weight, group, _, label, loss, _, step = (cell.text for cell in row)
        assert (weight, group, label, loss, step) in tasks


def test_weighters_that_give_all_the_same_have_no_table(study):
    assert study.weighing == ["tow"]
    study = type(study)("s", "s", {"uniform": study.runs["uniform"]})
    (note,) = episodes_section(study, nothing).blocks
    assert isinstance(note, Note)


@pytest.fixture
def own_study(own_run):
    (study,) = read_studies([own_run])
    return study


def test_trusted_tasks_are_marked_and_labels_of_an_own_folder_are_unknown(own_study):
    table, note = episodes_section(own_study, nothing).blocks
    assert isinstance(table, Table)
    assert isinstance(note, Note)
    assert "labels" in table.columns
    at = list(table.columns).index("labels")
    said = {row[2].text: row[at].text for row in table.rows}
    assert {text for classes, text in said.items() if set(classes.split(", ")) == {"y", "z"}} == {
        "trusted"
    }
    assert set(said.values()) == {"trusted", "unknown"}
    assert note.text == "tow-targets: no pictures, because run is elsewhere."


def test_the_tasks_at_both_ends_are_drawn_with_their_names(own_study):
    section = episodes_section(own_study, lambda run: redrawn(None, run))
    pictures = [block for block in section.blocks if isinstance(block, Picture)]
    assert len(pictures) == 4
    weights = [float(re.findall(r"weight ([\d.]+)", one.title)[0]) for one in pictures]
    assert weights == sorted(weights, reverse=True)
    for one in pictures:
        assert re.search("trusted|labels unknown", one.title)
        content = base64.b64decode(one.source.removeprefix("data:image/png;base64,"))
        with Image.open(io.BytesIO(content)) as image:
            assert image.width > 200


def test_data_that_are_gone_or_changed_are_a_sentence(own_run, tmp_path):
    gone = own_run.parent / "pets"
    gone.rename(tmp_path / "elsewhere")
    try:
        said = redrawn(None, read_run(own_run))
    finally:
        (tmp_path / "elsewhere").rename(gone)
    assert isinstance(said, str)
    assert "Put them back" in said


def test_the_report_of_a_single_run_says_its_data_and_its_result(own_run, tmp_path):
    out = tmp_path / "report.html"
    assert main(["report", str(own_run), "--out", str(out)]) == 0
    text = out.read_text()
    assert "<h1>own on pets</h1>" in text
    assert "<title>own on pets · towpath</title>" in text
    assert "nothing to compare" not in text
    (finding,) = re.findall(r'<p class="finding">(.*?)</p>', text)
    assert re.fullmatch(
        r"tow-targets comes to [\d.]+ ±[\d.]+ % on pets, over 4 test tasks and 1 seed\.", finding
    )
    assert Page(text).outside == []
    assert text.count('<img src="data:image/png;base64,') == 4


@pytest.mark.parametrize(
    ("task", "classes"),
    [
        ({"group": "Greek", "classes": ["Greek/a", "Greek/b"]}, "a, b"),
        ({"group": "", "classes": ["Greek/a", "Latin/b"]}, "a, b"),
        ({"group": "all", "task": "D2 / rat", "classes": ["D2 / rat"]}, "D2 / rat"),
    ],
)
def test_classes_are_named_without_their_group_and_tasks_of_a_table_in_full(task, classes):
    assert Sample(1, 1.0, task, 0.5, None).classes == classes
