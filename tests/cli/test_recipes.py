"""`towpath recipes`: what is shipped is listed, shown as it is, and copied once."""

from pathlib import Path

from towpath.cli.main import main


def test_recipes_are_listed_shown_and_copied(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["recipes", "list"]) == 0
    assert "omniglot-protonet" in capsys.readouterr().out
    assert main(["recipes", "show", "demo"]) == 0
    shown = capsys.readouterr().out
    assert main(["recipes", "copy", "demo", "--out", "mine.yaml"]) == 0
    assert Path("mine.yaml").read_text() == shown
    assert main(["recipes", "copy", "demo", "--out", "mine.yaml"]) == 2
