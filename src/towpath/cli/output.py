"""What a command prints: lines for people, one JSON document for programs, or nothing."""

import argparse
import json
import sys

from rich.console import Console

from towpath.distributed.torchrun import launched_rank
from towpath.runs.plain import JsonObject, plain_json


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`: the result as one JSON document, which is all that stdout gets."""
    parser.add_argument(
        "--json", action="store_true", help="print the result as one JSON document, nothing else"
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add `--quiet`, for commands that show progress."""
    parser.add_argument(
        "--quiet", action="store_true", help="print nothing but errors (and, with --json, that)"
    )


def console_for(arguments: argparse.Namespace, console: Console) -> Console:
    """Return where a command shows its progress: the console, stderr beside JSON, or nowhere.

    Args:
        arguments: those of the command, which may have neither `--json` nor `--quiet`.
        console: the console of a command that has none of them.
    """
    if getattr(arguments, "json", False):
        console = Console(stderr=True, quiet=console.quiet, markup=False)
    console.quiet = console.quiet or getattr(arguments, "quiet", False)
    return console


def print_json(content: JsonObject) -> None:
    """Print one JSON document on stdout; of the ranks of torchrun, the first one alone does.

    Letters beyond ASCII are escaped, so that it can be written to a stream of any encoding.
    """
    if launched_rank() == 0:
        sys.stdout.write(f"{json.dumps(plain_json(content), indent=1)}\n")
