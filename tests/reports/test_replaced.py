"""Whether a report on other runs was replaced is said, and nothing is said where none was lost."""

import shutil

import pytest

from tests.reports import synthetic
from towpath.reports.page import write_report
from towpath.reports.replaced import run_digests, sentence_on_replaced
from towpath.runs.read_studies import read_studies


@pytest.fixture
def page(tmp_path):
    """A report on one run of the weighter `tow`."""
    synthetic.write_run(tmp_path / "one", synthetic.recipe(), "tow", 5)
    write_report([tmp_path / "one"], tmp_path / "report.html")
    return tmp_path / "report.html"


def test_a_report_on_other_runs_is_named_when_it_is_replaced(page, tmp_path):
    synthetic.write_run(tmp_path / "two", synthetic.recipe(), "uniform", 5)
    before = page.read_bytes()
    lines = write_report([tmp_path / "two"], page)
    assert page.read_bytes() != before
    (said,) = (line for line in lines if "replaced" in line)
    assert said.startswith(f"{page} was the report 'made-up on omniglot' with 1 run(s)")
    assert "another --out" in said


def test_the_same_runs_and_more_replace_a_report_without_a_word(page, tmp_path):
    synthetic.write_run(tmp_path / "two", synthetic.recipe(), "uniform", 5)
    for folders in ([tmp_path / "one"], [tmp_path / "one", tmp_path / "two"]):
        assert not any("replaced" in line for line in write_report(folders, page))


def test_runs_with_digests_are_known_by_them_and_not_by_their_names(comparison, tmp_path):
    copied = shutil.copytree(comparison / "uniform-seed0", tmp_path / "renamed")
    digests = run_digests(read_studies([comparison])).split()
    assert len(digests) == 4
    assert run_digests(read_studies([copied])) in digests


@pytest.mark.parametrize("content", [b"\xff\xfe", b"<title>a page of theirs</title>", b""])
def test_what_is_no_report_of_ours_is_not_called_one(content, tmp_path):
    (tmp_path / "page.html").write_bytes(content)
    assert sentence_on_replaced(tmp_path / "page.html", []) is None
    assert sentence_on_replaced(tmp_path / "not there.html", []) is None
