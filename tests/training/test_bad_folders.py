"""Damaged and forged run folders get one sentence, and refused commands leave nothing behind."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
import yaml

from tests.refusal import refused
from tests.training import children
from towpath.cli.main import main
from towpath.grid.compare import begin_comparison
from towpath.training import Recipe, RecipeError, TrainingStoppedError, resume, train

from .forging import forge
from .runs import TINY, Killed, Silent, Stopping, outcome, run, tiny

SHORT = {"steps": 8, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2}
CHECKPOINTS = ("last.safetensors", "previous.safetensors")


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run of group-dro, which remembers something, killed after three checkpoints."""
    path = tmp_path_factory.mktemp("killed") / "run"
    often = {"tasks": 2, "every": 2}
    with pytest.raises(Killed):
        train(path, tiny("group-dro", training=SHORT, validation=often), Stopping(8, Killed))
    return path


@pytest.fixture
def here(killed, tmp_path, monkeypatch):
    """A copy of it as `run` in the current folder."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(killed, "run"))


def put(key, value):
    return lambda meta: meta.update({key: value})


HEADERS = {
    "format": put("format", 99),
    "step": put("step", "six"),
    "negative": put("step", -4),
    "true": put("window", True),
    "steps": put("steps", 3),
    "steps of words": put("steps", ["a", "b"]),
    "moments": put("seconds", None),
    "not a number": put("evaluations", float("nan")),
    "best": put("best", [1, 2]),
    "best without a score": put("best", {"step": 1}),
    "weighter": put("weighter_state", [1]),
    "memory": put("weighter_state", {"q": {"Coptic": "much"}}),
    "another memory": put("weighter_state", {"draws": 3}),
    "records": put("records_bytes", 10**12),
    "fraction": put("records_bytes", 3.5),
    "checksums": put("checksums", []),
    "nothing": lambda meta: meta.clear(),
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_a_forged_header_is_refused(here, capsys, change):
    for name in CHECKPOINTS:
        forge(here / "checkpoints" / name, change)
    assert "expected" in refused(["resume", "run"], capsys)


@pytest.mark.parametrize(
    ("weighter", "memory"),
    [
        (
            {"name": "tow-targets", "nominal": "mixture"},
            {"nominal": {"step": 6, "rule": {"losses": "many"}}},
        ),
        ({"name": "tow-targets", "nominal": "mixture"}, {"nominal": {"step": 6}}),
        ({"name": "tow-targets", "nominal": "mixture"}, {"step": 6, "rule": {"losses": []}}),
        ({"name": "kinds"}, {"step": 6, "rule": {"losses": []}}),
    ],
    ids=["another type", "no memory", "of the rule alone", "another rule's"],
)
def test_a_forged_memory_of_a_nominal_or_of_kinds_is_refused(tmp_path, weighter, memory):
    recipe = Recipe.of({**TINY, "weighter": weighter})
    with pytest.raises(Killed):
        train(tmp_path / "run", recipe, Stopping(17, Killed))
    for name in CHECKPOINTS:
        forge(tmp_path / "run" / "checkpoints" / name, put("weighter_state", memory))
    with pytest.raises(RecipeError, match="expected what the weighter of this run's recipe"):
        resume(tmp_path / "run", Silent())


def every(kind, change):
    def apply(tensors):
        for name in [name for name in tensors if name.startswith(kind)]:
            tensors[name] = change(tensors[name])

    return apply


TENSORS = {
    "another shape": every("slots.", lambda t: t[:-1]),
    "moments of whole numbers": every("slots.", lambda t: t.long()),
    "parameters in float64": every("params.", lambda t: t.double()),
    "a longer parameter": every("params.", lambda t: torch.cat([t, t])),
    "best of another shape": every("best.", lambda t: t.reshape(-1)),
    "best in half": every("best.", lambda t: t.half()),
    "no moments": lambda tensors: [tensors.pop(n) for n in list(tensors) if n[:5] == "slots"],
    "no best": lambda tensors: [tensors.pop(n) for n in list(tensors) if n[:5] == "best."],
    "one more": lambda tensors: tensors.update({"params.extra": torch.zeros(3)}),
}


@pytest.mark.parametrize("change", TENSORS.values(), ids=TENSORS)
@pytest.mark.parametrize("command", ["resume", "evaluate"])
def test_forged_tensors_are_refused(here, capsys, change, command):
    for name in CHECKPOINTS:
        forge(here / "checkpoints" / name, change_tensors=change)
    assert "expected" in refused([command, "run"], capsys)


def test_another_dtype_in_a_folder_without_digests_is_refused(here, capsys):
    config = yaml.safe_load((here / "config.yaml").read_text())
    config["made_with"].pop("identity")
    (here / "config.yaml").write_text(yaml.safe_dump({**config, "dtype": "float64"}))
    for command in ("resume", "evaluate"):
        assert "of another kind (torch.float32)" in refused([command, "run"], capsys)


def piped(path):
    path.unlink()
    os.mkfifo(path)


def made_a_folder(path):
    path.unlink()
    path.mkdir()


def linked_to_itself(path):
    path.unlink()
    path.symlink_to(path.name)


@pytest.mark.parametrize("damage", [piped, made_a_folder, linked_to_itself])
@pytest.mark.parametrize("command", ["resume", "evaluate", "report"])
@pytest.mark.parametrize(
    "name", ["config.yaml", "records.jsonl", *(f"checkpoints/{n}" for n in CHECKPOINTS)]
)
def test_what_is_no_regular_file_is_neither_waited_for_nor_read(
    here, capsys, damage, command, name
):
    for checkpoint in CHECKPOINTS[:1] if name.endswith(CHECKPOINTS[1]) else ():
        (here / "checkpoints" / checkpoint).unlink()
    damage(here / name)
    if command == "report":
        main(["report", "run", "--out", "page.html"])
        assert "Traceback" not in capsys.readouterr().err
    else:
        assert "expected" in refused([command, "run"], capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["config.yaml", "records.jsonl", "checkpoints/last.safetensors"])
def test_a_file_that_may_not_be_read_is_not_called_damaged(here, capsys, name):
    (here / name).chmod(0)
    said = refused(["resume", "run"], capsys)
    assert "Check its permissions" in said
    assert "train again" not in said


@pytest.mark.parametrize(
    "line",
    [
        b"3\n",
        b"[]\n",
        b'{"step":1,"weights":[1.0],"tasks":[{}]}\n',
        b'{"step":1,"weights":[1.0],"losses":[1.0]}\n',
        b'{"step":1,"weights":[1.0],"losses":["a"],"tasks":[{}]}\n',
        b'{"step":1,"weights":[],"losses":[],"tasks":[]}\n',
        b'{"step":1,"weights":{"a":1},"losses":[1],"tasks":[{}]}\n',
        b"\xff\n",
    ],
)
def test_records_that_are_none_are_refused(here, capsys, line):
    records = (here / "records.jsonl").read_bytes()
    (here / "records.jsonl").write_bytes(line + records)
    assert "Line 1 of run/records.jsonl is not what towpath writes" in refused(
        ["audit", "run"], capsys
    )
    assert main(["report", "run", "--out", "page.html"]) == 0


@pytest.mark.parametrize("name", ["summary.json", "evaluations.json"])
@pytest.mark.parametrize(
    "content", ["3", "null", "[]", "{}", '{"test": 3}', '{"a": {}}', "[" * 9999]
)
def test_results_that_are_none_are_refused(tmp_path, monkeypatch, capsys, name, content):
    monkeypatch.chdir(tmp_path)
    recipe = tiny(training={**SHORT, "steps": 2}, test={"tasks": 2})
    begin_comparison(Path("both"), recipe, ["uniform"], [0])
    assert main(["resume", "both"]) == 0
    capsys.readouterr()
    Path("both/uniform-seed0", name).write_text(content)
    assert f"{name} is not readable" in refused(["resume", "both"], capsys)
    if name == "summary.json":
        assert "Delete it and run" in refused(["resume", "both/uniform-seed0"], capsys)
    assert main(["report", "both", "--out", "page.html"]) == 0


# two at once, and folders that move


def test_a_second_process_on_a_comparison_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = {**TINY, "training": {**SHORT, "steps": 200}}
    Path("tiny.yaml").write_text(yaml.safe_dump(recipe))
    words = ["compare", "tiny.yaml", "--weighters", "uniform", "--seeds", "0,1", "--out", "both"]
    first = children.start(words, tmp_path / "first")
    try:
        while first.is_alive() and not Path("both/uniform-seed0/records.jsonl").exists():
            first.join(0.02)
        assert children.run(["resume", "both"], tmp_path / "second") == 2
        assert first.is_alive(), "the comparison ended before the second process came"
    finally:
        first.kill()
        first.join()
    said = (tmp_path / "second").read_text()
    assert "Another process is training in both" in " ".join(said.split())
    assert "twice each" not in said


class Renaming(Silent):
    """Renames the run folder at a step (after the last: while it is tested), and puts a copy in its
    place if asked."""

    def __init__(self, path, step, instead=False):
        self.path, self.step, self.instead = path, step, instead

    def stepped(self, step, record):
        if step == self.step:
            self.path.rename(self.path.with_name("renamed"))
            if self.instead:
                shutil.copytree(self.path.with_name("renamed"), self.path)

    def tested(self, done, total):
        if self.step > 8 and self.path.exists():
            self.path.rename(self.path.with_name("renamed"))


@pytest.mark.parametrize(("step", "instead"), [(4, False), (6, False), (6, True), (9, False)])
def test_a_run_folder_that_is_renamed_while_training_is_noticed(tmp_path, step, instead):
    expected = outcome(run(tmp_path / "whole", tiny(training=SHORT)))
    path = tmp_path / "run"
    with pytest.raises(TrainingStoppedError, match="renamed, replaced or removed"):
        train(path, tiny(training=SHORT), Renaming(path, step, instead))
    assert path.exists() == instead
    resume(tmp_path / "renamed", Silent())
    assert outcome(tmp_path / "renamed") == expected


# refusals leave nothing


class RefusesTheFirstWindow(Silent):
    def __init__(self, error):
        self.error = error

    def began(self, setup, step):
        raise self.error


@pytest.mark.parametrize("error", [ValueError("no"), MemoryError(), OverflowError()])
def test_a_run_that_is_refused_before_it_trained_leaves_nothing(tmp_path, error):
    with pytest.raises(type(error)):
        train(tmp_path / "run", tiny(training=SHORT), RefusesTheFirstWindow(error))
    assert list(tmp_path.iterdir()) == []
    run(tmp_path / "run", tiny(training=SHORT))


@pytest.mark.parametrize(
    "wrong",
    [
        {"weighter": {"name": "random", "seed": -1}},
        {"training": {**SHORT, "meta_batch_size": 2147483648}},
    ],
    ids=["seed", "tasks"],
)
@pytest.mark.parametrize(
    "words", [["train"], ["compare", "--weighters", "random"]], ids=["train", "compare"]
)
def test_a_refused_number_does_not_block_the_corrected_command(
    tmp_path, monkeypatch, capsys, words, wrong
):
    monkeypatch.chdir(tmp_path)
    right = {**TINY, "weighter": "random", "training": SHORT, "test": {"tasks": 2}}
    Path("own.yaml").write_text(yaml.safe_dump({**right, **wrong}))
    argv = [*words, "own.yaml", "--out", "run"]
    assert "expected" in refused(argv, capsys)
    assert not Path("run").exists()
    Path("own.yaml").write_text(yaml.safe_dump(right))
    assert main(argv) == 0


def test_a_run_that_has_a_checkpoint_is_kept_whatever_refuses_it(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(ValueError, match="late"):
        train(path, tiny(training=SHORT), Stopping(6, ValueError("late")))
    resume(path, Silent())
    assert outcome(path) == outcome(run(tmp_path / "whole", tiny(training=SHORT)))


def test_a_second_start_in_a_folder_neither_writes_nor_removes(tmp_path):
    path = tmp_path / "run"
    run(path, tiny(training=SHORT))
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
    with pytest.raises(RecipeError, match="exists and is not empty"):
        train(path, tiny(training=SHORT), Silent())
    assert before == {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_class_names_that_cannot_be_written_are_refused_before_there_is_a_folder(
    tmp_path, monkeypatch, capsys
):
    from tests.runs.test_identity import images

    monkeypatch.chdir(tmp_path)
    own = images(tmp_path / "own")
    try:
        os.rename(own / "train/train0", os.fsencode(own) + b"/train/\xff")
    except OSError:
        pytest.skip("the file system takes no such names")
    data = {"name": str(own), "image_size": 8}
    Path("own.yaml").write_text(yaml.safe_dump({**TINY, "data": data, "training": SHORT}))
    for words in (["train"], ["compare", "--weighters", "uniform", "--seeds", "0"]):
        said = refused([*words, "own.yaml", "--out", "run"], capsys)
        assert "is not UTF-8" in said
        assert not Path("run").exists()


@pytest.mark.parametrize("seeds", ["-1", "0,-1"])
def test_a_comparison_of_wrong_seeds_leaves_nothing(tmp_path, monkeypatch, capsys, seeds):
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(yaml.safe_dump(TINY))
    words = ["compare", "tiny.yaml", "--weighters", "uniform", f"--seeds={seeds}", "--out", "both"]
    assert "seed is -1" in refused(words, capsys)
    assert not Path("both").exists()


def test_a_comparison_of_which_nothing_could_begin_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments):
        raise ValueError("this window is refused")

    Path("tiny.yaml").write_text(yaml.safe_dump({**TINY, "training": SHORT}))
    words = ["compare", "tiny.yaml", "--weighters", "uniform", "--seeds", "0,1", "--out", "both"]
    with monkeypatch.context() as patch:
        patch.setattr("towpath.training.loop.estimate", refuse)
        assert main(words) == 2
    assert "No run of the comparison could begin: this window" in capsys.readouterr().err
    assert not Path("both").exists()
    assert main(words) == 0
    assert len(json.loads(Path("both/comparison.json").read_text())["runs"]) == 2
