"""The two ways in which data can fail its user: wrong input, and a network that does not deliver.

Every message says what was found, what was expected and what to do. The command line answers a
`DataError` with exit code 2 and a `DownloadError` with exit code 1, one sentence each.
"""

import difflib
from collections.abc import Iterable


class DataError(ValueError):
    """The data, or the request for it, is not what it should be; the message says what to do."""


class DownloadError(RuntimeError):
    """No mirror delivered the file; the message says why and names the manual way."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`" Did you mean 'omniglot'?"` when a known word is close, else nothing."""
    match = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean {match[0]!r}?" if match else ""
