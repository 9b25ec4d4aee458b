"""A run that was stopped and resumed equals the run that never was, to the bit."""

import json
import random
import subprocess
import sys
import time

import pytest
import yaml

from towpath.learners import LEARNERS
from towpath.runs.folder import RunFolder
from towpath.runs.origin import Origin
from towpath.training import Recipe, RecipeError, TrainingStoppedError, resume, train
from towpath.training.checkpoint import load_checkpoint
from towpath.training.setup import prepare
from towpath.weighters import WEIGHTERS

from . import children
from .children import INTERRUPT, KILL, TERMINATE, Fate
from .runs import TINY, Killed, Silent, Stopping, outcome, records, run, tiny

EVERY_WEIGHTER = [(weighter, "protonet") for weighter in WEIGHTERS]
EVERY_LEARNER = [
    (weighter, learner) for weighter in ("uniform", "tow", "tow-targets") for learner in LEARNERS
]
PAIRS = list(dict.fromkeys(EVERY_WEIGHTER + EVERY_LEARNER))
ALL_PAIRS = [(weighter, learner) for weighter in WEIGHTERS for learner in LEARNERS]


def stop(call, folder, step, error):
    """Train or resume until `step`, where `error` is raised; a disk that fails is worded."""
    shown = TrainingStoppedError if error is OSError else error
    with pytest.raises(shown):
        call(folder, Stopping(step, error))
    assert records(folder)[-1]["step"] < 40


def stop_and_resume(folder, recipe, error, step=17):
    stop(lambda path, reporter: train(path, recipe, reporter), folder, step, error)
    resume(folder, Silent())
    return outcome(folder)


@pytest.mark.parametrize(("weighter", "learner"), PAIRS)
def test_a_stopped_run_ends_equal_for_each_weighter_and_each_learner(tmp_path, weighter, learner):
    recipe = tiny(weighter, learner)
    whole = outcome(run(tmp_path / "whole", recipe))
    assert whole["summary"]["steps"] == 40
    out = tmp_path / "stopped three times"
    stop(lambda path, reporter: train(path, recipe, reporter), out, 17, Killed)
    stop(resume, out, 23, KeyboardInterrupt)
    stop(resume, out, 31, OSError)
    resume(out, Silent())
    assert outcome(out) == whole


@pytest.mark.parametrize("nominal", [{"name": "mixture", "warmup": 2}, "opus"], ids=str)
def test_a_stopped_plan_about_a_rule_ends_equal_with_the_rules_memory(tmp_path, nominal):
    recipe = Recipe.of({**TINY, "weighter": {"name": "tow-targets", "nominal": nominal}})
    whole = outcome(run(tmp_path / "whole", recipe))
    assert stop_and_resume(tmp_path / "stopped", recipe, Killed) == whole
    about = yaml.safe_load((tmp_path / "whole" / "config.yaml").read_text())["weighter"]["nominal"]
    assert about["name"] == (nominal if isinstance(nominal, str) else nominal["name"])
    assert about.keys() > {"name"}, "all options of the rule are written down"


def test_a_stopped_plan_that_knows_of_chance_ends_equal_with_where_its_search_ended(tmp_path):
    weighter = {"name": "tow", "beta": 1e-4, "acceptance": "chance"}  # steps that are too long
    recipe = Recipe.of({**TINY, "weighter": weighter})
    whole = outcome(run(tmp_path / "whole", recipe))
    plans = [line["plan"] for line in records(tmp_path / "whole") if line.get("plan")]
    # a first trial below 1 is one that began where the window before had ended
    assert any(plan["steps"][:1] < [1.0] and plan["trials"][:1] == [1] for plan in plans)
    assert stop_and_resume(tmp_path / "stopped", recipe, Killed) == whole


@pytest.mark.slow
@pytest.mark.parametrize(("weighter", "learner"), ALL_PAIRS)
def test_a_stopped_run_ends_equal_for_every_pair_and_every_way(tmp_path, weighter, learner):
    recipe = tiny(weighter, learner)
    whole = outcome(run(tmp_path / "whole", recipe))
    for error in (Killed, KeyboardInterrupt, OSError):
        assert stop_and_resume(tmp_path / error.__name__, recipe, error) == whole


@pytest.mark.parametrize(
    "sections",
    [
        {"optimizer": {"name": "sgd", "meta_lr": 0.1, "momentum": 0.9}},
        {"optimizer": {"name": "adamw", "meta_lr": 0.01}},
        {
            "optimizer": {
                "name": "rmsprop",
                "meta_lr": 0.01,
                "clip_norm": 0.5,
                "schedule": {"name": "cosine", "warmup": 5},
            }
        },
        {"threads": 2},
        {"validation": {"tasks": 3, "every": 2, "patience": 12}},
        {"validation": {"every": 0}},
        {"probes": [{"name": "p", "every": 10, "horizon": 2, "meta_batch_size": 2}]},
    ],
    ids=lambda sections: next(iter(sections)),
)
def test_a_stopped_run_ends_equal_whatever_else_the_recipe_says(tmp_path, sections):
    recipe = tiny("tow", **sections)
    whole = outcome(run(tmp_path / "whole", recipe))
    assert stop_and_resume(tmp_path / "stopped", recipe, Killed) == whole


def test_a_stopped_run_with_dropout_ends_equal(tmp_path):
    recipe = tiny(
        "tow",
        backbone={"name": "resnet10", "filters": 2, "dropout": 0.3},
        training={"steps": 8, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2},
    )
    whole = outcome(run(tmp_path / "whole", recipe))
    assert stop_and_resume(tmp_path / "stopped", recipe, Killed, step=5) == whole


@pytest.mark.parametrize(("weighter", "learner"), PAIRS)
def test_a_stopped_run_whose_network_draws_ends_equal_with_two_threads(tmp_path, weighter, learner):
    """`F.dropout` in the backbone: the draws of a task know nothing of threads and stops."""
    drawing = {"name": "tests.training.drawing:DrawingMLP"}
    short = {"steps": 12, "horizon": 2, "meta_batch_size": 3, "checkpoint_every": 4}
    recipe, one_thread = (
        tiny(weighter, learner, backbone=drawing, training=short, threads=threads)
        for threads in (2, 1)
    )
    allowed = {"allowed": ("tests",)}
    whole = outcome(run(tmp_path / "whole", recipe, **allowed))
    with pytest.raises(Killed):
        train(tmp_path / "stopped", recipe, Stopping(7, Killed), **allowed)
    resume(tmp_path / "stopped", Silent(), **allowed)
    assert outcome(tmp_path / "stopped") == whole
    alone = outcome(run(tmp_path / "alone", one_thread, **allowed))
    assert alone["tensors"] == whole["tensors"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The tiny recipe as a file, and its undisturbed run by the command line."""
    folder = tmp_path_factory.mktemp("whole")
    recipe = folder / "tiny.yaml"
    recipe.write_text(yaml.safe_dump({**TINY, "weighter": "tow-targets"}))
    code = children.run(["train", str(recipe), "--out", str(folder / "run")], folder / "log")
    assert code == 0, (folder / "log").read_text()
    return recipe, outcome(folder / "run")


def train_words(recipe, out):
    return ["train", str(recipe), "--out", str(out)]


def finish(out, log):
    assert children.run(["resume", str(out)], log) == 0, log.read_text()
    return outcome(out)


@pytest.mark.slow
@pytest.mark.parametrize(("weighter", "learner"), PAIRS)
def test_real_stops_of_each_weighter_and_each_learner_lose_nothing(tmp_path, weighter, learner):
    """As processes of the command line: kill -9, Ctrl-C, and a disk that is full."""
    file, log = tmp_path / "tiny.yaml", tmp_path / "log"
    file.write_text(yaml.safe_dump(tiny(weighter, learner).as_mapping()))
    assert children.run(train_words(file, tmp_path / "whole"), log) == 0, log.read_text()
    expected = outcome(tmp_path / "whole")
    for name, sign, code in (("killed", KILL, -KILL), ("interrupted", INTERRUPT, 130)):
        out = tmp_path / name
        assert children.run(train_words(file, out), log, Fate(sign, at_step=17)) == code
        assert finish(out, log) == expected
    out = tmp_path / "starved"
    assert children.run(train_words(file, out), log, Fate(KILL, at_step=8)) == -KILL
    size = (out / "checkpoints" / "last.safetensors").stat().st_size
    limit = max(size - 1000, (out / "records.jsonl").stat().st_size + 20)
    assert children.run(["resume", str(out)], log, Fate(file_bytes=limit)) == 1
    assert finish(out, log) == expected


def test_kill_9_at_step_17_loses_nothing(whole, tmp_path):
    recipe, expected = whole
    out, log = tmp_path / "run", tmp_path / "log"
    assert children.run(train_words(recipe, out), log, Fate(KILL, at_step=17)) == -KILL
    assert not (out / "summary.json").exists()
    assert finish(out, log) == expected


@pytest.mark.parametrize(
    ("sign", "code", "word"), [(INTERRUPT, 130, "Interrupted"), (TERMINATE, 143, "by SIGTERM")]
)
def test_ctrl_c_and_sigterm_write_a_checkpoint(whole, tmp_path, sign, code, word):
    recipe, expected = whole
    out, log = tmp_path / "run", tmp_path / "log"
    assert children.run(train_words(recipe, out), log, Fate(sign, at_step=17)) == code
    said = log.read_text()
    assert f"{word}; go on with: towpath resume {out}" in said.replace("\n", " ")
    assert "Traceback" not in said
    # the checkpoint is of the last whole window, and the records end with it
    assert records(out)[-1]["step"] in (16, 18)
    assert finish(out, log) == expected


def test_a_disk_that_fails_during_a_checkpoint_loses_no_good_file(whole, tmp_path):
    recipe, expected = whole
    out, log = tmp_path / "run", tmp_path / "log"
    # room for the records of some windows, and then for no checkpoint beyond that size
    assert children.run(train_words(recipe, out), log, Fate(KILL, at_step=8)) == -KILL
    good = {p.name: p.read_bytes() for p in (out / "checkpoints").iterdir()}
    assert "last.safetensors" in good
    size = (out / "checkpoints" / "last.safetensors").stat().st_size
    limit = Fate(file_bytes=max(size - 1000, (out / "records.jsonl").stat().st_size + 20))
    log.write_text("")
    assert children.run(["resume", str(out)], log, limit) == 1
    said = [line for line in log.read_text().splitlines() if "could not be written" in line]
    assert len(said) == 1
    assert "the file would be too large" in said[0]
    assert f"towpath resume {out}" in said[0]
    assert "Traceback" not in log.read_text()
    assert {p.name: p.read_bytes() for p in (out / "checkpoints").iterdir()} == good
    assert finish(out, log) == expected


@pytest.mark.parametrize("write", [2, 5, 8, 9, 10])
def test_a_kill_at_a_flush_or_rename_loses_nothing(whole, tmp_path, write):
    recipe, expected = whole
    die_at_write(recipe, tmp_path, write, expected)


@pytest.mark.slow
@pytest.mark.parametrize("write", range(1, 70))
def test_a_kill_at_every_flush_and_rename_loses_nothing(whole, tmp_path, write):
    recipe, expected = whole
    die_at_write(recipe, tmp_path, write, expected)


def die_at_write(recipe, tmp_path, write, expected):
    out, log = tmp_path / "run", tmp_path / "log"
    code = children.run(train_words(recipe, out), log, Fate(KILL, at_write=write))
    assert code == -KILL
    if not (out / "config.yaml").exists():  # before there was a run: start again
        assert children.run(train_words(recipe, out), log) == 0, log.read_text()
        assert outcome(out) == expected
        return
    assert finish(out, log) == expected
    assert not [p.name for p in out.rglob("*") if p.name.startswith(".")]


@pytest.mark.parametrize(
    ("kills", "steps"), [(5, 40), pytest.param(20, 200, marks=pytest.mark.slow)]
)
def test_kills_at_random_moments_of_one_run(whole, tmp_path, kills, steps):
    recipe, _ = whole
    log, timed, out = tmp_path / "log", tmp_path / "timed", tmp_path / "run"
    longer = ["--training.steps", str(steps)]
    began = time.monotonic()
    child = children.start([*train_words(recipe, timed), *longer], log)
    while child.is_alive() and not (timed / "records.jsonl").exists():
        time.sleep(0.01)
    startup = time.monotonic() - began
    child.join()
    training = time.monotonic() - began - startup
    expected = outcome(timed)
    moments = random.Random(kills)
    for _ in range(kills):
        begun = (out / "config.yaml").exists()
        words = ["resume", str(out)] if begun else [*train_words(recipe, out), *longer]
        child = children.start(words, log)
        # about half of the training in all, so that the run is not over before the last kill
        child.join(moments.uniform(0.3, 1.0) * startup + moments.uniform(0, 1) * training / kills)
        child.kill()
        child.join()
        assert child.exitcode == -KILL, "the run ended before it was killed"
    assert finish(out, log) == expected


def test_two_processes_do_not_train_in_one_folder(tmp_path):
    expected = outcome(run(tmp_path / "whole", tiny()))
    path = tmp_path / "run"
    with pytest.raises(Killed):
        train(path, tiny(), Stopping(17, Killed))
    held = "import sys, towpath.runs.folder as f, pathlib\n"
    held += f"with f.RunFolder(pathlib.Path({str(path)!r})).held():\n"
    held += "    print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        before = (path / "records.jsonl").read_bytes()
        with pytest.raises(RecipeError, match="Another process is training in"):
            resume(path, Silent())
        assert (path / "records.jsonl").read_bytes() == before
        other.kill()  # the lock ends with the process, however it ends
    resume(path, Silent())
    assert outcome(path) == expected


def test_resuming_a_finished_run_changes_nothing(tmp_path):
    folder = run(tmp_path / "run", tiny())
    files = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}
    resume(folder, Silent())
    assert files == {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in files}


def test_if_only_the_last_checkpoint_is_damaged_the_one_before_is_used(tmp_path, caplog):
    recipe = tiny("random")
    expected = outcome(run(tmp_path / "whole", recipe))
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, recipe, Stopping(30, Killed))
    last = out / "checkpoints" / "last.safetensors"
    content = bytearray(last.read_bytes())
    content[-40] ^= 1  # one bit of one number
    last.write_bytes(bytes(content))
    resume(out, Silent())
    assert "last.safetensors is damaged" in caplog.text
    assert outcome(out) == expected


def test_tensors_of_a_checkpoint_begin_at_whole_cache_lines_as_fresh_ones_do(tmp_path):
    """Kernels may round otherwise elsewhere: Bayesian TAML's scores after a stop differed by 1e-7.

    Where a tensor begins within the file is not a multiple of 64 bytes.
    """
    recipe = tiny("tow-targets", "bayesian-taml")
    with pytest.raises(Killed):
        train(tmp_path, recipe, Stopping(17, Killed))
    origin = Origin.of(RunFolder(tmp_path))
    found = load_checkpoint(tmp_path / "checkpoints", prepare(recipe).start, origin)
    assert found is not None
    assert found.best is not None
    state = found.state
    held = [*state.params.values(), *found.best.params.values(), *state.optimizer.slots]
    assert {tensor.data_ptr() % 64 for tensor in held} == {0}


def test_a_changed_figure_in_the_header_is_noticed(tmp_path):
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, tiny(), Stopping(10, Killed))
    last = out / "checkpoints" / "last.safetensors"
    content = last.read_bytes()
    assert b'\\"step\\": 6' in content
    last.write_bytes(content.replace(b'\\"step\\": 6', b'\\"step\\": 4'))
    with pytest.raises(RecipeError, match="header does not match"):
        resume(out, Silent())


def test_records_shorter_than_the_checkpoint_says_are_refused(tmp_path):
    out = tmp_path / "stopped"
    with pytest.raises(Killed):
        train(out, tiny(), Stopping(10, Killed))
    (out / "records.jsonl").write_bytes(b"")
    with pytest.raises(RecipeError, match="0 bytes; expected at least"):
        resume(out, Silent())


def test_the_thread_count_changes_nothing(tmp_path):
    one = outcome(run(tmp_path / "one", tiny("tow")))
    two = outcome(run(tmp_path / "two", tiny("tow", threads=2)))
    assert one == two


def test_timing_is_the_only_figure_of_the_clock(tmp_path):
    first, second = (run(tmp_path / name, tiny()) for name in ("first", "second"))
    assert outcome(first) == outcome(second)
    timed = json.loads((first / "summary.json").read_text())["timing"]
    assert timed["training_seconds"] > 0
