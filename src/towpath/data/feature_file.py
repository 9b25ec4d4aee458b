"""Files of features, `NAME.features.npz`: vectors that a network computed once, to train on.

Arrays of the file: `features [N, D]` numbers and `labels [N]`, the class of each; and, where given,
`splits [N]` (train, validation or test) and `groups [N]`. Without `splits`, classes are dealt to
the splits by a digest of their names, as those of a folder are. Nothing is unpickled.
"""

import io
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from towpath.data.build import check_split
from towpath.data.cache import StoredClass
from towpath.data.dealing import deal
from towpath.data.errors import DataError
from towpath.data.feature_pool import FeaturePool
from towpath.data.lookup import FEATURES_SUFFIX
from towpath.data.own_folder import HELD_OUT, refuse_shared
from towpath.data.pool import NO_GROUP, SPLITS, ClassEntry
from towpath.data.source import content_key
from towpath.data.tables.arrays import npz_arrays
from towpath.data.tables.limits import TableLimits
from towpath.files import FileError, check_readable, expanded
from towpath.wording import nearest, quoted

ARRAYS = ("features", "labels", "splits", "groups")
LIMITS = TableLimits(file_bytes=8 * 2**30, columns=len(ARRAYS), ratio_from=2**30)
"""the 60,000 images of mini-ImageNet as vectors of 1,600 numbers are 0.4 GB"""
_KEPT = 3


def load_features(
    path: str | Path,
    split: str = "train",
    name: str | None = None,
    shared_classes: bool = False,
) -> FeaturePool:
    """Load the features of a split from a file of your own.

    Args:
        path: the file, `NAME.features.npz`.
        split: `train`, `validation`, `test`, or `all` for every class.
        name: what to call the set; by default, the name of the file.
        shared_classes: allow a validation or test split to have classes of another split.
    """
    check_split(split)
    place = expanded(path)
    try:
        check_readable(place)
        content = content_key(place)
    except FileError as error:
        raise DataError(str(error)) from error
    features, classes, notes = _read(place, content)
    if split in HELD_OUT and not shared_classes:
        refuse_shared(place, classes, split)
    found = sorted({entry.split for entry in classes})
    if split != "all" and split not in found:
        raise DataError(
            f"{place.name} has no split {split!r}; it has {', '.join(found)}."
            f"{nearest(split, found)} Choose one of these, or 'all'."
        )
    entries = tuple(
        ClassEntry(each.name, each.group, each.start, each.count)
        for each in classes
        if split in ("all", each.split)
    )
    label = name or place.name.removesuffix(FEATURES_SUFFIX)
    return FeaturePool(label, split, features, entries, notes=notes, content=content)


@lru_cache(maxsize=_KEPT)
def _read(
    path: Path, _content: str
) -> tuple[NDArray[np.float32], tuple[StoredClass, ...], tuple[str, ...]]:
    """Return the features ordered by class, their classes, and notes for the user."""
    arrays = dict(npz_arrays(path, LIMITS))
    for name in sorted(set(arrays) - set(ARRAYS)):
        raise DataError(
            f"{path.name} has an array {quoted(name)}; expected {', '.join(ARRAYS)}."
            f"{nearest(name, ARRAYS)} Save it under one of these names, or leave it out."
        )
    for name in ARRAYS[:2]:
        if name not in arrays:
            raise DataError(
                f"{path.name} has no array {name!r}; expected features [N, D] and labels [N]. Save "
                "both with numpy.savez."
            )
    features = arrays["features"]
    _check_features(path, features)
    labels = _texts(path, "labels", arrays["labels"], len(features))
    groups = [NO_GROUP] * len(labels)
    if "groups" in arrays:
        groups = _texts(path, "groups", arrays["groups"], len(labels))
    dealt = "splits" not in arrays
    if dealt:
        of_class = deal(set(labels))
        splits = [of_class[label] for label in labels]
    else:
        splits = _texts(path, "splits", arrays["splits"], len(labels))
        for split in sorted(set(splits) - set(SPLITS)):
            raise DataError(
                f"{path.name} has the split {quoted(split)}; expected {', '.join(SPLITS)}."
                f"{nearest(split, SPLITS)} Correct the array 'splits'."
            )
    keys = list(zip(splits, groups, labels, strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)  # stable: rows of a class keep theirs
    ordered = np.ascontiguousarray(features[order], dtype=np.float32)
    ordered.flags.writeable = False
    classes = _classes([keys[i] for i in order])
    note = f"{len(labels):,} vectors of {features.shape[1]:,} numbers in {len(classes):,} classes"
    counts = Counter(entry.split for entry in classes)
    sizes = ", ".join(f"{split} {counts[split]}" for split in SPLITS if counts[split])
    origin = "dealt by a digest of the names" if dealt else "as in the file"
    return ordered, classes, (note, f"classes a split: {sizes} ({origin})")


def _classes(keys: Sequence[tuple[str, str, str]]) -> tuple[StoredClass, ...]:
    """Return the classes of rows that are ordered by (split, group, class)."""
    counts = Counter(keys)
    starts = accumulate(counts.values(), initial=0)
    return tuple(
        StoredClass(split, group, name, start, count)
        for ((split, group, name), count), start in zip(counts.items(), starts, strict=False)
    )


def _check_features(path: Path, features: NDArray[np.generic]) -> None:
    """Raise a `DataError` unless the features are finite numbers `[N, D]`."""
    if features.ndim != 2 or features.dtype.kind not in "fiu" or not features.size:
        raise DataError(
            f"{path.name} has features of {features.dtype} {list(features.shape)}; expected "
            "numbers [N, D], a row for each sample. Save them as such."
        )
    finite = np.isfinite(features.astype(np.float32, copy=False)).all(axis=1)
    if not finite.all():
        raise DataError(
            f"{path.name} has features that are no finite float32 numbers, first in row "
            f"{int(np.flatnonzero(~finite)[0]):,}; expected numbers. Leave those rows out."
        )


def _texts(path: Path, name: str, values: NDArray[np.generic], count: int) -> list[str]:
    """Return an array of names, one for each row; numbers become their text."""
    if values.ndim != 1 or len(values) != count:
        raise DataError(
            f"{path.name} has {name} of shape {list(values.shape)}; expected [{count}], one for "
            "each row of the features. Save them aligned."
        )
    if values.dtype.kind == "f":
        raise DataError(
            f"{path.name} has {name} of {values.dtype}; expected texts or whole numbers. Save them "
            "as such."
        )
    texts = [str(text).strip() for text in values.astype(np.str_).tolist()]
    if not all(texts):
        raise DataError(
            f"{path.name} has an empty text in {name}, first in row {texts.index(''):,}; expected "
            "a name. Correct it."
        )
    return texts


def features_bytes(
    features: NDArray[np.float32],
    labels: Sequence[str],
    splits: Sequence[str],
    groups: Sequence[str],
) -> bytes:
    """Return the content of a file of features, which `load_features` reads.

    Args:
        features: the vectors `[N, D]`.
        labels: the class of each.
        splits: the split of each: train, validation or test.
        groups: the group of the class of each.
    """
    stream = io.BytesIO()
    np.savez(
        stream,
        features=features,
        labels=np.array(labels, dtype=np.str_),
        splits=np.array(splits, dtype=np.str_),
        groups=np.array(groups, dtype=np.str_),
    )
    return stream.getvalue()
