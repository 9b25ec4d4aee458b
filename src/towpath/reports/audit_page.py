"""An audit as one HTML page: classes, groups and tasks to check again, with their pictures."""

from collections.abc import Sequence

from towpath.reports.audit import Audit, class_names
from towpath.reports.audit_table import average_task
from towpath.reports.blocks import Block, Cell, Chapter, Note, Picture, Section, Table
from towpath.reports.number_text import number
from towpath.reports.page import render
from towpath.reports.ranking import Effect
from towpath.reports.redrawn import ClassFiles, Redrawn

ROWS = 100
"""classes and groups that the page lists, at most; the CSV file has all"""
CLASSES_SHOWN, TASKS_SHOWN, TRUSTED_MOST = 12, 6, 2
"""how many classes, most suspect and least suspect tasks have pictures"""
METHOD = (
    "A class is judged by all tasks that it was part of: a ridge regression of the tasks' relative "
    "{what} on their classes separates its share from that of the classes beside it, and keeps a "
    "class that was seen seldom near the average; intervals are 95%."
)
UNIFORM = {"weights": "what uniform weighting gives everyone", "losses": "an average loss"}


def audit_page(title: str, result: Audit, drawn: Redrawn | None) -> bytes:
    """Return an audit as an HTML page.

    Args:
        title: what was audited: the run and its data.
        result: the audit.
        drawn: the run's tasks drawn again, for pictures; None where the data are not there.
    """
    sections = [classes_section(result, drawn), tasks_section(result, drawn)]
    if result.groups:
        sections.insert(1, groups_section(result))
    missing = [] if drawn else ["The data of the run are not here, so there are no pictures."]
    chapter = Chapter(
        "audit",
        f"What to check again: {title}",
        " ".join(filter(None, (result.reason, result.class_reason, method(result)))),
        audit_finding(result),
        [
            f"steps {result.first_step} to {result.last_step}",
            f"classes by {result.class_signal.name}",
            f"tasks by {result.signal.name}",
        ],
        missing,
        sections,
    )
    made_by = "Made by <code>towpath audit</code> from a run folder and its data."
    page = render(f"Audit of {title}", [chapter], made_by=made_by)
    return page.encode("utf-8", "backslashreplace")


def method(result: Audit) -> str:
    """Return one sentence on how classes are ranked."""
    return METHOD.format(what=result.class_signal.name)


def audit_finding(result: Audit) -> str:
    """Return one sentence on how many classes stand out, and which comes first."""
    suspects, count = result.suspects(), len(result.classes)
    if not suspects:
        return f"None of the {count} classes stands out clearly."
    verb = "stands" if len(suspects) == 1 else "stand"
    return (
        f"{len(suspects)} of {count} classes {verb} out as {_worse(result)} than the average; "
        f"first {suspects[0].name}."
    )


def _worse(result: Audit) -> str:
    return "trusted less" if result.class_signal.worst < 0 else "having higher losses"


def _caveat(result: Audit) -> str:
    """Return what a high loss cannot tell; empty where weights are judged."""
    if result.class_signal.worst < 0:
        return ""
    return " A high loss does not tell a wrong class from a hard one: look at its images."


def classes_section(result: Audit, drawn: Redrawn | None) -> Section:
    """Make the section on classes, with images of those to look at first."""
    blocks: list[Block] = []
    shown = [effect.name for effect in result.classes[:CLASSES_SHOWN]]
    content = drawn.class_picture(shown, "the first images of each class") if drawn else None
    if content:
        text = "Rows from top to bottom: " + ", ".join(shown) + "."
        blocks.append(Picture.of("The classes to look at first", content, text))
    blocks.append(_effects(result, result.classes, "class"))
    return Section(
        "classes",
        "Classes",
        f"The {result.class_signal.singular} of a task that has the class, when its other classes "
        f"are average; 1 is {UNIFORM[result.class_signal.name]}. A class is suspect where its "
        f"whole interval lies on the wrong side of the average task.{_caveat(result)}",
        blocks,
    )


def groups_section(result: Audit) -> Section:
    """Make the section on groups of classes."""
    lead = f"The {result.class_signal.singular} of a task with classes of one group only."
    return Section("groups", "Groups", lead, [_effects(result, result.groups, "group")])


def _effects(result: Audit, ranked: Sequence[Effect], what: str) -> Table:
    top = max((effect.value for effect in ranked), default=1.0)
    rows = []
    for effect in ranked[:ROWS]:
        suspect = result.is_suspect(effect)
        cells = [
            Cell(effect.name, "head text"),
            Cell(number(effect.value, 2), "", max(0.0, min(1.0, effect.value / top))),
            Cell(f"{number(effect.low, 2)} to {number(effect.high, 2)}"),
            Cell(str(effect.tasks)),
            Cell("suspect" if suspect else "not clear", "bad" if suspect else "quiet"),
        ]
        rows.append(cells)
    columns = [what, result.class_signal.column, "95% interval", "tasks", "verdict"]
    left = len(ranked) - ROWS
    note = f"{left} more are in the CSV file (--csv FILE)." if left > 0 else ""
    if ranked:
        note = f"{average_task(ranked)} {note}".strip()
    return Table(
        f"{len(ranked)} {what}{_plural(what)}, the most suspect first", columns, rows, note
    )


def _plural(what: str) -> str:
    return "es" if what.endswith("s") else "s"


def tasks_section(result: Audit, drawn: Redrawn | None) -> Section:
    """Make the section on single tasks, the most suspect ones and two at the other end."""
    blocks: list[Block] = []
    picks = list(enumerate(result.tasks[:TASKS_SHOWN], 1))
    first_of_last = max(len(picks), len(result.tasks) - TRUSTED_MOST)
    picks += list(enumerate(result.tasks[first_of_last:], first_of_last + 1))
    rows = []
    for rank, task in picks:
        labels = result.labels(task)
        kind = {"wrong": "bad", "off target": "bad", "clean": "good"}.get(labels, "quiet")
        rows.append(
            [
                Cell(str(rank), "head"),
                Cell(number(result.value(task), 2)),
                Cell(labels, kind),
                Cell(str(task.step)),
                Cell(task.group or "–", "text"),
                Cell(class_names(task) or "–", "quiet text"),
            ]
        )
    columns = ["rank", result.signal.column, "labels", "step", "group", "classes"]
    title = f"{len(result.tasks)} tasks: the most suspect, and the {TRUSTED_MOST} least suspect"
    blocks.append(Table(title, columns, rows))
    for rank, task in picks if drawn else ():
        assert drawn is not None
        content = drawn.picture(task.info)
        if content:
            name = f"Rank {rank}: {result.signal.column} {number(result.value(task), 2)}, "
            name += f"labels {result.labels(task)}"
            blocks.append(Picture.of(name, content, _files(drawn.task_files(task.info))))
    if not blocks:
        blocks.append(Note("No task was judged.", "missing"))
    return Section(
        "tasks",
        "Tasks",
        f"Single tasks {result.signal.words}. One task says little; what its classes have in "
        "common with other tasks of this list says more.",
        blocks,
    )


def _files(parts: Sequence[ClassFiles]) -> str:
    """Return the files of a task as text, class by class, each folder named once."""
    lines = []
    for part in parts:
        files = (*part.support, *part.query)
        folder = files[0].rpartition("/")[0] if files else ""
        below = f"{folder}/" if folder and all(f.startswith(f"{folder}/") for f in files) else ""
        said = [
            ", ".join(file.removeprefix(below) for file in own)
            for own in (part.support, part.query)
        ]
        sets = [
            f"{name} {text}" for name, text in zip(("support", "query"), said, strict=True) if text
        ]
        lines.append(f"{below or part.name or 'rows'}: {'; '.join(sets)}")
    return "Files. " + ". ".join(lines) + "." if lines else ""
