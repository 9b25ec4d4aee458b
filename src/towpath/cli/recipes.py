"""`towpath recipes list | show | copy`: the recipes that come with towpath."""

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from towpath.cli.arguments import add_force
from towpath.cli.parser import Commands, add_command
from towpath.files import Output
from towpath.wording import say


def add(commands: Commands) -> None:
    """Add these commands and their arguments to the command line."""
    recipes = commands.add_parser("recipes", help="list, show and copy the shipped recipes")
    actions = recipes.add_subparsers(dest="recipes_command", required=True, metavar="COMMAND")
    add_command(actions, "list", "What recipes there are.", "towpath recipes list", list_recipes)
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


def list_recipes(arguments: argparse.Namespace, console: Console) -> None:
    """Show a table of the shipped recipes."""
    del arguments  # there are none
    from towpath.recipes import shipped_recipes
    from towpath.recipes.reading import read_recipe

    table = Table(title="Recipes", title_justify="left")
    for column in ("name", "what it is", "reproduces"):
        table.add_column(column)
    for name in shipped_recipes():
        recipe = read_recipe(name)
        first = recipe.about.partition(". ")[0]  # the rest is what the paper leaves open
        table.add_row(name, first, recipe.reproduces or "-")
    console.print(table)


def show_recipe(arguments: argparse.Namespace, console: Console) -> None:
    """Print the YAML of a recipe exactly as its file has it."""
    from towpath.recipes.reading import recipe_text

    console.out(recipe_text(arguments.recipe), highlight=False, end="")


def copy_recipe(arguments: argparse.Namespace, console: Console) -> None:
    """Copy a recipe to a file that the user may edit."""
    from towpath.recipes.reading import recipe_text

    name = arguments.recipe
    output = Output(Path(arguments.out or f"{Path(name).stem}.yaml"), arguments.force)
    output.write(recipe_text(name).encode())
    say(console, f"Copied to {output.path}; run it with: towpath train {output.path}")
