"""The section on the planner: whether its predictions hold, and how far it moves the weights."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from towpath.reports.blocks import Block, Cell, Figure, Figures, Legend, Note, Section, Table
from towpath.reports.charts.lines import Axes, Line, direct_labels
from towpath.reports.charts.lines import line_chart as draw_lines
from towpath.reports.charts.series import every_nth, pooled
from towpath.reports.charts.svg import Words
from towpath.reports.number_text import number
from towpath.runs.plan_statistics import PlanStatistics
from towpath.runs.study import Study


@dataclass(frozen=True)
class Quantity:
    """A statistic of every window's plan that is drawn over the steps."""

    key: str
    """part of the figure's name"""
    title: str
    unit: str
    of: Callable[[PlanStatistics], float | None]
    note: str
    include: tuple[float, ...] = ()
    """values that the axis always shows"""
    whole: bool = False
    """whether only whole numbers are marked"""


STEP_SIZES = Quantity(
    "step-size",
    "Step sizes of the line search",
    "mean accepted step (1 = full)",
    lambda plan: plan.mean_step,
    "A step of 1 is the plan's full step; each rejected trial halves it.",
    include=(0.0, 1.0),
)
ITERATIONS = Quantity(
    "iterations",
    "Iterations until iLQR ended",
    "iterations of a window",
    lambda plan: plan.iterations,
    "Iterations used before convergence, the limit, or no further decrease.",
    include=(0.0,),
    whole=True,
)
EFFECTIVE_TASKS = Quantity(
    "effective",
    "Effective number of tasks",
    "tasks that count in a mini-batch",
    lambda plan: plan.mean_effective_tasks,
    "(sum w)² / sum w²: the mini-batch size under uniform weights (trusted tasks included), 1 if "
    "one task has all the weight.",
)
AGREEMENT = Quantity(
    "agreement",
    "Agreement of the trusted tasks",
    "cosine of what two halves ask for",
    lambda plan: plan.agreement,
    "Near 0: no evidence that weighting helps, and the plan shrinks to uniform. Near 1: the "
    "trusted tasks agree on whom to trust.",
    include=(0.0, 1.0),
)


def planned(study: Study, label: str) -> list[PlanStatistics]:
    """Return the plans of a weighter's runs in which weights were optimised."""
    return [
        line.figures for run in study.seeds(label) for line in run.plans if line.figures.planned
    ]


def optimising(study: Study) -> list[str]:
    """Return the labels of weighters that optimise, rather than follow a rule."""
    return [
        label
        for label in study.labels
        if any(plan.steps or plan.beta for plan in planned(study, label))
    ]


def planner_section(study: Study) -> Section:
    """Make the section on the planner.

    It shows predicted against actual decrease, step sizes, iterations, effective tasks, agreement.
    """
    labels = optimising(study)
    blocks: list[Block] = []
    if labels:
        figures = [_decrease(study, label) for label in labels]
        figures += [_over_time(study, labels, each) for each in (STEP_SIZES, ITERATIONS)]
        blocks += [Figures([f for f in figures if f.svg]), _statuses(study, labels)]
        blocks += _work(study, labels)
    figures = [_over_time(study, study.labels, each) for each in (EFFECTIVE_TASKS, AGREEMENT)]
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
        (plan.predicted_decrease, plan.actual_decrease)
        for plan in planned(study, label)
        if plan.predicted_decrease is not None and plan.actual_decrease is not None
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


def _over_time(study: Study, labels: Sequence[str], quantity: Quantity) -> Figure:
    """Draw a statistic of every plan for each weighter: mean, with its range where thinned."""
    lines = []
    for label in labels:
        series = []
        for run in study.seeds(label):
            found = [(float(line.step), quantity.of(line.figures)) for line in run.plans]
            series.append([(step, value) for step, value in found if value is not None])
        bands = pooled(series)
        wide = any(b.low < b.high for b in bands)
        band = [(b.x, b.low, b.high) for b in bands] if wide else []
        points = [(b.x, b.mean) for b in bands]
        lines.append(Line(label, study.colour(label), points, band))
    drawn = [line for line in lines if line.points]
    ends = "; ".join(f"{ln.label} ends at {ln.points[-1][1]:.3g}" for ln in drawn)
    svg = draw_lines(
        Words(f"{study.name}-{quantity.key}", f"{study.title}: {quantity.title.lower()}", ends),
        Axes("step", quantity.unit, include_y=quantity.include, whole=quantity.whole),
        lines,
    )
    legend = () if direct_labels(drawn) else [Legend(ln.label, ln.colour) for ln in drawn]
    return Figure(quantity.title, svg, quantity.note, legend)


def _statuses(study: Study, labels: list[str]) -> Table:
    rows = []
    for label in labels:
        plans = planned(study, label)
        counts = Counter(plan.status for plan in plans)
        for i, (status, count) in enumerate(sorted(counts.items(), key=lambda c: (-c[1], c[0]))):
            own = [plan for plan in plans if plan.status == status]
            used = [plan.iterations or 0 for plan in own]
            trials = [sum(n for n in plan.trials or () if n is not None) for plan in own]
            rows.append(
                [
                    Cell(label if i == 0 else "", f"head s{study.colour(label) % 8}"),
                    Cell(status, "text"),
                    Cell(f"{count}", "", count / len(plans)),
                    Cell(f"{100 * count / len(plans):.0f} %"),
                    Cell(number(sum(used) / len(used), 1)),
                    Cell(number(sum(trials) / len(trials), 1)),
                ]
            )
    columns = ["weighter", "how windows ended", "windows", "share", "iterations", "trials"]
    return Table("How the plans ended", columns, rows, "Iterations and trials: mean over windows.")


def _work(study: Study, labels: list[str]) -> list[Block]:
    """Show the cost of the plans by section 3.2 of the paper, beside what they took."""
    rows = []
    for label in labels:
        # plans of towpath 0.1 do not say what the paper's would have cost
        own = [p for p in planned(study, label) if p.paper_linearisation is not None]
        if not own:
            continue
        horizon = _mean([len(p.effective_tasks or ()) for p in own])
        evaluations = _mean([p.evaluations for p in own])
        evaluations += _mean([p.part_evaluations for p in own])
        rows.append(
            [
                Cell(label, f"head s{study.colour(label) % 8}"),
                Cell(f"{_mean([p.paper_evaluations for p in own]) / horizon:.2f} T₀"),
                Cell(f"{evaluations / horizon:.2f} T₀"),
                Cell(number(_mean([p.paper_sketches for p in own]), 1)),
                Cell(number(_mean([p.sketches for p in own]), 1)),
                Cell(f"{_mean([p.paper_linearisation for p in own]):,.0f} η"),
                Cell(f"{_mean([p.paper_backward for p in own]):,.0f}"),
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
            "iterations n and trials n_ls; T₀ is training on the window once, m₀ the query samples "
            "of a task, D the parameters, η the operations of the model for a sample. Measured: "
            "evaluations of mini-batches, those on a part of the query samples among them, over T, "
            "and mini-batches whose curvature was computed. A curvature pass takes about one "
            "backward pass and no factor D; the sweep's share of the time is in "
            "docs/performance.md.",
        )
    ]


def _mean(values: Sequence[float | None]) -> float:
    return float(sum(value or 0 for value in values)) / len(values)
