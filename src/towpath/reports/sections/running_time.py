"""Section: the running time of each weighter, beside the paper's where it applies."""

from towpath.reports.blocks import Cell, Note, Section, Table
from towpath.reports.methods import label_method
from towpath.reports.number_text import number
from towpath.reports.reruns import study_differences
from towpath.reports.sections import paper
from towpath.runs.costs import costs
from towpath.runs.study import Study
from towpath.wording import seconds_text


def time_section(study: Study) -> Section:
    """Make the section on running time, with the paper's figures where they apply."""
    spent = costs(study)
    hours = paper.TABLE_2.get(study.title, {}) if study_differences(study) == () else {}
    if not spent:
        return Section("time", "Running time", "", [Note("No step was timed yet.", "missing")])
    top = max(cost.per_step for cost in spent.values())
    columns = ["weighter", "seconds a step", "over baseline", "training", "steps"]
    columns += [
        "gradient evaluations",
        *(["paper: GPU hours", "paper: over uniform"] if hours else []),
    ]
    rows = []
    for label in study.labels:
        cost, head = spent.get(label), Cell(label, f"head s{study.colour(label) % 8}")
        if cost is None:
            rows.append([head, Cell("not run yet", "quiet wide")])
            continue
        cells = [
            head,
            Cell(number(cost.per_step, 3), "", cost.per_step / top),
            Cell(f"{number(cost.overhead, 2)}×" if cost.overhead else "–"),
            Cell(seconds_text(cost.seconds) + ("" if cost.finished else " so far")),
            Cell(number(cost.steps, 0)),
            Cell(number(cost.evaluations, 0)),
        ]
        if hours:
            own = hours.get(label_method(study, label))
            cells.append(Cell(f"{own:.2f}" if own else "–", "quiet"))
            cells.append(Cell(f"{own / hours['uniform']:.2f}×" if own else "–", "quiet"))
        rows.append(cells)
    note = (
        "Mean over seeds. A gradient evaluation is one pass over a mini-batch's tasks for losses "
        "and gradients; validations and tests are not counted. Clock figures come from the machine "
        "that trained, with whatever else it was doing."
    )
    return Section("time", "Running time", "", [Table("Running time", columns, rows, note)])
