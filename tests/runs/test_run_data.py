"""What a run says of itself, whatever was read of it."""

import pytest

from tests.reports import synthetic
from towpath.runs.run_data import RunData


def test_without_a_configuration_the_folder_names_the_run():
    run = RunData("some-folder")
    assert (run.weighter, run.seed, run.asked_steps) == ("some-folder", 0, None)
    assert not run.finished


def test_weighter_seed_and_steps_are_those_of_the_recipe():
    recipe = synthetic.recipe(weighter={"name": "tow"}, seed=3, training={"steps": 70})
    run = RunData("some-folder", recipe)
    assert (run.weighter, run.seed, run.asked_steps) == ("tow", 3, 70)


@pytest.mark.parametrize(
    ("deviations", "delta", "weighs"),
    [
        ([], None, False),
        ([(1, 3e-8), (2, 0.0)], 3e-8, False),  # 1/M in single precision
        ([(1, 0.2), (2, 0.5), (3, 0.1)], 0.5, True),
    ],
)
def test_delta_is_the_largest_deviation_and_rounding_is_no_weighing(deviations, delta, weighs):
    run = RunData("run", deviations=deviations)
    assert run.delta == delta
    assert run.weighs is weighs
