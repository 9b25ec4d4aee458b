"""Checks of the files of a run folder: is this a file to read, and is it what it claims to be?

A run folder may come from anywhere, cut short, edited or forged. Every reader calls these functions
first, so that each kind of damage has one error message, whichever file has it.
"""

import hashlib
from pathlib import Path

from towpath.files import FileError, check_readable, open_regular, read_bytes
from towpath.recipes.typed import RecipeError


def regular_bytes(path: Path, what: str) -> bytes:
    """Return the content of a file; raise RecipeError if it is no regular file or unreadable.

    The kind of file is checked first because opening a named pipe would wait for ever.

    Args:
        path: the file.
        what: what the file should hold, for the message.
    """
    require_regular(path, what)
    try:
        return read_bytes(path)
    except FileError as error:
        raise unreadable(path, what, error) from error


def require_regular(path: Path, what: str) -> None:
    """Raise RecipeError if the path exists but is no regular file, or may not be read.

    Args:
        path: the file, which need not exist.
        what: what the file should hold, for the message.
    """
    if not path.is_file():
        raise RecipeError(
            f"{path} is not a regular file; expected {what}. Restore it, or train again in a new "
            "folder."
        )
    try:
        check_readable(path)
    except FileError as error:
        raise unreadable(path, what, error) from error


def unreadable(path: Path, what: str, error: OSError) -> RecipeError:
    """Return the error to raise for a file that the operating system does not let us read."""
    return RecipeError(
        f"{path} cannot be read ({error.strerror or error}); expected {what}. Check its "
        "permissions and the disk."
    )


def prefix_digest(path: Path, size: int) -> "hashlib._Hash | None":
    """Return a SHA-256 hash object fed with the first `size` bytes of a file.

    The caller may update it with further bytes. The result is None if the file is shorter.
    """
    digest = hashlib.sha256()
    if size == 0:
        return digest
    require_regular(path, "the records of a run")
    left = size
    with open_regular(path) as file:
        while left and (chunk := file.read(min(left, 2**20))):
            digest.update(chunk)
            left -= len(chunk)
    return None if left else digest
