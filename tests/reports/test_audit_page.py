"""The page of an audit: names, pictures and files of a folder of the user's."""

import base64
import io
import re

import numpy as np
from PIL import Image

from tests.reports.reading import Page
from tests.reports.test_audit import distrustful, scrambled_records, uniform
from towpath.cli.main import main
from towpath.reports.audit import WEIGHTS, audit
from towpath.reports.audit_page import ROWS, audit_finding, audit_page, method


def pictures(text):
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', text)
    return [Image.open(io.BytesIO(base64.b64decode(one))) for one in found]


def test_a_folder_of_the_users_is_shown_with_names_pictures_and_files(own_run, tmp_path):
    out = tmp_path / "audit.html"
    assert main(["audit", str(own_run), "--out", str(out)]) == 0
    text = out.read_text()
    page = Page(text)
    assert page.outside == []
    assert page.sections == ["audit-classes", "audit-tasks"]  # a flat folder has no groups
    assert "own on pets" in text
    names = {row[0] for row in page.rows if len(row) == 5 and not row[1].endswith("/ mean")}
    assert {"cat [v2]", *(f"class-{c}" for c in "bcdef")} <= names
    assert "unknown" in {cell for row in page.rows for cell in row}
    assert "clean" not in {cell for row in page.rows for cell in row}
    shown = pictures(text)
    assert len(shown) == 9
    assert all(np.asarray(image.convert("L")).std() > 10 for image in shown)
    one = r"train/(class-.|cat \[v2\])/: support \d\.png; query \d\.png, \d\.png"
    assert re.search(rf"Files\. {one}\. {one}\.", text)


def test_without_the_data_the_page_says_so_and_has_the_lists(own_run, tmp_path, capsys):
    gone = own_run.parent / "pets"
    gone.rename(tmp_path / "elsewhere")
    try:
        assert main(["audit", str(own_run), "--out", str(tmp_path / "audit.html")]) == 0
    finally:
        (tmp_path / "elsewhere").rename(gone)
    assert "Without pictures and file names" in capsys.readouterr().out
    text = (tmp_path / "audit.html").read_text()
    assert "there are no pictures" in text
    assert "class-b" in text
    assert pictures(text) == []


def test_changed_data_are_not_shown_as_those_of_the_run(own_run, tmp_path, capsys):
    file = own_run.parent / "pets" / "train" / "class-b" / "0.png"
    before = file.read_bytes()
    Image.new("RGB", (12, 12)).save(file)
    try:
        assert main(["audit", str(own_run), "--out", str(tmp_path / "audit.html")]) == 0
    finally:
        file.write_bytes(before)
    assert "have changed since it began" in capsys.readouterr().out
    assert pictures((tmp_path / "audit.html").read_text()) == []


def test_the_page_says_by_what_it_judges_and_what_stands_out():
    by_weight = audit(scrambled_records(200, distrustful), by=WEIGHTS)
    by_loss = audit(scrambled_records(200, uniform))
    assert by_weight is not None
    assert by_loss is not None
    assert audit_finding(by_weight).startswith("8 of 20 classes stand out as trusted less than")
    assert "having higher losses" in audit_finding(by_loss)
    assert "relative weights" in method(by_weight)
    assert "relative losses" in method(by_loss)
    text = audit_page("made up", by_loss, None).decode()
    assert "All weights are equal" in text
    assert "does not tell a wrong class from a hard one" in text
    assert "hard one" not in audit_page("made up", by_weight, None).decode()
    assert Page(text).sections == ["audit-classes", "audit-groups", "audit-tasks"]


def test_names_are_text_and_long_lists_are_cut():
    records = scrambled_records(3, distrustful)
    for i, record in enumerate(records):
        for j, task in enumerate(record.tasks):
            task["classes"] = [f"<b>{i}-{j}-{k}" for k in range(8)]
    result = audit(records)
    assert result is not None
    text = audit_page("made up", result, None).decode()
    assert "<b>" not in text
    assert "&lt;b&gt;0-0-0" in text
    assert f"{3 * 6 * 8 - ROWS} more are in the CSV file" in text
