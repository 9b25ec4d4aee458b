"""`towpath data features`: a run's network makes a file that a recipe trains on."""

import pytest

from tests.cli.data.said import one_clear_sentence
from tests.training.runs import run as trained_run
from tests.training.runs import tiny
from towpath.cli import main as cli
from towpath.data import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return trained_run(tmp_path_factory.mktemp("features") / "run", tiny())


def test_features_of_a_runs_own_set_train_the_shipped_recipe(folder, tmp_path, capsys):
    out = tmp_path / "glyphs.features.npz"
    assert cli.main(["data", "features", str(folder), "--out", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "normalisation of the features: none" in shown
    assert "towpath train your-own-features --data.name" in shown
    assert load(str(out)).input_shape == (6,)
    words = ["train", "your-own-features", "--data.name", str(out), "--out", str(tmp_path / "run")]
    words += ["--training.steps", "10", "--test.tasks", "5", "--validation.tasks", "5"]
    words += ["--episodes", "{ways: 2, shots: 1, query: 2}", "--validation.every", "5"]
    assert cli.main(words) == 0
    assert cli.main(["data", "preview", str(out), "--out", str(tmp_path / "sheets")]) == 0
    assert "vectors of 6 numbers" in " ".join(capsys.readouterr().out.split())
    asked = ["--support", str(tmp_path), "--query", str(tmp_path), "--out", str(tmp_path / "p.csv")]
    assert cli.main(["predict", str(tmp_path / "run"), *asked]) == 2
    assert "was trained on features" in " ".join(capsys.readouterr().err.split())


def test_mistakes_are_one_sentence(folder, tmp_path, capsys):
    wrong_name = ["--out", str(tmp_path / "glyphs.npz")]
    right = ["--out", str(tmp_path / "x.features.npz")]
    for words, message in [
        (wrong_name, "expected a name that ends with .features.npz"),
        ([*right, "--data", "toxcast", "--data-root", str(tmp_path)], "toxcast"),
    ]:
        assert cli.main(["data", "features", str(folder), *words]) == 2
        err = capsys.readouterr().err
        assert message in " ".join(err.split())
        assert one_clear_sentence(err)
    (tmp_path / "x.features.npz").write_bytes(b"mine")
    assert cli.main(["data", "features", str(folder), *right]) == 2
    assert "--force" in capsys.readouterr().err
