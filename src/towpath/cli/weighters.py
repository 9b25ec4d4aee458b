"""`towpath weighters list | show`: what weighters compute, assume and cost, and when they fail."""

import argparse
import inspect
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from towpath.cli.output import add_json, print_json
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.runs.plain import Json
from towpath.wording import nearest

if TYPE_CHECKING:
    from towpath.weighters.registry import WeighterEntry


def add(commands: Commands) -> None:
    """Add these commands and their arguments to the command line."""
    weighters = commands.add_parser("weighters", help="list the weighters, and show one of them")
    actions = weighters.add_subparsers(dest="weighters_command", required=True, metavar="COMMAND")
    lists = add_command(
        actions,
        "list",
        "What weighters there are, what they compute and when they fail.",
        "towpath weighters list",
        run_list,
    )
    lists.add_argument(
        "--markdown", action="store_true", help="the tables of docs/weighters.md, whole"
    )
    shows = add_command(
        actions,
        "show",
        "One weighter: formula, assumptions, cost, failure, options.",
        "towpath weighters show mixture",
        run_show,
    )
    shows.add_argument("name", metavar="NAME")
    for parser in (lists, shows):
        add_json(parser)


def run_list(arguments: argparse.Namespace, console: Console) -> None:
    """Show a table of all weighters, for the terminal or as Markdown."""
    from towpath.weighters.guide import factorial_table, table  # torch: not for --help
    from towpath.weighters.registry import WEIGHTERS

    if arguments.markdown:
        text = f"{table()}\n\n{factorial_table()}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
        return
    if arguments.json:
        print_json({name: _as_json(entry) for name, entry in WEIGHTERS.items()})
        return
    shown = Table(title="Weighters", title_justify="left")
    for column in ("name", "targets", "weights", "fails"):
        shown.add_column(column)
    for name, entry in WEIGHTERS.items():
        wants = "yes" if entry.wants_targets({}) else ""
        shown.add_row(name, wants, _plain(entry.card.formula), _plain(entry.card.fails))
    console.print(shown)
    console.print("More of one of them: towpath weighters show NAME", highlight=False)


def run_show(arguments: argparse.Namespace, console: Console) -> None:
    """Show the card of one weighter with its options and defaults."""
    from towpath.weighters.guide import in_python
    from towpath.weighters.registry import WEIGHTERS

    name = arguments.name
    if name not in WEIGHTERS:
        raise UsageError(
            f"towpath weighters show found {name!r}; expected one of {', '.join(WEIGHTERS)}."
            f"{nearest(name, list(WEIGHTERS))}"
        )
    entry = WEIGHTERS[name]
    if arguments.json:
        print_json({"name": name, **_as_json(entry)})
        return
    card = entry.card
    lines = {
        "in Python": in_python(entry),
        "weights": card.formula,
        "assumes": card.assumes,
        "costs beyond training": card.costs,
        "fails": card.fails,
        "from": card.reference,
        "wants targets": "yes (trusted.count in a recipe)" if entry.wants_targets({}) else "no",
    }
    if card.point is not None:
        point = card.point
        lines |= {"horizon": point.horizon, "geometry": point.geometry}
        lines |= {"projection": point.projection, "shrinkage": point.shrinkage}
    console.print(name, style="bold", highlight=False)
    for title, text in lines.items():
        if text:
            console.print(f"  {title}: {_plain(text)}", highlight=False, markup=False)
    options = _options(entry.make, entry.presets)
    if options:
        console.print(f"  options: {options}", highlight=False, markup=False)
    console.print()
    console.print(inspect.getdoc(entry.make) or "", highlight=False, markup=False)


def _as_json(entry: "WeighterEntry") -> dict[str, Json]:
    """Return the card of a weighter with its options and their defaults, as plain values."""
    from towpath.weighters.guide import in_python

    card = {key: text for key, text in asdict(entry.card).items() if isinstance(text, str)}
    options = _defaults(entry.make, entry.presets)
    return {
        "python": in_python(entry),
        **{key: _plain(text) for key, text in card.items()},
        "wants_targets": entry.wants_targets({}),
        "options": {
            name: value if isinstance(value, bool | int | float | str | None) else str(value)
            for name, value in options.items()
        },
    }


def _options(make: Any, presets: Mapping[str, Any]) -> str:
    """Return the options that a recipe may set, with their defaults, as text."""
    return ", ".join(f"{name}={value!r}" for name, value in _defaults(make, presets).items())


def _defaults(make: Any, presets: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a recipe may set, with their defaults."""
    if not is_dataclass(make):
        return {}
    given = {f.name: f.default for f in fields(make) if f.default is not MISSING}
    return {**given, **presets}


def _plain(text: str) -> str:
    """Return a card's text without the marks that a Markdown table needs."""
    return text.replace("`", "").replace("\\|", "|")
