"""`make bench`: all benchmarks, or those that are named."""

import importlib
import sys

ALL = (
    "start",
    "learners",
    "planner",
    "every_window",
    "fidelity",
    "slopes",
    "memory",
    "data",
    "weighters",
    "race_cost",
    "race_errors",
    "scale",
    "predictions",
    "features",
)

if __name__ == "__main__":
    for name in sys.argv[1:2] or ALL:
        importlib.import_module(f"benchmarks.{name}").main()
