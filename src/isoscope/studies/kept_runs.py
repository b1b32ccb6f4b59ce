"""Trainings of studies in a folder: a finished one is read again, a killed one goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.results.loading import load_result
from isoscope.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.results.result import Result

RUNS = "runs"
Save: TypeAlias = "Callable[[Result], None]"


def kept_run(
    folder: Path | None,
    name: str,
    configuration: Mapping[str, Any],
    make: Callable[[Path | None, Save | None], Result],
    *,
    again: bool = False,
) -> Result:
    """Return what a training gave before, or train.

    Parameters
    ----------
    folder : Path or None
        Where results and journals are; None where nothing is kept.
    name : str
        What files begin with.
    configuration : mapping
        All that decides what is trained, as JSON holds it; another one is another run.
    make : callable
        Trains; gets the folder of a journal, and a function that saves the result before that
        goes.
    again : bool
        Train, even if that was done before.
    """
    if folder is None:
        return make(None, None)
    text = json.dumps({**configuration, "isoscope": __version__}, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = folder / RUNS / f"{name}-{digest}.json"
    if path.is_file() and not again:
        return load_result(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return make(path.with_suffix(".journal"), lambda result: result.save(path))
