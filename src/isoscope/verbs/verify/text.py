"""What people read of a verification, the answer first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.screen.blocks import Numbers, Screen

if TYPE_CHECKING:
    from isoscope.verbs.verify.api import Verification

WORDS = {"holds": "holds", "fails": "FAILS", "unknown": "cannot be checked"}


def answer(found: Verification) -> str:
    """Say in a sentence whether a file verifies."""
    wrong = [check for check in found.checks if check.state == "fails"]
    unknown = [check.name for check in found.checks if check.state == "unknown"]
    if wrong:
        return f"Verification failed: {wrong[0].name}: {wrong[0].about}."
    if unknown:
        return f"Everything that could be checked is correct; not checked: {', '.join(unknown)}."
    return "Verified: it is complete and unchanged."


def screen(found: Verification) -> Screen:
    """Arrange what was checked."""
    rows = [[check.name, WORDS[check.state], check.about] for check in found.checks]
    table = Numbers(["check", "state", "what was found"], rows, left=frozenset({1, 2}), turn=False)
    return Screen(f"{found.path} · {found.kind}", [answer(found)], [[table]])
