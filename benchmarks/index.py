"""The index of docs/results and the table of the project's README, made of the pages' JSON files.

A page that is written again changes its own lines; those of the others stay, whether or not their
run folders are still there.
"""

from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.experiments import EXPERIMENTS
from benchmarks.gathering import Finished
from benchmarks.written import DOCS, Written
from towpath.reports.charts.figures import write_weights
from towpath.weighters.sets import REFEREES

README = Path("README.md")
BEGIN, END = "<!-- results: written by python -m benchmarks.evidence pages -->", "<!-- end -->"
TABLES = {
    "any-shot-rows": "the paper's any-shot table, row by row, in a shorter form",
    "equal-time": "the rules on assays where each has the same processor time",
    "trust": "what `auto` must reach in every setting, and what it reached",
    "why": "why the paper's cost does not beat uniform weights, window by window",
}
"""pages that are made of other pages"""
HOW_TO_READ = "## How to read it"
"""what stands before it in reading.md opens the index, the rest closes it"""
PANELS = ("uniform", "exploitation", "mixture", "auto", "oracle")
"""the panels of the README's picture"""


@dataclass(frozen=True)
class Headline:
    """The pages whose figures stand side by side in the project's README."""

    noisy: tuple[str, str]
    """the rules of the literature, and `auto`, on the same tasks and seeds"""
    clean: tuple[str, str]
    shifted: tuple[str, str]


HEADLINE = Headline(
    ("rivals-40", "trust-40"), ("rivals-0", "trust-0"), ("rivals-zipf", "trust-zipf")
)


def index() -> None:
    """Write the page of all experiments, and the README's table."""
    pages = {n: Written(n) for n in EXPERIMENTS if (DOCS / f"{n}.json").is_file()}
    reading = DOCS / "reading.md"
    text = reading.read_text() if reading.is_file() else ""
    short, _, long = text.partition(HOW_TO_READ)
    lines = [
        "# Results",
        "",
        *([short.strip(), ""] if short.strip() else []),
        "Written by `python -m benchmarks.evidence pages RUNS`; every command is on its page and "
        "in `python -m benchmarks.evidence list`. Differences to the baseline are paired, in "
        "points.",
        "",
        "| experiment | what | weighter | accuracy | minus baseline |",
        "|---|---|---|---|---|",
    ]
    for done in pages.values():
        for test in done.tests:
            lines += _rows(done, test)
    for name, about in TABLES.items():
        if (DOCS / f"{name}.md").is_file():
            lines.append(f"| [{name}]({name}.md) | {about} | | | |")
    lines += ["", *_not_run(set(pages))]
    if long:
        lines += ["", HOW_TO_READ + long.rstrip()]
    (DOCS / "README.md").write_text("\n".join(lines) + "\n")
    columns = [
        [pages[name] for name in names if name in pages]
        for names in (HEADLINE.noisy, HEADLINE.clean, HEADLINE.shifted)
    ]
    if all(columns):
        _readme(columns)


def _not_run(pages: set[str]) -> list[str]:
    """Return the experiments that are written down and have no page; parts of one are one line."""
    by_about: dict[str, list[str]] = {}
    for name, experiment in EXPERIMENTS.items():
        if name not in pages:
            by_about.setdefault(experiment.about, []).append(f"`{name}`")
    if not by_about:
        return []
    head = "Written down and not run yet (two cores; `python -m benchmarks.evidence list` has the "
    return [
        "## Not run yet",
        "",
        head + "commands):",
        "",
        *(f"- {', '.join(names)}: {about}" for about, names in by_about.items()),
    ]


def _rows(done: Written, test: str) -> list[str]:
    """Return the lines of one page and test set."""
    where = f" ({test})" if len(done.tests) > 1 else ""
    lines: list[str] = []
    for label in done.runs:
        if done.runs[label]:
            first = "" if lines else f"[{done.name}]({done.name}.md){where}"
            cells = [first, "" if lines else done.about, label]
            cells += [done.accuracy(label, test), done.change(label, test)]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _readme(columns: list[list[Written]]) -> None:
    """Write what a referee will ask for, in the three settings, into the project's README.

    Args:
        columns: for each setting its pages; a weighter's figures are those of the page that has
            the most trainings of it.
    """
    titles = ("40% wrong labels", "no wrong labels", "Zipf alphabets")
    rows = [f"| weighter | {' | '.join(titles)} |", "|" + "---|" * (1 + len(titles))]
    for label in (*REFEREES, "evidence", "auto"):
        cells = [_cell(pages, label) for pages in columns]
        if any(cell != "-" for cell in cells):
            rows.append(f"| {' | '.join([label, *cells])} |")
    text = README.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{after}")


def _cell(pages: list[Written], label: str) -> str:
    """Return the difference to uniform on the same seeds, or the accuracy of uniform itself."""
    page = max(pages, key=lambda one: len(one.runs.get(label, ())))
    seeds = len(page.runs.get(label, ()))
    if not seeds:
        return "-"
    test = page.tests[0]
    if label == page.content["baseline"]:
        return f"{page.accuracy(label, test)} ({seeds})"
    return f"{page.change(label, test, each=False)} ({len(page.gains(label)) or seeds})"


def headline(noisy: Finished) -> None:
    """Draw the README's picture: the weights of wrong and of clean tasks while training."""
    shown = [label for label in PANELS if noisy.result.of(label)]
    write_weights(DOCS / "headline.png", noisy.folder, noisy.result, shown)


def agreements() -> None:
    """Draw the distribution of the agreement over windows, with wrong labels and without."""
    names = HEADLINE.noisy[0], HEADLINE.clean[0]
    if not all((DOCS / f"{name}.json").is_file() for name in names):
        return
    noisy, clean = (
        [a for run in Written(name).runs["tow-targets"] for a in run.get("agreements", ())]
        for name in names
    )
    if not noisy or not clean:
        return  # pages of before runs were gathered
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot()
    edges = [i / 20 for i in range(-20, 21)]
    for found, colour, name in (
        (clean, "#0072B2", "no wrong labels"),
        (noisy, "#D55E00", "40% wrong labels"),
    ):
        axes.hist(found, edges, color=colour, alpha=0.6, label=name)
    axes.set_title("Agreement of the trusted tasks, window by window (tow-targets)")
    axes.set_xlabel("cosine of what two halves of them ask for")
    axes.set_ylabel("windows")
    axes.legend(frameon=False)
    figure.savefig(DOCS / "agreement.png", dpi=120, metadata={"Software": None})
