"""Interleaved timing: contenders take turns, and each is compared with the base of its round.

The machine is shared and noisy, so a time means nothing by itself: only ratios within a round are
reported, as their median with the interquartile range.
"""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from towpath.training.allocator import keep_freed_memory

RESULTS = Path("bench-results")


@dataclass(frozen=True)
class Ratio:
    """A contender against the base of its race."""

    name: str
    base: str
    ratio: float
    low: float
    high: float
    seconds: float
    rounds: int

    def __str__(self) -> str:
        return (
            f"{self.name:<46} {self.ratio:6.2f} x {self.base}   "
            f"(quartiles {self.low:.2f} to {self.high:.2f}, {self.rounds} rounds, "
            f"{1000 * self.seconds:.0f} ms)"
        )


def race(
    contenders: Mapping[str, Callable[[], object]],
    base: str,
    rounds: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Ratio]:
    """Time the contenders in turns; medians of their ratios to the base."""
    for run in list(contenders.values())[:2]:
        run()  # warm caches and allocator
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            began = clock()
            run()
            times[name].append(clock() - began)
    result = []
    for name in contenders:
        per_round = [a / b for a, b in zip(times[name], times[base], strict=True)]
        quartiles = statistics.quantiles(per_round, n=4) if rounds > 1 else per_round * 3
        middle = statistics.median(times[name])
        result.append(Ratio(name, base, quartiles[1], quartiles[0], quartiles[2], middle, rounds))
    return result


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "load": list(os.getloadavg()),
    }


def prepare_process() -> None:
    """The state in which the command line runs: one thread a task, freed memory kept."""
    torch.set_num_threads(1)
    keep_freed_memory()


class Stopwatch:
    """CPU seconds of a `with` block, all threads: work, whatever else the machine does."""

    seconds = 0.0

    def __enter__(self) -> "Stopwatch":
        self._began = time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = time.process_time() - self._began


def report(name: str, ratios: list[Ratio], extra: Mapping[str, object] | None = None) -> None:
    """Print the ratios and write them as JSON."""
    print(f"\n== {name}")
    for ratio in ratios:
        print(f"  {ratio}")
    write(name, {"ratios": [asdict(r) for r in ratios], **(extra or {})})


def write(name: str, content: Mapping[str, object]) -> None:
    """Keep results, with the machine's name, as JSON."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine(), **content}, indent=1))
