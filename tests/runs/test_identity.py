"""Files of a run that do not belong together are noticed, and what may change may."""

import json
import logging
import shutil
from pathlib import Path

import pytest
import yaml

from tests.data.makers import encoded, picture
from tests.refusal import refused
from tests.training.forging import forge, header
from tests.training.runs import Killed, Silent, Stopping, outcome, run, tiny
from towpath.cli.main import main
from towpath.grid.compare import begin_comparison, run_comparison
from towpath.runs.comparing import compared
from towpath.runs.identity import Identity, differences
from towpath.training import RecipeError, RunFolder, resume, train

SHORT = {"steps": 8, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2}


def stopped(path: Path, steps: int = 6, **sections) -> Path:
    """A run that was killed at a step, with two checkpoints."""
    with pytest.raises(Killed):
        train(path, tiny(**{"training": SHORT, **sections}), Stopping(steps, Killed))
    return path


def edit(path: Path, section: str, value) -> None:
    config = yaml.safe_load((path / "config.yaml").read_text())
    inside = config[section]
    config[section] = {**inside, **value} if isinstance(inside, dict) else value
    (path / "config.yaml").write_text(yaml.safe_dump(config))


def as_left_by_0_1(path: Path) -> None:
    """Take away what towpath 0.1 did not write."""
    config = yaml.safe_load((path / "config.yaml").read_text())
    config["made_with"].pop("identity")
    (path / "config.yaml").write_text(yaml.safe_dump(config))
    for checkpoint in (path / "checkpoints").iterdir():
        forge(checkpoint, lambda meta: [meta.pop(key) for key in ("run", "records_digest")])
    if (path / "summary.json").exists():
        summary = json.loads((path / "summary.json").read_text())
        summary.pop("identity")
        (path / "summary.json").write_text(json.dumps(summary))


# configurations


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("weighter", {"name": "random"}),
        ("seed", 7),
        ("optimizer", {"meta_lr": 0.5}),
        ("optimizer", {"name": "adamw"}),
        ("episodes", {"label_noise": 0.0}),
        ("learner", {"name": "proto-maml"}),
        ("dtype", "float64"),
        ("training", {"horizon": 4}),
        ("validation", {"every": 0}),
        ("name", "omniglot-maml"),
    ],
)
def test_an_edited_configuration_is_refused_by_name(tmp_path, monkeypatch, capsys, section, value):
    monkeypatch.chdir(tmp_path)
    stopped(Path("run"))
    edit(Path("run"), section, value)
    for command in ("resume", "evaluate"):
        said = refused([command, "run"], capsys)
        assert f"run/config.yaml was edited since the run began ({section})" in said
    assert main(["report", "run", "--out", "page.html"]) == 0
    assert "was edited since the run began" in " ".join(capsys.readouterr().out.split())


def test_threads_device_and_more_checkpoints_may_change_and_the_end_is_the_same(tmp_path):
    expected = outcome(run(tmp_path / "whole", tiny(training=SHORT)))
    path = stopped(tmp_path / "run")
    edit(path, "threads", 3)
    edit(path, "device", "cpu")
    edit(path, "training", {"checkpoint_every": 1})
    resume(path, Silent())
    assert outcome(path) == expected


def test_steps_may_be_raised_and_not_lowered(tmp_path):
    path = run(tmp_path / "run", tiny(training=SHORT))
    edit(path, "training", {"steps": 12})
    assert resume(path, Silent()).steps == 12
    assert resume(path, Silent()).steps == 12  # finished, and left as it is
    expected = run(tmp_path / "whole", tiny(training={**SHORT, "steps": 12}))
    raised, whole = (outcome(p)["tensors"] for p in (path, expected))
    assert {n: t for n, t in raised.items() if "params." in n} == {
        n: t for n, t in whole.items() if "params." in n
    }
    edit(path, "training", {"steps": 4})
    with pytest.raises(RecipeError, match=r"says training\.steps 4; expected at least 8"):
        resume(path, Silent())


def test_the_identity_does_not_depend_on_defaults_that_come_later(tmp_path):
    path = stopped(tmp_path / "run")
    config = yaml.safe_load((path / "config.yaml").read_text())
    identity = Identity.read(config.pop("made_with"), path)
    assert identity is not None
    identity.check_config(config, path)
    # a release that knows another section reads the file as it stands
    assert differences(config, {**config, "later": 1, "test": {**config["test"], "new": 2}}) == []


# data


def images(root: Path) -> Path:
    for s, split in enumerate(("train", "val", "test")):
        for c in range(3):
            for i in range(5):
                path = root / split / f"{split}{c}" / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(encoded(picture(100 * s + 10 * c + i)))
    return root


def replace_an_image(root):
    (root / "train/train0/0.png").write_bytes(encoded(picture(999)))


def rename_a_class(root):
    (root / "train/train0").rename(root / "train/zebra")


def add_a_class(root):
    shutil.copytree(root / "train/train0", root / "train/another")


def swap_the_test_folders(root):
    for old, new in (("test", "aside"), ("val", "test"), ("aside", "val")):
        (root / old).rename(root / new)


def other_images(root):
    for i, path in enumerate(sorted(root.rglob("*.png"))):
        path.write_bytes(encoded(picture(2000 + i)))


CHANGES = [replace_an_image, rename_a_class, add_a_class, swap_the_test_folders, other_images]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_data_are_noticed(tmp_path, monkeypatch, capsys, change):
    monkeypatch.chdir(tmp_path)
    own = images(tmp_path / "own")
    stopped(Path("run"), data={"name": str(own), "image_size": 8})
    change(own)
    for command in ("resume", "evaluate"):
        said = refused([command, "run"], capsys)
        assert "The data of run have changed since it began (data t" in said
    shutil.rmtree(own)
    images(own)
    assert main(["resume", "run"]) == 0


def test_data_that_were_moved_are_the_same_data(tmp_path):
    own = images(tmp_path / "own")
    path = stopped(tmp_path / "run", data={"name": str(own), "image_size": 8})
    (tmp_path / "elsewhere").mkdir()
    own.rename(tmp_path / "elsewhere" / "own")
    edit(path, "data", {"name": str(tmp_path / "elsewhere" / "own")})
    assert resume(path, Silent()).steps == 8


def test_changed_trusted_tasks_and_other_test_sets_are_noticed_by_name(tmp_path):
    own, checked, other = (images(tmp_path / name) for name in ("own", "checked", "other"))
    path = stopped(
        tmp_path / "run",
        data={"name": str(own), "image_size": 8},
        trusted={"count": 3, "per_batch": 2, "data": str(checked)},
        test={"tasks": 2, "also": [str(other)]},
    )
    for folder, name in ((checked, "trusted.data"), (other, "test.also other")):
        replace_an_image(folder)
        with pytest.raises(RecipeError, match=rf"have changed since it began \({name}\)"):
            resume(path, Silent())
        shutil.rmtree(folder)
        images(folder)
    resume(path, Silent())


# records and checkpoints


def test_records_of_another_run_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    stopped(Path("run"))
    stopped(Path("other"), seed=1, steps=8)
    shutil.copy("other/records.jsonl", "run/records.jsonl")
    for command in ("resume", "evaluate"):
        said = refused([command, "run"], capsys)
        assert "run/records.jsonl is not the file that the checkpoint" in said
    assert main(["report", "run", "--out", "page.html"]) == 0
    assert "is not the file that the checkpoint" in " ".join(capsys.readouterr().out.split())


def test_one_changed_figure_of_the_records_is_noticed(tmp_path):
    path = stopped(tmp_path / "run")
    records = (path / "records.jsonl").read_bytes()
    (path / "records.jsonl").write_bytes(records.replace(b'"step":1,', b'"step":2,', 1))
    with pytest.raises(RecipeError, match="is not the file that the checkpoint"):
        resume(path, Silent())


@pytest.mark.parametrize("change", [{"seed": 1}, {"weighter": "random"}])
def test_checkpoints_of_another_run_are_refused(tmp_path, monkeypatch, capsys, change):
    monkeypatch.chdir(tmp_path)
    stopped(Path("run"))
    stopped(Path("other"), **change)
    shutil.rmtree("run/checkpoints")
    shutil.copytree("other/checkpoints", "run/checkpoints")
    for command in ("resume", "evaluate"):
        said = refused([command, "run"], capsys)
        assert "is of another run than the config.yaml beside it" in said
    assert main(["report", "run", "--out", "page.html"]) == 0
    assert "is of another run than" in " ".join(capsys.readouterr().out.split())


def test_records_damaged_after_the_checkpoint_before_cost_only_the_steps_since(tmp_path):
    expected = outcome(run(tmp_path / "whole", tiny(training=SHORT)))
    path = stopped(tmp_path / "run")
    size = header(path / "checkpoints" / "previous.safetensors")["records_bytes"]
    records = bytearray((path / "records.jsonl").read_bytes())
    records[size + 5] ^= 1
    (path / "records.jsonl").write_bytes(bytes(records))
    resume(path, Silent())
    assert outcome(path) == expected


def test_a_run_folder_of_0_1_is_read_with_one_sentence(tmp_path, monkeypatch, caplog, capsys):
    monkeypatch.chdir(tmp_path)
    expected = outcome(run(Path("whole"), tiny(training=SHORT)))
    expected["summary"].pop("identity")
    stopped(Path("run"))
    as_left_by_0_1(Path("run"))
    with caplog.at_level(logging.WARNING):
        assert main(["resume", "run"]) == 0
    assert [record.getMessage() for record in caplog.records if "0.1" in record.getMessage()] == [
        "run was begun by towpath 0.1, which kept no digest of data and configuration: whether "
        "they changed since then cannot be noticed."
    ]
    assert outcome(Path("run")) == expected
    assert main(["evaluate", "run", "--tasks", "3"]) == 0
    capsys.readouterr()
    assert main(["report", "run", "--out", "page.html"]) == 0
    assert "begun by towpath 0.1" in " ".join(capsys.readouterr().out.split())


def test_a_finished_run_folder_of_0_1_is_still_finished(tmp_path):
    path = run(tmp_path / "run", tiny(training=SHORT))
    as_left_by_0_1(path)
    before = outcome(path)
    resume(path, Silent())
    assert outcome(path) == before


def test_results_of_another_run_are_refused(tmp_path):
    one, other = (run(tmp_path / name, tiny(training=SHORT, seed=s)) for s, name in enumerate("ab"))
    kept = (one / "evaluations.json").read_bytes()
    shutil.copy(other / "evaluations.json", one)
    with pytest.raises(RecipeError, match=r"evaluations\.json is not what summary\.json was made"):
        RunFolder(one).evaluations()
    (one / "evaluations.json").write_bytes(kept)
    shutil.copy(other / "summary.json", one)
    with pytest.raises(RecipeError, match=r"summary\.json is of another run"):
        resume(one, Silent())


# comparisons


@pytest.fixture
def comparison(tmp_path):
    path = tmp_path / "both"
    begin_comparison(path, tiny(training=SHORT), ["uniform", "random"], [0, 1])
    run_comparison(path, Silent())
    return path


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ("uniform-seed0", "random-seed0", "weighter.name"),
        ("random-seed0", "random-seed1", "seed"),
    ],
)
def test_swapped_runs_of_a_comparison_are_refused(comparison, capsys, one, other, what):
    (comparison / one).rename(comparison / "aside")
    (comparison / other).rename(comparison / one)
    (comparison / "aside").rename(comparison / other)
    said = refused(["resume", str(comparison)], capsys)
    assert "holds another run than its name says" in said
    assert what in said
    with pytest.raises(RecipeError, match="holds another run"):
        compared(comparison)
    assert main(["report", str(comparison), "--out", str(comparison / "page.html")]) == 0
    assert capsys.readouterr().out.count("holds another run than its name says") == 2


def test_missing_evaluations_are_said_and_made_again(comparison, capsys, caplog):
    expected = json.loads((comparison / "comparison.json").read_text())
    (comparison / "random-seed1" / "evaluations.json").unlink()
    page = str(comparison / "page.html")
    assert main(["report", str(comparison), "--out", page]) == 0
    assert "random-seed1: it has no evaluations.json" in " ".join(capsys.readouterr().out.split())
    result = run_comparison(comparison, Silent())
    assert "has no evaluations.json: its test tasks are tried again" in caplog.text
    assert len(result.runs) == 4
    assert result.as_json()["differences"] == expected["differences"]


def test_every_run_of_a_comparison_knows_what_it_is(comparison):
    runs = json.loads((comparison / "comparison.json").read_text())["runs"]
    known = {(r["weighter"], r["seed"], r["identity"]["run"]) for r in runs}
    assert len({digest for *_, digest in known}) == 4
    for name in ("uniform-seed0", "random-seed1"):
        checkpoint = header(comparison / name / "checkpoints" / "last.safetensors")
        summary = json.loads((comparison / name / "summary.json").read_text())
        assert checkpoint["run"] == summary["identity"]["run"]


@pytest.mark.parametrize("word", ["1e-3", "1e3", "5e-1"])
def test_a_number_that_yaml_reads_as_a_word_is_the_number(word):
    assert differences({"weighter": {"beta": word}}, {"weighter": {"beta": float(word)}}) == []
    assert differences({"weighter": {"beta": word}}, {"weighter": {"beta": 2.0}}) == [
        "weighter.beta"
    ]
    assert differences({"weighter": {"name": "tow"}}, {"weighter": {"name": 3}}) == [
        "weighter.name"
    ]


def test_a_comparison_whose_options_are_written_with_an_exponent_ends(tmp_path):
    recipe = tiny("uniform", training={"steps": 2, "horizon": 2, "meta_batch_size": 2})
    begin_comparison(tmp_path / "c", recipe, ["uniform", "trim:keep=5e-1"], [0])
    result = run_comparison(tmp_path / "c", Silent())
    assert [run.label for run in result.runs] == ["uniform", "trim_keep=5e-1"]


def test_a_comparison_of_a_plan_about_a_rule_ends_and_knows_its_runs(tmp_path):
    recipe = tiny("uniform", training={"steps": 2, "horizon": 2, "meta_batch_size": 2})
    begin_comparison(tmp_path / "c", recipe, ["uniform", "tow-targets:nominal=mixture"], [0])
    result = run_comparison(tmp_path / "c", Silent())
    assert [run.label for run in result.runs] == ["uniform", "tow-targets_nominal=mixture"]
    asked = {"weighter": {"nominal": "mixture"}}
    other = {"weighter": {"nominal": {"name": "trim", "keep": 0.7}}}
    assert differences(asked, other) == ["weighter.nominal"]


def test_your_own_folder_is_the_same_data_on_the_other_kind_of_system():
    def of(place: str) -> Identity:
        return Identity.of({"data": {"name": place}, "training": {"steps": 3}}, {})

    assert of("/home/me/birds") == of("D:\\mine\\birds")
    assert of("/home/me/birds") != of("/home/me/cats")
