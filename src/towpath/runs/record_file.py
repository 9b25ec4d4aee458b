"""`records.jsonl`: one record per line, appended in training and cut back on resuming."""

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
    """A line of the file is not a record that towpath writes."""

    def __init__(self, path: Path, number: int, reason: str) -> None:
        super().__init__(
            f"Line {number} of {path} is not what towpath writes ({reason}); expected the records "
            "of a run. Restore the file, or train again in a new folder."
        )
        self.number = number


class CutOffRecordError(DamagedRecordError):
    """The last line has no end: a run is writing it, or was stopped while it did."""


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file in order, and none if there is no such file.

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
    """The destination of a run's records: a file on the first rank, nothing on the others."""

    @property
    def bytes_written(self) -> int:
        """The length of the records in bytes, which a checkpoint stores."""
        ...

    @property
    def digest(self) -> str:
        """The SHA-256 of the records so far, which a checkpoint stores."""
        ...

    def in_place(self) -> bool:
        """Return whether the records still are where the run folder has them."""
        ...

    def write(self, record: Record) -> None:
        """Append a record to those that were written before."""
        ...

    def flush(self) -> None:
        """Hand the records written so far to the operating system."""
        ...

    def truncate(self, size: int) -> None:
        """Drop all records after the first `size` bytes."""
        ...


class NoRecords:
    """The records of the ranks that write nothing, since the first rank writes them all."""

    bytes_written = 0
    digest = ""

    def in_place(self) -> bool:
        """Return True: there is no file that could have been moved."""
        return True

    def write(self, record: Record) -> None:
        """Ignore the record, which the first rank writes."""

    def flush(self) -> None:
        """Do nothing, since there is no file to flush."""

    def truncate(self, size: int) -> None:
        """Do nothing, since there is no file to cut."""


class RecordWriter:
    """Appends records to a file, after cutting off those that the checkpoint does not cover."""

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
        """The length of the file in bytes, lines not yet flushed included."""
        return self._file.tell()

    @property
    def digest(self) -> str:
        """The SHA-256 of everything written so far."""
        return self._digest.hexdigest()

    def in_place(self) -> bool:
        """Return whether the path still leads to this file: nobody moved or replaced the folder."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except OSError:
            return False

    def write(self, record: Record) -> None:
        """Append the record as one line of JSON."""
        content = plain_json(record.as_json())
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._digest.update(line)
        self._file.write(line)

    def flush(self) -> None:
        """Hand the lines written so far to the operating system, without forcing them to disk."""
        self._file.flush()

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes and force it to disk."""
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
