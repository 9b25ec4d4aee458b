"""Reading recipes: shipped ones by name, the user's by path, with overrides by dotted name."""

from collections.abc import Mapping, Sequence

import yaml

from towpath.files import FileError, expanded, read_text
from towpath.recipes import shipped_recipes
from towpath.recipes.component import Options
from towpath.recipes.components import data_option_names
from towpath.recipes.recipe import COMPONENTS, Recipe
from towpath.recipes.strict_yaml import LONGEST, load_yaml
from towpath.recipes.typed import RecipeError, plain_value
from towpath.wording import nearest, one_line, printable, quoted

BUDGETS = ("full", "small")
MADE_WITH = "made_with"
"""the section that the configuration of a run has beside those of its recipe"""


def recipe_text(name: str) -> str:
    """Return the YAML of a recipe, by its shipped name or by its path."""
    shipped = shipped_recipes()
    if name in shipped:
        return shipped[name]
    path = expanded(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        try:
            return read_text(path, LONGEST)
        except FileError as error:
            raise RecipeError(
                f"The recipe file {name} cannot be read ({error.strerror}); expected a YAML file. "
                "Check the path, or copy one: towpath recipes copy NAME"
            ) from error
    if path.is_dir():
        raise RecipeError(
            f"The recipe {quoted(name)} is a folder; expected the name of a recipe, or the "
            "path of a YAML file. To go on with the run of a folder: towpath resume FOLDER"
        )
    raise RecipeError(
        f"There is no recipe {quoted(name)}; expected {', '.join(shipped)}, or the path of a YAML "
        f"file.{nearest(name, shipped)}"
    )


def read_recipe(
    name: str, overrides: Sequence[tuple[str, str]] = (), budget: str = "full"
) -> Recipe:
    """Read and check a recipe, with the budget's values and then the overrides applied.

    This is the one place where what a user wrote becomes a `Recipe`.

    Args:
        name: the name of a shipped recipe, or the path of a file.
        overrides: pairs of a dotted name and a value.
        budget: `full`, or `small` for the recipe's own small values.
    """
    if budget not in BUDGETS:
        raise RecipeError(
            f"--budget is {budget!r}; expected {' or '.join(BUDGETS)}.{nearest(budget, BUDGETS)}"
        )
    text = recipe_text(name)
    try:
        found = load_yaml(text)
    except yaml.YAMLError as error:
        raise RecipeError(
            f"The recipe {name} is not YAML that can be used ({one_line(error)}); expected "
            "sections of options. Compare with: towpath recipes show NAME"
        ) from error
    if not isinstance(found, dict):
        held = {list: "a list", type(None): "nothing", str: "a word"}.get(type(found), "a value")
        raise RecipeError(
            f"The recipe {name} holds {held}; expected sections of options. "
            "Compare with: towpath recipes show NAME"
        )
    # `config.yaml` of a run is the recipe and, beside it, what the run was made with
    mapping: Options = {key: value for key, value in found.items() if key != MADE_WITH}
    if budget == "small":
        for dotted, value in _small(mapping.get("small")).items():
            mapping = overridden(mapping, dotted, value)
    for dotted, word in overrides:
        mapping = overridden(mapping, dotted, plain_value(word))
    return Recipe.of(mapping)


def _small(section: object) -> Options:
    if section is None:
        return {}
    if not isinstance(section, dict) or not all(isinstance(key, str) for key in section):
        raise RecipeError(
            f"small is {quoted(section)}; expected values by dotted name, as in training.steps: 20"
        )
    return section


def overridden(mapping: Options, dotted: str, value: object) -> Options:
    """Return the mapping with a value at a dotted name.

    A new component starts from its own defaults: the options of another weighter would mean
    nothing to it. Other data keep the options of the recipe, which say how data are read.

    Args:
        mapping: the recipe, or a part of it.
        dotted: the name, as in `weighter.beta`.
        value: the value.

    Raises:
        RecipeError: if there is no such place, or other data do not have an option of the recipe.
    """
    section, _, key = dotted.partition(".")
    if not key:
        return {**mapping, section: value}
    inside = mapping.get(section)
    if isinstance(inside, str):
        inside = {"name": inside}
    if inside is not None and not isinstance(inside, Mapping):
        raise RecipeError(f"--{dotted}: the recipe's {section} is not a section of options.")
    if section in COMPONENTS and key == "name" and inside and inside.get("name") != value:
        kept = _kept_options(inside, value) if section == "data" else {}
        return {**mapping, section: {"name": value, **kept}}
    return {**mapping, section: overridden(inside or {}, key, value)}


def _kept_options(section: Mapping[str, object], name: object) -> Options:
    """Return the options of a recipe's `data` section, with which other data are read as well.

    Args:
        section: the section as it was.
        name: the other data.

    Raises:
        RecipeError: if the other data do not have one of the options.
    """
    options = {key: value for key, value in section.items() if key != "name"}
    if not options or not isinstance(name, str):
        return options
    _refuse_others(options, name, f'Replace the whole section with --data "{{name: {name}}}"')
    return options


def _refuse_others(options: Options, name: str, remedy: str) -> None:
    """Raise RecipeError if a data set lacks some of the options that a recipe has for another."""
    known = data_option_names(name)
    others = [key for key in options if key not in known]
    if others:
        raise RecipeError(
            f"The recipe's data section sets {', '.join(map(printable, others))}, which the data "
            f"{quoted(name)} do not have; expected some of {', '.join(known)}. {remedy}, and add "
            "the options that you need, as in --data.OPTION VALUE."
        )


def options_on(recipe: Recipe, name: str) -> Options:
    """Return the data options with which a recipe reads this data, as with `--data.name`.

    Args:
        recipe: the recipe.
        name: the name of a set, or the path of a user's folder or table.

    Raises:
        RecipeError: if the recipe names other data, and this data do not have its options.
    """
    own = recipe.data.name
    if own != name and expanded(own).resolve() != expanded(name).resolve():
        _refuse_others(recipe.data.options, name, "Leave --recipe out")
    return recipe.data.options
