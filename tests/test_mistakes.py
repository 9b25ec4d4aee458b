"""What people write wrong: one clear sentence, exit code 2, no traceback, nothing left behind."""

from pathlib import Path

import pytest
import yaml
from PIL import Image

from .refusal import refused
from .training.runs import TINY, run, tiny

NEW = ["--out", "new"]


def recipe(**changes):
    """A case whose recipe file differs from the tiny one."""
    return {"train": changes}


def words(*argv):
    """A case that is a command line; `tiny.yaml` is a good recipe, `done` and `maml` are runs."""
    return {"argv": list(argv)}


def text(content):
    """A case whose recipe file has this content."""
    return {"text": content}


CASES = {
    # the recipe's own words
    "unknown section": (recipe(wieghter="tow"), "no section 'wieghter'", "'weighter'"),
    "unknown key": (recipe(training={"stesp": 3}), "no option 'stesp'", "'steps'"),
    "number as key": (recipe(training={3: 3}), "training is", "by name"),
    "section is a number": (recipe(training=3), "training is 3", "section of options"),
    "section is empty": (recipe(training=None), "training is None", "section of options"),
    "component without name": (recipe(weighter={"beta": 1}), "weighter.name is None", "name"),
    "misspelt weighter": (recipe(weighter="unifrom"), "'unifrom'", "Did you mean 'uniform'?"),
    "misspelt learner": (recipe(learner="protnet"), "'protnet'", "Did you mean 'protonet'?"),
    "misspelt backbone": (recipe(backbone="conv-4"), "'conv-4'", "Did you mean 'conv4'?"),
    "misspelt optimizer": (recipe(optimizer="adma"), "'adma'", "Did you mean 'adam'?"),
    "misspelt data set": (recipe(data="omniglott"), "'omniglott'", "Did you mean 'omniglot'?"),
    "misspelt weighter option": (
        recipe(weighter={"name": "tow", "bta": 1}),
        "no option 'bta'",
        "Did you mean 'beta'?",
    ),
    "misspelt weighter choice": (
        recipe(weighter={"name": "tow", "bounds": "projekt"}),
        "'projekt'",
        "Did you mean 'project'?",
    ),
    "misspelt learner option": (
        recipe(learner={"name": "maml", "inner-lr": 0.1}),
        "no option 'inner-lr'",
        "Did you mean 'inner_lr'?",
    ),
    "misspelt optimizer option": (
        recipe(optimizer={"name": "adam", "meta_rl": 0.1}),
        "no option 'meta_rl'",
        "Did you mean 'meta_lr'?",
    ),
    "misspelt data option": (
        recipe(data={"name": "glyphs", "drawing": 5}),
        "no option 'drawing'",
        "Did you mean 'drawings'?",
    ),
    "misspelt script": (
        recipe(data={"name": "glyphs", "scripts": ["Greak"]}),
        "no script 'Greak'",
        "Did you mean 'Greek'?",
    ),
    "data option of another set": (
        recipe(data={"name": "glyphs", "rotations": True}),
        "no option 'rotations'",
        "expected drawings, seed, scripts",
    ),
    "wrong type of data option": (
        recipe(data={"name": "glyphs", "drawings": "many"}),
        "data.drawings is 'many'",
        "a whole number",
    ),
    "misspelt norm": (
        recipe(backbone={"name": "conv4", "norm": "bach"}),
        "'bach'",
        "Did you mean 'batch'?",
    ),
    "misspelt noise kind": (
        recipe(episodes={"ways": 2, "noise_kind": "qery"}),
        "'qery'",
        "Did you mean 'query'?",
    ),
    # numbers
    "negative rate": (recipe(optimizer={"name": "adam", "meta_lr": -1.0}), "meta_lr", "-1"),
    "zero rate": (recipe(optimizer={"name": "adam", "meta_lr": 0.0}), "meta_lr", "above 0"),
    "nan rate": (recipe(optimizer={"name": "sgd", "meta_lr": float("nan")}), "meta_lr", "nan"),
    "rate as a word": (
        recipe(optimizer={"name": "adam", "meta_lr": "fast"}),
        "optimizer.meta_lr is 'fast'",
        "expected a number",
    ),
    "negative inner rate": (recipe(learner={"name": "maml", "inner_lr": -0.1}), "inner_lr", "-0.1"),
    "negative steps of adaptation": (
        recipe(learner={"name": "maml", "adaptation_steps": -1}),
        "adaptation_steps",
        "-1",
    ),
    "negative beta": (recipe(weighter={"name": "tow", "beta": -3}), "beta=-3", "at least 0"),
    "beta as a word": (recipe(weighter={"name": "tow", "beta": "aut"}), "'aut'", "'auto'"),
    "no steps": (recipe(training={"steps": 0}), "training.steps is 0", "at least 1"),
    "half a step": (recipe(training={"steps": 1.5}), "training.steps is 1.5", "whole number"),
    "no filters": (recipe(backbone={"name": "conv4", "filters": 0}), "filters", "at least 1"),
    "negative seed": (recipe(seed=-1), "seed is -1", "at least 0"),
    "no threads": (recipe(threads=0), "threads is 0", "at least 1"),
    "one test task": (recipe(test={"tasks": 1}), "test.tasks is 1", "at least 2"),
    "noise beyond one": (recipe(episodes={"label_noise": 1.4}), "label_noise is 1.4", "0 to 1"),
    # what does not fit the data
    "shots beyond the data": (recipe(episodes={"ways": 2, "shots": 50, "query": 2}), "52", "shots"),
    "ways beyond the classes": (recipe(episodes={"ways": 99, "query": 2}), "99-way", "Lower ways"),
    "query beyond the data": (recipe(episodes={"ways": 2, "query": 15}), "16", "query"),
    "shots as a word": (recipe(episodes={"shots": "few"}), "shots is 'few'", "'any'"),
    "images too small": (recipe(backbone={"name": "resnet10", "norm": "x"}), "norm", "'batch'"),
    "missing data set": (
        {"argv": ["train", "omniglot-protonet", "--data-root", "nowhere", *NEW]},
        "omniglot",
        "towpath data fetch omniglot",
    ),
    "missing data folder": (recipe(data="my/photos"), "'my/photos'", "path of a folder"),
    "misspelt further test set": (
        recipe(test={"tasks": 2, "also": ["cup"]}),
        "'cup'",
        "Did you mean 'cub'?",
    ),
    "a test set twice": (
        recipe(test={"tasks": 2, "also": ["glyphs"]}),
        "'glyphs'",
        "names that differ",
    ),
    "a test set of another shape": (
        recipe(
            data={"name": "pictures", "image_size": 14, "shared_classes": True},
            test={"tasks": 2, "also": ["glyphs"]},
        ),
        "[1, 28, 28]; expected [1, 14, 14]",
        "data.image_size",
    ),
    "the same classes in train and test": (
        recipe(data={"name": "pictures", "image_size": 14}),
        "has the class 'a' in validation and in test and train",
        "data.shared_classes: true",
    ),
    "options that targets exclude": (
        recipe(weighter={"name": "tow-targets", "terminal": "replay"}),
        "terminal='replay'",
        "terminal='none'",
    ),
    "options that need targets": (
        recipe(weighter={"name": "tow", "beta": "auto", "shrink": "agreement"}),
        "shrink='agreement'",
        "shrink='none'",
    ),
    "probe of an unknown split": (
        recipe(probes=[{"name": "p", "split": "tset"}]),
        "'tset'",
        "'test'",
    ),
    "probe without a name": (recipe(probes=[{"every": 3}]), "probes[0] lacks 'name'", "a value"),
    # trusted tasks
    "targets without trusted": (
        recipe(weighter="tow-targets", trusted={"count": 0}),
        "'tow-targets'",
        "Set trusted.count",
    ),
    "trusted data that is not there": (
        recipe(trusted={"count": 3, "data": "glyfs"}),
        "'glyfs'",
        "Did you mean 'glyphs'?",
    ),
    "too few trusted": (recipe(trusted={"count": 2, "per_batch": 3}), "per_batch is 3", "at most"),
    # devices
    "cuda without one": (recipe(device="cuda"), "device is 'cuda'", "expected cpu"),
    "no such device": (recipe(device="gpu"), "device is 'gpu'", "expected cpu"),
    "a device without numbers": (recipe(device="meta"), "device is 'meta'", "expected cpu"),
    # classes of the user's
    "class by import path": (
        recipe(weighter="my_package.weights:Mine"),
        "import path",
        "--allow-import my_package",
    ),
    "class that is not there": (
        words("train", "tiny.yaml", "--weighter.name", "no_such:Mine", "--allow-import", "no_such"),
        "cannot be imported",
        "package.module:Class",
    ),
    "class that is no weighter": (
        words(
            "train", "tiny.yaml", "--weighter.name", "json:JSONDecoder", "--allow-import", "json"
        ),
        "JSONDecoder",
        "MiniBatchWeighter",
    ),
    # files
    "bad yaml": (text("training: {steps: 3"), "not YAML", "recipes show"),
    "empty yaml": (text(""), "holds nothing", "sections of options"),
    "a list": (text("- train\n- test\n"), "holds a list", "sections of options"),
    "a word": (text("omniglot"), "holds a word", "sections of options"),
    "small as a list": (
        {"text": "small: [1]\n", "argv": ["train", "case.yaml", "--budget", "small"]},
        "small is [1]",
        "dotted name",
    ),
    "no such recipe": (words("train", "omniglot-protone"), "omniglot-protone", "protonet'?"),
    "no such file": (words("train", "mine.yaml"), "mine.yaml", "No such file"),
    "a folder as recipe": (words("train", "."), "'.'", "path of a YAML file"),
    "not a text": (words("train", "picture.yaml"), "picture.yaml", "YAML file"),
    # the command line
    "unknown command": (words("trian", "tiny.yaml"), "'trian'", "Did you mean 'train'?"),
    "no command": (words(), "COMMAND", "--help"),
    "unknown data command": (words("data", "lst"), "'lst'", "Did you mean 'list'?"),
    "bad budget": (words("train", "tiny.yaml", "--budget", "smal"), "'smal'", "'small'?"),
    "bad seeds": (words("compare", "tiny.yaml", "--seeds", "0,x"), "'0,x'", "0,1,2"),
    "negative seeds": (words("compare", "tiny.yaml", "--seeds=-1"), "seed is -1", "at least 0"),
    "no seeds": (words("compare", "tiny.yaml", "--seeds", ","), "no seed", "--seeds"),
    "bad seed": (words("train", "tiny.yaml", "--seed", "x"), "--seed", "'x'"),
    "a seed twice": (words("compare", "tiny.yaml", "--seeds", "1,1"), "[1, 1]", "each once"),
    "no value": (words("train", "tiny.yaml", "--weighter.beta"), "no value", "--weighter.beta 1.0"),
    "a stray word": (words("train", "tiny.yaml", "tow"), "'tow'", "dotted name"),
    "unknown override": (
        words("train", "tiny.yaml", "--wieghter.beta", "1"),
        "wieghter",
        "weighter",
    ),
    "unknown option": (
        words("evaluate", "done", "--taks", "5"),
        "--taks",
        "Did you mean '--tasks'?",
    ),
    "bad device": (words("train", "tiny.yaml", "--device", "cup"), "'cup'", "'cpu'?"),
    "compare nothing": (
        words("compare", "tiny.yaml", "--weighters", ","),
        "no weighter",
        "uniform,tow",
    ),
    "compare misspelt": (
        words("compare", "tiny.yaml", "--weighters", "uniform,two"),
        "'two'",
        "'tow'",
    ),
    "compare bad option": (
        words("compare", "tiny.yaml", "--weighters", "tow:beta"),
        "'beta'",
        "tow:beta=1.0",
    ),
    "compare targets without trusted": (
        words("compare", "tiny.yaml", "--weighters", "tow-targets", "--trusted.count", "0"),
        "'tow-targets'",
        "Set trusted.count",
    ),
    "compare without data": (
        words("compare", "omniglot-protonet", "--data-root", "nowhere"),
        "omniglot",
        "towpath data fetch omniglot",
    ),
    # run folders
    "a run folder that exists": (
        words("train", "tiny.yaml", "--out", "done"),
        "done exists",
        "towpath resume done",
    ),
    "a comparison folder that exists": (
        words("compare", "tiny.yaml", "--out", "done"),
        "done exists",
        "towpath resume done",
    ),
    "a file in the way": (
        words("train", "tiny.yaml", "--out", "tiny.yaml/run"),
        "tiny.yaml/run",
        "Choose another path",
    ),
    "resume no run": (words("resume", "empty"), "empty has no config.yaml", "run folder"),
    "resume nothing": (words("resume", "nowhere"), "nowhere does not exist", "run folder"),
    "evaluate no run": (words("evaluate", "empty"), "empty has no config.yaml", "run folder"),
    "evaluate one task": (words("evaluate", "done", "--tasks", "1"), "--tasks is 1", "at least 2"),
    "evaluate no number": (words("evaluate", "done", "--tasks", "all"), "--tasks", "'all'"),
    "tensorboard without the extra": (
        words("train", "tiny.yaml", "--tensorboard"),
        "no package tensorboard",
        "pip install 'towpath[tensorboard]'",
    ),
    # predict
    "predict no run": (
        words("predict", "empty", "--support", "support", "--query", "query"),
        "no config.yaml",
        "run folder",
    ),
    "predict without support": (
        words("predict", "done", "--support", "nowhere", "--query", "query"),
        "nowhere is not a folder",
        "Check the path",
    ),
    "predict without classes": (
        words("predict", "done", "--support", "query", "--query", "query"),
        "no folders",
        "one folder of images for each class",
    ),
    "predict an empty class": (
        words("predict", "done", "--support", "hollow", "--query", "query"),
        "no images",
        "at least one",
    ),
    "predict nothing": (
        words("predict", "done", "--support", "support", "--query", "empty"),
        "empty has no images",
        "images to be classified",
    ),
    "predict a broken image": (
        words("predict", "done", "--support", "support", "--query", "broken"),
        "bad.png",
        "expected one of PNG, JPEG",
    ),
    "predict three ways with two": (
        words("predict", "maml", "--support", "support", "--query", "query"),
        "3 classes",
        "expected 2",
    ),
    "predict without query": (
        words("predict", "done", "--support", "support"),
        "--query",
        "--help",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A good recipe, two finished runs, and folders of images, good and bad."""
    place = tmp_path_factory.mktemp("mistakes")
    short = {"training": {"steps": 2, "horizon": 2, "meta_batch_size": 2}, "test": {"tasks": 2}}
    good = {**TINY, **short, "compare": ["uniform", "random"]}
    (place / "tiny.yaml").write_text(yaml.safe_dump(good))
    (place / "picture.yaml").write_bytes(b"\x89PNG\xff\xfe")
    run(place / "done", tiny(**short))
    run(place / "maml", tiny("uniform", "maml", **short))
    for name in ("support/a", "support/b", "support/c", "query", "empty", "hollow/a", "broken"):
        (place / name).mkdir(parents=True)
    for name in ("support/a/1.png", "support/b/1.png", "support/c/1.png", "query/q.png"):
        Image.new("L", (28, 28), len(name)).save(place / name)
    for split in ("train", "val", "test"):
        for name in ("a", "b", "c"):
            (place / "pictures" / split / name).mkdir(parents=True)
            for i in range(4):
                Image.new("RGB", (20, 20)).save(place / "pictures" / split / name / f"{i}.png")
    (place / "broken" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n not really")
    return place


def listing(place):
    return sorted(str(p.relative_to(place)) for p in place.rglob("*"))


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_answered_with_one_clear_sentence(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(
        "towpath.training.loggers.find_spec", lambda name: None
    )  # whatever is installed
    case, found, remedy = CASES[name]
    argv = case.get("argv", ["train", "case.yaml", *NEW])
    if "train" in case:
        Path("case.yaml").write_text(yaml.safe_dump({**TINY, **case["train"]}))
    elif "text" in case:
        Path("case.yaml").write_text(case["text"])
    else:
        Path("case.yaml").unlink(missing_ok=True)
    before = listing(folder)
    said = refused(argv, capsys)
    assert found in said
    assert remedy in said
    assert listing(folder) == before


def test_there_are_enough_mistakes():
    assert len(CASES) >= 40
