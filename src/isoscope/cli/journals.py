"""Long runs that can be resumed: the journal beside ``--out``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoscope.errors import UsageError
from isoscope.results.files import check_writable

Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with a killed run, from the journal beside --out.")
]


def journal_of(out: Path | None, *, resume: bool) -> Path | None:
    """Return the folder that keeps what a run has done; None where nothing is kept.

    Refuses an ``--out`` that could not be written, and ``--resume`` without one.
    """
    if out is None:
        if resume:
            raise UsageError("--resume goes on from the journal beside --out; name the same file")
        return None
    check_writable(out)
    return Path(f"{out}.journal")
