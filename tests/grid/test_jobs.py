"""A run as a job: text that any process can take up, its recipe read once there."""

from tests.training.runs import Silent, outcome, tiny
from towpath.grid.jobs import Job
from towpath.recipes.recipe import Recipe
from towpath.training import train

SHORT = {"training": {"steps": 4, "horizon": 2, "meta_batch_size": 2}, "test": {"tasks": 2}}


def test_a_job_is_read_back_from_its_text():
    recipe = tiny("tow", **SHORT)
    job = Job("tow-seed0", "/somewhere", recipe, "data", ("mine",), "towpath compare", 2)
    assert Job.from_json(job.as_json()) == job


def test_a_process_reads_the_recipe_of_its_job_once_and_trains_with_it(tmp_path, monkeypatch):
    recipe = tiny("random", **SHORT)
    text = Job("random-seed0", str(tmp_path / "run"), recipe).as_json()
    parsed, parse = [], Recipe.of

    def counted(mapping):
        parsed.append(mapping["name"])
        return parse(mapping)

    monkeypatch.setattr(Recipe, "of", counted)
    Job.from_json(text).run(Silent())
    assert parsed == ["tiny"]
    train(tmp_path / "same", recipe, Silent())
    assert outcome(tmp_path / "run") == outcome(tmp_path / "same")
