"""The process of one run: `python -m towpath.grid.child` reads a job as JSON from its input.

It writes one event per line to its output (anything else that is printed goes to its error output).
Its exit code is 0, 143 after SIGTERM (the checkpoint is written), or 1, with the reason as its last
event. If the process that started it is gone, it stops at its next event.
"""

import os
import sys
from functools import partial
from typing import IO

from towpath.distributed.stopping import Terminated, exit_code, heeding_sigterm
from towpath.grid.events import Event, Failed, event_line
from towpath.grid.jobs import EventReporter, Job, reason_of
from towpath.training.allocator import keep_freed_memory


def main() -> int:
    """Run the job that is given on the standard input; return the exit code."""
    job = Job.from_json(sys.stdin.read())
    events = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a print in a user's class is no event
    tell = partial(_tell, events)
    keep_freed_memory()
    try:
        with heeding_sigterm():
            job.run(EventReporter(tell))
    except Terminated:
        return exit_code()
    except BrokenPipeError:
        return 1
    except Exception as error:  # noqa: BLE001 - whatever it is, the other runs go on
        tell(Failed(reason_of(error)))
        return 1
    return 0


def _tell(events: IO[str], event: Event) -> None:
    events.write(event_line(event))
    events.flush()


if __name__ == "__main__":
    sys.exit(main())
