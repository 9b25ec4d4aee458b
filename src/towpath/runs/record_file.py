"""`records.jsonl`: one record a line, appended while a run trains, cut back when it goes on."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol

from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import prefix_digest, require_regular
from towpath.runs.plain import object_of, plain_json
from towpath.runs.records import Record, record_from_json


class DamagedRecordError(RecipeError):
    """A line that is not what towpath writes."""

    def __init__(self, path: Path, number: int, reason: str) -> None:
        super().__init__(
            f"Line {number} of {path} is not what towpath writes ({reason}); expected the records "
            "of a run. Restore the file, or train again in a new folder."
        )
        self.number = number


class CutOffRecordError(DamagedRecordError):
    """A last line without its end: a run writes it, or was stopped while it did."""


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file, in order; nothing where there is no such file.

    Raises:
        DamagedRecordError: at the first line that is not a record, after those before it.
        CutOffRecordError: at a last line that is cut off.
    """
    if not path.exists():
        return
    require_regular(path, "the records of a run")
    decode = json.JSONDecoder().decode
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                raise CutOffRecordError(path, number, "it is cut off")
            try:
                record = record_from_json(object_of(decode(line.decode("utf-8")), "a record"))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                reason = f"{type(error).__name__}: {error}"
                raise DamagedRecordError(path, number, reason) from error
            yield record


class Records(Protocol):
    """Where a run's records go."""

    @property
    def bytes_written(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def in_place(self) -> bool: ...
    def write(self, record: Record) -> None: ...
    def flush(self) -> None: ...
    def truncate(self, size: int) -> None: ...


class NoRecords:
    """For the ranks that write nothing."""

    bytes_written = 0
    digest = ""

    def in_place(self) -> bool:
        """There is nothing that could be moved."""
        return True

    def write(self, record: Record) -> None:
        """Do nothing: the first rank has the same record."""

    def flush(self) -> None:
        """Do nothing: nothing was written."""

    def truncate(self, size: int) -> None:
        """Do nothing: there is no file."""


class RecordWriter:
    """Appends records; starts by cutting off what the checkpoint does not know of."""

    def __init__(self, path: Path, keep_bytes: int) -> None:
        self._path = path
        digest = prefix_digest(path, keep_bytes)
        if digest is None:  # truncate() would fill it up with zeros
            raise RecipeError(
                f"{path} has fewer than {keep_bytes} bytes; expected at least as many, as the "
                "checkpoint says. Restore the file, or delete the run folder and train again."
            )
        self._digest = digest
        self._file = path.open("ab")
        self._file.truncate(keep_bytes)
        self._file.seek(0, os.SEEK_END)

    @property
    def bytes_written(self) -> int:
        """Length of the file."""
        return self._file.tell()

    @property
    def digest(self) -> str:
        """SHA-256 of the file as far as it is written."""
        return self._digest.hexdigest()

    def in_place(self) -> bool:
        """Whether the file is still the one under its name: nobody moved or replaced the folder."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except OSError:
            return False

    def write(self, record: Record) -> None:
        """Append a line."""
        content = plain_json(record.as_json())
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._digest.update(line)
        self._file.write(line)

    def flush(self) -> None:
        """Hand the lines to the system."""
        self._file.flush()

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes and see it onto the disk."""
        self._file.flush()
        if self._file.tell() != size:
            self._file.truncate(size)
            self._file.seek(0, os.SEEK_END)
        os.fsync(self._file.fileno())

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
