"""Diagnoses in few words: sentences without their limits, and causes as a table has room for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Where limits stand in the sentences of a diagnosis, behind a value and its interval.
LIMITS = re.compile(
    r"(\S+(?: %)?)((?: of [^()]*?)?) "
    r"\((?:([^();]*); )?(?:limit|mild from|mild below|strong)[^()]*\)"
)

# Causes that have no grades of their own.
UNGRADED = ("dead dimensions", "long vectors", "constant", "undecided")


def without_limits(sentence: str) -> str:
    """Return a sentence without the limits in it, nor intervals that say no more than the value."""

    def kept(found: re.Match[str]) -> str:
        value, of, interval = found[1], found[2], found[3]
        says_more = interval and set(interval.split(" to ")) != {value}
        return f"{value}{of} ({interval})" if says_more else f"{value}{of}"

    return LIMITS.sub(kept, sentence)


def short_cause(verdict: Mapping[str, Any]) -> str:
    """Return the cause of a diagnosis with its grade."""
    cause = str(verdict.get("cause", ""))
    if cause == "none":
        return "nothing stands out"
    grade = str(verdict.get("grade", "none"))
    return cause if grade == "none" or cause in ("", *UNGRADED) else f"{grade} {cause}"
