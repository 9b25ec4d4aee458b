"""Optimisers as dynamical systems: each has a pure step and the linearisation of that step."""

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
