"""The runs of a comparison on Ray: one task per run, on this machine or on an existing cluster.

Ray places the runs by the resources that each requests; a run's folder must be on a file system
that all machines see under the same path. Ray is an extra, imported only where it is requested.
"""

import contextlib
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from towpath.grid.engines import STOP_SECONDS
from towpath.grid.events import Event
from towpath.grid.jobs import ATTEMPTS, EventReporter, Job, Watcher, reason_of
from towpath.recipes.typed import RecipeError

POLL_SECONDS = 0.2


def require_ray() -> None:
    """Raise RecipeError where the extra `ray` is not installed."""
    if find_spec("ray") is None:
        raise RecipeError(
            "--engine ray found no package ray; expected the extra. Install it: pip install "
            "'towpath[ray]', or use --jobs N on this machine."
        )


@dataclass(frozen=True)
class OnRay:
    """Runs the jobs as Ray tasks, as many at a time as the cluster has resources for."""

    watcher: Watcher
    address: str | None = None
    """address of a cluster; None for RAY_ADDRESS, or a local cluster during the comparison"""
    cpus: float = 1.0
    gpus: float = 0.0

    def run(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Run all jobs; return the names of those that failed, with the reasons."""
        require_ray()
        import ray

        share = max(1, int(self.cpus))
        jobs = [replace(job, workers=min(job.recipe.threads, share)) for job in jobs]
        self._connect()
        try:
            return self._run(jobs)
        finally:
            ray.shutdown()  # a local cluster ends with it, another only loses its driver

    def _connect(self) -> None:
        import ray

        address = self.address or os.environ.get("RAY_ADDRESS")
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=None if address else False,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise RecipeError(
                f"--engine ray found no cluster at {address or 'this machine'} "
                f"({' '.join(str(error).split())[:200]}); expected one that runs. Start it with "
                "`ray start --head`, or leave --address and RAY_ADDRESS out for one of its own."
            ) from error
        self._refuse_what_never_fits()

    def _refuse_what_never_fits(self) -> None:
        """Refuse resources that no machine of the cluster has: Ray would wait for ever."""
        import ray

        listed: list[Any] = ray.nodes()  # type: ignore[no-untyped-call]
        nodes = [node["Resources"] for node in listed if node["Alive"]]
        if any(n.get("CPU", 0) >= self.cpus and n.get("GPU", 0) >= self.gpus for n in nodes):
            return
        most = {kind: max((n.get(kind, 0) for n in nodes), default=0) for kind in ("CPU", "GPU")}
        raise RecipeError(
            f"A run asks for {self.cpus:g} CPUs and {self.gpus:g} GPUs; found at most "
            f"{most['CPU']:g} and {most['GPU']:g} on one machine of the cluster. Lower "
            "--cpus-per-run or --gpus-per-run."
        )

    def _run(self, jobs: Sequence[Job]) -> dict[str, str]:
        import ray
        from ray.util.queue import Queue

        said: Any = Queue(actor_options={"num_cpus": 0})
        # ray's own retries are off: a run is tried again here, where the watcher learns of it
        task: Any = ray.remote(num_cpus=self.cpus, num_gpus=self.gpus, max_retries=0)(_run_job)
        attempts = {job.name: 1 for job in jobs}
        running: dict[Any, Job] = {task.remote(job.as_json(), said): job for job in jobs}
        failures: dict[str, str] = {}
        try:
            while running:
                done, _ = ray.wait(list(running), num_returns=1, timeout=POLL_SECONDS)
                self._pass_on(said)
                for reference in done:
                    job = running.pop(reference)
                    reason = _reason(reference)
                    if not reason:
                        continue
                    again = attempts[job.name] < ATTEMPTS
                    self.watcher.failed(job.name, reason, again)
                    if again:
                        attempts[job.name] += 1
                        running[task.remote(job.as_json(), said)] = job
                    else:
                        failures[job.name] = reason
            self._pass_on(said)
        except BaseException:
            _stop(list(running))
            raise
        return failures

    def _pass_on(self, said: Any) -> None:
        for name, event in said.get_nowait_batch(said.qsize()):
            self.watcher.heard(name, event)


def _run_job(text: str, said: Any) -> None:
    """Run one job as a Ray task and put its events into the queue."""
    job = Job.from_json(text)

    def tell(event: Event) -> None:
        """Put an event of this job into the queue that the driver reads."""
        said.put((job.name, event))

    job.run(EventReporter(tell))


def _reason(reference: Any) -> str:
    """Return why a task failed; empty if it did not."""
    import ray

    try:
        ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return reason_of(error.cause if isinstance(error.cause, Exception) else error)
    except ray.exceptions.RayError as error:  # its process or its machine is gone
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return ""


def _stop(references: list[Any]) -> None:
    """Interrupt every run as Ctrl-C does, and wait until their checkpoints are written."""
    import ray

    for reference in references:
        with contextlib.suppress(ray.exceptions.RayError):
            ray.cancel(reference, force=False)
    with contextlib.suppress(ray.exceptions.RayError):
        ray.wait(references, num_returns=len(references), timeout=STOP_SECONDS)
