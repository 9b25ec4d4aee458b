"""Meta-learners: pure functions from (meta-parameters, episode) to query outputs."""

from towpath.learners.anil import ANIL
from towpath.learners.learner import Learner, Params, Predictor
from towpath.learners.maml import MAML
from towpath.learners.meta_sgd import MetaSGD
from towpath.learners.proto_maml import ProtoMAML
from towpath.learners.protonet import ProtoNet

LEARNERS: dict[str, type[Learner]] = {
    "anil": ANIL,
    "maml": MAML,
    "meta-sgd": MetaSGD,
    "proto-maml": ProtoMAML,
    "protonet": ProtoNet,
}
"""Learners by the name that a recipe gives them."""

__all__ = [
    "ANIL",
    "LEARNERS",
    "MAML",
    "Learner",
    "MetaSGD",
    "Params",
    "Predictor",
    "ProtoMAML",
    "ProtoNet",
]
