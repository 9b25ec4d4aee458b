"""The section on the trusted tasks of a run: which of them were left out, when and why."""

from collections.abc import Sequence

from towpath.reports.blocks import Block, Cell, Note, Section, Table
from towpath.reports.number_text import number
from towpath.runs.records import TrustRecord
from towpath.runs.run_data import RunData
from towpath.runs.study import Study


def trust_section(study: Study) -> Section | None:
    """Make the section on trusted tasks; None where no run has checked any."""
    blocks: list[Block] = []
    for label in study.labels:
        runs = study.seeds(label)
        for run in runs:
            name = label if len(runs) == 1 else f"{label}, seed {run.seed}"
            blocks += _of_run(name, run) if run.trust else []
    if not blocks:
        return None
    return Section(
        "trust",
        "The trusted tasks",
        "A weighter that aims at trusted tasks, or judges by them, believes what they say. So "
        "their labels are compared with shuffled ones at a few steps: the evidence is how much "
        "better they suit what the network has learned, in standard deviations over all ways to "
        "shuffle them. Labels that mean nothing have about 0, give or take 1. A task that two "
        "checks in a row take for wrong, or that repeats an earlier one, is no target and no judge "
        "any more.",
        blocks,
    )


def _of_run(name: str, run: RunData) -> list[Block]:
    last = run.trust[-1]
    blocks: list[Block] = [Note(f"{name}: {_sentence(run.trust)}")]
    if last.check.trust.left_out:
        blocks.append(_left_out(name, run.trust))
    return blocks


def _sentence(checks: Sequence[TrustRecord]) -> str:
    """Return what the last check says, or that all tasks are still trusted."""
    last = checks[-1]
    said = last.check.sentence()
    if said:
        return said
    count, fresh = len(last.check.evidence), _mean(last.check.training)
    return (
        f"none of the {count} trusted tasks is left out. At step {last.step} their mean evidence "
        f"is {_mean(last.check.evidence)}, that of fresh training tasks {fresh}."
    )


def _left_out(name: str, checks: Sequence[TrustRecord]) -> Table:
    """Return the table of the tasks that are left out, with their evidence at each check."""
    last = checks[-1].check
    measured = [record for record in checks if record.check.evidence]
    rows = []
    for i in last.trust.left_out:
        since = next(record.step for record in checks if i in record.check.trust.left_out)
        other = last.repeated.get(i)
        why = "labels no better than shuffled ones" if other is None else f"the same as {other}"
        rows.append(
            [
                Cell(f"{i}", "head"),
                Cell(last.named.get(i, ""), "text"),
                Cell(why, "text"),
                Cell(f"{since}"),
                *(Cell(number(record.check.evidence[i], 1)) for record in measured),
            ]
        )
    return Table(
        f"{name}: trusted tasks that are left out",
        [
            "task",
            "classes",
            "why",
            "since step",
            *(f"evidence at {record.step}" for record in measured),
        ],
        rows,
        "Look at these tasks: correct their labels, or take them out of what is trusted. A task "
        "that is trained on may be learnt by heart later, so that its evidence grows again.",
    )


def _mean(values: Sequence[float | None]) -> str:
    known = [z for z in values if z is not None]
    return f"{sum(known) / len(known):.1f}" if known else "unknown"
