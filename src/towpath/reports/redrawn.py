"""The tasks of a run, drawn again from its recipe and data: their images and the files of these.

Records keep what a task was made of, not its images. A task is a function of (seed, index), so it
can be drawn again wherever the data of the run are, and only if they are still the same data.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from towpath.data.episode import Episode
from towpath.data.mix import own_stream
from towpath.data.own_folder import file_names
from towpath.data.pool import ClassPool
from towpath.data.preview import class_sheet, episode_sheet, png
from towpath.data.registry import is_own_folder
from towpath.data.sampler import EpisodeSampler
from towpath.runs.folder import RunFolder
from towpath.runs.records import TaskInfo
from towpath.training.same_data import check_data, require_in_place
from towpath.training.setup import Setup, prepare

IMAGES_A_CLASS, IMAGES_IN_A_ROW = 10, 16
"""images of a class that pictures show at most: query images of a task, and any of the class"""


@dataclass(frozen=True)
class ClassFiles:
    """The files, or rows of a table, from which a task took the examples of one class."""

    name: str
    support: tuple[str, ...]
    query: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Draws the tasks of a run again."""

    setup: Setup
    files: Mapping[str, tuple[str, ...]]
    """the files of each class, in the order of its images; empty but for a folder of the user's"""

    @classmethod
    def of(
        cls, folder: RunFolder, data_root: str | Path | None = None, allowed: Collection[str] = ()
    ) -> "Redrawn":
        """Load the data of a run; raise ValueError where they are missing or have changed.

        Args:
            folder: the run's folder.
            data_root: the data folder.
            allowed: packages that classes may be imported from.
        """
        recipe, _ = folder.config()
        require_in_place(folder, recipe)
        setup = prepare(recipe, data_root, allowed)
        check_data(folder, setup)
        name = recipe.data.name
        return cls(setup, file_names(name) if is_own_folder(name) else {})

    @property
    def pool(self) -> ClassPool | None:
        """The classes that training tasks are drawn from; None for tasks that are not images."""
        sampler = own_stream(self.setup.windows.sampler)
        pool = sampler.pool if isinstance(sampler, EpisodeSampler) else None
        return pool if pool is not None and pool.of_images else None

    def episode(self, info: TaskInfo) -> Episode | None:
        """Return a task as it was trained on; None where its record does not tell which it was."""
        index = info.get("index")
        if not isinstance(index, int) or index < 0:
            return None
        if info.get("trusted"):
            trusted = self.setup.trusted
            same = None if trusted is None else trusted.again(info)
            return None if same is None else same.to("cpu")
        return self.setup.windows.sampler.episode(index)

    def picture(self, info: TaskInfo) -> bytes | None:
        """Return a PNG of a task, a row for each class; None where it has no images."""
        episode, pool = self.episode(info), self.pool
        if episode is None or episode.support_x.ndim != 4:
            return None
        ink_is_one = pool is not None and pool.ink_is_one
        return png(episode_sheet(episode, IMAGES_A_CLASS, ink_is_one=ink_is_one))

    def class_picture(self, names: Collection[str], title: str) -> bytes | None:
        """Return a PNG with a row of images for each of these classes; None without any.

        Args:
            names: names of classes, from top to bottom.
            title: what is written above them.
        """
        sampler = own_stream(self.setup.windows.sampler)
        if not isinstance(sampler, EpisodeSampler) or not sampler.pool.of_images:
            return None
        position = {entry.name: i for i, entry in enumerate(sampler.pool.classes)}
        found = [position[name] for name in names if name in position]
        if not found:
            return None
        return png(class_sheet(sampler.pool, found, title, IMAGES_IN_A_ROW, sampler.take))

    def class_folder(self, name: str) -> str:
        """Return the folder that the images of a class are in; empty where it is not known."""
        files = self.files.get(name, ())
        return files[0].rpartition("/")[0] if files else ""

    def task_files(self, info: TaskInfo) -> list[ClassFiles]:
        """Return the files that a task is made of, class by class; empty where they have no names.

        Rows of a table are one entry without a class.
        """
        sampler, index = own_stream(self.setup.windows.sampler), info.get("index")
        if not isinstance(sampler, EpisodeSampler):
            episode = self.episode(info)
            rows = None if episode is None else episode.info.get("rows")
            return [ClassFiles("", (), tuple(rows))] if rows else []
        stranger = bool(info.get("trusted") or info.get("off_target"))
        if not self.files or stranger or not isinstance(index, int) or index < 0:
            return []
        draw = sampler.draw(index)
        parts = zip(draw.classes, draw.support, draw.query, strict=True)
        found, classes = [], sampler.pool.classes
        for position, support, query in parts:
            name = classes[position].name
            chosen = [
                tuple(self.files[classes[owner].name][row] for owner, row in origins)
                for origins in (sampler.origins(position, rows) for rows in (support, query))
            ]
            found.append(ClassFiles(name, *chosen))
        return found
