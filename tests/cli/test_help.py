"""Every command asked for help, bare and mistyped; every example that a help text shows, run.

The commands are read off the parser, so a new one is walked without a word here. The examples run
in one folder in the order of `ORDER`, since some look at the runs that others made.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from torch import Tensor

import towpath as tp
from tests.refusal import refused
from towpath.cli import main as cli
from towpath.data import SETS
from towpath.recipes.reading import read_recipe

PARSER = cli.command_line()


def commands(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()):
    """`(words, parser)` of the program, its commands and theirs."""
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from commands(inner, (*words, name))


ALL = dict(commands(PARSER))
LEAVES = [words for words in ALL if not any(other[:-1] == words for other in ALL if other)]
NEEDS_NOTHING = {
    ("demo",),  # `make demo`
    ("bench",),
    ("recipes", "list"),
    ("recipes", "fields"),
    ("weighters", "list"),
    ("data", "list"),
    ("data", "verify"),
}
"""commands that do something when they are called without a word more"""


def named(words: tuple[str, ...]) -> str:
    return " ".join(("towpath", *words))


@pytest.mark.parametrize("words", ALL, ids=named)
def test_help_is_shown(words, capsys):
    assert cli.main([*words, "--help"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.startswith(f"usage: {named(words)}")


@pytest.mark.parametrize("words", LEAVES, ids=named)
def test_help_names_the_default_of_every_option_that_has_one(words):
    shown = " ".join(ALL[words].format_help().split())
    for action in ALL[words]._actions:
        default = action.default
        if default is not None and default is not False and default is not argparse.SUPPRESS:
            assert f"(default: {default})" in shown, action.option_strings


@pytest.mark.parametrize("words", [w for w in ALL if w not in NEEDS_NOTHING], ids=named)
def test_a_bare_command_says_what_it_lacks_and_where_help_is(words, capsys):
    said = refused(list(words), capsys)
    assert said.startswith(f"{named(words)}: ")
    assert f"`{named(words)} --help`" in said


@pytest.mark.parametrize("words", sorted(NEEDS_NOTHING - {("demo",), ("bench",)}), ids=named)
def test_a_bare_command_that_needs_nothing_works(words, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TOWPATH_DATA", str(tmp_path))
    assert cli.main(list(words)) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("words", [w for w in ALL if w], ids=named)
def test_a_mistyped_command_is_met_with_the_nearest(words, capsys):
    *before, last = words
    said = refused([*before, f"{last[:-1]}{last[-1]}{last[-1]}"], capsys)
    assert f"Did you mean {last!r}?" in said
    assert f"`{named(tuple(before))} --help`" in said


def values(parser: argparse.ArgumentParser) -> list[str]:
    """A word for everything that the command insists on."""
    words: list[str] = []
    for action in parser._actions:
        if action.option_strings:
            words += [action.option_strings[0], "x"] if action.required else []
        elif action.nargs not in ("?", "*"):
            words.append("x")
    return words


@pytest.mark.parametrize("words", LEAVES, ids=named)
def test_a_mistyped_option_is_refused_in_a_sentence(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inner = ALL[words]
    option = next(o for a in reversed(inner._actions) for o in a.option_strings if len(o) > 2)
    said = refused([*words, *values(inner), f"{option}x"], capsys)
    assert f"{option}x" in said
    assert not list(tmp_path.iterdir())


# --- examples


ORDER = ("train", "compare", "resume", "report", "evaluate", "audit", "bench", "predict", "demo")


def examples(words: tuple[str, ...]) -> list[str]:
    return re.findall(r"example: (towpath .*)", ALL[words].format_help())


@pytest.mark.parametrize("words", LEAVES, ids=named)
def test_every_command_shows_an_example_of_itself(words):
    (example,) = examples(words)
    assert example.startswith(named(words))


def test_every_example_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    monkeypatch.setenv("TOWPATH_DATA", str(data))
    for file in SETS["omniglot"].files:  # `data fetch` finds them there; tests ask no network
        place = data / SETS["omniglot"].folder / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"packed by somebody else")
    write_images(tmp_path)
    # the demo of minutes is for `make demo`: here its command runs with another recipe
    other = {"demo": "quick"}
    monkeypatch.setattr(
        "towpath.recipes.reading.read_recipe",
        lambda name, *a, **k: read_recipe(other.get(name, name), *a, **k),
    )
    ordered = sorted(LEAVES, key=lambda w: ORDER.index(w[0]) if w[0] in ORDER else len(ORDER))
    for words in ordered:
        for example in examples(words):
            assert cli.main(shlex.split(example)[1:]) == 0, f"{example}\n{capsys.readouterr().err}"
    for made in (
        "report.html",
        "predictions.csv",
        "towpath-demo/report.html",
        "sheets",
        "demo.yaml",
    ):
        assert (tmp_path / made).exists()


def write_images(folder: Path) -> None:
    """Five characters as the folders that the example of `predict` names."""
    pool = tp.data.load("glyphs", split="test")
    episode = tp.data.EpisodeSampler(pool, tp.data.EpisodeSpec(ways=5, shots=1, query=1)).episode(0)
    for x, y in zip(episode.support_x, episode.support_y.tolist(), strict=True):
        (folder / "examples" / f"class{y}").mkdir(parents=True)
        save(x, folder / "examples" / f"class{y}" / "one.png")
    (folder / "new-images").mkdir()
    for i, x in enumerate(episode.query_x):
        save(x, folder / "new-images" / f"{i}.png")


def save(x: Tensor, path: Path) -> None:
    Image.fromarray((255 * x[0]).byte().numpy()).save(path)


# --- what starting costs

HEAVY = ("torch", "numpy", "scipy", "matplotlib", "jsonargparse", "PIL", "pooch", "jinja2", "yaml")
SCIENCE = ("scipy", "matplotlib", "jsonargparse", "PIL", "pooch", "jinja2")


def imported(program: str) -> set[str]:
    """Top-level packages that a program has imported at its end."""
    last = "import sys\nprint('\\n', *{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{last}"],
        env={**os.environ, "PYTHONPATH": str(Path(tp.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("words", ["--version", "--help", "train --help", "trian", "", "data"])
def test_what_needs_no_training_does_not_wait_for_torch(words):
    found = imported(f"from towpath.cli.main import main\nmain({words.split()!r})")
    assert not found.intersection(HEAVY)


def test_the_library_imports_what_planning_needs_and_no_more():
    found = imported("import towpath as tp\ntp.Objective, tp.TOW(), tp.learners.MAML")
    assert "torch" in found
    assert not found.intersection(SCIENCE)
