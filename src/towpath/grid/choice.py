"""The engine for the runs of a comparison, as the user requested it: checked, then made."""

from dataclasses import dataclass

from towpath.grid.engines import Engine, InProcess, Subprocesses
from towpath.grid.jobs import Watcher
from towpath.grid.on_ray import OnRay
from towpath.recipes.typed import RecipeError
from towpath.training.reporter import Reporter
from towpath.wording import nearest

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class EngineChoice:
    """The engine requested on the command line; its values are checked when it is made."""

    engine: str = "local"
    """`local` or `ray`"""
    jobs: int | None = None
    """number of processes on this machine at a time"""
    address: str | None = None
    cpus_per_run: float | None = None
    gpus_per_run: float | None = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise RecipeError(
                f"--engine is {self.engine!r}; expected {' or '.join(ENGINES)}."
                f"{nearest(self.engine, ENGINES)}"
            )
        if self.jobs is not None and self.jobs < 1:
            raise RecipeError(f"--jobs is {self.jobs}; expected a whole number of at least 1.")
        if self.engine == "ray" and self.jobs is not None:
            raise RecipeError(
                f"--engine ray found --jobs {self.jobs}; Ray runs as many at a time as its "
                "machines have resources for. Use --cpus-per-run, or --jobs without --engine ray."
            )
        ray_only = {
            "--address": self.address,
            "--cpus-per-run": self.cpus_per_run,
            "--gpus-per-run": self.gpus_per_run,
        }
        for name, value in ray_only.items():
            if value is not None and self.engine != "ray":
                raise RecipeError(
                    f"{name} is {value}; expected it with --engine ray only. Add --engine ray."
                )
            if isinstance(value, float) and not 0 <= value < float("inf"):
                raise RecipeError(f"{name} is {value}; expected a number of at least 0.")

    def made(self, reporter: Reporter, watcher: Watcher) -> Engine:
        """Make the engine.

        Args:
            reporter: receives the progress of runs in this process, one after another.
            watcher: receives the progress of several runs at once, and of runs that fail.
        """
        if self.engine == "ray":
            cpus = 1.0 if self.cpus_per_run is None else self.cpus_per_run
            return OnRay(watcher, self.address, cpus, self.gpus_per_run or 0.0)
        if self.jobs is not None and self.jobs > 1:
            return Subprocesses(self.jobs, watcher)
        return InProcess(reporter, watcher)
