"""Small questions about the files of a run folder: is this a file to read, is it what it says?

A run folder may come from anywhere, cut short, edited or forged. Whatever reads one asks here
first, so that each kind of damage has one sentence, whichever file has it.
"""

import hashlib
from pathlib import Path

from towpath.files import FileError, check_readable, open_regular, read_bytes
from towpath.recipes.typed import RecipeError


def regular_bytes(path: Path, what: str) -> bytes:
    """Content of a file; RecipeError if it cannot be read or is no regular file.

    Opening a pipe that lies under the name would wait for ever, hence the question before it.
    """
    require_regular(path, what)
    try:
        return read_bytes(path)
    except FileError as error:
        raise unreadable(path, what, error) from error


def require_regular(path: Path, what: str) -> None:
    """RecipeError if there is something at the path that is no file, or may not be read."""
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
    """The refusal of a file that the system does not let us read."""
    return RecipeError(
        f"{path} cannot be read ({error.strerror or error}); expected {what}. Check its "
        "permissions and the disk."
    )


def prefix_digest(path: Path, size: int) -> "hashlib._Hash | None":
    """SHA-256 of the first `size` bytes, to be gone on with; None if there are fewer."""
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
