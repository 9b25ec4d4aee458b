"""towpath weights the tasks of meta-learning by trajectory optimisation.

objective = tp.Objective(tp.learners.MAML(model))
plan = tp.TOW().plan(objective, model, optimizer, window)
plan.apply_(model, optimizer)
"""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath import backbones, data, distributed, learners
    from towpath.control import Status
    from towpath.data.episode import Episode
    from towpath.dynamics import SGD, Adam
    from towpath.objective import Objective
    from towpath.training import TrainedLearner, TrainState, load, train_step
    from towpath.weighters import (
        ATS,
        DWA,
        FAMO,
        L2RW,
        MGDA,
        MWLMAML,
        OPUS,
        PDS,
        TOW,
        TRMAML,
        AlphaMAML,
        AutoLambda,
        CVaR,
        DoGE,
        Exploitation,
        Exploration,
        FineTune,
        GradientAgreement,
        GroupDRO,
        Kinds,
        MetaWeightNet,
        MiniBatch,
        MiniBatchWeighter,
        Mixture,
        Nested,
        Oracle,
        Plan,
        Race,
        Random,
        Trim,
        TrustedOnly,
        Uncertainty,
        Uniform,
    )

__version__ = "0.1.0"

__all__ = [
    "ATS",
    "DWA",
    "FAMO",
    "L2RW",
    "MGDA",
    "MWLMAML",
    "OPUS",
    "PDS",
    "SGD",
    "TOW",
    "TRMAML",
    "Adam",
    "AlphaMAML",
    "AutoLambda",
    "CVaR",
    "DoGE",
    "Episode",
    "Exploitation",
    "Exploration",
    "FineTune",
    "GradientAgreement",
    "GroupDRO",
    "Kinds",
    "MetaWeightNet",
    "MiniBatch",
    "MiniBatchWeighter",
    "Mixture",
    "Nested",
    "Objective",
    "Oracle",
    "Plan",
    "Race",
    "Random",
    "Status",
    "TrainState",
    "TrainedLearner",
    "Trim",
    "TrustedOnly",
    "Uncertainty",
    "Uniform",
    "backbones",
    "data",
    "distributed",
    "learners",
    "load",
    "train_step",
]
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.control": ("Status",),
        "towpath.objective": ("Objective",),
        "towpath.data.episode": ("Episode",),
        "towpath.dynamics": ("SGD", "Adam"),
        "towpath.training": ("TrainedLearner", "TrainState", "load", "train_step"),
        "towpath.weighters": (
            "AlphaMAML",
            "AutoLambda",
            "DWA",
            "DoGE",
            "FAMO",
            "FineTune",
            "MGDA",
            "MWLMAML",
            "MetaWeightNet",
            "Nested",
            "TRMAML",
            "TrustedOnly",
            "Uncertainty",
            "ATS",
            "L2RW",
            "OPUS",
            "PDS",
            "TOW",
            "CVaR",
            "Exploitation",
            "Exploration",
            "GradientAgreement",
            "GroupDRO",
            "Kinds",
            "MiniBatch",
            "MiniBatchWeighter",
            "Mixture",
            "Oracle",
            "Plan",
            "Race",
            "Random",
            "Trim",
            "Uniform",
        ),
    },
)
