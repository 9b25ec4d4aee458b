"""A trained learner outside the training loop."""

import torch

import towpath as tp
from tests.training.runs import run, tiny


def test_a_trained_learner_prints_one_short_line_and_predicts(tmp_path):
    path = run(tmp_path / "run", tiny("tow", training={"steps": 4, "horizon": 2}))
    trained = tp.load(path)
    text = repr(trained)
    assert "\n" not in text
    assert len(text) < 120
    count = sum(p.numel() for p in trained.params.values())
    assert text == (
        f"TrainedLearner(protonet on glyphs, tow, seed 0, step {trained.step}, {count:,} "
        "parameters)"
    )
    chances = trained.adapt(torch.rand(4, 1, 28, 28), torch.tensor([0, 0, 1, 1])).predict(
        torch.rand(3, 1, 28, 28)
    )
    assert chances.shape == (3, 2)
    assert torch.allclose(chances.sum(1), torch.ones(3))
