"""The process of one run: `python -m towpath.grid.child` takes a job as JSON on its input.

It writes an event a line to its output (what anybody else prints goes to its error output), and
ends with 0, with 143 after SIGTERM (the checkpoint is written), or with 1 and the reason as its
last event. If whoever started it is gone it stops at its next event.
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
    """Run the job that stands on the input."""
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
