"""The section on how the runs were made: enough to run them again."""

import yaml

from tests.reports import synthetic
from towpath.recipes.recipe import Recipe
from towpath.reports.blocks import Listing, Note, Table
from towpath.reports.sections.made import made_section
from towpath.runs.read_studies import read_studies


def test_command_versions_and_state_are_those_of_the_folder(tmp_path):
    path = synthetic.write_comparison(tmp_path / "c", 5, weighters=("uniform",), seeds=(0, 1))
    (path / "uniform-seed1" / "summary.json").unlink()
    (study,) = read_studies([path])
    table = made_section(study).blocks[0]
    assert isinstance(table, Table)
    finished, running = ([cell.text for cell in row] for row in table.rows)
    assert finished[:3] == ["uniform-seed0", "0", "finished"]
    assert finished[3:] == ["towpath 0.1.0", "towpath compare made-up"]
    assert running[2].startswith("step 5 of ")


def test_the_listings_put_together_are_the_recipe(tmp_path):
    recipe = synthetic.recipe()
    synthetic.write_run(tmp_path / "run", recipe, "tow", 5, weights={"beta": 3.0})
    (study,) = read_studies([tmp_path / "run"])
    shared, weighters = (b for b in made_section(study).blocks if isinstance(b, Listing))
    own = yaml.safe_load(weighters.text)["tow"]
    assert own == {"name": "tow", "beta": 3.0}
    found = Recipe.of(yaml.safe_load(shared.text) | {"weighter": own, "seed": 0})
    assert found == study.recipe


def test_a_configuration_that_cannot_be_read_is_said_so(tmp_path):
    synthetic.write_run(tmp_path / "run", synthetic.recipe(), "tow", 5)
    (tmp_path / "run" / "config.yaml").unlink()
    (study,) = read_studies([tmp_path / "run"])
    notes = [block.text for block in made_section(study).blocks if isinstance(block, Note)]
    assert notes == ["No configuration can be read."]
