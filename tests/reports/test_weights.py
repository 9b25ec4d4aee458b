"""The section on weights: names of groups are whole, in the map and beside the lines."""

from array import array

from towpath.reports.sections.weights import weights_section
from towpath.runs.read import RunData
from towpath.runs.study import Study

LONG = "Old_Church_Slavonic_(Cyrillic)"


def study(*names):
    steps = [float(step) for step in range(1, 41)]
    run = RunData("run", steps=40, deviations=[(step, 0.1) for step in steps])
    for i, name in enumerate(names):
        run.groups[name] = (array("d", steps), array("d", [0.5 + 0.2 * i] * len(steps)))
    return Study("made-up", "made-up", {"tow": [run]})


def figures(*names):
    (block,) = weights_section(study(*names)).blocks
    return {figure.title: figure for figure in block.items}


def test_short_names_stand_at_the_ends_of_the_lines():
    lines = figures("Greek", "Latin")["tow: the most and the least trusted groups"]
    assert ">Greek</text>" in lines.svg
    assert lines.legend == ()


def test_long_names_are_in_a_legend_and_in_the_map_as_a_whole():
    found = figures(LONG, "Greek", "Latin")
    lines = found["tow: the most and the least trusted groups"]
    assert {item.label for item in lines.legend} == {LONG, "Latin"}
    heat = found["tow: weight of each group of tasks"]
    assert ">Old_Church_Slavonic_</tspan>" in heat.svg
    assert ">(Cyrillic)</tspan>" in heat.svg
    assert "…" not in heat.svg
