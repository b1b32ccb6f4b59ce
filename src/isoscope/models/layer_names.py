"""TODO: describe this module."""

from __future__ import annotations

EMBEDDING = "embedding"
FINAL_NORM = "final norm"


def side_of(path: str) -> str:
    """Return which side of a sequence-to-sequence model a path is on, as far as it says."""
    return next((part for part in path.split(".") if part in ("encoder", "decoder")), "")
