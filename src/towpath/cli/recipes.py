"""`towpath recipes list | show | copy | fields`: the shipped recipes, and what a recipe may say."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from towpath.cli.arguments import add_force
from towpath.cli.output import add_json, print_json
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.files import Output
from towpath.wording import nearest, say

if TYPE_CHECKING:
    from towpath.recipes.fields import Field


def add(commands: Commands) -> None:
    """Add these commands and their arguments to the command line."""
    recipes = commands.add_parser(
        "recipes", help="list, show and copy the shipped recipes; tell all fields of a recipe"
    )
    actions = recipes.add_subparsers(dest="recipes_command", required=True, metavar="COMMAND")
    lists = add_command(
        actions, "list", "What recipes there are.", "towpath recipes list", list_recipes
    )
    show = add_command(
        actions, "show", "A recipe's text.", "towpath recipes show demo", show_recipe
    )
    copy = add_command(
        actions,
        "copy",
        "A recipe as a file of your own.",
        "towpath recipes copy demo",
        copy_recipe,
    )
    for parser in (show, copy):
        parser.add_argument("recipe", metavar="NAME")
    copy.add_argument("--out", metavar="FILE")
    add_force(copy, "a file that exists")
    tells = add_command(
        actions,
        "fields",
        "Every field of a recipe: its type, its default and what it means.",
        "towpath recipes fields training",
        tell_fields,
    )
    tells.add_argument(
        "section", metavar="SECTION", nargs="?", help="training, learner, maml, ...; default: all"
    )
    tells.add_argument(
        "--markdown", action="store_true", help="the tables of docs/recipe-fields.md"
    )
    for parser in (lists, show, tells):
        add_json(parser)


def list_recipes(arguments: argparse.Namespace, console: Console) -> None:
    """Show a table of the shipped recipes."""
    from towpath.recipes import shipped_recipes
    from towpath.recipes.reading import read_recipe

    found = {name: read_recipe(name) for name in shipped_recipes()}
    if arguments.json:
        print_json({name: recipe.as_mapping() for name, recipe in found.items()})
        return
    table = Table(title="Recipes", title_justify="left")
    for column in ("name", "what it is", "reproduces"):
        table.add_column(column)
    for name, recipe in found.items():
        first = recipe.about.partition(". ")[0]  # the rest is what the paper leaves open
        table.add_row(name, first, recipe.reproduces or "-")
    console.print(table)


def show_recipe(arguments: argparse.Namespace, console: Console) -> None:
    """Print the YAML of a recipe exactly as its file has it, or all of its values as JSON."""
    from towpath.recipes.reading import read_recipe, recipe_text

    if arguments.json:
        print_json(read_recipe(arguments.recipe).as_mapping())
        return
    console.out(recipe_text(arguments.recipe), highlight=False, end="")


def copy_recipe(arguments: argparse.Namespace, console: Console) -> None:
    """Copy a recipe to a file that the user may edit."""
    from towpath.recipes.reading import recipe_text

    name = arguments.recipe
    output = Output(Path(arguments.out or f"{Path(name).stem}.yaml"), arguments.force)
    output.write(recipe_text(name).encode())
    say(console, f"Copied to {output.path}; run it with: towpath train {output.path}")


def tell_fields(arguments: argparse.Namespace, console: Console) -> None:
    """Show the fields of all sections, or of one section or component."""
    from towpath.recipes.fields import as_markdown, sections_of

    listed = _fields_of(arguments.section)
    if arguments.json:
        print_json({"fields": [one.as_json() for one in listed]})
        return
    if arguments.markdown:
        console.print(as_markdown(listed), highlight=False, soft_wrap=True)
        return
    if not listed:
        say(console, f"{arguments.section} has no options")
    for title, own in sections_of(listed).items():
        table = Table(title=title, title_justify="left")
        for column in ("field", "type", "default", "meaning"):
            table.add_column(column, overflow="fold")
        for one in own:
            table.add_row(one.name, one.type, one.default or "required", one.meaning)
        console.print(table)


def _fields_of(section: str | None) -> "list[Field]":
    """Return the fields of a section or of a component; all for None."""
    from towpath.recipes.fields import component_fields, component_names, recipe_fields

    listed = recipe_fields()
    if section is None:
        return listed
    sections = {one.name.partition(".")[0] for one in listed if "." in one.name}
    if section in sections:
        return [one for one in listed if one.name.partition(".")[0] == section]
    found = component_fields(section)
    if found is None:
        known = sections | set(component_names())
        raise UsageError(
            f"towpath recipes fields found {section!r}; expected a section or a component, one of "
            f"{', '.join(sorted(known))}.{nearest(section, known)}"
        )
    return found
