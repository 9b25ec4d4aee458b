"""Runs whose training tasks are mixed from several sets."""

import pytest

from towpath.data.trusted import FixedTrusted
from towpath.reports import audit
from towpath.runs.folder import RunFolder
from towpath.runs.read import read_run
from towpath.training import RecipeError, resume, train
from towpath.training.setup import prepare

from .runs import TINY, Killed, Silent, Stopping, outcome, records, run, tiny


@pytest.fixture
def folder(tmp_path):
    """A folder of colour images of another size, which a mix has to adapt."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for k in range(12):
        place = tmp_path / "photographs" / f"class-{k}"
        place.mkdir(parents=True)
        for i in range(6):
            pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / f"{i}.png")
    return str(tmp_path / "photographs")


def mixed(folder, weighter="uniform", share=0.5, **sections):
    data = {**TINY["data"], "mix": {folder: share}}
    episodes = {**TINY["episodes"], "label_noise": 0.0}
    return tiny(weighter, data=data, episodes=episodes, **sections)


def test_a_mixed_run_records_the_set_of_every_task_and_can_be_resumed(tmp_path, folder):
    recipe = mixed(folder)
    whole = run(tmp_path / "whole", recipe)
    tasks = [t for line in records(whole) if "losses" in line for t in line["tasks"]]
    own = [t for t in tasks if not t.get("trusted")]
    assert {(t["set"], t["off_target"]) for t in own} == {
        ("glyphs", False),
        ("photographs", True),
    }
    assert all(t["set"] == "glyphs" for t in tasks if t.get("trusted"))
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, recipe, Stopping(17, Killed))
    resume(out, Silent())
    assert outcome(out) == outcome(whole)


def test_the_oracle_drops_off_target_tasks_and_report_and_audit_show_sets(tmp_path, folder):
    path = run(tmp_path / "oracle", mixed(folder, "oracle"))
    for line in records(path):
        for weight, task in zip(line.get("weights", ()), line.get("tasks", ()), strict=True):
            assert (weight == 0) == bool(task.get("off_target"))
    found = audit(RunFolder.open(path).records(), 40)
    assert found is not None
    assert found.area_under_curve == 1.0
    assert {task.group for task in found.tasks} == {"glyphs", "photographs"}
    shown = read_run(path)
    assert set(shown.groups) == {"glyphs", "photographs"}
    assert shown.wrong
    assert {value for _, value in shown.wrong} == {0.0}


def test_validation_test_and_trusted_tasks_are_of_the_training_set(folder):
    setup = prepare(mixed(folder, share=1.0))
    assert isinstance(setup.trusted, FixedTrusted)
    others = [*setup.validation_tasks(), *setup.test_tasks("glyphs", 4), *setup.trusted]
    assert {task.info["set"] for task in others} == {"glyphs"}
    window, _ = setup.window(0, 40)
    assert {task.info["set"] for batch in window for task in batch[:2]} == {"photographs"}
    assert window[0][0].support_x.shape == window[0][2].support_x.shape
    assert "data.mix photographs" in setup.contents


def test_noise_by_name_in_a_recipe_takes_its_set_from_the_mix(folder):
    data = {**TINY["data"], "mix": folder}
    episodes = {**TINY["episodes"], "label_noise": 0.5, "noise_kind": "off-target"}
    by_name = prepare(tiny(data=data, episodes=episodes))
    by_share = prepare(mixed(folder))
    for one, other in zip(by_name.window(0, 4)[0], by_share.window(0, 4)[0], strict=True):
        assert [t.info for t in one] == [t.info for t in other]
    with pytest.raises(RecipeError, match=r"no data\.mix"):
        tiny(episodes=episodes)


@pytest.mark.parametrize("kind", ["images", "classes"])
def test_noise_in_the_pool_is_the_same_after_a_stop_and_held_out_tasks_are_clean(tmp_path, kind):
    recipe = tiny(episodes={**TINY["episodes"], "label_noise": 0.5, "noise_kind": kind})
    whole = run(tmp_path / "whole", recipe)
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, recipe, Stopping(17, Killed))
    resume(out, Silent())
    assert outcome(out) == outcome(whole)
    tasks = [t for line in records(whole) if "losses" in line for t in line["tasks"]]
    assert any(t["wrong"] for t in tasks if not t.get("trusted"))
    assert not any(t["wrong"] for t in tasks if t.get("trusted"))
    setup, clean = prepare(recipe), prepare(tiny(episodes={**TINY["episodes"], "label_noise": 0.0}))
    for one, other in zip(setup.validation_tasks(), clean.validation_tasks(), strict=True):
        assert one.query_x.equal(other.query_x)
        assert not one.info["wrong"]
    for one, other in zip(
        setup.test_tasks("glyphs", 4), clean.test_tasks("glyphs", 4), strict=True
    ):
        assert one.query_x.equal(other.query_x)
