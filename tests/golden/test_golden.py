"""The golden traces pass where nothing changed, and name what did."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from tests.golden import __main__ as golden
from tests.golden.cases import BASE, Case, Straight
from tests.golden.compare import compare
from tests.golden.store import GoldenError, read
from tests.golden.trace import trace_of, value_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a real run that is over in a second."""
    training = {**BASE["training"], "steps": 3}
    return Straight().run({**BASE, "training": training}, tmp_path_factory.mktemp("golden"))


def with_record(run, folder, number, change):
    """A copy of the run in which one record has been changed."""
    copy = folder / "copy"
    shutil.copytree(run, copy)
    lines = [json.loads(line) for line in (copy / "records.jsonl").read_text().splitlines()]
    change(lines[number])
    (copy / "records.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return copy


def test_a_second_run_is_the_same_and_a_changed_recipe_is_named(tmp_path, capsys, monkeypatch):
    file = tmp_path / "traces.json"
    only = ["--only", "weighter/uniform", "--only", "resumed/uniform"]
    assert golden.main(["record", str(file), *only]) == 0
    assert golden.main(["check", str(file), *only]) == 0
    assert "2 of 2 recorded cases are the same" in capsys.readouterr().out

    rate = BASE["optimizer"]["meta_lr"] * (1 + 2**-20)
    monkeypatch.setitem(BASE, "optimizer", {**BASE["optimizer"], "meta_lr": rate})
    assert golden.main(["check", str(file), *only]) == 1
    said = capsys.readouterr().out
    # the first step's losses are of the same parameters; its plan looks ahead and sees the rate
    assert "DIFFERS weighter/uniform: step 1 training: plan.cost\n" in said
    assert "step 1 training: loss" not in said
    assert "0 of 2 recorded cases are the same" in said


def test_one_changed_bit_of_a_record_is_a_difference(run, tmp_path):
    def change(record):
        record["losses"][1] = math.nextafter(record["losses"][1], math.inf)

    found = compare(trace_of(run), trace_of(with_record(run, tmp_path, 1, change)))
    assert [line for line in found.differences if "    " not in line] == ["step 2 training: losses"]


@pytest.mark.parametrize("part", ["params", "slots"])
def test_one_changed_bit_of_a_checkpoint_is_a_difference(run, tmp_path, part):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    path = copy / "checkpoints" / "last.safetensors"
    with safe_open(path, framework="numpy") as file:
        header = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    name = next(name for name in sorted(tensors) if name.startswith(part))
    tensors[name].reshape(-1).view(np.uint8)[-4] ^= 1
    save_file(tensors, path, header)
    found = compare(trace_of(run), trace_of(copy))
    assert found.differences[0] == f"checkpoint {part}: {name.removeprefix(f'{part}.')}"


def test_an_added_field_is_a_note_and_a_lost_step_a_difference(run, tmp_path):
    def change(record):
        record["tasks"][0]["colour"] = "red"
        record["added"] = {"inside": 1.5}
        del record["accuracy"]

    changed = trace_of(with_record(run, tmp_path, 0, change))
    found = compare(trace_of(run), changed)
    assert not found.differences
    assert found.added == {"training record: tasks.colour", "training record: added.inside"}
    assert found.removed == {"training record: accuracy"}
    del changed["step 2 training"]
    assert compare(trace_of(run), changed).differences == [
        "step 2 training: recorded, but not there any more"
    ]


def test_the_clock_is_not_compared(run, tmp_path):
    def change(record):
        record["timing"]["seconds"] += 1.0

    assert trace_of(with_record(run, tmp_path, 0, change)) == trace_of(run)


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.0, -0.0), (1, 1.0), (1, True), (None, "None"), ([1, 23], [12, 3]), (["a", "b"], ["ab"])],
)
def test_digests_tell_values_apart_that_look_alike(one, other):
    assert value_of(one).digest != value_of(other).digest


def test_new_cases_pass_and_lost_or_failing_ones_do_not(tmp_path, capsys):
    file = tmp_path / "traces.json"
    short = {"training": {**BASE["training"], "steps": 3}}
    kept, new = Case("kept", short), Case("new", short)
    assert golden.record(file, [kept]) == 0
    assert golden.check(file, [kept, new], everything=True) == 0
    assert "new new: not in the file" in capsys.readouterr().out
    assert golden.check(file, [new], everything=True) == 1
    assert "GONE kept" in capsys.readouterr().out
    broken = replace(kept, changes={"weighter": {"name": "no such weighter"}})
    assert golden.check(file, [broken], everything=True) == 1
    assert "no such weighter" in capsys.readouterr().out


def test_cases_that_must_agree_are_compared_with_each_other(tmp_path, capsys):
    short = {"training": {**BASE["training"], "steps": 3}}
    cases = [Case("one", short), Case("other", {**short, "seed": 1}, equals="one")]
    assert golden.record(tmp_path / "traces.json", cases) == 1
    assert "UNEQUAL one -> other: step 1 training" in capsys.readouterr().out


def test_traces_of_another_build_are_refused(tmp_path):
    file = tmp_path / "traces.json"
    file.write_text(json.dumps({"format": 1, "build": {"torch": "0.1"}, "cases": {}}))
    with pytest.raises(GoldenError, match="comparable only on one machine and build"):
        read(file)
