"""`towpath report`: a page, and never another file of the user's."""

from tests.refusal import refused
from towpath.cli.main import main


def test_a_page_is_written_and_replaced_but_no_other_file(done, tmp_path, capsys):
    page = tmp_path / "page.html"
    words = ["report", str(done), "--out", str(page)]
    assert main(words) == 0
    assert main(words) == 0  # a report of ours
    assert f"The report is in {page}" in " ".join(capsys.readouterr().out.split())
    page.write_text("mine")
    assert "--force" in refused(words, capsys)
    assert page.read_text() == "mine"
    assert main([*words, "--force"]) == 0
    assert page.read_text() != "mine"
