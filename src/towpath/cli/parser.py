"""argparse as the command line uses it: one-sentence errors, and help texts verbatim."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from rich.console import Console

from towpath.wording import nearest

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The object that a command adds itself to: what argparse's `add_subparsers` returns."""
Run = Callable[[argparse.Namespace, Console], None]
"""The function that runs a command with its arguments."""


class UsageError(ValueError):
    """The command line cannot be used as it is; the message is one sentence for the user."""


class Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that shows help texts verbatim, even those with a percent sign.

    An option's default follows its text, so that no command has to write it twice.
    """

    def _expand_help(self, action: argparse.Action) -> str:
        text = self._get_help_string(action) or ""
        if isinstance(action.default, bool) or action.default in (None, argparse.SUPPRESS):
            return text
        return f"{text} (default: {action.default})"


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors are one sentence with the nearest spelling."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", Formatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse as argparse does, and note the innermost command's options for spelling hints."""
        found, rest = super().parse_known_args(args, namespace)
        if not hasattr(found, "known_options"):
            found.known_options = list(self._option_string_actions)
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as a UsageError that tells where to find help."""
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


def add_command(
    commands: Commands, name: str, text: str, example: str, run: Run
) -> argparse.ArgumentParser:
    """Add a command and return its parser, which takes the command's arguments.

    Args:
        commands: the command line to add it to.
        name: the word that calls the command.
        text: one sentence on what it does, for its own help and for the list of commands.
        example: a command line that works as it stands.
        run: the function that runs it.
    """
    parser = commands.add_parser(name, help=text, description=text, epilog=f"example: {example}")
    parser.set_defaults(run=run)
    return parser


def overrides(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return `(dotted name, value)` of each `--dotted.name value` or `--dotted.name=value`."""
    pairs: list[tuple[str, str]] = []
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if not word.startswith("--"):
            raise UsageError(
                f"Found {word!r}; expected an option of the recipe by its dotted name, as in "
                "--weighter.beta 1.0"
            )
        name, sign, value = word[2:].partition("=")
        if not sign:
            if not remaining:
                raise UsageError(f"--{name} has no value; expected one, as in --{name} 1.0")
            value = remaining.pop(0)
        pairs.append((name.replace("-", "_") if "." not in name else name, value))
    return pairs
