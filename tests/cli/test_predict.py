"""`towpath predict`: what is asked of the folders, and the table of probabilities."""

import csv
from pathlib import Path

import pytest
from PIL import Image, ImageOps

import towpath as tp
from tests.refusal import refused
from towpath.cli.main import main
from towpath.learners import LEARNERS


@pytest.fixture
def images(tmp_path) -> Path:
    """A folder of examples of two characters and one of images of them, ink on black."""
    pool = tp.data.load("glyphs", split="test", drawings=5)
    spec = tp.data.EpisodeSpec(ways=2, shots=1, query=2)
    episode = tp.data.EpisodeSampler(pool, spec).episode(0)
    for x, y in zip(episode.support_x, episode.support_y.tolist(), strict=True):
        save(x, tmp_path / "examples" / f"class{y}" / "one.png")
    for i, x in enumerate(episode.query_x):
        save(x, tmp_path / "new" / f"{i}.png")
    return tmp_path


def save(x, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((255 * x[0]).byte().numpy()).save(path)


def predicted(run: Path, folder: Path, out: str) -> list[dict[str, str]]:
    words = ["--support", str(folder / "examples"), "--query", str(folder / "new")]
    assert main(["predict", str(run), *words, "--out", str(folder / out)]) == 0
    with (folder / out).open() as file:
        return list(csv.DictReader(file))


def test_every_image_has_a_class_and_probabilities_that_add_up(done, images):
    rows = predicted(done, images, "p.csv")
    assert [row["file"] for row in rows] == ["0.png", "1.png", "2.png", "3.png"]
    for row in rows:
        shares = {name: float(row[name]) for name in ("class0", "class1")}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert row["predicted"] == max(shares, key=lambda name: shares[name])


def test_dark_ink_on_light_paper_is_turned_to_what_the_run_was_trained_on(done, images):
    before = predicted(done, images, "dark.csv")
    for path in [*images.rglob("*.png")]:
        with Image.open(path) as picture:
            ImageOps.invert(picture.convert("L")).save(path)
    assert predicted(done, images, "light.csv") == before


def test_a_learner_with_a_head_takes_as_many_classes_as_it_was_trained_with(here, images, capsys):
    maml = ["--learner.name", "maml", "--learner.adaptation_steps", "1"]
    assert main(["train", "tiny.yaml", "--out", "maml", *maml]) == 0
    assert len(predicted(Path("maml"), images, "p.csv")) == 4
    (images / "examples" / "class1").rename(images / "class1")
    capsys.readouterr()
    words = ["--support", str(images / "examples"), "--query", str(images / "new")]
    said = refused(["predict", "maml", *words, "--out", str(images / "q.csv")], capsys)
    assert "has 1 classes; expected 2, the ways that this run's maml was trained with" in said


def test_a_learner_says_itself_whether_it_wants_an_embedding():
    assert {name for name, kind in LEARNERS.items() if kind.wants_embedding} == {
        "protonet",
        "proto-maml",
        "ridge",
        "bayesian-taml",
    }


def test_folders_without_images_are_refused(done, images, capsys):
    (images / "empty").mkdir()
    nothing, new = str(images / "empty"), str(images / "new")
    out = ["--out", str(images / "p.csv")]
    said = refused(["predict", str(done), "--support", nothing, "--query", new, *out], capsys)
    assert "has no folders; expected one folder of images for each class" in said
    examples = str(images / "examples")
    said = refused(["predict", str(done), "--support", examples, "--query", nothing, *out], capsys)
    assert "has no images; expected the images to be classified" in said
    assert not (images / "p.csv").exists()
