"""The command line. Every failure is one sentence: 2 the user's input, 130 interrupted, 1 else.

A command is an entry of `COMMANDS` that adds its arguments to a parser and names the function to
run; the functions live beside what they work on.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from rich.console import Console

from towpath.data import commands as data_commands
from towpath.data.errors import DataError, DownloadError, nearest

Run = Callable[[argparse.Namespace, Console], None]


class UsageError(ValueError):
    """The command line itself is wrong."""


class _Parser(argparse.ArgumentParser):
    """argparse without its usage dump: an error is one sentence with the nearest spelling."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            f"{self.prog}: {message.rstrip('.')}. Run `{self.prog} --help` to see what it takes."
        )

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = list(action.choices or ())
        if choices and value not in choices:
            raise UsageError(
                f"{self.prog}: there is no command {value!r}; expected {', '.join(choices)}."
                f"{nearest(str(value), choices)} Run `{self.prog} --help` to see them."
            )


def _add_data(commands: Any) -> None:
    data = commands.add_parser("data", help="list, fetch, verify and preview data sets")
    kinds = data.add_subparsers(dest="data_command", required=True, metavar="COMMAND")

    def add(name: str, text: str, example: str, run: Run) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = kinds.add_parser(
            name, help=text, description=text, epilog=f"example: {example}"
        )
        parser.add_argument(
            "--data-root", metavar="DIR", help="the data folder (default: TOWPATH_DATA)"
        )
        parser.set_defaults(run=run)
        return parser

    add(
        "list",
        "What sets there are, where, under which licence, with how many classes.",
        "towpath data list",
        lambda a, c: data_commands.list_sets(c, a.data_root),
    )
    fetch = add(
        "fetch",
        "Download a set into the data folder.",
        "towpath data fetch omniglot",
        lambda a, c: data_commands.fetch_set(c, a.name, a.data_root),
    )
    fetch.add_argument("name", metavar="NAME")
    verify = add(
        "verify",
        "Compare the counts of a set (default: of all that are there) with what they should be.",
        "towpath data verify omniglot",
        lambda a, c: data_commands.verify_sets(c, a.name, a.data_root),
    )
    verify.add_argument("name", metavar="NAME", nargs="?")
    preview = add(
        "preview",
        "Contact sheets of a set, or of a folder of your own, as PNG files.",
        "towpath data preview glyphs --out sheets",
        lambda a, c: data_commands.preview_set(c, a.name, a.data_root, a.out),
    )
    preview.add_argument("name", metavar="NAME")
    preview.add_argument("--out", metavar="DIR", help="where to (default: preview-NAME)")


COMMANDS: tuple[Callable[[Any], None], ...] = (_add_data,)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="towpath", description="Task weighting by trajectory optimisation.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        arguments = _parser().parse_args(argv)
        arguments.run(arguments, console)
    except SystemExit as end:  # --help
        return int(end.code or 0)
    except (DataError, UsageError) as error:
        errors.print(_one_line(error))
        return 2
    except DownloadError as error:
        errors.print(_one_line(error))
        return 1
    except KeyboardInterrupt:
        errors.print("Interrupted.")
        return 130
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough; keep the exit from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last stop: a defect of ours, shown in full
        errors.print("".join(traceback.format_exception(error)))
        return 1
    return 0


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
