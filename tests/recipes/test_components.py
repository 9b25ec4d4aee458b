"""From a name in a recipe to what it names, and only from packages that were allowed."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from towpath.data import TaskShape
from towpath.learners import ProtoNet
from towpath.recipes.component import Component
from towpath.recipes.components import (
    data_options,
    make_weighter,
    named,
    weighter_options,
)
from towpath.recipes.learners import make_learner
from towpath.recipes.optimizers import optimizer_options
from towpath.recipes.typed import RecipeError
from towpath.weighters import TOW, WEIGHTERS, FineTune, MiniBatch, MiniBatchWeighter, Mixture
from towpath.weighters.rules.memory import Memory

SHAPE = TaskShape((1, 16, 16), 3)


class OwnProtoNet(ProtoNet):
    """A learner of the user's, derived from one that wants an embedding."""


@dataclass(frozen=True)
class Own(MiniBatchWeighter):
    """A weighter of the user's."""

    share: float = 0.5

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        return torch.full_like(batch.losses, self.share), state


def test_a_name_of_the_registry_needs_no_permission():
    assert isinstance(make_weighter(Component("tow", {"beta": 1.0})), TOW)


def test_a_class_of_the_users_is_imported_only_where_it_is_allowed():
    own = Component(f"{__name__}:Own")
    with pytest.raises(RecipeError, match="--allow-import tests if you trust that code") as refusal:
        named(WEIGHTERS, own, "weighter")
    said = str(refusal.value)
    assert said.index("--allow-import") < said.index("uniform"), "the remedy before a long list"
    assert named(WEIGHTERS, own, "weighter", ["tests"]) is Own
    assert weighter_options(own.given(share=0.7), ["tests"]) == {"share": 0.7}


def test_all_options_are_filled_in_and_stay_as_they_are():
    once = weighter_options(Component("tow-targets", {"beta": 1.0}))
    assert once["beta"] == 1.0
    assert weighter_options(Component("tow-targets", once)) == once
    assert optimizer_options(Component("sgd"))["momentum"] == 0.0


def test_a_plan_may_be_about_a_weighter_with_options_of_its_own():
    by_name = Component("tow-targets", {"nominal": "mixture"})
    once = weighter_options(by_name)
    assert once["nominal"] == {"name": "mixture", "window": 200, "warmup": 20}
    assert weighter_options(Component("tow-targets", once)) == once
    for nominal, expected in (
        ("uniform", "uniform"),
        ("random", "random"),
        ("mixture", Mixture()),
        ({"name": "mixture", "window": 100}, Mixture(window=100)),
        ({"name": "fine-tune"}, FineTune(after=80)),  # of a training of 100 steps
    ):
        made = make_weighter(Component("tow-targets", {"nominal": nominal}), steps=100)
        assert isinstance(made, TOW)
        assert made.nominal == expected
    own = Component("tow", {"nominal": {"name": f"{__name__}:Own", "share": 0.7}})
    made = make_weighter(own, ["tests"])
    assert isinstance(made, TOW)
    assert made.nominal == Own(0.7)


@pytest.mark.parametrize(
    ("nominal", "sentence"),
    [
        ("mixtur", r"weighter\.nominal\.name is 'mixtur'; .*Did you mean 'mixture'"),
        ({"name": "mixture", "windw": 9}, r"weighter\.nominal has no option 'windw'; .*'window'"),
        ({"name": "mixture", "window": "x"}, r"weighter\.nominal\.window is 'x'; expected a whole"),
        ({"window": 9}, r"weighter\.nominal\.name is None; expected the name"),
        (3, r"weighter\.nominal is 3; expected a word or a mapping"),
        ({"name": f"{__name__}:Own"}, "--allow-import tests if you trust that code"),
    ],
)
def test_a_nominal_that_cannot_be_read_is_refused_by_its_place(nominal, sentence):
    with pytest.raises(RecipeError, match=sentence):
        weighter_options(Component("tow-targets", {"nominal": nominal}))


def test_data_options_are_checked_by_the_loader_and_only_those_given():
    assert data_options(Component("glyphs", {"drawings": 5})) == {"drawings": 5}
    with pytest.raises(RecipeError, match=r"data has no option 'drawing'; .*Did you mean"):
        data_options(Component("glyphs", {"drawing": 5}))
    with pytest.raises(RecipeError, match=r"data\.drawings is 0; expected"):
        data_options(Component("glyphs", {"drawings": 0}))


def outputs(learner: Component) -> int:
    """Outputs of the backbone that a learner gets."""
    mlp = Component("mlp", {"hidden": [4]})
    made = make_learner(mlp, learner, shape=SHAPE, seed=0, allowed=["tests"])
    return list(made.parameters().values())[-1].shape[0]


def test_a_learner_says_itself_whether_its_backbone_has_a_head():
    assert outputs(Component("maml")) == 3
    assert outputs(Component("protonet")) == 4
    assert outputs(Component(f"{__name__}:OwnProtoNet")) == 4
