"""The command line as results keep it and messages quote it: without passwords."""

from __future__ import annotations

import shlex
import sys

from isoscope.data.location import ADDRESS, redacted, redacted_argument


def command_line() -> str:
    """Return the command that runs, for results."""
    return shlex.join(["isoscope", *map(redacted_argument, sys.argv[1:])])


def without_secrets(text: str) -> str:
    """Return a message in which addresses of the command stand as results would keep them."""
    for argument in sys.argv[1:]:
        found = ADDRESS.search(argument)
        if found is not None:
            address = argument[found.start() :]
            text = text.replace(address, redacted(address))
    return text
