"""Trajectory optimisation: models of stages, sweeps, the condensed problem, search, iLQR."""

from towpath.control.condensed import condensed_hessian
from towpath.control.descent import BOUNDS, BoundsKind, Policy, Prior, constrained
from towpath.control.ilqr import Iteration, Result, Search, Trajectory, Work, ilqr
from towpath.control.stage import (
    ExactProduct,
    Model,
    StageModel,
    TerminalCost,
    backward_costates,
    costate_gradient,
)
from towpath.control.status import Status
from towpath.control.sweep import VALUES, ValueKind, backward_sweep, condensed_sweep

__all__ = [
    "BOUNDS",
    "VALUES",
    "BoundsKind",
    "ExactProduct",
    "Iteration",
    "Model",
    "Policy",
    "Prior",
    "Result",
    "Search",
    "StageModel",
    "Status",
    "TerminalCost",
    "Trajectory",
    "ValueKind",
    "Work",
    "backward_costates",
    "backward_sweep",
    "condensed_hessian",
    "condensed_sweep",
    "constrained",
    "costate_gradient",
    "ilqr",
]
