"""Check that a checkpoint belongs to a run, and that the records beside it are its own."""

from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import prefix_digest, require_regular
from towpath.runs.folder import RunFolder
from towpath.runs.header import DamagedCheckpointError, Header, checkpoint_files


@dataclass(frozen=True)
class Origin:
    """The run that a checkpoint must belong to."""

    run: str
    """digest of the run's identity; empty for a run folder of towpath 0.1"""
    records: Path
    """path of the run's records"""

    @classmethod
    def of(cls, folder: RunFolder) -> "Origin":
        """Return the origin that checkpoints in this run folder must have."""
        return cls(folder.digest, folder.records_path)

    def check(self, path: Path, header: Header) -> None:
        """Refuse a checkpoint of another run, or one whose records are not those beside it.

        Only records before the checkpoint are compared: later ones are written again on resuming.

        Raises:
            RecipeError: if the checkpoint is another run's.
            ForeignRecordsError: if the records are not those that it was written with.
        """
        if header.run != self.run:
            raise RecipeError(
                f"The checkpoint {path} is of another run than the config.yaml beside it; expected "
                "the files of one run. Restore the file that was replaced, or train again in a new "
                "folder."
            )
        found = self.records.stat().st_size if self.records.is_file() else 0
        if found < header.records_bytes:
            raise ForeignRecordsError(
                f"{self.records} has {found} bytes; expected at least {header.records_bytes}, as "
                "the checkpoint says. Restore the file, or delete the run folder and train again."
            )
        prefix = prefix_digest(self.records, header.records_bytes)
        digest = header.records_digest
        if digest and (prefix is None or prefix.hexdigest() != digest):
            raise ForeignRecordsError(
                f"{self.records} is not the file that the checkpoint {path} was written with: it "
                "was edited, or is of another run; expected the files of one run. Restore it, or "
                "delete the run folder and train again."
            )


class ForeignRecordsError(RecipeError):
    """The records beside a checkpoint are not those that it was written with."""


def check_origin(folder: RunFolder) -> None:
    """Raise RecipeError if the last checkpoint is another run's, or the records are not its own.

    Only the header is read. A damaged checkpoint raises nothing here; loading it does.
    """
    for path in checkpoint_files(folder.checkpoints)[:1]:
        require_regular(path, "a checkpoint that the run wrote")
        try:
            with safe_open(path, framework="pt") as file:
                header = Header.read(file.metadata())
        except (SafetensorError, DamagedCheckpointError, OSError):
            return
        Origin.of(folder).check(path, header)
