"""`towpath data list`: which data sets there are, where, and under which licence."""

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from towpath.cli.arguments import add_data_root
from towpath.cli.output import add_json, print_json
from towpath.cli.parser import Commands, add_command
from towpath.data.errors import DataError
from towpath.runs.plain import Json
from towpath.wording import say

if TYPE_CHECKING:
    from towpath.data.data_set import DataSet


def add(commands: Commands) -> None:
    """Add this command and its arguments to those of `towpath data`."""
    parser = add_command(
        commands,
        "list",
        "What sets there are, where, under which licence, with how many classes.",
        "towpath data list",
        run,
    )
    add_data_root(parser)
    add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Print which data sets there are, where they are, their licences and counts."""
    from towpath.data.locations import cache_root, data_root
    from towpath.data.registry import SETS

    folder = data_root(arguments.data_root)
    if arguments.json:
        print_json(_as_json(folder))
        return
    say(console, f"data folder: {folder}{'' if folder.is_dir() else ' (not there yet)'}")
    say(console, f"decoded copies: {cache_root()}")
    for name, entry in SETS.items():
        where = _where(entry, folder)
        say(console, f"\n{name}: {entry.what}")
        facts = [("where", where), ("counts", entry.counts), ("licence", entry.licence)]
        if where.endswith("decoded"):
            facts.insert(2, ("here", _counts_here(name, folder)))
        for label, text in facts:
            say(console, f"  {label:<8} {text}")


def _as_json(folder: Path) -> dict[str, Json]:
    """Return what is listed as plain values."""
    from towpath.data.locations import cache_root
    from towpath.data.registry import SETS

    sets: dict[str, Json] = {
        name: {
            "what": entry.what,
            "there": entry.built_in or bool(entry.sources(folder)),
            "decoded": entry.is_decoded(folder),
            "built_in": entry.built_in,
            "synthetic": entry.synthetic,
            "sources": [str(path) for path in entry.sources(folder)],
            "counts": entry.counts,
            "licence": entry.licence,
        }
        for name, entry in SETS.items()
    }
    return {"data_folder": str(folder), "decoded_copies": str(cache_root()), "sets": sets}


def _where(entry: "DataSet", folder: Path) -> str:
    """Return where a set is in the data folder, or how to get it."""
    if entry.built_in:
        return "built in, drawn on first use"
    sources = entry.sources(folder)
    if sources:
        decoded = ", decoded" if entry.is_decoded(folder) else ""
        return ", ".join(os.path.relpath(path, folder) for path in sources) + decoded
    fetchable = f"towpath data fetch {entry.name}" if entry.files else "to be got by hand"
    return f"not there ({fetchable})"


def _counts_here(name: str, folder: Path) -> str:
    from towpath.data.registry import SETS, load

    parts: list[str] = []
    for split in SETS[name].splits:
        with suppress(DataError):  # a set may lack a split
            pool = load(name, folder, split)
            parts.append(f"{split} {pool.counted()}")
    return "; ".join(parts)
