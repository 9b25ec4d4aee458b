"""`towpath resume` of a single run."""

from tests.refusal import refused
from towpath.cli.main import main


def test_a_finished_run_is_left_as_it_is(done, capsys):
    before = (done / "summary.json").read_bytes()
    assert main(["resume", str(done)]) == 0
    assert "is finished already" in capsys.readouterr().out
    assert (done / "summary.json").read_bytes() == before


def test_a_single_run_has_no_use_for_jobs(done, capsys):
    said = refused(["resume", str(done), "--jobs", "2"], capsys)
    assert "expected a comparison, which has several" in said
