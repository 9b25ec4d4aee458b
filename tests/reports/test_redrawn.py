"""Tasks of a run drawn again: the same images, and the files that they were read from."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from tests.training.runs import run
from tests.training.tables import assays, write_assays
from towpath.recipes.typed import RecipeError
from towpath.reports.redrawn import Redrawn
from towpath.runs.folder import RunFolder
from towpath.runs.records import StepRecord


@pytest.fixture(scope="module")
def drawn(own_run):
    return Redrawn.of(RunFolder.open(own_run))


@pytest.fixture(scope="module")
def tasks(own_run):
    records = [r for r in RunFolder.open(own_run).records() if isinstance(r, StepRecord)]
    return [info for record in records for info in record.tasks]


def test_the_files_of_a_task_hold_its_images(drawn, tasks, own_run):
    info = next(info for info in tasks if not info.get("trusted"))
    episode = drawn.episode(info)
    files = drawn.task_files(info)
    assert [part.name for part in files] == info["classes"]
    for images, names in (
        (episode.support_x, [file for part in files for file in part.support]),
        (episode.query_x, [file for part in files for file in part.query]),
    ):
        read = [np.asarray(Image.open(own_run.parent / "pets" / name)) for name in names]
        wanted = torch.from_numpy(np.stack(read)).permute(0, 3, 1, 2) / 255
        assert torch.allclose(images, wanted, atol=1 / 255)


def test_trusted_tasks_are_drawn_from_their_own_pool(drawn, tasks):
    info = next(info for info in tasks if info.get("trusted"))
    episode = drawn.episode(info)
    assert episode.info["classes"] == info["classes"]
    assert set(info["classes"]) == {"y", "z"}
    assert drawn.task_files(info) == []  # they are in another folder


def test_a_record_that_names_no_task_gives_none(drawn):
    assert drawn.episode({}) is None
    assert drawn.picture({"index": -1}) is None
    assert drawn.task_files({"index": "x"}) == []
    assert drawn.class_folder("nobody") == ""
    assert drawn.class_picture(["nobody"], "title") is None


def test_a_task_of_a_table_names_its_rows_and_has_no_picture(tmp_path):
    recipe = assays(write_assays(tmp_path / "assays.csv"))
    again = Redrawn.of(RunFolder.open(run(tmp_path / "run", recipe)))
    info = {"index": 3}
    (part,) = again.task_files(info)
    episode = again.episode(info)
    assert episode is not None
    assert part.query == tuple(episode.info["rows"])
    assert len(set(part.query)) == 14
    assert all(name.startswith("C") for name in part.query)
    assert again.picture(info) is None
    assert again.class_picture(["ENZ_0"], "title") is None


def test_pictures_are_png_files_with_a_row_for_each_class(drawn, tasks):
    info = next(info for info in tasks if not info.get("trusted"))
    with Image.open(io.BytesIO(drawn.picture(info))) as one:
        task_height = one.height
    with Image.open(io.BytesIO(drawn.class_picture(["class-b", "class-c", "class-d"], "x"))) as two:
        assert two.height > task_height


def test_data_that_changed_are_refused(own_run):
    file = own_run.parent / "pets" / "train" / "class-c" / "1.png"
    before = file.read_bytes()
    Image.new("RGB", (12, 12)).save(file)
    try:
        with pytest.raises(RecipeError, match="have changed"):
            Redrawn.of(RunFolder.open(own_run))
    finally:
        file.write_bytes(before)
