"""towpath in a Lightning training: it adds 27 lines, of which 22 are a callback to copy.

The module is an ordinary one; with the callback its own backward passes and steps are left out
(`automatic_optimization = False`), and every five batches are planned and trained on together.
A batch is a list of tasks, each a pair of inputs and targets. The trainer does not see the steps of
plans, so count training in epochs (`max_epochs`), not in steps. Beside the callback, lines that
towpath adds end with `# towpath`. Needs `pip install lightning`.
"""

from collections.abc import Mapping, Sequence  # towpath
from typing import Any

import lightning as L
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call  # towpath
from torch.utils.data import DataLoader

import towpath as tp  # towpath

TASKS, WRONG, BATCHES = 8, 3, 42
Task = tuple[Tensor, Tensor]


class TowpathCallback(L.Callback):
    """Plans the weights of the tasks of `horizon` batches and trains on them."""

    def __init__(self, weighter: Any, trusted: Sequence[Task], loss: Any, horizon: int = 5) -> None:
        self.weighter, self.trusted, self.loss, self.horizon = weighter, trusted, loss, horizon
        self.plans: list[tp.Plan] = []

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        pl_module.automatic_optimization = False

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        def answer(params: Mapping[str, Tensor], task: Task) -> Task:
            return functional_call(pl_module, dict(params), (task[0],)), task[1]

        objective = tp.Objective.from_function(answer, loss=self.loss)
        optimizer = trainer.optimizers[0]
        self.windowed = tp.Windowed(
            self.weighter, objective, pl_module, optimizer, horizon=self.horizon
        )

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, idx: int
    ) -> None:
        plan = self.windowed.step(batch, targets=self.trusted)
        self.plans += [plan] if plan is not None else []

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.windowed.finish()  # the batches that are left


class Regressor(L.LightningModule):
    """A module as anybody would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the predictions."""
        return self.net(x)  # type: ignore[no-any-return]

    def training_step(self, batch: list[Task], batch_idx: int) -> Tensor:
        """Return the mean loss of the batch's tasks."""
        return torch.stack([F.mse_loss(self(x), y) for x, y in batch]).mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimiser."""
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def measure(generator: torch.Generator, *, wrong: bool = False) -> Task:
    """Return the inputs and the signal at some points, of the wrong sign if `wrong`."""
    x = 4 * torch.rand(16, 1, generator=generator) - 2
    return x, -torch.sin(2 * x) if wrong else torch.sin(2 * x)


def main() -> TowpathCallback:
    """Train for one epoch; return the callback with its plans."""
    L.seed_everything(0, verbose=False)
    generator = torch.Generator().manual_seed(0)
    batches = [[measure(generator, wrong=i < WRONG) for i in range(TASKS)] for _ in range(BATCHES)]
    loader: Any = DataLoader(batches, batch_size=None)  # type: ignore[arg-type]  # a list will do
    trusted = [measure(generator) for _ in range(3)]
    callback = TowpathCallback(tp.TOW.towards_targets(), trusted, "mse")  # towpath
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        callbacks=[callback],  # towpath
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Regressor(), loader)
    return callback


if __name__ == "__main__":
    mean = main().plans[-1].weights.mean(0)
    print(f"mean weight: wrong {mean[:WRONG].mean():.3f}, clean {mean[WRONG:].mean():.3f}")
