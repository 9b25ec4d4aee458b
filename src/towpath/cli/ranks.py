"""Commands that torchrun may start in several processes: those that share tasks over ranks."""

import argparse

from towpath.cli.parser import UsageError
from towpath.distributed.torchrun import launched_size, ranks_of_this_machine


def share_tasks(parser: argparse.ArgumentParser) -> None:
    """Declare that the ranks of torchrun share the tasks of this command."""
    parser.set_defaults(shares_tasks=True)


def refuse_torchrun(what: str) -> None:
    """Raise UsageError under torchrun, for a command that does not share tasks over ranks."""
    if launched_size() > 1:
        raise UsageError(
            f"{what} found {launched_size()} processes of torchrun; expected one: only train, and "
            "resume of a run, share their tasks over ranks. Start it without torchrun (compare "
            "takes --jobs N)."
        )


def resuming_command(folder: object) -> str:
    """Return the command that resumes a run, in as many processes as now."""
    if launched_size() == 1:
        return f"towpath resume {folder}"
    here = ranks_of_this_machine()
    return f"torchrun --nproc-per-node {here} -m towpath resume {folder}"
