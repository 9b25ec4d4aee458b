"""Probe windows are planned, recorded and discarded: training does not notice them."""

from dataclasses import replace

import pytest

import towpath as tp
from towpath.training import RecipeError
from towpath.training.probes import probe_weighter
from towpath.training.setup import prepare

from .runs import outcome, records, run, tensors, tiny

PROBES = [
    {"name": "train", "split": "train", "every": 4, "horizon": 2, "meta_batch_size": 2},
    {"name": "one", "split": "test", "groups": 1, "every": 6, "horizon": 3, "meta_batch_size": 2},
]


@pytest.mark.parametrize(
    ("weighter", "sections"),
    [
        ("uniform", {}),
        ("random", {}),
        ("tow-targets", {}),
        ("tow", {"backbone": {"name": "resnet10", "filters": 2, "dropout": 0.3}}),
    ],
    ids=["uniform", "random", "tow-targets", "dropout"],
)
def test_a_run_with_probes_equals_the_run_without(tmp_path, weighter, sections):
    training = {"steps": 6, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 4}
    without = run(tmp_path / "without", tiny(weighter, training=training, **sections))
    recipe = tiny(weighter, training=training, probes=PROBES, **sections)
    probed = run(tmp_path / "with", recipe)
    last = "checkpoints/last.safetensors"
    assert tensors(without / last) == tensors(probed / last)
    lines = records(probed)
    assert [line for line in lines if "probe" not in line] == records(without)
    summaries = [outcome(folder)["summary"] for folder in (without, probed)]
    for summary in summaries:
        del summary["identity"]["run"]  # the digest of the recipe, which names the probes
    assert summaries[0] == summaries[1]
    steps = {
        name: [r["step"] for r in lines if r.get("probe") == name] for name in ("train", "one")
    }
    assert steps == {"train": [0, 4], "one": [0, 6]}


def test_a_probe_keeps_its_tasks_and_its_groups(tmp_path):
    training = {"steps": 8, "horizon": 2, "meta_batch_size": 2}
    probed = run(tmp_path / "run", tiny("tow", training=training, probes=PROBES))
    lines = [line for line in records(probed) if line.get("probe") == "one"]
    assert all(line["tasks"] == lines[0]["tasks"] for line in lines)
    tasks = [task for batch in lines[0]["tasks"] for task in batch]
    assert {task["group"] for task in tasks} == {"Hebrew"}
    assert {task["split"] for task in tasks} == {"test"}
    assert [len(row) for row in lines[0]["weights"]] == [2, 2, 2]
    assert not any(task["mislabelled"] for task in tasks)


GLYPHS = {"name": "glyphs", "drawings": 5}  # its test split has four scripts
APART = {"name": "apart", "split": "test", "distinct_groups": True, "horizon": 6}


def groups_of(recipe):
    (probe,) = prepare(recipe).probes
    return [[task.info["group"] for task in batch] for batch in probe.window]


def test_a_probes_mini_batch_is_of_different_groups_where_asked():
    """As the paper's appendix C describes it; drawn freely, some mini-batch has a group twice."""
    recipe = tiny("tow", data=GLYPHS, probes=[{**APART, "meta_batch_size": 4}])
    batches = groups_of(recipe)
    assert [len(set(batch)) for batch in batches] == [4] * 6
    assert groups_of(recipe) == batches
    freely = replace(recipe, probes=[replace(recipe.probes[0], distinct_groups=False)])
    assert min(len(set(batch)) for batch in groups_of(freely)) < 4


def test_a_probe_with_fewer_groups_than_tasks_is_refused():
    recipe = tiny("tow", data=GLYPHS, probes=[{**APART, "meta_batch_size": 5}])
    with pytest.raises(RecipeError, match=r"5 different groups .* found 4 groups .* Lower"):
        prepare(recipe)
    across = {"ways": 3, "shots": 1, "query": 2, "within_group": False}
    recipe = tiny("tow", data=GLYPHS, episodes=across, probes=[{**APART, "meta_batch_size": 2}])
    with pytest.raises(RecipeError, match=r"episodes\.within_group: true"):
        prepare(recipe)


def test_probes_are_planned_by_a_tow_without_targets_itself_and_else_by_the_default():
    own = tp.TOW(beta=3.0)
    assert probe_weighter(own) is own
    for other in (tp.TOW(wants_targets=True), tp.Uniform()):
        assert probe_weighter(other) == tp.TOW()
