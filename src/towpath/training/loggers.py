"""TensorBoard, MLflow and Weights & Biases, each an extra: adapters of the protocol `Logger`.

TensorBoard writes into the run folder. MLflow does so too, unless `MLFLOW_TRACKING_URI` names a
server; W&B sends to its server unless `WANDB_MODE=offline`. A run that is resumed goes on in the
same curves.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from towpath.recipes.typed import RecipeError, chosen
from towpath.runs.folder import BOARD, MLFLOW
from towpath.training.logging_reporter import LoggedRun, Logger

TAG = "towpath.folder"
"""the tag by which a run in MLflow is found again when it is resumed"""
MOST_PARAMETERS, LONGEST_PARAMETER = 100, 500
"""what MLflow takes at a time, and of a single one in all of its releases"""


def _folder_id(run: LoggedRun) -> str:
    """Return a short name for the run's folder, without telling its path to a server."""
    return hashlib.sha256(str(run.folder.resolve()).encode()).hexdigest()[:16]


class TensorBoardLogger:
    """Writes `RUN/tensorboard`, for `tensorboard --logdir runs`."""

    def __init__(self) -> None:
        self._writer: Any = None

    def begin(self, run: LoggedRun) -> None:
        """Open the writer; what was written after the checkpoint that the run starts from goes."""
        from torch.utils.tensorboard import SummaryWriter  # an extra: only if it is requested

        self._writer = SummaryWriter(str(run.folder / BOARD), purge_step=run.step + 1)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Write the scalars."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self, finished: bool) -> None:
        """Flush the scalars to disk and close the writer."""
        del finished  # event files do not tell
        if self._writer is not None:
            self._writer.close()


class MLflowLogger:
    """Logs to an experiment of the recipe's name, with the recipe's values as parameters."""

    def __init__(self) -> None:
        self._client: Any = None
        self._run = ""

    def begin(self, run: LoggedRun) -> None:
        """Begin a run, or continue the one that was logged from this folder."""
        from mlflow import MlflowClient
        from mlflow.entities import Param

        where = os.environ.get("MLFLOW_TRACKING_URI")
        if not where:
            # without a server the run folder keeps it; recent releases want to be told that
            # files, and not a database, are meant
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
            where = (run.folder / MLFLOW).resolve().as_uri()
        self._client = MlflowClient(tracking_uri=where)
        experiment = self._experiment(run.recipe.name)
        found = self._client.search_runs([experiment], f"tags.`{TAG}` = '{_folder_id(run)}'")
        if found and run.step:
            self._run = found[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return
        begun = self._client.create_run(
            experiment, run_name=run.folder.name, tags={TAG: _folder_id(run)}
        )
        self._run = begun.info.run_id
        params = [Param(key, text[:LONGEST_PARAMETER]) for key, text in run.settings.items()]
        for first in range(0, len(params), MOST_PARAMETERS):
            self._client.log_batch(self._run, params=params[first : first + MOST_PARAMETERS])

    def _experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        known: str = self._client.create_experiment(name) if found is None else found.experiment_id
        return known

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Log the scalars as metrics."""
        for name, value in values.items():
            self._client.log_metric(self._run, name, value, step=step)

    def close(self, finished: bool) -> None:
        """End the run, as finished or as stopped."""
        if self._run:
            self._client.set_terminated(self._run, "FINISHED" if finished else "KILLED")


class WandbLogger:
    """Logs to a project of the recipe's name; its files are in `RUN/wandb`."""

    def __init__(self) -> None:
        self._run: Any = None

    def begin(self, run: LoggedRun) -> None:
        """Begin a run; the folder decides its id, so that a resumed run is the same one.

        W&B keeps what it has of a step: steps that are trained again after a kill are not replaced.
        """
        import wandb

        self._run = wandb.init(
            project=run.recipe.name,
            name=run.folder.name,
            id=_folder_id(run),
            resume="allow",
            dir=str(run.folder),
            config=dict(run.recipe.as_mapping()),
            settings=wandb.Settings(console="off"),  # stdout stays ours: it may be JSON
        )

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Log the scalars."""
        self._run.log(dict(values), step=step)

    def close(self, finished: bool) -> None:
        """End the run, as finished or as stopped."""
        if self._run is not None:
            self._run.finish(exit_code=0 if finished else 1)


@dataclass(frozen=True)
class LoggerEntry:
    """A registered logger, and the package that it needs, which is an extra of the same name."""

    make: Callable[[], Logger]
    package: str


LOGGERS: dict[str, LoggerEntry] = {
    "tensorboard": LoggerEntry(TensorBoardLogger, "tensorboard"),
    "mlflow": LoggerEntry(MLflowLogger, "mlflow"),
    "wandb": LoggerEntry(WandbLogger, "wandb"),
}


def make_loggers(names: Sequence[str]) -> list[Logger]:
    """Return the loggers of these names, each once.

    Raises:
        RecipeError: if there is no such logger, or its package is not installed.
    """
    made: list[Logger] = []
    for name in dict.fromkeys(names):
        entry = LOGGERS[chosen(LOGGERS, name, "--logger")]
        if find_spec(entry.package) is None:
            raise RecipeError(
                f"--logger {name} found no package {entry.package}; expected the extra. Install "
                f"it: pip install 'towpath[{name}]'"
            )
        made.append(entry.make())
    return made
