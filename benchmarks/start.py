"""What starting costs: processor time of new processes, over that of `import torch`.

    towpath --version, towpath --help   at most a fifth
    import towpath and use of it        at most 1.3

A start is over in a moment and the clock mostly tells what else the machine does, so processor time
is compared, user and system together, of processes that take turns.
"""

import os
import subprocess
import sys
from functools import partial

from benchmarks.measure import race, report

CONTENDERS = {
    "import torch": ("-c", "import torch"),
    "towpath --version": ("-m", "towpath", "--version"),
    "towpath --help": ("-m", "towpath", "--help"),
    "import towpath; Objective, TOW, learners": (
        "-c",
        "import towpath as tp; tp.Objective, tp.TOW(), tp.learners.MAML",
    ),
}
TARGETS = {
    "towpath --version": 0.2,
    "towpath --help": 0.2,
    "import towpath; Objective, TOW, learners": 1.3,
}


def start(words: tuple[str, ...]) -> None:
    """Run a new process to its end."""
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def children_seconds() -> float:
    """Processor time of all processes that we started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    """One race."""
    for words in CONTENDERS.values():
        start(words)  # compiled once, files in memory
    ratios = race(
        {name: partial(start, words) for name, words in CONTENDERS.items()},
        base="import torch",
        rounds=9,
        clock=children_seconds,
    )
    report("start", ratios)
    for ratio in ratios:
        if ratio.name in TARGETS:
            print(f"{ratio.name}: {ratio.ratio:.2f} (target at most {TARGETS[ratio.name]:g})")


if __name__ == "__main__":
    main()
