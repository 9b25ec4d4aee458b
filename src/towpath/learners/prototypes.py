"""Class prototypes: the mean feature of each class's support samples, however many it has."""

from torch import Tensor
from torch.nn import functional


def prototypes(features: Tensor, labels: Tensor) -> Tensor:
    """Return the mean `[ways, D]` of `features [S, D]` over each label 0..ways-1."""
    if labels.is_floating_point():
        raise ValueError(
            f"Found {labels.dtype} support targets; expected integer labels 0..ways-1, because "
            "prototypes are class means. Use a learner of the MAML family for regression."
        )
    members = functional.one_hot(labels.long()).T.to(features.dtype)  # [ways, S]
    shots = members.sum(1, keepdim=True)  # [ways, 1]
    if not bool(shots.all()):
        empty = (shots == 0).flatten().nonzero().flatten().tolist()
        raise ValueError(
            f"Found no support sample of the classes {empty}; expected at least one of each of "
            f"the {len(shots)} classes. Relabel the task's classes 0..ways-1 without gaps."
        )
    return (members / shots) @ features
