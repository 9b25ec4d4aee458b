"""The commit that a folder of runs belongs to: all of its runs are made with one and the same code.

Runs go on for days, while the code changes. So the first command that runs something there notes
the commit, and later ones refuse to go on with other sources.
"""

import subprocess
import sys
from pathlib import Path

NOTE = "commit"
SOURCES = "src"


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False)


def pin(runs: Path) -> None:
    """Note the commit of this checkout in a folder of runs, or refuse to mix it with another."""
    note = runs / NOTE
    if not note.is_file():
        runs.mkdir(parents=True, exist_ok=True)
        if _git("status", "--porcelain", "--", SOURCES).stdout:
            sys.exit("The sources have changes that are not committed; commit them before a run.")
        note.write_text(_git("rev-parse", "HEAD").stdout)
    began = commit_of(runs)
    if _git("diff", "--quiet", began, "--", SOURCES).returncode != 0:
        sys.exit(
            f"{runs} was begun with commit {began}, and the sources here are others. Go on in a "
            f"checkout of that commit (git worktree add FOLDER {began}), or choose another folder."
        )


def commit_of(runs: Path) -> str:
    """Return the commit that a folder of runs was begun with, in short; empty if unknown."""
    note = runs / NOTE
    return note.read_text().strip()[:10] if note.is_file() else ""
