"""Who runs the runs of a comparison: what does not go together is refused."""

import pytest

from tests.training.runs import Silent
from towpath.grid.choice import EngineChoice
from towpath.grid.engines import InProcess, Subprocesses
from towpath.grid.on_ray import OnRay
from towpath.recipes.typed import RecipeError


class Nobody:
    """A watcher that says nothing."""

    def heard(self, name, event): ...
    def failed(self, name, reason, again): ...


@pytest.mark.parametrize(
    ("choice", "kind"),
    [
        ({}, InProcess),
        ({"jobs": 1}, InProcess),
        ({"jobs": 2}, Subprocesses),
        ({"engine": "ray", "cpus_per_run": 0.5}, OnRay),
    ],
)
def test_the_engine_is_what_was_asked_for(choice, kind):
    assert isinstance(EngineChoice(**choice).made(Silent(), Nobody()), kind)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"engine": "rey"}, "--engine is 'rey'; expected local or ray. Did you mean 'ray'"),
        ({"jobs": 0}, "--jobs is 0; expected a whole number of at least 1"),
        ({"engine": "ray", "jobs": 2}, "--engine ray found --jobs 2"),
        ({"address": "here"}, "--address is here; expected it with --engine ray only"),
        ({"engine": "ray", "gpus_per_run": -1.0}, "--gpus-per-run is -1.0; expected a number"),
    ],
)
def test_what_does_not_go_together_is_refused(choice, said):
    with pytest.raises(RecipeError, match=said):
        EngineChoice(**choice)
