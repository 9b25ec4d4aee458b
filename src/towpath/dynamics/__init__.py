"""Optimisers as dynamics: a pure step and, beside it, its linearisation."""

from towpath.dynamics.adam import Adam, AdamDynamics
from towpath.dynamics.bridge import check_uniform, read_torch, write_torch
from towpath.dynamics.sgd import SGD, SGDDynamics, plain_sgd
from towpath.dynamics.state import Dynamics, Linearisation, OptimiserState, State, restricted

__all__ = [
    "SGD",
    "Adam",
    "AdamDynamics",
    "Dynamics",
    "Linearisation",
    "OptimiserState",
    "SGDDynamics",
    "State",
    "check_uniform",
    "plain_sgd",
    "read_torch",
    "restricted",
    "write_torch",
]
