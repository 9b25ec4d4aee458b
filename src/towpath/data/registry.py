"""The data sets by name: what they are, where they are, how they are loaded and downloaded."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from towpath.data import cub, mini_imagenet, omniglot
from towpath.data.archive import is_archive_name
from towpath.data.build import cache_key
from towpath.data.cache import is_stored
from towpath.data.cub import load_cub
from towpath.data.download import RemoteFile
from towpath.data.errors import DataError
from towpath.data.glyphs import load_glyphs
from towpath.data.locations import data_root
from towpath.data.mini_imagenet import load_mini_imagenet
from towpath.data.omniglot import load_omniglot
from towpath.data.own_folder import load_folder
from towpath.data.pool import SPLITS, ClassPool
from towpath.data.tables import assays
from towpath.data.tables.assays import load_chembl, load_toxcast
from towpath.data.tables.loading import load_table
from towpath.data.tables.pool import TablePool
from towpath.data.tables.reading import is_table_name
from towpath.data.tables.splitting import TRUSTED
from towpath.files import expanded
from towpath.validation import Range
from towpath.wording import nearest

_OMNIGLOT_RAW = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
_OMNIGLOT_GITHUB = "https://github.com/brendenlake/omniglot/raw/master/python"
_CUB_FILES = "https://data.caltech.edu/records/65de6-vp158/files"


@dataclass(frozen=True)
class DataSet:
    """A set with a name, and what there is to know of it before it is loaded."""

    name: str
    what: str
    licence: str
    counts: str
    load: Callable[..., ClassPool | TablePool]
    sources: Callable[[Path], list[Path]]
    manual: str
    files: tuple[RemoteFile, ...] = ()
    """what `towpath data fetch` downloads into `folder` of the data folder"""
    folder: str = ""
    splits: tuple[str, ...] = SPLITS
    synthetic: bool = False
    """whether no person drew or photographed the images"""
    built_in: bool = False
    """whether it is made when it is needed, so that there is nothing to fetch"""
    ink_is_one: bool = False
    """whether it shows strokes on paper, stored with ink = 1"""


def _omniglot_file(part: str, md5: str) -> RemoteFile:
    name = f"{omniglot.PARTS[part]}.zip"
    urls = (f"{_OMNIGLOT_RAW}/{name}", f"{_OMNIGLOT_GITHUB}/{name}")
    return RemoteFile(name, f"md5:{md5}", urls)


def _omniglot_sources(root: Path) -> list[Path]:
    return [path for part in omniglot.PARTS if (path := omniglot.find_part(root, part))]


def _nothing(_root: Path) -> list[Path]:
    return []


def _one(find: Callable[[Path], Path | None]) -> Callable[[Path], list[Path]]:
    def sources(root: Path) -> list[Path]:
        """List the one path that `find` returns, or nothing."""
        path = find(root)
        return [] if path is None else [path]

    return sources


def _load_glyphs(
    root: str | Path | None = None,
    split: str = "train",
    *,
    drawings: Annotated[int, Range(1, 10_000)] = 20,
    seed: Annotated[int, Range(0, 2**63 - 1)] = 0,
    scripts: tuple[str, ...] | None = None,
) -> ClassPool:
    """`load_glyphs` with the arguments that every set's loader takes.

    Args:
        root: the data folder, which is not needed: the set is drawn, not read.
        split: train, validation or test.
        drawings: images of each character.
        seed: of the drawings.
        scripts: some of the scripts, where not all.
    """
    del root
    return load_glyphs(split, drawings=drawings, seed=seed, scripts=scripts)


SETS = {
    entry.name: entry
    for entry in (
        DataSet(
            "glyphs",
            "synthetic handwriting drawn from the DejaVu fonts, built in",
            "the fonts: Bitstream Vera / public domain",
            "682 characters of 17 scripts, 20 drawings each, 28x28 (synthetic)",
            _load_glyphs,
            _nothing,
            "It is built in: there is nothing to fetch.",
            synthetic=True,
            built_in=True,
            ink_is_one=True,
        ),
        DataSet(
            "omniglot",
            "handwritten characters of 50 alphabets (Lake et al. 2015)",
            "MIT",
            "964 + 659 characters of 30 + 20 alphabets, 20 images each",
            load_omniglot,
            _omniglot_sources,
            "By hand: save images_background.zip and images_evaluation.zip from the python/ folder "
            "of github.com/brendenlake/omniglot into omniglot/ of the data folder.",
            (
                _omniglot_file("background", "68d2efa1b9178cc56df9314c21c6e718"),
                _omniglot_file("evaluation", "6b91aef0f799c5bb55b94e3f2daec811"),
            ),
            "omniglot",
            ink_is_one=True,
        ),
        DataSet(
            "mini-imagenet",
            "photographs, 100 classes of ImageNet (Vinyals et al. 2016)",
            "ImageNet terms: research only",
            "64 / 16 / 20 classes, 600 images each in full, 84x84",
            load_mini_imagenet,
            _one(mini_imagenet.find_source),
            "ImageNet's terms ask for a form, so it cannot be fetched: get it from image-net.org "
            "(or a colleague who has), and put the archive or folder, named mini-imagenet, in the "
            "data folder.",
        ),
        DataSet(
            "cub",
            "photographs of birds, CUB-200-2011 (Wah et al. 2011)",
            "Caltech: research only",
            "200 classes, 50 of them for testing; 11,788 images, resized to 84x84",
            load_cub,
            _one(cub.find_source),
            "By hand: save CUB_200_2011.tgz from data.caltech.edu/records/65de6-vp158 into the "
            "data folder.",
            (
                RemoteFile(
                    "CUB_200_2011.tgz",
                    "md5:97eceeb196236b17998738112f37df78",
                    (
                        f"{_CUB_FILES}/CUB_200_2011.tgz?download=1",
                        f"{_CUB_FILES}/CUB_200_2011.tgz",
                    ),
                ),
            ),
        ),
        DataSet(
            "toxcast",
            "a table of molecules and assays of toxicity, by family (US EPA)",
            "US government work: public domain",
            str(assays.COUNTS["toxcast"]),
            load_toxcast,
            _one(partial(assays.find_assays, "toxcast")),
            assays.MANUAL["toxcast"],
            splits=(*SPLITS, TRUSTED),
        ),
        DataSet(
            "chembl",
            "a table of molecules and their activities at protein targets, a regression (ChEMBL)",
            "CC BY-SA 3.0",
            str(assays.COUNTS["chembl"]),
            load_chembl,
            _one(partial(assays.find_assays, "chembl")),
            assays.MANUAL["chembl"],
        ),
    )
}


def known(name: str) -> DataSet:
    """Return the set of this name; the `DataError` for an unknown name suggests the nearest."""
    if name not in SETS:
        raise DataError(
            f"There is no data set {name!r}; expected {', '.join(SETS)}, or the path of a folder "
            f"or table of your own.{nearest(name, SETS)} Run `towpath data list` to see them."
        )
    return SETS[name]


def is_own_folder(name: str) -> bool:
    """Return whether the name is the path of the user's own folder or archive, not a set's name."""
    if name in SETS or is_table_name(name):
        return False
    path = expanded(name)
    return path.is_dir() or (path.is_file() and is_archive_name(path.name))


def is_own_table(name: str) -> bool:
    """Return whether the name is the path of the user's own table, which need not be there."""
    return name not in SETS and is_table_name(name)


def loader_of(name: str) -> Callable[..., ClassPool | TablePool]:
    """Return the function that loads a set, or the user's own folder or table.

    Args:
        name: a name in `SETS`, or the path of a folder, archive or table of the user's own.
    """
    if is_own_table(name):
        return load_table
    return load_folder if is_own_folder(name) else known(name).load


def load(
    name: str, root: str | Path | None = None, split: str = "train", **options: Any
) -> ClassPool | TablePool:
    """Load the pool of a split of a data set, or of your own folder of images or table.

    Args:
        name: a name in `SETS`, or the path of a folder, archive or table of your own.
        root: the data folder that has the set; by default the one of `data_root`.
        split: `train`, `validation`, `test`, or (not for omniglot) `all`; of toxcast and of your
            own table also `trusted`.
        **options: options of the set's loader: `rotations=True`, `alphabets=30` (omniglot),
            `image_size=84` (all but glyphs), `channels=1 or 3` and `shared_classes=True` (your own
            folder), `drawings`, `seed`, `scripts` (glyphs), `family="NVS"` (toxcast), `tasks`,
            `features` and the others of `load_table` (your own table).
    """
    loader = loader_of(name)
    place = name if is_own_table(name) or is_own_folder(name) else root
    try:
        return loader(place, split, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise DataError(
            f"{name} does not take these options: {', '.join(options)} ({error}); expected those "
            "that `towpath.data.load` documents. Remove what does not apply."
        ) from error


def cached_splits(name: str, root: Path) -> bool:
    """Return whether the set is in the data folder and in the cache, so that loading is quick."""
    sources = SETS[name].sources(root)
    if name == "omniglot":
        return bool(sources) and all(
            is_stored(f"omniglot-{part}", cache_key(path, omniglot.reading(part, 28)))
            for part in omniglot.PARTS
            if (path := omniglot.find_part(root, part)) is not None
        )
    readings = {"mini-imagenet": mini_imagenet.reading(84), "cub": cub.reading(84)}
    if name not in readings:
        return False  # a table is read anew each time
    return bool(sources) and is_stored(name, cache_key(sources[0], readings[name]))


def present(name: str, root: str | Path | None = None) -> bool:
    """Whether the set can be loaded without a download."""
    entry = known(name)
    return entry.built_in or bool(entry.sources(data_root(root)))


def is_synthetic(name: str) -> bool:
    """Whether the set of this name, as recipes spell it, is one that no person made."""
    return name in SETS and SETS[name].synthetic


def stores_ink_as_one(name: str) -> bool:
    """Whether the set of this name, as recipes spell it, shows strokes stored with ink = 1."""
    return name in SETS and SETS[name].ink_is_one
