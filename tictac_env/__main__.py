"""`python -m tictac_env` is the command `tictac`."""

import sys

from tictac_command import main

if sys.argv[1:2] == ["grade"] and not sys.flags.safe_path:
    sys.exit(
        "tictac: python -m imports from the current folder, where hand-ins may lie: "
        "use tictac grade, or python -P -m tictac_env grade"
    )
sys.exit(main())
