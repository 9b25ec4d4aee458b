"""The arms of `auto`: what their names stand for everywhere else."""

from towpath.recipes.component import Component
from towpath.recipes.components import make_weighter
from towpath.weighters import wants_judges
from towpath.weighters.race.lineup import BASELINE, line_up
from towpath.weighters.race.race import Race


def test_each_arm_is_the_weighter_of_its_name_without_options():
    arms = line_up()
    assert next(iter(arms)) == BASELINE == Race().baseline
    for name, weighter in arms.items():
        assert weighter == make_weighter(Component(name)), name
        assert not wants_judges(weighter)


def test_auto_of_a_recipe_is_the_race_of_python():
    made = make_weighter(Component("auto"))
    assert isinstance(made, Race)
    assert dict(made.rules) == line_up() == dict(Race().rules)
    assert list(made.rules) == list(line_up()), "the baseline is the first"
