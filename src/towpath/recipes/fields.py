"""Every field of a recipe: its dotted name, type, default and meaning, read off the code.

Types and defaults are those of the dataclasses and signatures that check a recipe, meanings those
of their docstrings; so nothing here has to be kept up to date by hand. `towpath recipes fields`
shows them, and docs/recipe-fields.md is written from them.
"""

import inspect
import json
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import docstring_parser
import yaml

from towpath.backbones import BACKBONES
from towpath.data import SETS, load_folder, load_table
from towpath.data.feature_file import load_features
from towpath.learners import LEARNERS
from towpath.losses import LOSSES
from towpath.recipes.mix import MIX
from towpath.recipes.optimizers import OPTIMIZERS
from towpath.recipes.recipe import COMPONENTS, SECTIONS, Probe, Recipe
from towpath.recipes.typed import described, plain_value
from towpath.validation import Range, declared_ranges
from towpath.weighters import WEIGHTERS

Maker = Callable[..., Any]
"""a class or function whose parameters are options of a recipe"""
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "data": ("root", "path", "split", "name"),
    "backbone": ("channels", "image_size", "ways", "inputs", "outputs"),
    "learner": ("model", "loss"),
    "optimizer": (),
    "weighter": ("prior", "cost"),
}
"""parameters of components that a recipe does not set, because they follow from the rest of it"""
MIX_MEANING = (
    "sets that off-target tasks come from: their shares by name, as in {omniglot: 0.6}; or a name, "
    "or a list of names, that share episodes.label_noise with noise_kind off-target"
)


@dataclass(frozen=True)
class Field:
    """One value that a recipe may set."""

    name: str
    """its dotted name, as on the command line"""
    component: str
    """the component that has this option, such as `maml`; empty for a field of every recipe"""
    type: str
    default: str
    """its default as YAML; empty where a value is required"""
    meaning: str

    def as_json(self) -> dict[str, Any]:
        """Return the field with its default as a value; without one where a value is required."""
        told = asdict(self)
        if not self.default:
            return {name: text for name, text in told.items() if name != "default"}
        return {**told, "default": plain_value(self.default)}


BESIDE: Mapping[str, tuple[Field, ...]] = {
    "backbone": (
        Field(
            "backbone.weights",
            "",
            "a word or a mapping",
            "null",
            "pretrained parameters: a safetensors file, or {file: net.safetensors, skip: [head]} "
            "to leave layers out",
        ),
        Field(
            "backbone.frozen",
            "",
            "a list of words in brackets",
            "null",
            "layers that are neither trained nor adapted",
        ),
    ),
    "learner": (
        Field(
            "learner.loss",
            "",
            "a word or a mapping",
            "null",
            f"one of {', '.join(LOSSES)}, with options as in {{name: cross_entropy, "
            "label_smoothing: 0.1}; or package.module:function of your own, with --allow-import "
            "package; by default cross_entropy for classes and mse for numbers",
        ),
    ),
}
"""options of a section that all of its components have"""


def recipe_fields() -> list[Field]:
    """Return all fields, section by section in the order of a recipe."""
    found: list[Field] = []
    for option in fields(Recipe):
        key = option.name
        if key in SECTIONS:
            found += _of_section(SECTIONS[key], key)
        elif key == "probes":
            found += _of_section(Probe, "probes[]")
        elif key in COMPONENTS:
            found += [*_names_of(key), *_of_components(key)]
        else:
            found += [one for one in _of_section(Recipe, "") if one.name == key]
    return found


def _of_section(section: type, where: str) -> list[Field]:
    """Return the fields of a dataclass."""
    defaults = _defaults(section)
    for option in fields(section):
        if option.default_factory is not MISSING:
            defaults[option.name] = option.default_factory()
    return list(_of_maker(section, where, "", defaults, ()))


def _names_of(section: str) -> list[Field]:
    """Return the fields of a section that do not depend on the component it chooses."""
    default: Any = next(option for option in fields(Recipe) if option.name == section)
    known = f"one of {', '.join(makers(section, own=False))}"
    name = f"{section}.name"
    if section == "data":
        known = f"{known}, or the path of a folder, archive, table or file of features of your own"
        mix = Field(f"data.{MIX}", "", "a mapping, a word or a list", "null", MIX_MEANING)
        return [Field(name, "", "a word", default.default_factory().name, known), mix]
    if section != "optimizer":
        known = f"{known}, or package.module:Class of your own, with --allow-import package"
    first = Field(name, "", "a word", default.default_factory().name, known)
    return [first, *BESIDE.get(section, ())]


def makers(section: str, own: bool = True) -> dict[str, Maker]:
    """Return the classes and functions that make a section's components, by name.

    Args:
        section: `data`, `backbone`, `learner`, `optimizer` or `weighter`.
        own: whether to add what loads a user's own folder or table.
    """
    registries: Mapping[str, Mapping[str, Maker]] = {
        "data": {name: entry.load for name, entry in SETS.items()},
        "backbone": BACKBONES,
        "learner": LEARNERS,
        "optimizer": OPTIMIZERS,
        "weighter": {name: entry.make for name, entry in WEIGHTERS.items()},
    }
    users: Mapping[str, Maker] = {
        "your own folder": load_folder,
        "your own table": load_table,
        "your own features": load_features,
    }
    return {**registries[section], **(users if section == "data" and own else {})}


def _of_components(section: str) -> Iterator[Field]:
    """Yield the options of every component of a section.

    A preset shares the options of its class, and is listed with those alone whose default differs.
    """
    listed: set[Maker] = set()
    for name, make in makers(section).items():
        presets = WEIGHTERS[name].presets if section == "weighter" else {}
        defaults = {**_defaults(make), **presets}
        for option in _of_maker(make, section, name, defaults, FOLLOWS[section]):
            if make not in listed or option.name.rpartition(".")[2] in presets:
                yield option
        listed.add(make)


def component_fields(name: str) -> list[Field] | None:
    """Return all options of the components of this name, a preset's too; None if there is none."""
    found: list[Field] | None = None
    for section in COMPONENTS:
        make = makers(section).get(name)
        if make is None:
            continue
        presets = WEIGHTERS[name].presets if section == "weighter" else {}
        defaults = {**_defaults(make), **presets}
        found = [*(found or ()), *_of_maker(make, section, name, defaults, FOLLOWS[section])]
    return found


def component_names() -> list[str]:
    """Return the names of all components that a recipe may choose, each once."""
    return list(dict.fromkeys(name for section in COMPONENTS for name in makers(section)))


def _defaults(make: Maker) -> dict[str, Any]:
    """Return the default of each parameter; null stands for one that is made anew each time."""
    found = {name: one.default for name, one in inspect.signature(make).parameters.items()}
    if is_dataclass(make):
        made = [option.name for option in fields(make) if option.default_factory is not MISSING]
        found |= dict.fromkeys(made)
    return found


def _of_maker(
    make: Maker, where: str, component: str, defaults: Mapping[str, Any], aside: Sequence[str]
) -> Iterator[Field]:
    """Yield the options of a class or function.

    Args:
        make: the class or function.
        where: dotted name of its section; empty for the recipe itself.
        component: its name in the section, if it is a component.
        defaults: the default of each option.
        aside: parameters that are no options.
    """
    function = make.__init__ if isinstance(make, type) else make  # type: ignore[misc]
    hints = get_type_hints(function, include_extras=True)
    ranges, meanings = declared_ranges(make), _meanings(make)
    for name in inspect.signature(make).parameters:
        if name in aside:
            continue
        yield Field(
            f"{where}.{name}" if where else name,
            component,
            f"{described(_bare(hints.get(name, object)))}{_bounds(ranges.get(name))}",
            _as_yaml(defaults[name]),
            meanings.get(name, ""),
        )


def _bare(hint: Any) -> Any:
    """Return a type without the ranges that annotate it."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return Union[tuple(_bare(part) for part in get_args(hint))]  # noqa: UP007 - of a list
    return hint


def _bounds(declared: Range | None) -> str:
    return "" if declared is None else f", {declared.low:,} to {declared.high:,}"


def _as_yaml(value: object) -> str:
    """Return a default as a recipe would write it; empty for a value that has none."""
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, float):
        return yaml.safe_dump(value).split("\n")[0]  # 1.0e-08: without the dot it is a word
    return json.dumps(value, default=str, ensure_ascii=False) if value != "" else "''"


def _meanings(make: Maker) -> dict[str, str]:
    """Return what docstrings say of the parameters of a function or a class and its bases."""
    classes = reversed(make.__mro__) if isinstance(make, type) else [make]
    found: dict[str, str] = {}
    for each in classes:
        if each is object or not each.__module__.startswith("towpath."):
            continue
        for told in docstring_parser.parse_from_object(each).params:
            for name in told.arg_name.split(", "):
                if told.description:
                    found[name] = " ".join(told.description.split())
    return found


# for people


def sections_of(listed: Sequence[Field]) -> dict[str, list[Field]]:
    """Return fields by section: `training`, `learner: maml`, or `recipe` for single values."""
    found: dict[str, list[Field]] = {}
    for one in listed:
        section, dot, _ = one.name.partition(".")
        title = section if dot else "recipe"
        found.setdefault(f"{title}: {one.component}" if one.component else title, []).append(one)
    return found


def as_markdown(listed: Sequence[Field]) -> str:
    """Return the tables of docs/recipe-fields.md."""
    parts = []
    for title, own in sections_of(listed).items():
        rows = [("field", "type", "default", "meaning"), ("---",) * 4]
        for one in own:
            default = f"`{one.default}`" if one.default else "required"
            rows.append((f"`{one.name}`", one.type, default, one.meaning))
        lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        parts.append("\n".join([f"{'###' if ': ' in title else '##'} {title}", "", *lines]))
    return "\n\n".join(parts)
