"""A rule of a user's that wants targets, named in recipes by its import path."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

import towpath as tp


@dataclass(frozen=True)
class Ahead(tp.MiniBatchWeighter):
    """The softmax of the influence after a uniform step, sharpened by where that leads."""

    sharpness: float = 1.0

    wants_targets = True
    target_evaluations = 3.0

    def initial_state(self) -> dict[str, Any]:
        return {"losses": []}

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        targets = batch.targets
        uniform = batch.losses.new_full((len(batch),), 1 / len(batch))
        s = targets.influence(uniform)
        gain = targets.ahead(uniform, sgd=True).loss / targets.loss
        w = (self.sharpness * gain * s / s.abs().max().clamp_min(1e-12)).softmax(0)
        return w, {"losses": [*state["losses"], float(targets.loss)][-3:]}
