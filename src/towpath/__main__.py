"""`python -m towpath` is the command line."""

import sys

from towpath.cli import main

sys.exit(main())
