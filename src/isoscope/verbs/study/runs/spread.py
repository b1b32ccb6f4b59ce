"""Several studies at a time: each study on each model is a piece of work for a pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isoscope.compute.pool import BadShard, Pool, Tick, no_tick
from isoscope.results.result import Result
from isoscope.verbs.study.api import judged
from isoscope.verbs.study.registry import find_study
from isoscope.verbs.study.runs.folder import Outcome, StudyFolder
from isoscope.verbs.study.runs.pieces import WHOLE, Piece, pieces_of


@dataclass(frozen=True)
class StudyShard:
    """A study, and one of its models, on their way to a worker."""

    study: str
    """Its id."""
    name: str = WHOLE
    """The model."""


@dataclass(frozen=True)
class StudyWork:
    """Runs a study on a model into a folder, which all workers see."""

    folder: str
    sources: Mapping[str, Sequence[Any]]
    again: bool
    options: Mapping[str, Any]

    def __call__(self, shard: StudyShard, tick: Tick) -> tuple[str, bool, str, bool]:
        """Return the record as JSON, whether it was known, why there is none, what it replaced."""
        del tick
        study = find_study(shard.study)
        pieces = pieces_of(study, self.sources[shard.study], self.options)
        piece = next(piece for piece in pieces if piece.name == shard.name)
        found = StudyFolder(self.folder).run_piece(piece, again=self.again, **self.options)
        content = "" if found.run is None else found.run.result.to_json()
        return content, found.known, found.failure, found.replaced


def run_spread(
    pieces: Sequence[Piece],
    sources: Mapping[str, Sequence[Any]],
    folder: StudyFolder,
    pool: Pool,
    *,
    again: bool,
    **options: Any,
) -> Iterator[Outcome]:
    """Run studies on a pool; yields them as they are done.

    The numbers are those of one thread, whatever the number of workers.

    Parameters
    ----------
    pieces : sequence of Piece
        Studies, model by model.
    sources : mapping
        What every study was asked for, by its id.
    folder : StudyFolder
        Where results go.
    pool : Pool
        Who runs them.
    again : bool
        Run what the folder has already.
    options
        As ``run_study`` takes them.
    """
    work = StudyWork(str(folder.path.absolute()), dict(sources), again, options)
    shards = list(enumerate(StudyShard(piece.study.id, piece.name) for piece in pieces))
    for number, found in pool.run(work, shards, no_tick):
        piece = pieces[number]
        if isinstance(found, BadShard):
            found = "", False, found.message, False
        # A result travels as JSON: the functions of a study cannot be pickled.
        content, known, failure, replaced = found
        if failure:
            yield Outcome(piece.study, None, failure=failure, name=piece.name)
            continue
        run = judged(piece.study, Result.from_json(content))
        if not folder.file_of(piece.study).is_file():  # the worker's folder is not this one
            run.save(folder.file_of(piece.study))
        yield Outcome(piece.study, run, known, name=piece.name, replaced=replaced)
