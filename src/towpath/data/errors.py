"""The two errors of this package: wrong data or options, and a download that failed.

Every message says what was found, what was expected and what to do. The command line prints the
message and exits with code 2 after a `DataError` and with code 1 after a `DownloadError`.
"""


class DataError(ValueError):
    """The data, or the request for it, is not what it should be; the message says what to do."""


class DownloadError(RuntimeError):
    """No mirror delivered the file; the message says why, and how to get it by hand."""
