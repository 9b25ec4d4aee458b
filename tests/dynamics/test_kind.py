"""How classes of torch.optim are told apart, read and written."""

import pytest
import torch

from towpath.dynamics import Adam
from towpath.dynamics.adam import TorchAdam
from towpath.dynamics.amsgrad import TorchAdamW
from towpath.dynamics.bridge import KINDS, kind_of
from towpath.dynamics.kind import UNMODELLED_OPTIONS, number
from towpath.dynamics.sgd import TorchSGD

PARAMETER = torch.nn.Parameter(torch.zeros(2))


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_a_kind_has_the_name_and_the_slots_of_its_class(cls):
    optimizer = cls([PARAMETER], lr=0.1, **({"momentum": 0.9} if cls is torch.optim.SGD else {}))
    kind = kind_of(optimizer)
    assert kind.name == cls.__name__
    (PARAMETER.sum()).backward()
    optimizer.step()
    stored = set(optimizer.state[PARAMETER]) - {"step"}
    assert set(kind.kept(optimizer.param_groups[0])) == stored
    assert kind.steps_taken(optimizer.state[PARAMETER]) == 1
    assert kind.steps_taken({}) == 0


def test_a_subclass_may_step_otherwise_and_is_not_modelled():
    class Mine(torch.optim.Adam):
        pass

    with pytest.raises(ValueError, match=r"Mine is not modelled"):
        kind_of(Mine([PARAMETER]))


@pytest.mark.parametrize("option", UNMODELLED_OPTIONS)
def test_an_option_that_changes_the_step_is_refused_by_name(option):
    group = {"lr": 0.1, "momentum": 0.0, option: True}
    with pytest.raises(ValueError, match=f"SGD with {option}=True"):
        TorchSGD().rule(group)


def test_adamw_decays_apart_from_the_gradient_unless_a_group_says_otherwise():
    group = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.1}
    assert TorchAdamW().rule(group) == Adam(0.1, (0.9, 0.99), 1e-8, 0.1, decoupled=True)
    assert not TorchAdam().rule(group).decoupled
    assert TorchAdam().rule({**group, "decoupled_weight_decay": True}).decoupled


def test_plain_sgd_keeps_nothing():
    assert TorchSGD().kept({"momentum": 0.0}) == ()
    assert TorchSGD().kept({"momentum": 0.9}) == ("momentum_buffer",)
    entry: dict[str, object] = {}
    TorchSGD().write_steps(entry, 3)
    assert entry == {}


def test_a_counter_stays_the_kind_of_tensor_that_it_was():
    entry = {"step": torch.tensor(1.0, dtype=torch.float64)}
    TorchAdam().write_steps(entry, 5)
    assert entry["step"].dtype is torch.float64
    assert number(entry["step"]) == 5.0
    fresh: dict[str, torch.Tensor] = {}
    TorchAdam().write_steps(fresh, 2)
    assert fresh["step"].dtype is torch.get_default_dtype()
