"""`python -m tictac_env` is the command `tictac`."""

import sys

from tictac_env.cli import main

sys.exit(main())
