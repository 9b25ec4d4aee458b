"""Losses of a task's outputs: by name, by a module or function of the user's, or several."""

from towpath.losses.custom import CustomLoss, LossLike, class_loss, loss_of, number_loss
from towpath.losses.loss import Factor, Loss, class_rows
from towpath.losses.named import (
    LOSSES,
    BinaryCrossEntropy,
    CrossEntropy,
    Huber,
    LossName,
    NegativeLogLikelihood,
    SquaredError,
)
from towpath.losses.result import GivenLoss, LossByName, Losses, OneLoss, Result, losses_of

__all__ = [
    "LOSSES",
    "BinaryCrossEntropy",
    "CrossEntropy",
    "CustomLoss",
    "Factor",
    "GivenLoss",
    "Huber",
    "Loss",
    "LossByName",
    "LossLike",
    "LossName",
    "Losses",
    "NegativeLogLikelihood",
    "OneLoss",
    "Result",
    "SquaredError",
    "class_loss",
    "class_rows",
    "loss_of",
    "losses_of",
    "number_loss",
]
