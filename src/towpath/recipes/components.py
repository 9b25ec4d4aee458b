"""From names in a recipe to objects: components are chosen by registry name.

A class of the user's, named by its import path (`package.module:Class`), is imported only if its
package was allowed explicitly; a run folder by itself never causes an import.
"""

import importlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from towpath.data.registry import loader_of
from towpath.recipes.component import Component, Options
from towpath.recipes.mix import MIX
from towpath.recipes.rules import RACES, RULES, as_sections, rules_of
from towpath.recipes.typed import RecipeError, chosen, options_for
from towpath.weighters import WEIGHTERS, Weighter, WeighterEntry
from towpath.weighters.tow.nominal import NOMINALS
from towpath.wording import quoted

NOT_OF_DATA = ("root", "path", "split", "name")
"""parameters of a data set's loader that are no options of a recipe"""


def named(
    registry: Mapping[str, Any], component: Component, where: str, allowed: Collection[str] = ()
) -> Any:
    """Return the entry of a registry, or the user's class if its package is allowed.

    Args:
        registry: the entries by name.
        component: the component whose name is looked up.
        where: the section of the recipe, for messages.
        allowed: packages that classes may be imported from.

    Raises:
        RecipeError: if there is no such entry or class.
    """
    name = component.name
    if name in registry or not ({".", ":"} & set(name)):
        return registry[chosen(registry, name, f"{where}.name")]
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    package = module.split(".")[0]
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise RecipeError(
            f"{where}.name is {quoted(name)}; expected one of {', '.join(sorted(registry))}, or a "
            "class of yours as package.module:Class."
        )
    if package not in allowed:
        raise RecipeError(
            f"{where}.name is the import path {name!r}, and nothing was said about importing it; "
            f"expected --allow-import {package} if you trust that code, or one of towpath's own: "
            f"{', '.join(sorted(registry))}."
        )
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise RecipeError(
            f"{where}.name is {name!r}, which cannot be imported ({error}); expected "
            "package.module:Class that is installed here."
        ) from error
    except (Exception, SystemExit) as error:  # a stranger's code raises anything
        raise RecipeError(
            f"{where}.name is {name!r}, whose module fails while it is imported "
            f"({type(error).__name__}: {error}); expected a module that can be imported. Try: "
            f"python -c 'import {module}'"
        ) from error
    if not callable(found):
        raise RecipeError(
            f"{where}.name is {name!r}, which is {quoted(found)}; expected a class or a function."
        )
    return found


def data_options(component: Component) -> Options:
    """Return the given options of a data set, checked against its loader, without defaults.

    Other sets that are mixed in (`towpath.recipes.mix`) are not among them.
    """
    given = {key: value for key, value in component.options.items() if key != MIX}
    checked = options_for(_loader(component.name), given, "data", leave_out=NOT_OF_DATA)
    return {key: checked[key] for key in given}


def data_option_names(name: str) -> list[str]:
    """Return the names of the options that a recipe may set for a data set, `mix` last."""
    own = inspect.signature(_loader(name)).parameters
    return [*(option for option in own if option not in NOT_OF_DATA), MIX]


def options_beside(component: Component, name: str, inputs: tuple[int, ...]) -> Options:
    """Return options of a second data set, so that it is read as the first one was.

    Options that the second set's loader does not have are left out.

    Args:
        component: the first data set.
        name: name of the second data set.
        inputs: shape of the first set's images or rows.
    """
    wanted: Options = component.options
    if len(inputs) == 3:
        wanted = {"image_size": inputs[1], "channels": inputs[0], **wanted}
    taken = inspect.signature(_loader(name)).parameters
    return data_options(Component(name, {k: v for k, v in wanted.items() if k in taken}))


def _loader(name: str) -> Callable[..., Any]:
    return loader_of(name)


def weighter_options(
    component: Component,
    allowed: Collection[str] = (),
    steps: int | None = None,
    where: str = "weighter",
) -> Options:
    """Return all options of a weighter, with presets and defaults filled in.

    A nominal that is a weighter is a section of its own: `nominal: {name: mixture, window: 200}`.
    The rules of a race (`towpath.recipes.rules`) are sections by name.

    Args:
        component: the weighter.
        allowed: packages that classes may be imported from.
        steps: number of training steps; where known, options that are a share of them are too.
        where: the dotted name of the section, for messages.
    """
    entry = named(WEIGHTERS, component, where, allowed)
    make = entry.make if isinstance(entry, WeighterEntry) else entry
    given = dict(component.options)
    if steps is not None:
        shares: Mapping[str, float] = getattr(make, "from_steps", {})
        for name, share in shares.items():
            if given.get(name) is None:  # a run folder writes down what was not given as None
                given[name] = round(share * steps)
    if not isinstance(entry, WeighterEntry):
        return options_for(make, given, where)
    races = RULES in inspect.signature(make).parameters
    rules = rules_of(given.get(RULES), f"{where}.{RULES}") if races else {}
    if races:
        given[RULES] = as_sections(rules)
    options = options_for(make, {**entry.presets, **given}, where, leave_out=("prior", "cost"))
    inside = {
        label: {"name": rule.name, **weighter_options(rule, allowed, steps, place)}
        for label, rule, place in _placed(rules, where)
    }
    if races:
        return {**options, RULES: inside}
    about = _nominal(options, where)
    if about is None:
        return options
    inner = weighter_options(about, allowed, steps, f"{where}.nominal")
    return {**options, "nominal": {"name": about.name, **inner}}


def _placed(rules: Mapping[str, Component], where: str) -> Iterator[tuple[str, Component, str]]:
    """Yield the name of each rule of a race, the rule, and its dotted name for messages."""
    for label, rule in rules.items():
        yield label, rule, f"{where}.{RULES}.{label}"


def _nominal(options: Options, where: str) -> Component | None:
    """Return the weighter that a plan is about; None for a word of the planner's own."""
    value = options.get("nominal")
    if value is None or (isinstance(value, str) and value in NOMINALS):
        return None
    return Component.of(f"{where}.nominal", value)


def make_weighter(
    component: Component,
    allowed: Collection[str] = (),
    steps: int | None = None,
    where: str = "weighter",
) -> Weighter:
    """Make the weighter that a recipe names.

    Args:
        component: the weighter.
        allowed: packages that classes may be imported from.
        steps: number of training steps, for options that are a share of them.
        where: the dotted name of the section, for messages.
    """
    entry = named(WEIGHTERS, component, where, allowed)
    options = weighter_options(component, allowed, steps, where)
    if isinstance(entry, WeighterEntry):
        about = _nominal(options, where)
        if about is not None:
            made_nominal = make_weighter(about, allowed, steps, f"{where}.nominal")
            options = {**options, "nominal": made_nominal}
        if RULES in options:
            made_rules = {
                label: make_weighter(rule, allowed, steps, place)
                for label, rule, place in _placed(rules_of(options[RULES], where), where)
            }
            options = {**options, RULES: made_rules}
        return entry.make(**options)
    made: Weighter = entry(**options)
    if not callable(getattr(made, "plan", None)):
        raise RecipeError(
            f"{where}.name is {component.name!r}, which has no method plan; expected a "
            "weighter. Derive the class from towpath.MiniBatchWeighter."
        )
    return made


def component_wants_targets(component: Component) -> bool:
    """Return whether a registered weighter needs trusted tasks as targets.

    It is False for a class of the user's, which would have to be imported to find out.
    """
    if component.name in RACES:
        rules = rules_of(component.options.get(RULES), f"weighter.{RULES}")
        return any(component_wants_targets(rule) for rule in rules.values())
    entry = WEIGHTERS.get(component.name)
    return entry is not None and entry.wants_targets(component.options)
