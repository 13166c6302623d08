"""The exit statuses of the command, in a module of their own: the program and its commands import them."""

STOPPED = 130
"""After Ctrl-C or SIGTERM, by the convention of shells."""
WRONG = 2
"""After an error."""
