"""The fields of a recipe, as told, are those that a recipe takes."""

import inspect
from pathlib import Path

import pytest
import yaml

from towpath.recipes.fields import (
    FOLLOWS,
    as_markdown,
    makers,
    recipe_fields,
    sections_of,
)
from towpath.recipes.recipe import COMPONENTS, Recipe
from towpath.recipes.typed import options_for

LISTED = recipe_fields()
PAGE = Path(__file__).parents[2] / "docs" / "recipe-fields.md"


def one(name, component=""):
    (found,) = (f for f in LISTED if (f.name, f.component) == (name, component))
    return found


def test_type_default_and_meaning_are_those_of_the_code():
    steps = one("training.steps")
    assert (steps.type, steps.default) == ("a whole number, 1 to 100,000,000", "300")
    assert steps.meaning == "number of mini-batches to train on"
    assert one("learner.adaptation_steps", "maml").default == "5"
    assert one("learner.adaptation_steps", "maml").meaning.startswith("number of inner steps")
    assert one("probes[].name").default == ""
    assert one("test.also").default == "[]"
    assert one("augmentation.flip").type == "true or false"
    assert "one of glyphs, omniglot" in one("data.name").meaning
    assert one("weighter.rules", "race").default == "null"


def test_a_program_reads_defaults_as_values():
    assert one("training.steps").as_json()["default"] == 300
    assert one("name").as_json()["default"] == "run"
    assert one("about").as_json()["default"] == ""
    assert one("optimizer.eps", "adam").as_json()["default"] == 1e-8
    assert one("data.name").as_json()["default"] == "glyphs"
    assert one("optimizer.clip_norm", "adam").as_json()["default"] is None
    assert "default" not in one("probes[].name").as_json()


@pytest.mark.parametrize("field", LISTED, ids=lambda f: f"{f.name} {f.component}".strip())
def test_every_field_says_what_it_means(field):
    assert field.meaning, "document it where it is declared"
    assert field.type
    assert "<" not in field.default


def test_a_recipe_takes_every_field_with_its_default():
    mapping: dict = {"probes": [{"name": "p"}]}
    for field in LISTED:
        if field.component or not field.default:
            continue
        section, dot, key = field.name.partition(".")
        value = yaml.safe_load(field.default)
        if not dot:
            mapping[section] = value
        elif section == "probes[]":
            mapping["probes"][0][key] = value
        elif value is not None:
            mapping.setdefault(section, {})[key] = value
    made = Recipe.of(mapping).as_mapping()
    plain = Recipe().as_mapping()
    assert {k: v for k, v in made.items() if k != "probes"} == {
        **{k: v for k, v in plain.items() if k != "probes"},
        "optimizer": {"name": "adam"},  # the default recipe has a rate of its own
    }


@pytest.mark.parametrize("section", COMPONENTS)
def test_every_option_of_every_component_is_listed(section):
    presets = {"tow-auto", "tow-faithful", "tow-fast", "tow-targets", "tow-targets-fast"}
    presets |= {"tow-evidence", "evidence-easy", "auto"}
    for name, make in makers(section).items():
        told = {f.name for f in LISTED if f.component == name}
        taken = options_for(make, {}, section, leave_out=FOLLOWS[section]) if _free(make) else {}
        if name not in presets:
            assert {f"{section}.{key}" for key in taken} <= told


def _free(make):
    required = inspect.Parameter.empty
    own = [p for n, p in inspect.signature(make).parameters.items() if n not in _ALL]
    return all(p.default is not required for p in own)


_ALL = {name for names in FOLLOWS.values() for name in names}


def test_a_preset_tells_what_differs():
    assert {f.name for f in LISTED if f.component == "tow-auto"} == {"weighter.beta"}
    assert one("weighter.beta", "tow-auto").default == '"auto"'


def test_fields_are_told_by_section():
    sections = sections_of(LISTED)
    assert [f.name for f in sections["augmentation"]] == [
        "augmentation.crop",
        "augmentation.flip",
        "augmentation.jitter",
    ]
    assert "seed" in [f.name for f in sections["recipe"]]
    assert "learner: maml" in sections


def test_the_page_of_the_docs_is_current():
    """After a change of a field: towpath recipes fields --markdown."""
    text = PAGE.read_text(encoding="utf-8")
    found = text.split("--markdown -->\n")[1].split("\n<!-- end -->")[0]
    assert found == as_markdown(LISTED)
