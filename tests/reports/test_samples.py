"""The tasks of the last window: what is known of them, and what they look like."""

import base64
import io
import re

import pytest
from PIL import Image

from tests.reports.reading import Page
from towpath.cli.main import main
from towpath.reports.page import redrawn
from towpath.reports.sections.samples import samples_section
from towpath.runs.read import read_run
from towpath.runs.study import read_studies


@pytest.fixture
def study(own_run):
    (study,) = read_studies([own_run])
    return study


def nothing(run):
    return f"{run.name} is elsewhere."


def test_trusted_tasks_are_marked_and_labels_of_an_own_folder_are_unknown(study):
    table, note = samples_section(study, nothing).blocks
    assert "labels" in table.columns
    at = list(table.columns).index("labels")
    said = {row[2].text: row[at].text for row in table.rows}
    assert {text for classes, text in said.items() if set(classes.split(", ")) == {"y", "z"}} == {
        "trusted"
    }
    assert set(said.values()) == {"trusted", "unknown"}
    assert note.text == "tow-targets: no pictures, because run is elsewhere."


def test_the_tasks_at_both_ends_are_drawn_with_their_names(study, own_run):
    section = samples_section(study, lambda run: redrawn(None, run))
    pictures = [block for block in section.blocks if block.block == "picture"]
    assert len(pictures) == 4
    weights = [float(re.search(r"weight ([\d.]+)", one.title)[1]) for one in pictures]
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
    assert "There is no data set" in said


def test_the_report_of_a_single_run_says_its_data_and_its_result(own_run, tmp_path):
    out = tmp_path / "report.html"
    assert main(["report", str(own_run), "--out", str(out)]) == 0
    text = out.read_text()
    assert "<h1>own on pets</h1>" in text
    assert "<title>own on pets · towpath</title>" in text
    assert "nothing to compare" not in text
    finding = re.search(r'<p class="finding">(.*?)</p>', text)[1]
    assert re.fullmatch(
        r"tow-targets comes to [\d.]+ ±[\d.]+ % on pets, over 4 test tasks and 1 seed\.", finding
    )
    assert Page(text).outside == []
    assert text.count('<img src="data:image/png;base64,') == 4
