"""The scripts of `towpath completion`, sourced in the shells themselves, complete what is typed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.refusal import refused
from towpath.cli import main as cli
from towpath.cli.completion import SHELLS, command_words
from towpath.cli.main import main

TYPED = {
    "towpath tr": {"train"},
    "towpath train qui": {"quick"},
    "towpath train quick --training.st": {"--training.steps"},
    "towpath train quick --weighter.name tow-targets-": {"tow-targets-fast"},
    "towpath train quick --logger ml": {"mlflow"},
    "towpath train quick --optimizer.name r": {"rmsprop", "radam"},
    "towpath train quick --backbone.name resnet1": {"resnet10", "resnet18"},
    "towpath train quick --learner.name proto-": {"proto-maml"},
    "towpath train quick --training.steps qui": set(),  # its value is no recipe
    "towpath train quick --trusted.data ru": {"runs"},
    "towpath resume runs --trai": {"--training.steps"},
    "towpath resume runs --weighter.": set(),
    "towpath evaluate runs --episodes.s": {"--episodes.shots"},
    "towpath evaluate runs --episodes.label": set(),
    "towpath data preview glyphs --episodes.label": {"--episodes.label_noise"},
    "towpath --vers": {"--version"},
    "towpath data fet": {"fetch"},
    "towpath data fetch omni": {"omniglot"},
    "towpath recipes show quic": {"quick"},
    "towpath recipes fields trai": {"training"},
    "towpath weighters show tow-au": {"tow-auto"},
    "towpath completion fi": {"fish"},
    "towpath evaluate ru": {"runs"},  # a folder that is there
    "towpath train quick --dry": {"--dry-run"},
    "towpath report nothing-of-that-name": set(),
}
"""what is typed, and what it is completed to"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """A folder with the script of every shell, and a folder `runs`."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "runs").mkdir()
    for shell in SHELLS:
        done = subprocess.run(
            [sys.executable, "-m", "towpath", "completion", shell],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
        )
        assert done.stderr == ""
        (folder / f"towpath.{shell}").write_text(done.stdout)
    return folder


def asked(shell: list[str], text: str, folder: Path) -> str:
    """What a shell prints for a program."""
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    home = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    done = subprocess.run(
        [*shell, "-c", text], capture_output=True, text=True, check=True, cwd=folder, env=home
    )
    assert done.stderr == ""
    return done.stdout


BASH = """
source towpath.bash
complete -p towpath > /dev/null || exit 1
while IFS= read -r typed; do
    read -ra COMP_WORDS <<< "$typed"
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    COMPREPLY=()
    _towpath
    echo "${COMPREPLY[*]}"
done <<'TYPED'
%s
TYPED
"""


def test_bash_completes(scripts):
    said = asked(["bash", "--norc"], BASH % "\n".join(TYPED), scripts).splitlines()
    found = {typed: set(words.split()) for typed, words in zip(TYPED, said, strict=True)}
    assert found == TYPED


def test_bash_completes_the_last_word_of_a_list(scripts):
    typed = "towpath compare quick --weighters uniform,tow-targets"
    said = asked(["bash", "--norc"], BASH % typed, scripts)
    assert said.split() == ["uniform,tow-targets", "uniform,tow-targets-fast"]


def test_fish_completes(scripts):
    lines = "\n".join(f"echo (complete -C '{typed}')" for typed in TYPED)
    said = asked(["fish", "--no-config"], f"source towpath.fish\n{lines}", scripts).splitlines()
    found = {
        typed: {word.rstrip("/") for word in words.split()}
        for typed, words in zip(TYPED, said, strict=True)
    }
    assert found == TYPED


ZSH = """
source ./towpath.zsh
completed() {  # as zsh's own bashcompinit calls functions for bash
    emulate -L sh
    setopt kshglob noshglob braceexpand nokshautoload
    COMP_WORDS=("$@") COMPREPLY=()
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    _towpath
    echo "${COMPREPLY[*]}"
}
%s
"""


def test_zsh_completes(scripts):
    program = ZSH % "\n".join(f"completed {typed}" for typed in TYPED)
    said = asked(["zsh", "-f"], program, scripts).splitlines()
    # of what bash's functions return, zsh itself takes what begins with the word that is typed
    found = {
        typed: {word for word in words.split() if word.startswith(typed.split()[-1])}
        for typed, words in zip(TYPED, said, strict=True)
    }
    assert found == TYPED


def test_every_command_is_completed():
    paths = {one.path: one for one in command_words(cli.command_line())}
    assert set(paths[()].commands) == {module.__name__.split(".")[-1] for module in cli.COMMANDS}
    assert {"list", "fetch", "verify", "preview"} <= set(paths["data",].commands)
    assert "--*" in paths["train",].options
    assert "--*" not in paths["audit",].options


def test_an_unknown_shell_is_refused(capsys):
    assert "Did you mean 'bash'?" in refused(["completion", "bsh"], capsys)
    assert main(["completion", "fish"]) == 0
    assert capsys.readouterr().out.startswith("# completion of towpath for fish")
