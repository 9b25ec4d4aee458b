"""Tell a user that a new report took the place of one on other runs.

A page names its runs by digests in its head. A page whose runs are all in the new one loses nothing
by being replaced, so that a report can be made again while its runs train; of any other page the
user is told its title.
"""

import hashlib
import html
import re
from collections.abc import Sequence
from pathlib import Path

from towpath.files import FileError, read_text
from towpath.runs.run_data import RunData
from towpath.runs.study import Study
from towpath.wording import quoted

_RUNS = re.compile(r'<meta name="towpath-runs" content="([0-9a-f ]*)">')
_TITLE = re.compile(r"<title>(.*?)( · towpath)?</title>", re.DOTALL)


def run_digests(studies: Sequence[Study]) -> str:
    """Return a digest for each run of the studies, sorted, for the head of the page."""
    return " ".join(sorted({_digest(run) for study in studies for run in study.all}))


def sentence_on_replaced(path: Path, studies: Sequence[Study]) -> str | None:
    """Return what to say if the report at the path shows runs that the new one does not.

    Args:
        path: where the new report will be written.
        studies: what the new report shows.

    Returns:
        a sentence, or None if nothing is lost: no file, no report, one of these runs, or a page of
        an older towpath, which does not say what it shows.
    """
    if not path.is_file():
        return None
    try:
        page = read_text(path)
    except FileError:  # no page at all, which --force may replace
        return None
    shown, title = _RUNS.search(page), _TITLE.search(page)
    if shown is None or title is None:
        return None
    others = set(shown[1].split()) - set(run_digests(studies).split())
    if not others:
        return None
    return (
        f"{path} was the report {quoted(html.unescape(title[1]))} with {len(others)} run(s) that "
        "this one does not show, and was replaced. To keep both, choose another --out next time."
    )


def _digest(run: RunData) -> str:
    """Runs of towpath 0.1 have no identity and are known by the name of their folder only."""
    identity = run.made_with.identity
    known = f"name {run.name}" if identity is None else identity.digest
    return hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest()[:12]
