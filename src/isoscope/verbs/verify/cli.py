"""``isoscope verify``: whether a file is what isoscope wrote."""

from __future__ import annotations

from dataclasses import dataclass

import isoscope
from isoscope.cli import options
from isoscope.cli.output import print_screen, within
from isoscope.cli.streams import console, print_facts
from isoscope.registry import load

EXAMPLES = """Examples:

isoscope measure package:glove --out glove.json; isoscope verify glove.json

isoscope verify glove.json --json
"""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(options.Options):
    """What ``isoscope verify`` takes."""

    path: str = options.argument(
        "FILE", "A result, a fitted correction, or the journal of a run (a folder)."
    )
    as_json: options.PrintJson = False
    limits: options.Limits
    debug: options.Debug = False


@options.command
def verify_command(given: VerifyOptions) -> None:
    """Check that a result, a correction or a journal is complete and unchanged.

    Checks the schema, checksums, fingerprint and versions, and exits with code 1 if one of these
    checks fails. A checksum is not a signature: it detects damage, not forgery.
    """
    with within(given.limits):
        found = isoscope.verify(given.path)
    if given.as_json:
        print_facts(found.facts())
    else:
        print_screen(load("isoscope.verbs.verify.text:screen")(found), console())
    if not found.verified:
        raise load("isoscope.verbs.verify.api:refused")(found)
