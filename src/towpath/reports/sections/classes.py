"""The section on classes: how well each is recognised, and which are taken for each other."""

from towpath.reports.blocks import Block, Cell, Figure, Figures, Section, Table
from towpath.reports.charts.matrix import matrix_chart
from towpath.reports.charts.svg import Words
from towpath.runs.confusion import Confusion
from towpath.runs.study import Study

HARDEST = 20
"""classes of a test set that are shown; of more, the hardest ones"""
PAIRS = 10


def classes_section(study: Study) -> Section | None:
    """Make the section on classes; None where no run knows the classes of its test tasks."""
    blocks: list[Block] = []
    tests = {name: None for run in study.all for name in run.confusions}
    for test in tests:
        found = _by_label(study, test)
        if found:
            blocks += _of_test(study, test, found)
    if not blocks:
        return None
    return Section(
        "classes",
        "Classes",
        "How many query samples of each class were recognised, over all test tasks and seeds. A "
        "class can be taken for another only in a task that has both, so the share of a pair is "
        "that of the samples that met the other class.",
        blocks,
    )


def _by_label(study: Study, test: str) -> dict[str, Confusion]:
    """Return the confusion matrix of each weighter on a test set, its seeds together."""
    found: dict[str, Confusion] = {}
    for label in study.labels:
        parts = [run.confusions[test] for run in study.seeds(label) if test in run.confusions]
        if parts:
            found[label] = Confusion.together(parts)
    return found


def _of_test(study: Study, test: str, found: dict[str, Confusion]) -> list[Block]:
    first = next(iter(found.values()))
    shown = first.worst()[:HARDEST]
    figures = [
        Figure(f"{test}: {label}", _picture(study, test, label, one, sorted(shown)))
        for label, one in found.items()
    ]
    return [_class_table(test, found, shown), Figures(figures), _pair_table(test, found)]


def _class_table(test: str, found: dict[str, Confusion], shown: list[str]) -> Table:
    first_label, first = next(iter(found.items()))
    rows = []
    for name in shown:
        cells = [Cell(name, "head"), Cell(f"{first.tasks(name):,}")]
        for one in found.values():
            known = name in one.names
            accuracy = one.accuracy(name) if known else 0.0
            cells.append(Cell(f"{100 * accuracy:.1f}" if known else "–", bar=accuracy))
        rows.append(cells)
    others = len(first.names) - len(shown)
    note = f"The hardest class of {first_label} comes first."
    if others:
        note += f" {others:,} easier classes are not shown; confusion.json of a run has all."
    columns = ["class", "test tasks", *found]
    return Table(f"Accuracy of each class of {test} (%)", columns, rows, note)


def _picture(study: Study, test: str, label: str, one: Confusion, shown: list[str]) -> str:
    names = [name for name in shown if name in one.names]
    places = [one.names.index(name) for name in names]
    shares = [
        [one.pairs[a, b].share if (a, b) in one.pairs else None for b in places] for a in places
    ]
    slug = "".join(
        c if c.isalnum() else "-" for c in f"{study.name}-classes-{test}-{label}".lower()
    )
    described = "; ".join(f"{name} {100 * one.accuracy(name):.0f}%" for name in names)
    words = Words(slug, f"Confusion matrix of {label} on {test}", described)
    return matrix_chart(words, names, shares, study.colour(label))


def _pair_table(test: str, found: dict[str, Confusion]) -> Table:
    rows = []
    for label, one in found.items():
        for i, pair in enumerate(one.confused()[:PAIRS]):
            rows.append(
                [
                    Cell(label if i == 0 else "", "head"),
                    Cell(pair.true, "text"),
                    Cell(pair.predicted, "text"),
                    Cell(f"{100 * pair.count.share:.1f}", bar=pair.count.share),
                    Cell(f"{pair.count.taken:,} of {pair.count.met:,}"),
                ]
            )
    columns = ["weighter", "class", "taken for", "share (%)", "samples"]
    title = f"Classes of {test} that are taken for each other most often"
    note = (
        "By the lower end of the share's 95% interval, so that a few samples of a single task do "
        "not lead the list."
    )
    return Table(title, columns, rows, note)
