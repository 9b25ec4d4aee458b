"""The command line as a program: its parser, and its messages and exit codes for failures.

Every failure is one sentence, and the exit code tells its kind: 2 for the user's input, 130 after
an interrupt by the user, 143 after SIGTERM, 1 for anything else.

A command is a module of this package: its `add` declares the arguments, and `run` imports what it
needs when it is called, so that `towpath --help` waits for neither torch nor numpy.
"""

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version

from rich.console import Console

from towpath.cli import (
    audit,
    bench,
    compare,
    completion,
    data,
    demo,
    evaluate,
    predict,
    recipes,
    report,
    resume,
    train,
    weighters,
)
from towpath.cli.output import console_for
from towpath.cli.parser import Parser, UsageError, overrides
from towpath.cli.ranks import refuse_torchrun
from towpath.data.errors import DownloadError
from towpath.distributed.stopping import Terminated, exit_code, heeding_sigterm, ignore_sigterm
from towpath.distributed.torchrun import LostRankError, launched_rank
from towpath.files import problem
from towpath.training.allocator import keep_freed_memory
from towpath.training.errors import TrainingStoppedError
from towpath.wording import nearest, one_line

COMMANDS = (
    demo,
    train,
    compare,
    resume,
    report,
    evaluate,
    bench,
    audit,
    predict,
    recipes,
    weighters,
    data,
    completion,
)
"""In the order in which `towpath --help` lists them."""


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments, and `--dotted.name value` pairs where the command takes them."""
    arguments, rest = command_line().parse_known_args(bench.naming_the_recipe(argv))
    arguments.argv = list(argv)
    taken = getattr(arguments, "takes_overrides", ())  # patterns; the command itself checks names
    arguments.overrides = overrides(rest) if taken else []
    if rest and not taken:
        raise UsageError(
            f"towpath {arguments.command}: {rest[0]!r} is not an argument of it."
            f"{nearest(rest[0], arguments.known_options)} Run `towpath {arguments.command} --help` "
            "to see what it takes."
        )
    return arguments


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the program, with all of its commands."""
    parser = Parser(prog="towpath", description="Task weighting by trajectory optimisation.")
    parser.add_argument("--version", action="version", version=f"towpath {version('towpath')}")
    parser.add_argument("--verbose", action="store_true", help="log what happens inside")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _open_closed_streams()
    try:
        # until the outcome is told: a signal in between would end the process without a word
        with heeding_sigterm():
            return _run(argv)
    except Terminated:
        return exit_code()


def _run(argv: Sequence[str] | None) -> int:
    """Run one command, tell how it ended if it failed, and return its exit code."""
    follower = launched_rank() > 0  # only the first rank prints what all would
    width = None if sys.stdout.isatty() else 120
    # no markup: what users call their files and classes is shown as it is, in tables too
    console = Console(width=width, quiet=follower, markup=False)
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, quiet=follower)
    own_errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        arguments = _parse(sys.argv[1:] if argv is None else argv)
        logging.basicConfig(level=logging.INFO if arguments.verbose else logging.WARNING)
        if not getattr(arguments, "shares_tasks", False):
            refuse_torchrun(arguments.command)
        keep_freed_memory()
        arguments.run(arguments, console_for(arguments, console))
        sys.stdout.flush()  # raises here, where it is handled, if the reader is gone
    except SystemExit as end:  # --help
        return int(end.code or 0)
    except ValueError as error:  # DataError, RecipeError, UsageError and options out of range
        errors.print(one_line(error))
        return 2
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough; keep the exit from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (DownloadError, TrainingStoppedError) as error:
        errors.print(one_line(error))
        return 1
    except OSError as error:
        if error.filename is None:
            errors.print(one_line(error))
            return 1
        errors.print(one_line(problem(error, error.filename)))
        return 2
    except LostRankError as error:
        ignore_sigterm()
        own_errors.print(one_line(error))
        return 1
    except Terminated as error:
        own_errors.print(one_line(error) or "Stopped by SIGTERM.")
        return exit_code()
    except KeyboardInterrupt as error:
        errors.print(one_line(error) or "Interrupted.")
        return 130
    except Exception as error:  # noqa: BLE001 - the last stop: a defect of ours, shown in full
        own_errors.print("".join(traceback.format_exception(error)))
        return 1
    return 0


def _open_closed_streams() -> None:
    """Open null devices for streams that are closed, as after `>&-`, so that printing works."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - to the end
