"""What a run will cost, predicted."""

import pytest
import torch

from tests.training.runs import tiny
from towpath.cli.main import main
from towpath.recipes.memory import free_memory
from towpath.recipes.typed import RecipeError
from towpath.training.estimate import estimate
from towpath.training.evaluation import evaluate
from towpath.training.setup import prepare
from towpath.weighters import TOW, Kinds
from towpath.weighters.tow.work import TRIALS
from towpath.weighters.work import window_work


def test_the_estimate_multiplies_what_it_measured():
    setup = prepare(tiny("tow"))
    cost = estimate(setup)
    steps, P = 40, sum(p.numel() for p in setup.start.params.values())
    assert cost.training_seconds == pytest.approx(steps * cost.seconds_per_step)
    assert cost.seconds > cost.training_seconds > 0
    ratio = cost.seconds_per_step / cost.uniform_seconds_per_step
    assert cost.overhead == pytest.approx(ratio)
    assert cost.plan_bytes == 3 * 2 * (2 + 2) * P * 4  # trusted tasks are trained on, too


def test_work_of_a_window_is_what_plans_count_where_first_trials_are_accepted():
    setup = prepare(tiny("uniform", training={"steps": 6, "horizon": 3, "meta_batch_size": 3}))
    window = setup.windows.window(0)
    T, M = 3, 3
    targets = [batch[:1] for batch in window]
    for tow, goals in (
        (TOW(iterations=2, beta=1e6, acceptance="strict"), None),
        (TOW(iterations=1, beta=1e6, curvature="none"), targets),
        (TOW(iterations=0), None),
        (TOW.fast(beta=1e6), None),
        (TOW(iterations=1, beta=1e6, nominal="trim"), None),
        (TOW(iterations=1, beta=1e6, curvature="none", nominal="opus"), targets),
        (TOW(iterations=0, nominal=TOW(iterations=0)), None),
    ):
        plan = tow.plan(
            setup.objective, setup.start.params, setup.start.optimizer, window, targets=goals
        )
        trials = sum(line.trials for line in plan.history)
        share = 1 / M if goals else 0.0
        work = window_work(tow, T, share)
        assert plan.part_evaluations == work.parts
        if tow.on_a_part:  # the only trial is the training itself
            assert plan.evaluations == work.evaluations
            continue
        accepted = trials / max(1, tow.iterations)
        # the expectation allows for some rejected trials: scale it to those that there were
        extra = (TRIALS - accepted) * tow.iterations * (T - 1 + T * share)
        assert plan.evaluations == pytest.approx(work.evaluations - extra)
        assert plan.sketches <= work.sketches + 1e-9


def test_work_of_a_window_of_kinds_is_what_it_counts():
    setup = prepare(tiny("uniform", training={"steps": 6, "horizon": 3, "meta_batch_size": 3}))
    window = setup.windows.window(0)
    targets = [batch[:1] for batch in window]
    start = (setup.objective, setup.start.params, setup.start.optimizer)
    plan = Kinds().plan(*start, window, targets=targets)
    assert plan.evaluations == window_work(Kinds(), 3, 1 / 3).evaluations == 4


def test_a_fast_plan_looks_at_as_many_mini_batches_as_expected():
    setup = prepare(tiny("uniform", training={"steps": 10, "horizon": 5, "meta_batch_size": 3}))
    fast, window = TOW.fast(), setup.windows.window(0)
    params, optimizer = setup.start.params, setup.start.optimizer
    first = fast.plan(setup.objective, params, optimizer, window)
    # before its first step Adam has no momentum
    assert first.part_evaluations == window_work(fast, 5, inertia=0.0).parts == 4
    after = first.optimizer_state
    second = fast.plan(setup.objective, first.params, after, setup.windows.window(1))
    assert second.part_evaluations == window_work(fast, 5, inertia=optimizer.inertia).parts == 3


def test_a_plan_that_cannot_fit_is_refused_before_it_begins(monkeypatch):
    setup = prepare(tiny("tow"))
    monkeypatch.setattr("towpath.training.estimate.free_memory", lambda device: 1000)
    with pytest.raises(RecipeError, match=r"needs about .* GiB; found 0\.0 GiB free\. Lower"):
        estimate(setup)


def test_tests_are_measured_in_evaluation_mode_where_learners_do_more(monkeypatch):
    """Bayesian TAML's tests were expected to take a twentieth of what they took."""
    setup = prepare(tiny("uniform", "bayesian-taml"))
    modes = []

    def watched(*arguments):
        modes.append(setup.learner.module.training)
        return evaluate(*arguments)

    monkeypatch.setattr("towpath.training.estimate.evaluate", watched)
    assert estimate(setup).evaluation_seconds > 0
    assert set(modes) == {False}
    assert setup.learner.module.training


@pytest.mark.parametrize(
    ("learner", "threads", "idle"), [("mt-net", 2, 1), ("mt-net", 1, 0), ("maml", 2, 0)]
)
def test_threads_that_a_learner_that_draws_cannot_use_are_counted(learner, threads, idle):
    cost = estimate(prepare(tiny("uniform", learner, threads=threads)))
    assert cost.idle_threads == idle
    assert (f"threads: {threads} saves no time" in cost.note) == bool(idle)


def test_free_memory_is_a_sensible_number():
    free = free_memory(torch.device("cpu"))
    assert free is None or 2**20 < free < 2**50


def test_every_run_says_what_it_will_take(tmp_path, capsys):
    words = ["--budget", "small", "--episodes.query", "2", "--training.meta_batch_size", "2"]
    out = str(tmp_path / "run")
    steps = ["--training.steps", "4", "--test.tasks", "4", "--validation.every", "0"]
    assert main(["train", "demo", "--out", out, *words, *steps]) == 0
    text = capsys.readouterr().out
    assert "expected: " in text
    assert "times uniform" in text


def test_the_command_says_what_a_run_will_cost(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--budget", "small", "--episodes.query", "2", "--training.meta_batch_size", "2"]
    for recipe in (["demo"], ["--recipe", "demo"], []):
        assert main(["bench", *recipe, "--training.horizon", "2", *words]) == 0
        text = capsys.readouterr().out
        assert "s a step" in text
        assert "expected for 20 steps" in text
        assert "peak memory" in text
    assert list(tmp_path.iterdir()) == []
