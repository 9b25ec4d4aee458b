"""The page for newcomers: its commands run, and the predictions come out right."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from towpath.cli.main import main

PAGE = Path(__file__).parents[1] / "docs" / "your-own-data.md"
COLOURS = {"red": (220, 40, 40), "green": (40, 200, 60), "blue": (50, 60, 210)}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def save_image(path, colour, generator):
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = generator.normal(0, 12, (32, 32, 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Animals of one colour each, with examples and new images of three colours."""
    folder = tmp_path_factory.mktemp("newcomer")
    generator = np.random.default_rng(0)
    for k in range(20):
        colour = generator.uniform(20, 235, 3)
        for i in range(6):
            save_image(folder / "animals" / f"animal{k:02}" / f"{i}.png", colour, generator)
            if k < 4:
                save_image(folder / "checked" / f"animal{k:02}" / f"{i}.png", colour, generator)
    for name, shade in COLOURS.items():
        for i in range(2):
            save_image(folder / "examples" / name / f"{i}.png", shade, generator)
            save_image(folder / "new-images" / f"{name}-{i}.png", shade, generator)
    return folder


@pytest.fixture(scope="module")
def done(place):
    """The place after the page's commands."""
    commands = [line for block in blocks("bash") for line in block.strip().splitlines()]
    assert len(commands) == 5
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for line in commands:
            program, *argv = shlex.split(line)
            assert program == "towpath"
            assert main(argv) == 0, line
    return place


def test_the_commands_of_the_page_run_and_the_predictions_are_right(done, monkeypatch):
    monkeypatch.chdir(done)
    assert {p.suffix for p in Path("preview").iterdir()} == {".png"}
    with Path("predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["file"] for row in rows] == sorted(p.name for p in Path("new-images").iterdir())
    for row in rows:
        assert sum(float(row[name]) for name in COLOURS) == pytest.approx(1.0, abs=1e-5)
        assert row["predicted"] == row["file"].split("-")[0]
        assert float(row[row["predicted"]]) == max(float(row[name]) for name in COLOURS)
    (python,) = blocks("python")
    generator = torch.Generator().manual_seed(0)
    means = torch.tensor([COLOURS["red"], COLOURS["green"]]) / 255
    images = means[:, :, None, None] + 0.05 * torch.randn(2, 3, 32, 32, generator=generator)
    names = {"support_x": images, "support_y": torch.tensor([0, 1]), "query_x": images}
    exec(compile(python, str(PAGE), "exec"), names)
    assert names["probabilities"].shape == (2, 2)
    assert names["probabilities"].argmax(1).tolist() == [0, 1]


def test_a_run_on_the_users_folder_is_found_from_anywhere(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", str(done / "runs" / "animals"), "--tasks", "2"]) == 0
