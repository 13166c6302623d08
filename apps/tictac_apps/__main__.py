"""`python -m tictac_apps` is the command `tictac`."""

import sys

from tictac_apps.command import main

if sys.argv[1:2] == ["grade"] and not sys.flags.safe_path:
    sys.exit(
        "tictac: python -m imports from the current folder, where hand-ins may lie: "
        "use tictac grade, or python -P -m tictac_apps grade"
    )
sys.exit(main())
