"""The two ways in which data can fail its user: wrong input, and a network that does not deliver.

Every message says what was found, what was expected and what to do. The command line answers a
`DataError` with exit code 2 and a `DownloadError` with exit code 1, one sentence each.
"""


class DataError(ValueError):
    """The data, or the request for it, is not what it should be; the message says what to do."""


class DownloadError(RuntimeError):
    """No mirror delivered the file; the message says why and names the manual way."""
