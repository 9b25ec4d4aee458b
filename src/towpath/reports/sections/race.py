"""The section on a race of weighters: who led when, by how much, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from towpath.metrics import METRICS
from towpath.reports.blocks import Block, Cell, Figure, Figures, Legend, Note, Section, Table
from towpath.reports.charts.lines import Axes, Line, Span, line_chart
from towpath.reports.charts.svg import Words
from towpath.runs.run_data import RunData
from towpath.runs.study import Study
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.standing import Standing


@dataclass(frozen=True)
class Moment:
    """The record of a race after a window."""

    step: int
    """the last mini-batch of the window"""
    race: RaceRecord


def race_section(study: Study) -> Section | None:
    """Make the section on the races of a study; None where no weighter raced."""
    blocks: list[Block] = []
    for label in study.labels:
        runs = study.seeds(label)
        for run in runs:
            moments = _moments(run)
            if moments:
                name = label if len(runs) == 1 else f"{label}, seed {run.seed}"
                key = f"{study.name}-race-{label}-{run.seed}"
                blocks += _of_run(key, name, moments, over=run.summary is not None)
    if not blocks:
        return None
    return Section(
        "race",
        "The race",
        "In a heat every weighter trains a branch of its own from the same state. Trusted tasks "
        "that none of them trains on say how much each gained over the first one, and the one with "
        "the largest gain that is beyond chance leads from then on.",
        blocks,
    )


def _moments(run: RunData) -> list[Moment]:
    """Return the records of the race in a run, each at the step after its window."""
    begins = [(plan.step, plan.figures.race) for plan in run.plans]
    ends = [step - 1 for step, _ in begins[1:]] + [max(run.steps, begins[-1][0])] if begins else []
    return [
        Moment(end, race) for (_, race), end in zip(begins, ends, strict=True) if race is not None
    ]


LONGER = (
    "Train for longer, or lower weighter.first, the mini-batches before the first heat, and "
    "weighter.length, those of the heat."
)
"""what to do about a run that ends before its race can choose"""


def _of_run(key: str, name: str, moments: list[Moment], *, over: bool) -> list[Block]:
    looks = [moment for moment in moments if moment.race.standings]
    if not looks:
        leader, steps = moments[-1].race.leader, moments[-1].step
        return [
            Note(
                f"{name}: nothing was judged in {steps} steps, so {leader} led all the time. A "
                "race needs trusted tasks to judge by (trusted.count), and steps enough for a "
                f"heat. {LONGER}"
            )
        ]
    figure = _gains(key, name, moments, looks)
    drawn: Block = Figures([figure])
    if not figure.svg:
        drawn = Note(f"{name}: there is no gain to draw. {_without_number(looks)}")
    return [drawn, _decisions(name, moments, over=over)]


def _gains(key: str, name: str, moments: list[Moment], looks: list[Moment]) -> Figure:
    metric = METRICS[looks[0].race.metric]
    baseline = _baseline(looks)
    arms = list(dict.fromkeys(arm for moment in looks for arm in moment.race.standings))
    lines = []
    for colour, arm in enumerate(arms):
        pieces = [_piece(heat, arm, metric.scale) for heat in _heats(looks)]
        drawn = [piece for piece in pieces if piece.points]
        lines += [Line(arm, colour, piece.points, piece.band, dots=True) for piece in drawn]
    last = {line.label: line.points[-1][1] for line in lines}
    ends = "; ".join(f"{arm} {gain:+.3g}" for arm, gain in last.items())
    if metric.percent:
        unit = f"points of {metric.words}"
    else:
        unit = metric.words if metric.larger_is_better else f"decrease of the {metric.words}"
    svg = line_chart(
        Words(key, f"{name}: gains on the judges during heats", ends),
        Axes(
            "step (mini-batches)",
            f"gain over {baseline}, {unit}",
            include_x=(0.0, float(moments[-1].step)),
            references=[(0.0, baseline)],
            spans=_leaders(moments, arms),
            end_labels=False,
        ),
        lines,
    )
    legend = [Legend(arm, colour) for colour, arm in enumerate(arms)]
    note = (
        "The mean over the judges of the later half of a heat's looks so far, with one standard "
        "error. A weighter that was dropped at half-time ends there. The strip along the axis has "
        f"the colour of the weighter that led, grey for {baseline}. {_without_number(looks)}"
    )
    return Figure(f"{name}: what each weighter gained on the judges", svg, note.strip(), legend)


def _without_number(looks: Sequence[Moment]) -> str:
    """Return which arms had a gain that is no number, since when and why; empty if none had."""
    found: dict[str, str] = {}
    for moment in looks:
        for arm, one in moment.race.standings.items():
            if not math.isfinite(one.gain):
                found.setdefault(arm, f"after step {moment.step} {moment.race.evidence(arm)}")
    listed = "; ".join(f"{arm} ({why})" for arm, why in found.items())
    return f"Without a number: {listed}." if listed else ""


def _leaders(moments: Sequence[Moment], arms: Sequence[str]) -> list[Span]:
    """Return who led when: a window belongs to the weighter that led while it was trained."""
    spans: list[Span] = []
    begins = 0.0
    for moment in moments:
        leader, ends = moment.race.led or moment.race.leader, float(moment.step)
        if spans and spans[-1].label == leader:
            begins = spans.pop().start
        spans.append(Span(begins, ends, arms.index(leader) if leader in arms else -1, leader))
        begins = ends
    return [
        replace(span, label=f"{span.label} led from step {span.start:g} to {span.end:g}")
        for span in spans
    ]


def _baseline(looks: Sequence[Moment]) -> str:
    """Return the name of what gains are taken to, as far as the records tell."""
    judged = {arm for moment in looks for arm in moment.race.standings}
    leaders = [moment.race.led or moment.race.leader for moment in looks]
    return next((leader for leader in leaders if leader not in judged), "the baseline")


def _heats(looks: Sequence[Moment]) -> list[list[Moment]]:
    """Return the looks of each heat; a heat ends with a record that says so."""
    heats: list[list[Moment]] = [[]]
    for moment in looks:
        heats[-1].append(moment)
        if moment.race.ended:
            heats.append([])
    return [heat for heat in heats if heat]


@dataclass(frozen=True)
class _Piece:
    """One arm's gains in one heat, to be drawn."""

    points: list[tuple[float, float]]
    band: list[tuple[float, float, float]]


def _piece(heat: Sequence[Moment], arm: str, scale: float) -> _Piece:
    found: list[tuple[float, Standing]] = []
    for moment in heat:
        one = moment.race.standings.get(arm)
        # between two looks a record repeats the standing
        if one is not None and math.isfinite(one.gain) and not (found and found[-1][1] == one):
            found.append((float(moment.step), one))
    points = [(step, scale * one.gain) for step, one in found]
    sure = all(math.isfinite(one.error) for _, one in found)
    band = [
        (step, scale * (one.gain - one.error), scale * (one.gain + one.error))
        for step, one in found
        if sure
    ]
    return _Piece(points, band if len(band) > 1 else [])


def _decisions(name: str, moments: list[Moment], *, over: bool) -> Table:
    ends = [moment.race for moment in moments if moment.race.ended]
    if ends:
        note = (
            "The first weighter leads where no other is better beyond chance: a one-sided t-test "
            f"over the judges at p <= {ends[-1].share:.2g}, which the leader need not pass again "
            "while it is ahead. Of several, the largest gain leads."
        )
    elif over:
        leader, steps = moments[-1].race.leader, moments[-1].step
        note = f"No heat ended within {steps} steps, so {leader} led all the time. {LONGER}"
    else:
        note = "No heat has ended yet."
    rows = [
        [
            Cell(f"{moment.step}", "head"),
            Cell(moment.race.decision(), "text"),
            Cell(moment.race.reason(), "text"),
        ]
        for moment in moments
        if moment.race.decides
    ]
    return Table(
        f"{name}: decisions",
        ["after step", "decision", "what the judges said"],
        rows,
        note,
    )
