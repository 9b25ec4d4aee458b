"""The section on a race of weighters: who led when, by how much, and why."""

from dataclasses import dataclass

from towpath.reports.blocks import Block, Cell, Figure, Figures, Note, Section, Table
from towpath.reports.charts.lines import Axes, Line, line_chart
from towpath.reports.charts.svg import Words
from towpath.runs.run_data import RunData
from towpath.runs.study import Study
from towpath.weighters.race.record import RaceRecord

POINTS = 100.0
"""gains are accuracies; a reader thinks in points"""


@dataclass(frozen=True)
class Moment:
    """The record of a race after the window that began with this step."""

    step: int
    race: RaceRecord


def race_section(study: Study) -> Section | None:
    """Make the section on the races of a study; None where no weighter raced."""
    blocks: list[Block] = []
    for label in study.labels:
        for run in study.seeds(label):
            moments = [Moment(p.step, p.figures.race) for p in run.plans if p.figures.race]
            if moments:
                name = label if len(study.seeds(label)) == 1 else f"{label}, seed {run.seed}"
                blocks += _of_run(study, run, name, moments)
    if not blocks:
        return None
    return Section(
        "race",
        "The race",
        "In a heat every weighter trains a branch of its own from the same state. Trusted tasks "
        "that none of them trains on say how much each gained over uniform weights, and the one "
        "with the largest gain that is beyond chance leads from then on.",
        blocks,
    )


def _of_run(study: Study, run: RunData, name: str, moments: list[Moment]) -> list[Block]:
    looks = [moment for moment in moments if moment.race.standings]
    if not looks:
        return [Note(f"{name}: no heat was run; {moments[-1].race.leader} led all the time.", "")]
    return [Figures([_gains(study, run, name, looks)]), _heats(name, moments)]


def _gains(study: Study, run: RunData, name: str, looks: list[Moment]) -> Figure:
    arms = list(dict.fromkeys(arm for moment in looks for arm in moment.race.standings))
    lines = []
    for colour, arm in enumerate(arms):
        found = [(m.step, m.race.standings[arm]) for m in looks if arm in m.race.standings]
        points = [(float(step), POINTS * one.gain) for step, one in found]
        band = [
            (float(step), POINTS * (one.gain - one.error), POINTS * (one.gain + one.error))
            for step, one in found
        ]
        lines.append(Line(arm, colour, points, band, dots=True))
    last = "; ".join(f"{line.label} {line.points[-1][1]:+.1f}" for line in lines)
    svg = line_chart(
        Words(f"{study.name}-race-{run.seed}", f"{name}: gains over uniform in the heats", last),
        Axes("step", "gain over uniform, points", references=[(0.0, "uniform")]),
        lines,
    )
    return Figure(
        f"{name}: what each weighter gained on the judges",
        svg,
        "The mean over the judges of the heat's later looks, with one standard error. An arm that "
        "was dropped at half-time ends there.",
    )


def _heats(name: str, moments: list[Moment]) -> Table:
    rows = []
    for moment in moments:
        race = moment.race
        if not (race.ended or race.dropped):
            continue
        best = max(race.standings, key=lambda arm: race.standings[arm].gain, default="")
        what = f"{race.leader} leads" if race.ended else f"dropped: {', '.join(race.dropped)}"
        why = "no arm took part"
        if best:
            one = race.standings[best]
            why = f"{best} {POINTS * one.gain:+.1f} points, {one.t:.1f} standard errors"
        rows.append([Cell(f"{moment.step}", "head"), Cell(what, "text"), Cell(why, "text")])
    return Table(
        f"{name}: decisions",
        ["window from step", "decision", "the best arm on the judges"],
        rows,
        "Uniform weights lead where no arm is better beyond chance.",
    )
