"""Where an objective's tasks get their losses from."""

import pytest
import torch

import towpath as tp
from tests.learners import tasks
from towpath.learners import MAML, ProtoNet
from towpath.objective.source import FunctionTasks, LearnerTasks


def episode(query=6):
    return tasks.classification([1] * 3, query, (1, 16, 16), 0)


def fn(params, task):
    return task @ params["w"], task


def test_a_learner_says_itself_whether_it_embeds():
    net = tp.backbones.Conv4(1, None, 16, filters=4)
    assert LearnerTasks(ProtoNet(net)).embeds
    head = tp.backbones.Conv4(1, 3, 16, filters=4)
    assert not LearnerTasks(MAML(head)).embeds
    assert not FunctionTasks(fn, "mse").embeds


def test_an_objective_of_a_subclass_is_made_from_a_function_by_its_own_init():
    class Named(tp.Objective):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.name = "mine"

    objective = Named.from_function(fn, loss="mse")
    assert isinstance(objective, Named)
    assert objective.name == "mine"
    assert isinstance(objective.source, FunctionTasks)


def test_the_part_of_a_task_is_the_episodes_own_or_what_the_user_says():
    source = FunctionTasks(fn, "mse", part=lambda task, share: ("part", task, share))
    assert source.parts(["task"], 0.5) == [("part", "task", 0.5)]
    (part,) = FunctionTasks(fn, "mse").parts([episode()], 0.5)
    assert len(part.query_y) < len(episode().query_y)
    with pytest.raises(ValueError, match="type Tensor"):
        FunctionTasks(fn, "mse").parts([episode(), torch.zeros(2)], 0.5)


@pytest.mark.parametrize("wrong", [3, "model", None])
def test_what_is_neither_a_learner_nor_a_function_is_refused(wrong):
    with pytest.raises(ValueError, match="from_function"):
        tp.Objective(wrong)
    with pytest.raises(ValueError, match="expected a function"):
        tp.Objective.from_function(wrong)
