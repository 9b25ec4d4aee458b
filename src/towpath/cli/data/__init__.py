"""`towpath data`: the data sets, and folders and tables of the user's own; a module a command.

Failures are raised as `DataError` (the user can mend it) or `DownloadError` (the network failed).
"""

from towpath.cli.data import features, fetch, listing, preview, verify
from towpath.cli.parser import Commands


def add(commands: Commands) -> None:
    """Add these commands and their arguments to the command line."""
    data = commands.add_parser(
        "data", help="list, fetch, verify and preview data sets; their features"
    )
    kinds = data.add_subparsers(dest="data_command", required=True, metavar="COMMAND")
    for command in (listing, fetch, verify, preview, features):
        command.add(kinds)
