"""Two ranks against one: the time of a window, what is sent for it, and a simulation of more.

Both ranks have one thread each. In every round the first rank takes the window alone while the
second waits, then both take it together, so that the two are measured under the same load. The
bytes are those that towpath counts, those of the formulas, and those that the loopback interface of
the system saw (both ranks together, headers and whatever else ran included). All weighters, or
those that are named: `python -m benchmarks scale uniform`.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import towpath as tp
from benchmarks.measure import RESULTS, Ratio, machine, prepare_process, report
from benchmarks.windows import real_set, scene
from towpath.distributed.launch import launched
from towpath.distributed.ranks import ALONE, Ranks
from towpath.distributed.traffic import Traffic
from towpath.weighters import Weighter

ROUNDS = 5
TARGET = 0.65
NETWORKS = {
    # name: (bytes a second that a rank can send, seconds of an exchange)
    "1 Gbit/s Ethernet": (1.25e8, 2e-4),
    "10 Gbit/s Ethernet": (1.25e9, 1e-4),
    "100 Gbit/s InfiniBand": (1.25e10, 1e-5),
}
RANKS = (1, 2, 4, 8, 16, 32, 64)


def weighters() -> dict[str, Weighter]:
    """What is measured, with plans that take whole trials."""
    return {
        "uniform": tp.Uniform(),
        "tow": tp.TOW(),
        "tow-targets": tp.TOW.towards_targets(shrink="none", acceptance="strict"),
    }


def seen_on_loopback() -> int:
    """Bytes that the loopback interface has sent since the system began; 0 where unknown."""
    try:
        for line in Path("/proc/net/dev").read_text().splitlines():
            if line.strip().startswith("lo:"):
                return int(line.split(":")[1].split()[8])
    except OSError:
        pass
    return 0


def measure(learner: str, ranks: Ranks, names: list[str]) -> dict[str, Any]:
    """Rounds of one window, alone and together; the first rank's figures."""
    here = scene(learner, workers=1)
    objectives = {
        "one": tp.Objective(here.learner, workers=1, ranks=ALONE),
        "two": tp.Objective(here.learner, workers=1, ranks=ranks),
    }
    result: dict[str, Any] = {}
    shape = {
        "P": sum(p.numel() for p in here.params.values()),
        "T": len(here.window),
        "M": len(here.window[0]),
        "tensors": len(here.params),
    }
    for name in names:
        weighter = weighters()[name]
        goals = here.targets if name == "tow-targets" else None

        def plan(which: str, weighter: Weighter = weighter, goals: Any = goals) -> tp.Plan | None:
            if which == "one" and not ranks.is_first:
                return None
            return weighter.plan(
                objectives[which], here.params, here.optimizer, here.window, targets=goals
            )

        times: dict[str, list[float]] = {"one": [], "two": []}
        processor: dict[str, list[float]] = {"one": [], "two": []}
        last: tp.Plan | None = None
        for turn in range(ROUNDS + 1):
            for which in times:
                ranks.total(torch.zeros(1))  # together at the start
                began, used = time.perf_counter(), time.process_time()
                last = plan(which)
                seconds, used = time.perf_counter() - began, time.process_time() - used
                # of the rank that computed most
                used = float(ranks.gathered(torch.tensor([[used]]), ranks.size).max())
                if turn:  # the first warms up
                    times[which].append(seconds)
                    processor[which].append(used)
        sent, exchanges, loopback = ranks.sent, ranks.exchanges, seen_on_loopback()
        last = plan("two")
        ranks.total(torch.zeros(1))
        assert last is not None
        result[name] = {
            "times": times,
            "processor": processor,
            "sent": ranks.sent - sent - 4,
            "exchanges": ranks.exchanges - exchanges - 1,
            "loopback": seen_on_loopback() - loopback,
            "trials": [line.trials for line in last.history],
            "evaluations": last.evaluations,
        }
    return {"shape": shape, "windows": result}


def expected(shape: dict[str, int], name: str, trials: list[int], ranks: int) -> int:
    """The formula's bytes of a window."""
    traffic = Traffic(**shape, ranks=ranks)
    if name == "uniform":
        return traffic.uniform_window()
    if name == "tow":
        return traffic.tow_window(trials)
    return traffic.targets_window(2, *trials)


def simulate(learner: str, measured: dict[str, Any]) -> None:
    """Seconds of a window against ranks: measured compute, stated networks. Not a measurement."""
    for faster in (1, 100):
        _simulate(learner, measured, faster)


def _simulate(learner: str, measured: dict[str, Any], faster: int) -> None:
    shape = measured["shape"]
    machines = "this processor" if faster == 1 else f"a device {faster} times as fast (assumed)"
    print(
        f"\n  simulation, {learner}, {machines}: seconds of a window (share of it that is "
        "communication)"
    )
    for name, window in measured["windows"].items():
        alone = statistics.median(window["processor"]["one"]) / faster
        for network, (speed, latency) in NETWORKS.items():
            cells, dominated = [], None
            for ranks in RANKS:
                # the tasks are shared out whole; planning and steps are counted as if shared too
                compute = alone * -(-shape["M"] // ranks) / shape["M"]
                send = 0.0
                if ranks > 1:
                    sent = expected(shape, name, window["trials"], ranks)
                    send = sent / speed + window["exchanges"] * latency
                if dominated is None and send > compute:
                    dominated = ranks
                cells.append(f"{compute + send:.4f} ({100 * send / (compute + send):.0f}%)")
            where = f"dominates from {dominated} ranks" if dominated else "never dominates"
            print(f"    {name:<12} {network:<22} {'  '.join(cells)}   {where}")
    print(f"    ranks: {', '.join(map(str, RANKS))}")


def main() -> None:
    """Launch two ranks, print their figures, simulate more."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scale.json"
        words = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        words += ["--nproc-per-node", "2", "-m", "benchmarks.scale", str(out), *sys.argv[2:]]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        began_load = os.getloadavg()[0]
        subprocess.run(words, check=True, env=environment, timeout=3600)
        measured = json.loads(out.read_text())
    print(f"\nload before: {began_load:.1f}, after: {os.getloadavg()[0]:.1f}; data: {real_set()}")
    for learner, figures in measured.items():
        ratios = []
        for name, window in figures["windows"].items():
            one, two = window["times"]["one"], window["times"]["two"]
            each = statistics.quantiles([b / a for a, b in zip(one, two, strict=True)], n=4)
            middle = statistics.median(two)
            ratios.append(
                Ratio(f"{name}, 2 ranks", "1 rank", each[1], each[0], each[2], middle, ROUNDS)
            )
        report(f"scale-{learner}", ratios, {"measured": figures, "target": TARGET})
        print(f"  target: at most {TARGET}")
        for name, window in figures["windows"].items():
            used = [statistics.median(window["processor"][which]) for which in ("two", "one")]
            print(
                f"  {name}: processor time of the busier rank over one rank's, which the load of "
                f"the machine touches less: {used[0] / used[1]:.2f}"
            )
            formula = expected(figures["shape"], name, window["trials"], 2)
            print(
                f"  {name}: a rank sent {window['sent']:,} bytes a window in "
                f"{window['exchanges']} exchanges, the formula says {formula:,}; the loopback "
                f"interface saw {window['loopback']:,} of both"
            )
        simulate(learner, figures)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scale.json").write_text(json.dumps({"machine": machine(), **measured}, indent=1))


def as_rank(out: Path, names: list[str]) -> None:
    """What each of the two ranks does."""
    prepare_process()
    with launched() as ranks:
        names = names or list(weighters())
        measured = {learner: measure(learner, ranks, names) for learner in ("maml", "protonet")}
    if ranks.is_first:
        out.write_text(json.dumps(measured))


if __name__ == "__main__":
    as_rank(Path(sys.argv[1]), sys.argv[2:]) if len(sys.argv) > 1 else main()
