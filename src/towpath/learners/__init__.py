"""Meta-learners: pure functions from (meta-parameters, episode) to query outputs."""

from towpath.learners.abml import ABML
from towpath.learners.anil import ANIL
from towpath.learners.bayesian_taml import BayesianTAML
from towpath.learners.learner import Learner, Params, Predictor
from towpath.learners.maml import MAML
from towpath.learners.meta_sgd import MetaSGD
from towpath.learners.mt_net import MTNet
from towpath.learners.proto_maml import ProtoMAML
from towpath.learners.protonet import ProtoNet
from towpath.learners.ridge import Ridge

LEARNERS: dict[str, type[Learner]] = {
    "abml": ABML,
    "anil": ANIL,
    "bayesian-taml": BayesianTAML,
    "maml": MAML,
    "meta-sgd": MetaSGD,
    "mt-net": MTNet,
    "proto-maml": ProtoMAML,
    "protonet": ProtoNet,
    "ridge": Ridge,
}
"""Learners by the name that a recipe gives them."""

__all__ = [
    "ABML",
    "ANIL",
    "LEARNERS",
    "MAML",
    "BayesianTAML",
    "Learner",
    "MTNet",
    "MetaSGD",
    "Params",
    "Predictor",
    "ProtoMAML",
    "ProtoNet",
    "Ridge",
]
