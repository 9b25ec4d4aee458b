"""How the command line must answer a mistake."""

from towpath.cli.main import main


def refused(argv, capsys):
    """The one sentence that `towpath argv` answers with, exit code 2 checked."""
    code = main(argv)
    captured = capsys.readouterr()
    assert code == 2, captured.err
    assert "Traceback" not in captured.err
    assert "usage:" not in captured.err
    assert captured.out == ""
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1, captured.err
    return lines[0]
