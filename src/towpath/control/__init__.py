"""Trajectory optimisation: models of stages, sweeps, the condensed problem, search, iLQR."""

from towpath.control.bounds import BOUNDS, Bounds, BoundsKind, Convex, bounds_of
from towpath.control.condensed import condense
from towpath.control.ilqr import Improvement, Iteration, ilqr
from towpath.control.prior import ActionPrior
from towpath.control.search import Outlook, Search
from towpath.control.stage import (
    EVERYTHING,
    ExactProduct,
    Model,
    Stage,
    StageModel,
    TerminalCost,
    backward_costates,
    costate_gradient,
)
from towpath.control.status import Status
from towpath.control.stored import ExactGradients, Gradients, HalfGradients, StoredGradients
from towpath.control.sweep import ValueKind, backward_sweep, condensed_sweep
from towpath.control.trajectory import Allows, GoesOn, Policy, Problem, Trajectory, Work

__all__ = [
    "BOUNDS",
    "EVERYTHING",
    "ActionPrior",
    "Allows",
    "Bounds",
    "BoundsKind",
    "Convex",
    "ExactGradients",
    "ExactProduct",
    "GoesOn",
    "Gradients",
    "HalfGradients",
    "Improvement",
    "Iteration",
    "Model",
    "Outlook",
    "Policy",
    "Problem",
    "Search",
    "Stage",
    "StageModel",
    "Status",
    "StoredGradients",
    "TerminalCost",
    "Trajectory",
    "ValueKind",
    "Work",
    "backward_costates",
    "backward_sweep",
    "bounds_of",
    "condense",
    "condensed_sweep",
    "costate_gradient",
    "ilqr",
]
