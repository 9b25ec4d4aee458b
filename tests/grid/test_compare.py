"""A comparison: one start, one stream of tasks, paired differences, nothing run twice."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from tests.training.runs import TINY, Killed, Silent, Stopping, outcome, records, tiny
from towpath.cli.main import main
from towpath.data.trusted import FixedTrusted
from towpath.grid.compare import begin_comparison, run_comparison
from towpath.recipes.component import Component
from towpath.recipes.recipe import Recipe
from towpath.recipes.strict_yaml import load_yaml
from towpath.runs.comparison import read_comparison
from towpath.runs.plain import plain_json
from towpath.training import train
from towpath.training.setup import prepare

WEIGHTERS = ["uniform", "exploration", "exploitation", "tow", "tow-targets"]
SHORT = {"training": {"steps": 6, "horizon": 2, "meta_batch_size": 3}, "test": {"tasks": 12}}


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """Five weighters, two seeds."""
    path = tmp_path_factory.mktemp("comparison") / "both"
    begin_comparison(path, tiny(**SHORT), WEIGHTERS, [0, 1])
    return path, run_comparison(path, Silent())


def test_every_weighter_starts_from_the_same_parameters():
    starts = [prepare(tiny(weighter, **SHORT)).start.params for weighter in WEIGHTERS]
    for params in starts[1:]:
        assert params.keys() == starts[0].keys()
        assert all(params[name].equal(starts[0][name]) for name in params)


def test_every_weighter_sees_the_same_tasks_and_the_same_first_losses(comparison):
    path, _ = comparison
    for seed in (0, 1):
        runs = {
            w: [r for r in records(path / f"{w}-seed{seed}") if "losses" in r] for w in WEIGHTERS
        }
        first = runs["uniform"]
        for weighter, lines in runs.items():
            assert [r["tasks"][:3] for r in lines] == [r["tasks"][:3] for r in first]
            # the parameters of the first mini-batch are the initial ones: equal to the bit
            assert lines[0]["losses"][:3] == first[0]["losses"][:3], weighter


def test_seeds_differ(comparison):
    path, _ = comparison
    zero, one = (records(path / f"uniform-seed{seed}")[0] for seed in (0, 1))
    assert zero["losses"] != one["losses"]


def test_all_train_on_the_trusted_tasks_and_targets_plan_towards_others(comparison):
    path, _ = comparison
    targets = [r for r in records(path / "tow-targets-seed0") if "losses" in r]
    assert targets[0]["plan"]["agreement"] is not None
    trusted = prepare(tiny("tow-targets", **SHORT)).trusted
    assert isinstance(trusted, FixedTrusted)
    known = [task.info["classes"] for task in trusted]
    for weighter in WEIGHTERS:
        lines = [r for r in records(path / f"{weighter}-seed0") if "losses" in r]
        assert {len(r["tasks"]) for r in lines} == {5}  # 3 of the stream, 2 trusted
        extra = [task for r in lines for task in r["tasks"][3:]]
        assert all(task["classes"] in known and not task["mislabelled"] for task in extra)


def test_the_trusted_tasks_of_a_mini_batch_are_the_same_for_all_and_no_targets_of_it():
    four = {**SHORT, "trusted": {"count": 4, "per_batch": 2}}
    fair, targets = (prepare(tiny(weighter, **four)) for weighter in ("tow", "tow-targets"))
    for position in range(3):
        window, nothing = fair.window(position, 2)
        own, chosen = targets.window(position, 2)
        assert nothing is None
        for batch, plain, goals in zip(window, own, chosen, strict=True):
            assert [t.info for t in batch] == [t.info for t in plain]
            trained = {t.info["index"] for t in batch[-2:]}
            assert len(goals) == 2
            assert not trained & {t.info["index"] for t in goals}


def test_differences_are_those_of_the_evaluations(comparison):
    path, result = comparison
    assert read_comparison(path) == result
    assert plain_json(result.as_json()) == json.loads((path / "comparison.json").read_text())
    assert result.baseline == "uniform"
    values = {
        (w, seed): np.array(
            json.loads((path / f"{w}-seed{seed}" / "evaluations.json").read_text())["glyphs"][
                "accuracies"
            ]
        )
        for w in WEIGHTERS
        for seed in (0, 1)
    }
    for weighter in WEIGHTERS[1:]:
        said = result.differences[weighter]["glyphs"]
        rows = [values[weighter, seed] - values["uniform", seed] for seed in (0, 1)]
        check(said.pooled, (rows[0] + rows[1]) / 2)
        for seed in (0, 1):
            check(said.seeds[seed], rows[seed])


def check(said, difference):
    n = len(difference)
    mean = sum(difference) / n
    deviation = math.sqrt(sum((difference - mean) ** 2) / (n - 1))
    assert said.mean == pytest.approx(mean, abs=1e-12)
    width = stats.t.ppf(0.975, n - 1) * deviation / math.sqrt(n)
    assert said.interval == pytest.approx(width, abs=1e-12)
    assert said.excludes_zero == (abs(mean) > width)
    if deviation:
        p = 2 * stats.t.sf(abs(mean) / (deviation / math.sqrt(n)), n - 1)
        assert said.p_value == pytest.approx(p, abs=1e-9)


def test_work_is_reported(comparison):
    _, result = comparison
    for run in result.runs:
        assert run.summary.steps == 6
        assert run.summary.tasks_trained == 6 * 5
        assert run.summary.evaluations >= 6
        assert run.overhead > 0
    by_label = {run.label: run.summary.evaluations for run in result.runs}
    assert by_label["uniform"] == 6
    assert by_label["tow"] > 6


def test_a_stopped_comparison_skips_what_is_finished_and_ends_equal(tmp_path):
    weighters = ["uniform", "random", "tow:beta=1.0"]
    begin_comparison(tmp_path / "whole", tiny(**SHORT), weighters, [0])
    run_comparison(tmp_path / "whole", Silent())
    path = tmp_path / "stopped"
    begin_comparison(path, tiny(**SHORT), weighters, [0])
    with pytest.raises(Killed):
        run_comparison(path, _SecondRunDies(4, Killed))
    first = path / "uniform-seed0"
    assert (first / "summary.json").exists()
    assert not (path / "random-seed0" / "summary.json").exists()
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in first.rglob("*") if p.is_file()}
    run_comparison(path, Silent())
    assert before == {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in before}
    for name in ("uniform-seed0", "random-seed0", "tow_beta=1.0-seed0"):
        assert outcome(path / name) == outcome(tmp_path / "whole" / name)


class _SecondRunDies(Stopping):
    runs = 0

    def began(self, setup, step):
        self.runs += 1

    def stepped(self, step, record):
        if self.runs == 2:
            super().stepped(step, record)


@pytest.fixture
def counted(monkeypatch):
    """What was parsed as a recipe, and what YAML was read, from now on."""
    counts: dict[str, list[Any]] = {"recipes": [], "texts": []}
    parse = Recipe.of

    def parsed(mapping):
        counts["recipes"].append(mapping)
        return parse(mapping)

    def loaded(text):
        counts["texts"].append(text)
        return load_yaml(text)

    monkeypatch.setattr(Recipe, "of", parsed)
    for module in ("recipes.reading", "runs.folder", "runs.comparison_spec"):
        monkeypatch.setattr(f"towpath.{module}.load_yaml", loaded)
    return counts


def test_a_comparison_parses_its_recipe_once_and_each_runs_once(tmp_path, counted):
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump({**TINY, **SHORT}))
    words = ["--weighters", "uniform,tow:beta=1.0", "--seeds", "0,1"]
    assert main(["compare", str(file), *words, "--out", str(tmp_path / "both")]) == 0
    own, *others = counted["recipes"]
    assert (own["name"], "weighter" in own) == ("tiny", False)  # as the user wrote it
    runs = [("tow", 0), ("tow", 1), ("uniform", 0), ("uniform", 1)]
    assert sorted((r["weighter"]["name"], r["seed"]) for r in others) == runs


def test_the_runs_of_a_comparison_take_their_recipes_as_values(tmp_path, counted):
    recipe = tiny(**SHORT)
    counted["recipes"].clear()
    spec = begin_comparison(tmp_path / "both", recipe, ["uniform", "random"], [0])
    run_comparison(spec, Silent())
    assert counted["recipes"] == []
    assert len(counted["texts"]) == 2  # each run's own file, to see that it is the run's


def test_a_run_of_a_comparison_is_the_run_that_train_would_have_made(tmp_path):
    recipe = replace(tiny(**SHORT), weighter=Component("fine-tune"))
    begin_comparison(tmp_path / "both", recipe, ["fine-tune"], [0])
    run_comparison(tmp_path / "both", Silent())
    train(tmp_path / "alone", recipe, Silent())
    one, other = tmp_path / "both" / "fine-tune-seed0", tmp_path / "alone"
    assert outcome(one) == outcome(other)
    ours, theirs = ((path / "config.yaml").read_text() for path in (one, other))
    assert ours == theirs
