"""Progress on the console while a command trains, down to its last line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from towpath.cli.progress import ConsoleReporter
from towpath.cli.ranks import resuming_command
from towpath.distributed.stopping import Terminated, ignore_sigterm, ranks_ended
from towpath.distributed.torchrun import LostRankError, launched_size
from towpath.training.loggers import make_loggers
from towpath.training.logging_reporter import LoggingReporter
from towpath.training.reporter import Reporter


@contextmanager
def reporting(console: Console, out: Path, loggers: Sequence[str] = ()) -> Iterator[Reporter]:
    """Show progress on the console until the block ends, and close it whatever happens.

    If the run is stopped, the command that resumes it is printed.

    Args:
        console: where the progress is shown.
        out: the folder of the run or of the comparison.
        loggers: names of the experiment trackers that get scalars as well.
    """
    shown = ConsoleReporter(console)
    reporter: ConsoleReporter | LoggingReporter = shown
    if loggers:
        reporter = LoggingReporter(shown, out, make_loggers(loggers))
    try:
        yield reporter
    except LostRankError as error:
        ignore_sigterm()  # which torchrun is about to send: the sentence must still be told
        raise LostRankError(f"{error}, then go on with: {resuming_command(out)}") from error
    except Terminated:
        if launched_size() > 1:
            raise Terminated(f"{ranks_ended()}, then go on with: {resuming_command(out)}") from None
        if not out.exists():
            raise
        raise Terminated(f"Stopped by SIGTERM; go on with: {resuming_command(out)}") from None
    except KeyboardInterrupt:
        if not out.exists():
            raise
        raise KeyboardInterrupt(f"Interrupted; go on with: {resuming_command(out)}") from None
    finally:
        shown.close()
        reporter.close()
