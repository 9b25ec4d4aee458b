"""`towpath bench`: the expected cost of a recipe on this machine."""

import argparse
from collections.abc import Sequence

from rich.console import Console

from towpath.cli.arguments import Invocation, add_recipe_settings, chosen_recipe
from towpath.cli.parser import Commands, add_command
from towpath.wording import say, seconds_text


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "bench",
        "What a run of a recipe will cost on this machine, from one short measurement.",
        "towpath bench --recipe quick --weighter.name tow",
        run,
    )
    parser.add_argument(
        "--recipe", metavar="RECIPE", default="demo", help="a shipped name, or a YAML file"
    )
    add_recipe_settings(parser)


def naming_the_recipe(words: Sequence[str]) -> list[str]:
    """Return the command line with `bench RECIPE` spelt `bench --recipe RECIPE`.

    An optional positional argument would swallow the values of overrides.
    """
    given = list(words)
    if given[:1] == ["bench"] and given[1:] and not given[1].startswith("-"):
        given.insert(1, "--recipe")
    return given


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Measure a mini-batch and print the expected cost of the whole run."""
    from towpath.training.estimate import estimate
    from towpath.training.setup import prepare
    from towpath.training.threads import one_thread_a_task

    recipe, call = chosen_recipe(arguments), Invocation.of(arguments)
    with one_thread_a_task():
        cost = estimate(prepare(recipe, call.data_root, call.allowed))
    say(
        console,
        f"{recipe.name} with {recipe.weighter.name}: {cost.seconds_per_step:.2f} s a step, "
        f"{cost.overhead:.1f} times uniform ({cost.uniform_seconds_per_step:.2f} s)",
    )
    say(
        console,
        f"expected for {recipe.training.steps} steps: {seconds_text(cost.training_seconds)} of "
        f"training and {seconds_text(cost.evaluation_seconds)} of validation and test; peak memory "
        f"{cost.peak_bytes / 2**30:.1f} GiB, of which a plan's own {cost.plan_bytes / 2**20:.0f} "
        "MiB",
    )
    if cost.note:
        say(console, cost.note)
