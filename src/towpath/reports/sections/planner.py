"""The section on the planner itself: does it do what it says, and how far does it go."""

from collections import Counter
from typing import Any

from towpath.reports.blocks import (
    Block,
    Cell,
    Figure,
    Figures,
    Legend,
    Note,
    Section,
    Table,
    number,
)
from towpath.reports.charts.series import every_nth, pooled
from towpath.reports.charts.svg import Axes, Line, Words, direct_labels
from towpath.reports.charts.svg import line_chart as draw_lines
from towpath.runs.read import PlanLine
from towpath.runs.study import Study


def planned(study: Study, label: str) -> list[PlanLine]:
    """Plans of a weighter's runs that optimised something."""
    return [
        line
        for run in study.seeds(label)
        for line in run.plans
        if line.figures.get("status") != "rule" and line.figures.get("steps") is not None
    ]


def optimising(study: Study) -> list[str]:
    """Weighters that plan, rather than follow a rule."""
    return [
        label
        for label in study.labels
        if any(line.figures["steps"] or line.figures.get("beta") for line in planned(study, label))
    ]


def planner_section(study: Study) -> Section:
    """Planned against actual decrease, step sizes, iterations, effective tasks, agreement."""
    labels = optimising(study)
    blocks: list[Block] = []
    if labels:
        figures = [_decrease(study, label) for label in labels]
        figures += [
            _over_time(study, labels, "step-size", "Step sizes of the line search",
                       "mean accepted step (1 = full)", _mean_step, (0.0, 1.0),
                       "A step of 1 is the plan's full step; each rejected trial halves it."),
            _over_time(study, labels, "iterations", "Iterations until iLQR ended",
                       "iterations of a window", _iterations, (0.0,),
                       "Iterations used before convergence, the limit, or no further decrease.",
                       whole=True),
        ]  # fmt: skip
        blocks += [Figures([f for f in figures if f.svg]), _statuses(study, labels)]
        blocks += _work(study, labels)
    figures = [
        _over_time(study, study.labels, "effective", "Effective number of tasks",
                   "tasks that count in a mini-batch", _effective, (),
                   "(sum w)² / sum w²: the mini-batch size under uniform weights (trusted tasks "
                   "included), 1 if one task has all the weight."),
        _over_time(study, study.labels, "agreement", "Agreement of the trusted tasks",
                   "cosine of what two halves ask for", _agreement, (0.0, 1.0),
                   "Near 0: no evidence that weighting helps, and the plan shrinks to uniform. "
                   "Near 1: the trusted tasks agree on whom to trust."),
    ]  # fmt: skip
    shown = [f for f in figures if f.svg]
    if shown:
        blocks.append(Figures(shown))
    if not labels:
        blocks.append(Note("No weighter of this study plans; each follows a rule.", "quiet"))
    return Section(
        "planner",
        "Inside the planner",
        "Before each window the planner predicts by how much its weights lower the cost, then "
        "measures it. Points on the diagonal are promises kept.",
        blocks,
    )


def _decrease(study: Study, label: str) -> Figure:
    pairs = [
        (line.figures["predicted_decrease"], line.figures["actual_decrease"])
        for line in planned(study, label)
        if line.figures.get("predicted_decrease") is not None
        and line.figures.get("actual_decrease") is not None
    ]
    positive = [(p, a) for p, a in pairs if p > 0 and a > 0]
    ratios = sorted(a / p for p, a in positive)
    said = f"{len(positive)} of {len(pairs)} windows"
    if ratios:
        said += f"; the median window kept {100 * ratios[len(ratios) // 2]:.0f} % of its promise"
    svg = draw_lines(
        Words(
            f"{study.name}-decrease-{study.colour(label)}",
            f"{label}: planned and actual decrease",
            said,
        ),
        Axes(
            "planned decrease of the cost", "actual decrease", x_log=True, y_log=True, diagonal=True
        ),
        [Line(label, study.colour(label), every_nth(positive), join=False)],
    )
    return Figure(
        f"{label}: planned against actual decrease",
        svg,
        f"{said}. Both axes are logarithmic; windows that kept uniform weights are left out.",
    )


def _mean_step(figures: dict[str, Any]) -> float | None:
    steps = [s for s in figures.get("steps") or () if s is not None]
    return sum(steps) / len(steps) if steps else None


def _iterations(figures: dict[str, Any]) -> float | None:
    return float(len(figures["steps"])) if figures.get("steps") is not None else None


def _effective(figures: dict[str, Any]) -> float | None:
    values = [v for v in figures.get("effective_tasks") or () if v is not None]
    return sum(values) / len(values) if values else None


def _agreement(figures: dict[str, Any]) -> float | None:
    value = figures.get("agreement")
    return None if value is None else float(value)


def _over_time(
    study: Study,
    labels: list[str],
    key: str,
    title: str,
    unit: str,
    figure_of: Any,
    include: tuple[float, ...],
    note: str,
    whole: bool = False,
) -> Figure:
    """A figure of every window's plan, for each weighter: mean, with its range where thinned."""
    lines = []
    for label in labels:
        series = []
        for run in study.seeds(label):
            points = [
                (float(p.step), v) for p in run.plans if (v := figure_of(p.figures)) is not None
            ]
            series.append(points)
        bands = pooled(series)
        wide = any(b.low < b.high for b in bands)
        band = [(b.x, b.low, b.high) for b in bands] if wide else []
        points = [(b.x, b.mean) for b in bands]
        lines.append(Line(label, study.colour(label), points, band))
    drawn = [line for line in lines if line.points]
    ends = "; ".join(f"{ln.label} ends at {ln.points[-1][1]:.3g}" for ln in drawn)
    svg = draw_lines(
        Words(f"{study.name}-{key}", f"{study.title}: {title.lower()}", ends),
        Axes("step", unit, include_y=include, whole=whole),
        lines,
    )
    named = direct_labels(drawn)
    return Figure(title, svg, note, () if named else [Legend(ln.label, ln.colour) for ln in drawn])


def _statuses(study: Study, labels: list[str]) -> Table:
    rows = []
    for label in labels:
        lines = planned(study, label)
        counts = Counter(str(line.figures["status"]) for line in lines)
        for i, (status, count) in enumerate(sorted(counts.items(), key=lambda c: (-c[1], c[0]))):
            own = [line.figures for line in lines if line.figures["status"] == status]
            used = [len(f["steps"]) for f in own]
            trials = [sum(f.get("trials") or ()) for f in own]
            rows.append(
                [
                    Cell(label if i == 0 else "", f"head s{study.colour(label) % 8}"),
                    Cell(status, "text"),
                    Cell(f"{count}", "", count / len(lines)),
                    Cell(f"{100 * count / len(lines):.0f} %"),
                    Cell(number(sum(used) / len(used), 1)),
                    Cell(number(sum(trials) / len(trials), 1)),
                ]
            )
    columns = ["weighter", "how windows ended", "windows", "share", "iterations", "trials"]
    return Table("How the plans ended", columns, rows, "Iterations and trials: mean over windows.")


def _work(study: Study, labels: list[str]) -> list[Block]:
    """Section 3.2's cost of the plans that were made, beside what they took."""
    rows = []
    for label in labels:
        own = [line.figures for line in planned(study, label)]
        own = [f for f in own if "paper_linearisation" in f]
        if not own:
            continue

        def mean(key: str, own: list[dict[str, Any]] = own) -> float:
            return float(sum(f[key] for f in own)) / len(own)

        horizon = sum(len(f["effective_tasks"]) for f in own) / len(own)
        rows.append(
            [
                Cell(label, f"head s{study.colour(label) % 8}"),
                Cell(f"{mean('paper_evaluations') / horizon:.2f} T₀"),
                Cell(f"{(mean('evaluations') + mean('part_evaluations')) / horizon:.2f} T₀"),
                Cell(number(mean("paper_sketches"), 1)),
                Cell(number(mean("sketches"), 1)),
                Cell(f"{mean('paper_linearisation'):,.0f} η"),
                Cell(f"{mean('paper_backward'):,.0f}"),
            ]
        )
    if not rows:
        return []
    columns = ["weighter", "paper: training", "measured: training", "paper: curvature passes"]
    columns += ["measured: curvature passes", "paper: n m₀ η D", "paper: n M D"]
    return [
        Table(
            "Work of a plan: the paper's section 3.2, and measured",
            columns,
            rows,
            "Means over windows. The paper's cost is (n n_ls + 1) T₀ + n (m₀ η + M) D for the same "
            "iterations n and trials n_ls; T₀ is training on the window once, m₀ the query images "
            "of a task, D the parameters, η the operations of the model for an image. Measured: "
            "evaluations of mini-batches, those on a part of the query images among them, over T, "
            "and mini-batches whose curvature was computed. A curvature pass takes about one "
            "backward pass and no factor D; the sweep's share of the time is in "
            "docs/performance.md.",
        )
    ]
