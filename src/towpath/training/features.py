"""Features of a data set, computed once by the network that a run trained.

A learner that is trained on them (`towpath.data.feature_file`) takes seconds where one that is
trained on the images takes hours: the network in front of it is frozen.
"""

import copy
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from towpath.data import ClassPool
from towpath.data.feature_file import features_bytes
from towpath.learners import MTNet
from towpath.recipes.typed import RecipeError
from towpath.training.deploy import TrainedLearner
from towpath.training.place import torch_dtype

BATCH = 64


def embedding_of(trained: TrainedLearner) -> nn.Module:
    """Return a copy of the run's network without its head, from inputs to features.

    Args:
        trained: the run's learner, with the parameters that the run chose.

    Raises:
        RecipeError: if the network has a head that is not its layer `head`, or is not called as it
            is.
    """
    if isinstance(trained.learner, MTNet):
        raise RecipeError(
            "The layers of an MT-net are transformed before they are called, so its network alone "
            "has other features; expected a run of another learner, such as protonet."
        )
    model = copy.deepcopy(trained.learner.model)
    if not trained.learner.wants_embedding:
        if not isinstance(getattr(model, "head", None), nn.Module):
            raise RecipeError(
                f"The network {trained.recipe.backbone.name!r} has no layer 'head', so it is not "
                "known where its features end; expected a run of a protonet or ridge, or a network "
                "whose last layer is called head."
            )
        model.head = nn.Identity()
    return model.eval()


@torch.no_grad()
def computed_features(
    model: nn.Module, pool: ClassPool, dtype: torch.dtype, progress: Callable[[int], None]
) -> NDArray[np.float32]:
    """Return the features `[N, D]` of all samples of a pool, class by class.

    Samples are passed in batches of a fixed random order. A network that normalises by the
    statistics of the batch gives a sample features that depend on the others of its batch, so a
    batch must not be of one class.

    Args:
        model: the network, from inputs to features.
        pool: the samples.
        dtype: the type that the network computes in.
        progress: called with the number of samples done.
    """
    places = [(i, row) for i, entry in enumerate(pool.classes) for row in range(entry.count)]
    order = torch.randperm(len(places), generator=torch.Generator().manual_seed(0)).tolist()
    features: NDArray[np.float32] | None = None
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        taken = np.concatenate([pool.take(places[i][0], [places[i][1]]) for i in batch])
        inputs = torch.from_numpy(taken).to(dtype).div_(pool.whole)
        outputs = model(inputs).flatten(1).to(torch.float32).numpy()
        if features is None:
            features = np.empty((len(places), outputs.shape[1]), dtype=np.float32)
        features[batch] = outputs
        progress(start + len(batch))
    assert features is not None  # a pool has at least one class
    return features


def features_of(
    trained: TrainedLearner, pools: Mapping[str, ClassPool], progress: Callable[[int], None]
) -> bytes:
    """Return the content of a file of features of a set's splits.

    Args:
        trained: the run whose network computes them.
        pools: the pools by the split that their features are filed under.
        progress: called with the number of samples of all splits done.
    """
    model, dtype = embedding_of(trained), torch_dtype(trained.recipe.dtype)
    parts: list[NDArray[np.float32]] = []
    labels: list[str] = []
    splits: list[str] = []
    groups: list[str] = []
    for split, pool in pools.items():
        before = len(labels)
        parts.append(computed_features(model, pool, dtype, partial(_tell, progress, before)))
        for entry in pool.classes:
            labels += [entry.name] * entry.count
            groups += [entry.group] * entry.count
            splits += [split] * entry.count
    return features_bytes(np.concatenate(parts), labels, splits, groups)


def _tell(progress: Callable[[int], None], before: int, done: int) -> None:
    progress(before + done)
