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
    words = result.words
    missing = (
        [] if drawn else [f"The data of the run are not here, so there are no {words.extras}."]
    )
    chapter = Chapter(
        "audit",
        f"What to check again: {title}",
        " ".join(filter(None, (result.reason, result.class_reason, method(result)))),
        audit_finding(result),
        [
            f"steps {result.first_step} to {result.last_step}",
            f"{words.units} by {result.class_signal.name}",
            f"{words.drawn}s by {result.signal.name}",
        ],
        missing,
        sections,
    )
    made_by = "Made by <code>towpath audit</code> from a run folder and its data."
    page = render(f"Audit of {title}", [chapter], made_by=made_by)
    return page.encode("utf-8", "backslashreplace")


def method(result: Audit) -> str:
    """Return one sentence on how classes, or the tasks of a table, are ranked."""
    return result.words.method.format(what=result.class_signal.name)


def audit_finding(result: Audit) -> str:
    """Return one sentence on how many classes, or tasks of a table, stand out, and the first."""
    suspects = [effect.name for effect in result.suspects()]
    return result.words.finding(suspects, len(result.classes), _worse(result))


def _worse(result: Audit) -> str:
    return "trusted less" if result.class_signal.worst < 0 else "having higher losses"


def _caveat(result: Audit) -> str:
    """Return what a high loss cannot tell; empty where weights are judged."""
    if result.class_signal.worst < 0:
        return ""
    words = result.words
    return (
        f" A high loss does not tell a wrong {words.unit} from a hard one: look at its "
        f"{words.examples}."
    )


def classes_section(result: Audit, drawn: Redrawn | None) -> Section:
    """Make the section on classes, or tasks of a table, with images of those to look at first."""
    blocks: list[Block] = []
    words, signal = result.words, result.class_signal
    shown = [effect.name for effect in result.classes[:CLASSES_SHOWN]]
    content = drawn.class_picture(shown, "the first images of each class") if drawn else None
    if content:
        text = "Rows from top to bottom: " + ", ".join(shown) + "."
        blocks.append(Picture.of("The classes to look at first", content, text))
    blocks.append(_effects(result, result.classes, words.unit))
    return Section(
        "classes",
        words.units.capitalize(),
        f"{words.value.format(what=signal.singular)}; 1 is {UNIFORM[signal.name]}. A {words.unit} "
        f"is suspect where its whole interval lies on the wrong side of the average {words.drawn}."
        f"{_caveat(result)}",
        blocks,
    )


def groups_section(result: Audit) -> Section:
    """Make the section on groups of classes, or of a table's tasks."""
    lead = result.words.group_value.format(what=result.class_signal.singular)
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
    columns = [
        what,
        result.class_signal.column,
        "95% interval",
        f"{result.words.drawn}s",
        "verdict",
    ]
    left = len(ranked) - ROWS
    note = f"{left} more are in the CSV file (--csv FILE)." if left > 0 else ""
    if ranked:
        note = f"{average_task(ranked, result.words)} {note}".strip()
    return Table(
        f"{len(ranked)} {what}{_plural(what)}, the most suspect first", columns, rows, note
    )


def _plural(what: str) -> str:
    return "es" if what.endswith("s") else "s"


def tasks_section(result: Audit, drawn: Redrawn | None) -> Section:
    """Make the section on what was drawn, the most suspect ones and two at the other end."""
    blocks: list[Block] = []
    words = result.words
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
    columns = ["rank", result.signal.column, "labels", "step", "group", words.named]
    title = f"{len(result.tasks)} {words.drawn}s: the most suspect, "
    blocks.append(Table(f"{title}and the {TRUSTED_MOST} least suspect", columns, rows))
    for rank, task in picks if drawn else ():
        assert drawn is not None
        content = drawn.picture(task.info)
        if content:
            name = f"Rank {rank}: {result.signal.column} {number(result.value(task), 2)}, "
            name += f"labels {result.labels(task)}"
            blocks.append(Picture.of(name, content, _files(drawn.task_files(task.info))))
    if not blocks:
        blocks.append(Note(f"No {words.drawn} was judged.", "missing"))
    return Section(
        "tasks",
        f"{words.drawn.capitalize()}s",
        f"Single {words.drawn}s {result.signal.words}. One {words.drawn} says little; what "
        f"{words.in_common} in common with other {words.drawn}s of this list says more.",
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
