"""Results of single models in a journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from isoscope.results.result import Result

if TYPE_CHECKING:
    from isoscope.compute.journal import Journal


def kept_result(journal: Journal | None, model: str) -> Result | None:
    """Return the result of a model that was finished before; None where there is none."""
    entry = None if journal is None else journal.load(result_step(model))
    return None if entry is None else Result.from_json(json.dumps(entry.facts))


def keep_result(journal: Journal | None, model: str, result: Result) -> None:
    """Keep the result of a model, unless it is kept."""
    if journal is not None and not journal.done(result_step(model)):
        journal.save(result_step(model), {}, json.loads(result.to_json()))


def result_step(model: str) -> str:
    """Return the name of the step; that of a checkpoint has the revision in it."""
    return f"{model} result"
