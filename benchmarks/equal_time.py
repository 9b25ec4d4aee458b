"""What rules are worth where each has the same processor time: python -m benchmarks equal_time.

The command trains the assays' recipe with every rule, window by window in turns, and prints how
long each takes over uniform weights, and the steps that fit into the time of the slowest. These
steps are those of the experiments `time-...`, from whose pages docs/results/equal-time.md is made.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from benchmarks.experiments import EQUAL_TIME, EXPERIMENTS, equal_time_experiment
from benchmarks.measure import Stopwatch, prepare_process, write
from benchmarks.trust_page import FAMILIES
from benchmarks.written import DOCS, Written, over_trainings, reading
from towpath.recipes.component import Component
from towpath.training import train_step
from towpath.training.setup import Setup, prepare
from towpath.training.state import TrainState
from towpath.weighters import wants_judges, wants_targets

PAGE = "equal-time"
SETTING, SEED = "trust-toxcast-nvs-noise", 7
"""what is timed, on a seed that no result uses"""


@dataclass
class Contestant:
    """A training with one rule, and the processor seconds that it took so far."""

    setup: Setup
    state: TrainState
    seconds: float = 0.0

    @classmethod
    def of(cls, name: str) -> "Contestant":
        """Prepare the training with a rule."""
        recipe = replace(EXPERIMENTS[SETTING].read(), weighter=Component(name), seed=SEED)
        setup = prepare(recipe)
        return cls(setup, setup.start)

    def train(self) -> None:
        """Train on the next window."""
        setup, state = self.setup, self.state
        window, targets = setup.window(state.window, setup.recipe.training.steps)
        judges = setup.judges(state.window) if wants_judges(setup.weighter) else ()
        goals = targets if wants_targets(setup.weighter) else None
        with Stopwatch() as watch:
            self.state, _ = train_step(
                state,
                window,
                objective=setup.objective,
                weighter=setup.weighter,
                targets=goals,
                judges=judges,
                seed=SEED,
            )
        self.seconds += watch.seconds


def main() -> None:
    """Time whole trainings, interleaved, and print the steps of equal time."""
    prepare_process()
    recipe = EXPERIMENTS[SETTING].read()
    steps, T = recipe.training.steps, recipe.training.horizon
    field = {name: Contestant.of(name) for name in EQUAL_TIME}
    for _ in range(steps // T):
        for one in field.values():
            one.train()
    slowest = max(one.seconds for one in field.values())
    print(f"\n== equal time, {SETTING}, seed {SEED}, {steps} steps")
    found = {}
    for name, one in field.items():
        ratio = one.seconds / field["uniform"].seconds
        fitting = T * round(steps * slowest / one.seconds / T)
        found[name] = {"over uniform": ratio, "steps": fitting, "used": EQUAL_TIME[name]}
        print(f"  {name:<14} {ratio:5.2f} x uniform   {fitting} steps fit, {EQUAL_TIME[name]} used")
    write("equal-time", found)


def gains(family: str, suffix: str, name: str, pages: Mapping[str, Written]) -> dict[str, float]:
    """Return by seed how far a rule is above uniform weights of the same time, in points.

    Both were tested on the same tasks; a seed counts where both were trained.
    """
    mine, base = (
        _means(pages.get(equal_time_experiment(family, suffix, one)), one)
        for one in (name, "uniform")
    )
    return {seed: 100 * (mine[seed] - base[seed]) for seed in mine if seed in base}


def _means(page: Written | None, name: str) -> dict[str, float]:
    """Return a rule's mean test score by seed."""
    if page is None:
        return {}
    test = page.tests[0]
    return {str(run["seed"]): run["test"][test]["mean"] for run in page.runs.get(name, ())}


def table(pages: Mapping[str, Written]) -> list[str]:
    """Return the table of settings and rules; a cell without common seeds is empty."""
    rules = [name for name in EQUAL_TIME if name != "uniform"]
    lines = [
        "| held-out family | " + " | ".join(f"`{n}`, {EQUAL_TIME[n]} steps" for n in rules) + " |",
        "|" + "---|" * (1 + len(rules)),
    ]
    for suffix, about in (("", ""), ("-noise", ", 40 per cent mislabelled")):
        for family in FAMILIES:
            cells = [list(gains(family, suffix, name, pages).values()) for name in rules]
            shown = [f"{over_trainings(each)} ({len(each)})" if each else "-" for each in cells]
            lines.append(f"| {family.upper()}{about} | {' | '.join(shown)} |")
    means = []
    for name in rules:
        each = [
            statistics.fmean(found.values())
            for suffix in ("", "-noise")
            for family in FAMILIES
            if (found := gains(family, suffix, name, pages))
        ]
        means.append(f"{statistics.fmean(each):+.2f} ({len(each)})" if each else "-")
    return [*lines, f"| mean over the settings | {' | '.join(means)} |"]


def draw(pages: Mapping[str, Written]) -> None:
    """Draw every training as a dot and the mean of a setting as a bar, one panel a rule."""
    rules = [name for name in EQUAL_TIME if name != "uniform"]
    settings = [(family, suffix) for suffix in ("", "-noise") for family in FAMILIES]
    figure = Figure(figsize=(3.0 * len(rules), 3.4), layout="constrained")
    grid = figure.subplots(1, len(rules), sharex=True, sharey=True, squeeze=False)[0]
    for axes, name in zip(grid, rules, strict=True):
        for place, (family, suffix) in enumerate(settings):
            found = list(gains(family, suffix, name, pages).values())
            axes.plot(found, [place] * len(found), "o", color="tab:blue", alpha=0.6, markersize=4)
            if found:
                axes.plot(statistics.fmean(found), place, "|", color="black", markersize=11)
        axes.axvline(0.0, color="grey", linewidth=0.8)
        axes.set_title(f"{name}, {EQUAL_TIME[name]} steps", fontsize=10)
        axes.set_xlabel("points above uniform")
        axes.grid(alpha=0.25)
    labels = [family.upper() + (", wrong labels" if suffix else "") for family, suffix in settings]
    grid[0].set_yticks(range(len(settings)), labels)
    grid[0].invert_yaxis()
    figure.savefig(DOCS / f"{PAGE}.png", dpi=120, metadata={"Software": None})


def write_equal_time_page() -> None:
    """Write the page, if any of its runs is there."""
    names = {
        equal_time_experiment(family, suffix, name)
        for family in FAMILIES
        for suffix in ("", "-noise")
        for name in EQUAL_TIME
    }
    pages = {name: Written(name) for name in names if (DOCS / f"{name}.json").is_file()}
    if not any(name.startswith("time-") for name in pages):
        return
    lines = [
        "# Equal processor time",
        "",
        "Assays, as on the pages of [trust](trust.md), but every rule trains for the processor "
        f"time that the slowest, `tow-targets`, takes for {EQUAL_TIME['tow-targets']} steps "
        f"(`python -m benchmarks equal_time`, seed {SEED}): uniform weights for "
        f"{EQUAL_TIME['uniform']} steps. Accuracy minus that of these uniform weights on the same "
        "600 test tasks, in points, with 95% intervals over trainings and their number in "
        "brackets.",
        "",
        *table(pages),
        "",
        f"![Every training and the mean of each setting]({PAGE}.png)",
        "",
        reading(PAGE),
    ]
    draw(pages)
    (DOCS / f"{PAGE}.md").write_text("\n".join(lines).rstrip() + "\n")
