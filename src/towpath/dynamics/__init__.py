"""Optimisers as dynamical systems: each has a pure step and the linearisation of that step."""

from towpath.dynamics.adam import Adam, AdamDynamics
from towpath.dynamics.amsgrad import AMSGrad, AMSGradDynamics
from towpath.dynamics.bridge import check_uniform, read_torch, write_torch
from towpath.dynamics.clipping import ClipNorm, ClippedDynamics, ClipValue, clip_of, clipped
from towpath.dynamics.optimiser_state import OptimiserState
from towpath.dynamics.radam import RAdam, RAdamDynamics
from towpath.dynamics.rmsprop import RMSprop, RMSpropDynamics
from towpath.dynamics.schedules import SCHEDULES, RateSchedule
from towpath.dynamics.sgd import SGD, SGDDynamics, by_plain_sgd, plain_sgd
from towpath.dynamics.state import Dynamics, Linearisation, State
from towpath.dynamics.stepping import Stepping

__all__ = [
    "SCHEDULES",
    "SGD",
    "AMSGrad",
    "AMSGradDynamics",
    "Adam",
    "AdamDynamics",
    "ClipNorm",
    "ClipValue",
    "ClippedDynamics",
    "Dynamics",
    "Linearisation",
    "OptimiserState",
    "RAdam",
    "RAdamDynamics",
    "RMSprop",
    "RMSpropDynamics",
    "RateSchedule",
    "SGDDynamics",
    "State",
    "Stepping",
    "by_plain_sgd",
    "check_uniform",
    "clip_of",
    "clipped",
    "plain_sgd",
    "read_torch",
    "write_torch",
]
