"""Files that results are written to, and which names they may have."""

from __future__ import annotations

from pathlib import Path

from isoscope.data.output import check_place
from isoscope.errors import UsageError

ENDINGS = (".json", ".md")


def check_ending(path: Path) -> None:
    """Refuse a result file of a kind that is not written."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: the name of a result must end in {' or '.join(ENDINGS)}")


def check_writable(path: Path) -> None:
    """Refuse a result file that could not be written, before any work is done."""
    check_ending(path)
    check_place(path)
