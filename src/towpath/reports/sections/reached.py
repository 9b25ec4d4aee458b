"""Section: how soon a weighter reaches the baseline's final validation score."""

from towpath.reports.blocks import Cell, Note, Section, Table
from towpath.reports.number_text import number, score_text
from towpath.reports.sections.curves import validation_metric
from towpath.runs.reached import reached
from towpath.runs.study import Study
from towpath.wording import seconds_text


def reached_section(study: Study) -> Section:
    """Make the section on when each weighter reaches the baseline's final validation score."""
    targets, found = reached(study)
    metric = validation_metric(study)
    lead = (
        f"The paper claims fewer iterations. Here: when did each weighter first reach the "
        f"validation {metric.words} that {study.baseline} had at its end?"
    )
    if not targets:
        absent = Note(f"{study.baseline} has no validation yet, so there is no goal.", "missing")
        return Section("reached", "How soon it gets there", lead, [absent])
    rows = []
    for label in study.labels:
        r, head = found.get(label), Cell(label, f"head s{study.colour(label) % 8}")
        if r is None:
            rows.append([head, Cell("no validation yet", "quiet wide")])
        elif not r.reached:
            rows.append([head, Cell(f"not reached by any of {r.seeds} seed(s)", "bad wide")])
        else:
            good = r.steps_ratio < 1 and label != study.baseline
            rows.append(
                [
                    head,
                    Cell(number(r.steps, 0)),
                    Cell(f"{100 * r.steps_ratio:.0f} %", "good" if good else ""),
                    Cell(number(r.tasks, 0)),
                    Cell(seconds_text(r.seconds)),
                    Cell(f"{100 * r.seconds_ratio:.0f} %" if r.seconds_ratio else "–"),
                    Cell(f"{r.reached} of {r.seeds}"),
                ]
            )
    goal = ", ".join(score_text(t, metric) for t in targets.values())
    unfinished = not all(run.finished for run in study.runs[study.baseline])
    note = f"Goal: {goal}, {study.baseline}'s last validation"
    note += " so far (it is not finished)." if unfinished else "."
    note += " Only validated steps can be told apart. Tasks: those trained on, trusted ones that a "
    note += "weighter trains on among them."
    columns = ["weighter", "steps", f"of {study.baseline}'s steps", "tasks", "training"]
    columns += [f"of {study.baseline}'s time", "seeds there"]
    table = Table(f"Until {study.baseline}'s final {metric.words}", columns, rows, note)
    return Section("reached", "How soon it gets there", lead, [table])
