"""What studies will need: time and memory, said before they start.

Times are those that records of this project took, model by model; of a model that no record knows,
the range over those that are known is told. Memory is estimated from the files of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.models.sources import names_a_model
from isoscope.verbs.study.api import MADE_MODEL
from isoscope.verbs.study.records.costs import in_words, measured_costs
from isoscope.verbs.study.records.provenance import available_memory, files_of
from isoscope.verbs.study.registry import PRETRAIN
from isoscope.verbs.study.runs.pieces import Piece

if TYPE_CHECKING:
    from collections.abc import Mapping

GIB = 2**30

# Seconds of work before anything is said about it.
LONG = 20

# Bytes of a model that is large enough for times of other models to be about it.
LARGE = 20 * 2**20


def needs_line(pieces: Sequence[Piece], workers: int = 1) -> str:
    """Say what work will need, in a line; empty where it is short or nothing is known of it."""
    if len(pieces) == 1:
        return needs_of_one(pieces[0])
    known, unknown, machines = 0.0, 0, dict[str, None]()
    for piece in pieces:
        costs = measured_costs(piece.study.id)
        own = [one for one in costs if one["model"] == piece.name] or largest(costs)
        if not own or not is_about(piece, costs):
            unknown += 1
            continue
        known += float(own[0]["seconds"])
        machines[own[0]["machine"]] = None
    if known < LONG:
        return ""
    every = f"{len(pieces)} runs"
    took = f"about {in_words(known / workers)} by what they took on {' and '.join(machines)}"
    if unknown:
        measured = len(pieces) - unknown
        verb = "takes" if measured == 1 else "take"
        every += f"; {measured} of them {verb} {took}, the other {unknown} have not been measured"
        took = "on such a model"
    joined = f"{every} {took}" if unknown else f"{every}: {took}"
    return f"{joined}; {memory_words(pieces, workers)}"


def needs_of_one(piece: Piece) -> str:
    """Say what one study on one model will need."""
    costs = measured_costs(piece.study.id)
    own = [one for one in costs if one["model"] == piece.name]
    if not costs or not is_about(piece, costs):
        return ""
    times = sorted(float(one["seconds"]) for one in own or costs)
    if times[-1] < LONG:
        return ""
    machine = (own or costs)[0]["machine"]
    if own:
        took = f"about {in_words(times[-1])}, as on {machine}"
    else:
        several = f"{in_words(times[0])} to " if len(times) > 1 else ""
        took = f"it took {several}{in_words(times[-1])} on other models ({machine})"
    return f"{piece.study.id} on {piece.name}: {took}; {memory_words([piece])}"


def is_about(piece: Piece, costs: Sequence[Mapping[str, str]]) -> bool:
    """Whether measured times say something about a model: it is one of them, or as large."""
    if any(one["model"] == piece.name for one in costs):
        return True
    subject = piece.subject
    if subject is None or not names_a_model(subject.source):
        return False
    return sum(file.stat().st_size for file in files_of(subject.source)) >= LARGE


def largest(costs: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return what took longest."""
    return sorted(costs, key=lambda one: -float(one["seconds"]))[:1]


def memory_words(pieces: Sequence[Piece], workers: int = 1) -> str:
    """Say how much memory is needed at most, and how much there is."""
    need = f"at most about {memory_needed(pieces, workers) / GIB:.1f} GiB of memory"
    free = available_memory()
    return need if free is None else f"{need} of {free / GIB:.1f} GiB that are free"


# Bytes of memory for each byte of a file of weights: both may be there in float32 twice. Files hold
# two bytes a number or more, and quantised ones half a byte.
READING, QUANTISED, TRAINING = 4, 16, 3

# What data, Python and torch take beside the weights; and a model whose files are not here yet.
BASE, UNKNOWN = 2**30, 4 * 2**30


def memory_needed(pieces: Sequence[Piece], workers: int = 1) -> int:
    """Estimate the memory in bytes of so many pieces at a time, if these are the largest."""
    return sum(sorted(map(memory_of, pieces), reverse=True)[:workers])


def memory_of(piece: Piece) -> int:
    """Estimate the memory of a study on a model; no model is opened for it."""
    subject = piece.subject
    if subject is None or not isinstance(subject.source, str | Path):
        return BASE
    if str(subject.source).startswith((PRETRAIN, MADE_MODEL)):
        return BASE
    files = files_of(subject.source)
    if not files:
        return UNKNOWN
    quantised = any(file.suffix == ".gguf" for file in files)
    size = sum(file.stat().st_size for file in files) * (QUANTISED if quantised else READING)
    # Quantised weights are not trained: such a study ends before it begins.
    return BASE + size * (TRAINING if piece.study.trains and not quantised else 1)
