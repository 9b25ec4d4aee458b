"""`python -m towpath` is the command line."""

import sys

from towpath.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
