"""The section on a race: a real small run with two heats, and records made up for rare cases."""

import math
import re

import pytest

from tests.training.runs import TINY, run
from towpath.recipes.recipe import Recipe
from towpath.reports.blocks import Figures, Note, Table
from towpath.reports.page import study_chapter
from towpath.reports.sections.race import race_section
from towpath.runs.plan_statistics import PlanStatistics
from towpath.runs.read_studies import read_studies
from towpath.runs.run_data import PlanLine
from towpath.runs.study import Study
from towpath.weighters.race.judges import LOSS
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.standing import Standing

RULES = ["uniform", "mixture:warmup=2", "exploitation", "opus"]
RACE = {"name": "race", "rules": RULES, "first": 2, "length": 8, "looks": 4, "deals": 2}


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    recipe = {**TINY, "weighter": RACE, "trusted": {"count": 9, "per_batch": 2}}
    path = run(tmp_path_factory.mktemp("reports") / "raced", Recipe.of(recipe))
    (found,) = read_studies([path])
    return found


@pytest.fixture
def made_up(study):
    """The study with other records of its race."""
    (run_data,) = study.all
    kept = run_data.plans

    def of(*races: RaceRecord) -> Study:
        run_data.plans = [
            PlanLine(2 * i + 1, PlanStatistics(status="rule", race=race))
            for i, race in enumerate(races)
        ]
        return study

    yield of
    run_data.plans = kept


def parts(study: Study) -> tuple[str, list[list[str]]]:
    """The picture of the only race, and the texts of the table."""
    section = race_section(study)
    assert section is not None
    figures, table = section.blocks
    assert isinstance(figures, Figures)
    assert isinstance(table, Table)
    return figures.items[0].svg, [[cell.text for cell in row] for row in table.rows]


def test_the_picture_shows_every_arm_and_the_table_every_decision(study):
    svg, rows = parts(study)
    for arm in RULES[1:]:
        assert arm in svg
    assert "points of accuracy" in svg
    decisions = [race for race in _records(study) if race.decides]
    assert [row[1] for row in rows] == [race.decision() for race in decisions]
    assert [row[2] for row in rows] == [race.reason() for race in decisions]
    ends = [row[0] for row in rows if "leads" in row[1]]
    assert ends == ["10", "14"], "the steps at which the heats ended"
    assert not re.search("nan|inf", svg)


def _records(study: Study) -> list[RaceRecord]:
    return [race for line in study.all[0].plans if (race := line.figures.race) is not None]


def test_the_chapter_of_a_study_has_the_section_only_where_there_was_a_race(study, made_up):
    def sections() -> list[str]:
        chapter = study_chapter(study, lambda _: "not drawn here")
        return [section.name for section in chapter.sections]

    assert "race" in sections()
    made_up()
    assert race_section(study) is None
    assert "race" not in sections()


def test_a_race_that_judged_nothing_says_so(made_up):
    section = race_section(made_up(RaceRecord("uniform"), RaceRecord("uniform")))
    assert section is not None
    (note,) = section.blocks
    assert isinstance(note, Note)
    assert "nothing was judged in 40 steps, so uniform led all the time" in note.text
    assert "Train for longer, or lower weighter.first" in note.text


def test_a_race_without_the_end_of_a_heat_says_so(made_up):
    gain = {"mixture": Standing(0.1, 0.01, 5)}
    halved = RaceRecord("uniform", standings=gain, dropped=("opus",))

    def note() -> str:
        section = race_section(study)
        assert section is not None
        table = section.blocks[1]
        assert isinstance(table, Table)
        return table.note

    study = made_up(RaceRecord("uniform"), halved)
    assert note().startswith("No heat ended within 40 steps, so uniform led all the time. Train")
    (run_data,) = study.all
    finished, run_data.summary = run_data.summary, None  # as it is while a run goes on
    try:
        assert note() == "No heat has ended yet."
    finally:
        run_data.summary = finished
    made_up(RaceRecord("mixture", led="uniform", standings=gain, share=0.05, ended=True))
    assert "better beyond chance: a one-sided t-test over the judges at p <= 0.05, which" in note()


def test_heats_are_lines_of_their_own_and_a_look_is_drawn_once(made_up):
    def standing(gain: float) -> dict[str, Standing]:
        return {"mixture": Standing(gain, 0.01, 5)}

    svg, _ = parts(
        made_up(
            RaceRecord("uniform", standings=standing(0.1)),
            RaceRecord("uniform", standings=standing(0.1)),  # no look in between
            RaceRecord("mixture", "uniform", standings=standing(0.2), ended=True),
            RaceRecord("mixture"),
            RaceRecord("mixture", standings=standing(0.05)),
            RaceRecord("mixture", standings=standing(0.04), ended=True),
        )
    )
    assert svg.count('class="line bold"') == 2
    assert svg.count("<circle") == 4


def test_a_loss_is_not_called_points(made_up):
    found = {"mixture": Standing(0.25, 0.1, 5)}
    record = RaceRecord("mixture", "uniform", found, LOSS, ended=True)
    svg, rows = parts(made_up(record))
    assert "point" not in svg + str(rows)
    assert "decrease of the loss" in svg
    assert rows[0][2] == "+0.2500 of loss on 5 judges, t = 2.5"


def test_gains_that_are_not_finite_leave_the_picture_whole(made_up):
    found = {"broken": Standing(-math.inf, 0.0, 2), "one judge": Standing(0.1, math.inf, 1)}
    svg, rows = parts(made_up(*[RaceRecord("uniform", standings=found, ended=True)] * 2))
    assert not re.search("nan|inf", svg)
    assert rows[0][2].startswith("best one judge")


def test_what_has_no_number_is_told_in_words_beside_the_picture(made_up):
    outlived, broken = Standing(math.inf, 0.0, 3), Standing(-math.inf, 0.0, 3)
    found = {"mixture": outlived, "opus": broken}
    record = RaceRecord("mixture", "uniform", found, ended=True)
    before = RaceRecord("uniform", standings={"mixture": Standing(0.1, 0.01, 3), "opus": broken})
    told = (
        "Without a number: opus (after step 2 not finite on the judges); mixture (after step 40 "
        "finite on the judges where what it is compared with is not)."
    )
    section = race_section(made_up(before, record))
    assert section is not None
    figures = section.blocks[0]
    assert isinstance(figures, Figures)
    assert figures.items[0].note.endswith(told)
    section = race_section(made_up(record, record))
    assert section is not None
    note, table = section.blocks  # there is nothing to draw
    assert isinstance(note, Note)
    assert "mixture (after step 2 finite on the judges where what it is" in note.text
    assert isinstance(table, Table)
    assert table.rows[0][2].text == "finite on the judges where what it is compared with is not"


def test_a_strip_shows_who_led_when(made_up):
    found = {"mixture": Standing(0.1, 0.1, 4)}
    svg, _ = parts(
        made_up(
            RaceRecord("uniform"),
            RaceRecord("uniform", standings=found),
            RaceRecord("mixture", "uniform", found, ended=True),
            RaceRecord("mixture"),
        )
    )
    told = re.findall(r'<rect class="dot (\w+)".*?<title>(.*?)</title>', svg)
    assert told == [
        ("grey", "uniform led from step 0 to 6"),
        ("s0", "mixture led from step 6 to 40"),
    ]


def test_every_arm_is_in_the_legend_however_long_its_name(made_up):
    name = "package.module:AClassWithAVeryLongName:option=0.5"
    section = race_section(made_up(RaceRecord("uniform", standings={name: Standing(0.1, 0.1, 4)})))
    assert section is not None
    figures = section.blocks[0]
    assert isinstance(figures, Figures)
    assert [entry.label for entry in figures.items[0].legend] == [name]
