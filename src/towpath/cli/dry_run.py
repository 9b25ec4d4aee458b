"""`--dry-run`: what a run or a comparison would do and take, without a run folder being written.

The data are loaded and one mini-batch is measured, as before every training; so what would be
refused then is refused now, but for a folder that is taken: nothing is written into it, so this is
only told. Only the decoded copy of a data set may be new afterwards: it is a
cache that the next command would make.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from towpath.cli.arguments import Invocation
from towpath.cli.figure_text import cost_text, gibibytes
from towpath.cli.output import print_json
from towpath.distributed.launch import launched
from towpath.distributed.ranks import ALONE, Ranks
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.reports.resolved import filled_in
from towpath.runs.comparison_spec import ComparisonSpec
from towpath.runs.folder import refuse_existing
from towpath.runs.plain import Json
from towpath.training.estimate import Estimate, estimate
from towpath.training.setup import Setup, prepare
from towpath.training.threads import one_thread_a_task
from towpath.wording import say, seconds_text


@dataclass(frozen=True, eq=False)
class Forecast:
    """A run that could begin now, and what it would take."""

    setup: Setup
    cost: Estimate

    @classmethod
    def of(cls, recipe: Recipe, call: Invocation, ranks: Ranks = ALONE) -> "Forecast":
        """Load the data of a recipe, build its learner and weighter, and measure a mini-batch.

        Args:
            recipe: the recipe.
            call: how the command was called.
            ranks: the processes that would share the tasks.
        """
        with one_thread_a_task():
            setup = prepare(recipe, call.data_root, call.allowed, ranks=ranks)
            return cls(setup, estimate(setup))

    @property
    def data(self) -> dict[str, str]:
        """One line for each data set that was found, by what it is used for."""
        setup = self.setup
        lines = {"training": setup.windows.sampler.pool.describe()}
        if setup.validation is not None:
            lines["validation"] = setup.validation.pool.describe()
        for name, stream in setup.tests.items():
            lines[f"test on {name}"] = stream.pool.describe()
        return lines

    @property
    def expected(self) -> dict[str, Json]:
        """The estimated time and memory as plain values."""
        cost = self.cost
        return {
            "seconds": cost.seconds,
            "training_seconds": cost.training_seconds,
            "evaluation_seconds": cost.evaluation_seconds,
            "seconds_per_step": cost.seconds_per_step,
            "overhead": cost.overhead,
            "peak_bytes": cost.peak_bytes,
        }


def show_run(console: Console, out: Path, recipe: Recipe, call: Invocation, as_json: bool) -> None:
    """Show what training the recipe would be.

    Args:
        console: where it is shown.
        out: the folder that the run would be in; if it is taken, that is told.
        recipe: the recipe.
        call: how the command was called.
        as_json: whether to print one JSON document instead.
    """
    with launched(recipe.device) as ranks:
        forecast = Forecast.of(recipe, call, ranks)
    resolved = filled_in(recipe)
    if as_json:
        data: dict[str, Json] = {**forecast.data}
        expected = forecast.expected
        place = _place(out)
        print_json({**place, "recipe": resolved, "data": data, "expected": expected})
        return
    _show_recipe(console, resolved, forecast)
    say(console, f"expected: {cost_text(forecast.cost)}")
    if forecast.cost.note:
        say(console, forecast.cost.note)
    _say_place(console, out, "the run")


def show_comparison(
    console: Console, spec: ComparisonSpec, call: Invocation, as_json: bool, jobs: int
) -> None:
    """Show what a comparison would be: its recipe, its data, and the time of each weighter's runs.

    Args:
        console: where it is shown.
        spec: what would be compared; if its folder is taken, that is told.
        call: how the command was called.
        as_json: whether to print one JSON document instead.
        jobs: how many runs there would be at a time.
    """
    forecasts = {
        one.label: Forecast.of(replace(spec.recipe, weighter=one.component), call)
        for one in spec.contestants
    }
    first = next(iter(forecasts.values()))
    seeds = len(spec.seeds)
    seconds = seeds * sum(forecast.cost.seconds for forecast in forecasts.values()) / jobs
    resolved = filled_in(spec.recipe)
    if as_json:
        weighters: dict[str, Json] = {label: one.expected for label, one in forecasts.items()}
        data: dict[str, Json] = {**first.data}
        print_json(
            {
                **_place(spec.path),
                "recipe": resolved,
                "data": data,
                "seeds": list(spec.seeds),
                "weighters": weighters,
                "expected": {"runs": seeds * len(forecasts), "seconds": seconds},
            }
        )
        return
    _show_recipe(console, resolved, first)
    console.print(_costs(forecasts, spec.seeds))
    at_a_time = f", {jobs} at a time" if jobs > 1 else ""
    say(
        console,
        f"expected: {seconds_text(seconds)} for {seeds * len(forecasts)} runs{at_a_time}",
    )
    if first.cost.note:
        say(console, first.cost.note)
    _say_place(console, spec.path, "the comparison")


def _taken(out: Path) -> str:
    """Return the sentence with which a folder would be refused; empty for one that can be used."""
    try:
        refuse_existing(out)
    except RecipeError as error:
        return str(error)
    return ""


def _place(out: Path) -> dict[str, Json]:
    """Return the folder as plain values, with the reason why it would be refused, if it would."""
    taken = _taken(out)
    return {"folder": str(out), "refused": taken} if taken else {"folder": str(out)}


def _say_place(console: Console, out: Path, what: str) -> None:
    """Say where the run or the comparison would be, or why it could not be there."""
    say(console, f"Nothing was written; {what} would be in {out}")
    if taken := _taken(out):
        say(console, f"It would be refused there: {taken}")


def _show_recipe(console: Console, resolved: Mapping[str, Json], forecast: Forecast) -> None:
    """Show the recipe with every default, as YAML, and the data that it found."""
    text = yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True)
    console.out(text, highlight=False, end="")
    for use, line in forecast.data.items():
        say(console, f"{use}: {line}")
    for note in forecast.setup.notes:
        say(console, note)


def _costs(forecasts: Mapping[str, Forecast], seeds: Sequence[int]) -> Table:
    """Return the table of the expected costs of each weighter's runs."""
    title = f"Expected for each of the seeds {', '.join(map(str, seeds))}"
    table = Table(title=title, title_justify="left")
    for column in ("weighter", "time of a run", "a step", "times uniform", "memory"):
        table.add_column(column)
    for label, forecast in forecasts.items():
        cost = forecast.cost
        table.add_row(
            label,
            seconds_text(cost.seconds),
            f"{cost.seconds_per_step:.2f} s",
            f"{cost.overhead:.1f}",
            gibibytes(cost.peak_bytes),
        )
    return table
