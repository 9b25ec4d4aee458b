"""The section on classes shows what the runs' own files say, and is absent without them."""

import json

from tests.reports.test_page import build, row_of
from tests.training.runs import run, tiny
from towpath.runs.folder import CONFUSION, RunFolder


def test_the_page_shows_the_classes_of_a_run_and_its_confused_pairs(tmp_path):
    folder = run(tmp_path / "run", tiny())
    page, _, missing = build([folder], tmp_path / "report.html")
    assert missing == []
    assert "tiny-classes" in page.sections
    seen = RunFolder(folder).confusions()["glyphs"]
    hardest = seen.worst()[0]
    row = row_of(page, hardest, f"{seen.tasks(hardest):,}")
    assert row[2] == f"{100 * seen.accuracy(hardest):.1f}"
    assert any(name.startswith("tiny-classes-glyphs") for name in page.svgs)
    pair = seen.confused()[0]
    line = row_of(page, "uniform", pair.true, pair.predicted)
    assert line[3] == f"{100 * pair.count.share:.1f}"


def test_without_the_file_there_is_no_section_and_a_strange_one_is_told(tmp_path):
    folder = run(tmp_path / "run", tiny())
    content = json.loads((folder / CONFUSION).read_text())
    (folder / CONFUSION).write_text(json.dumps({**content, "evaluations": "another"}))
    page, _, missing = build([folder], tmp_path / "one.html")
    assert any(CONFUSION in line and "Restore it, or delete it" in line for line in missing)
    (folder / CONFUSION).unlink()
    page, _, missing = build([folder], tmp_path / "two.html")
    assert missing == []
    assert "tiny-classes" not in page.sections
