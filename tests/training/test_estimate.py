"""What a run will cost, predicted."""

import pytest

from tests.training.runs import tiny
from towpath.cli import main
from towpath.training.estimate import estimate
from towpath.training.setup import prepare


def test_the_estimate_multiplies_what_it_measured():
    setup = prepare(tiny("tow"))
    cost = estimate(setup)
    steps, P = 40, sum(p.numel() for p in setup.start.params.values())
    assert cost.training_seconds == pytest.approx(steps * cost.seconds_per_step)
    assert cost.seconds > cost.training_seconds > 0
    ratio = cost.seconds_per_step / cost.uniform_seconds_per_step
    assert cost.overhead == pytest.approx(ratio)
    assert cost.plan_bytes == 3 * 2 * 2 * P * 4


def test_the_command_says_what_a_run_will_cost(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--budget", "small", "--episodes.query", "2", "--training.meta_batch_size", "2"]
    assert main(["bench", "demo", "--training.horizon", "2", *words]) == 0
    text = capsys.readouterr().out
    assert "s a step" in text
    assert "expected for 20 steps" in text
    assert list(tmp_path.iterdir()) == []
