"""`towpath predict`: predict from a few examples, images in folders or rows of a table."""

import argparse
import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from towpath.cli.arguments import Invocation, add_force, add_sources
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.files import Output, read_bytes
from towpath.wording import say, spreadsheet_cell

if TYPE_CHECKING:
    from torch import Tensor

    from towpath.training import TrainedLearner


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "predict",
        "Predict the images of a folder, or the rows of a table, after adapting to examples.",
        "towpath predict runs/quick-tow-seed0 --support examples --query new-images",
        run,
    )
    parser.add_argument("folder", metavar="RUN")
    parser.add_argument(
        "--support",
        required=True,
        metavar="PATH",
        help="examples: a folder with one folder a class, or a table with a target column",
    )
    parser.add_argument(
        "--query", required=True, metavar="PATH", help="what to predict: images, or a table"
    )
    parser.add_argument(
        "--out", default="predictions.csv", metavar="FILE", help="the CSV file to write"
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="column of the examples' targets, for a table"
    )
    add_force(parser, "a file that exists")
    add_sources(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Write a CSV file with a prediction for every image or row of the query."""
    from towpath.cli.predict_table import predict_table
    from towpath.training import load

    output = Output(Path(arguments.out), arguments.force)
    output.check()
    trained = load(Path(arguments.folder), Invocation.of(arguments).allowed)
    if trained.table is not None:
        support, query = Path(arguments.support), Path(arguments.query)
        made = predict_table(trained, trained.table, support, query, arguments.target)
        output.write(made.content)
        for line in made.lines:
            say(console, line)
        say(console, f"{made.count} predictions are in {output.path}")
        return
    if not trained.shape.of_images:
        raise UsageError(
            f"{arguments.folder} was trained on features, and the network that computed them is "
            "not part of it; expected a run on images or on a table. Predict from Python: "
            "towpath.load(RUN).adapt(features, labels).predict(new_features)."
        )
    if arguments.target is not None:
        raise UsageError(
            f"--target is {arguments.target!r}, and {arguments.folder} was trained on images; "
            "expected folders of images, whose names are the classes. Leave --target out."
        )
    examples = _examples(Path(arguments.support), trained)
    query = Path(arguments.query)
    files = _images(query)
    if not files:
        raise UsageError(f"{query} has no images; expected the images to be classified.")
    queries = _as_trained([_image(file, trained) for file in files], trained)
    probabilities = trained.adapt(examples.images, examples.labels).predict(queries)
    output.write(_table(files, examples.names, probabilities.tolist()))
    classes = len(examples.names)
    say(console, f"{len(files)} predictions over {classes} classes are in {output.path}")


@dataclass(frozen=True)
class _Examples:
    """The support set as tensors, with the names of its classes."""

    images: "Tensor"  # [S, C, H, W]
    labels: "Tensor"  # [S]
    names: list[str]


def _examples(support: Path, trained: "TrainedLearner") -> _Examples:
    """Load the images of the support folder; raise UsageError if the run cannot adapt to them."""
    import torch

    classes = sorted(p for p in _listed(support) if p.is_dir() and not p.name.startswith("."))
    if not classes:
        raise UsageError(
            f"{support} has no folders; expected one folder of images for each class, named after "
            "the class."
        )
    ways = trained.recipe.episodes.ways
    if not trained.learner.wants_embedding and len(classes) != ways:
        raise UsageError(
            f"{support} has {len(classes)} classes; expected {ways}, the ways that this run's "
            f"{trained.recipe.learner.name} was trained with. A protonet takes any number."
        )
    images: list[Tensor] = []
    labels: list[int] = []
    for label, folder in enumerate(classes):
        files = _images(folder)
        if not files:
            raise UsageError(f"{folder} has no images; expected at least one for its class.")
        images += [_image(file, trained) for file in files]
        labels += [label] * len(files)
    names = [folder.name for folder in classes]
    return _Examples(_as_trained(images, trained), torch.tensor(labels), names)


def _listed(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; expected one. Check the path.")
    return list(folder.iterdir())


def _images(folder: Path) -> list[Path]:
    from towpath.data.images import is_image_name

    return [p for p in sorted(_listed(folder)) if is_image_name(p.name) and p.is_file()]


def _image(path: Path, trained: "TrainedLearner") -> "Tensor":
    """Load an image in the shape that the run was trained on, `[C, H, W]`, from 0 to 1."""
    import torch

    from towpath.data.images import decode
    from towpath.data.source import LARGEST_IMAGE

    channels, height, width = trained.shape.inputs
    pixels = decode(read_bytes(path, LARGEST_IMAGE), str(path), (height, width), channels)
    return torch.from_numpy(pixels.copy()).float() / 255


def _as_trained(images: "list[Tensor]", trained: "TrainedLearner") -> "Tensor":
    """Stack the images, inverted where training had ink = 1 and these have light paper."""
    import torch

    from towpath.data.registry import stores_ink_as_one

    stack = torch.stack(images)
    light = float(stack.mean()) > 0.5
    return 1 - stack if light and stores_ink_as_one(trained.recipe.data.name) else stack


def _table(files: list[Path], names: list[str], probabilities: list[list[float]]) -> bytes:
    """Return a CSV with a row per image: its name, its class, the probability of each class."""
    import numpy as np

    text = io.StringIO()
    writer = csv.writer(text)
    cells = [spreadsheet_cell(name) for name in names]
    writer.writerow(["file", "predicted", *cells])
    for file, row in zip(files, probabilities, strict=True):
        chosen = cells[int(np.argmax(row))]
        writer.writerow([spreadsheet_cell(file.name), chosen, *(f"{p:.6f}" for p in row)])
    return text.getvalue().encode("utf-8", "surrogateescape")  # names as the disk has them
