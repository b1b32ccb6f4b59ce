"""A folder of studies: a part for each model, put together to one record for each study.

``studies/parts/B-T1/minilm.json`` is what B-T1 found on one model; with several seeds, those after
the first are beside it. ``studies/B-T1.json`` is all parts together, with figures over models and
the verdicts. Models can be run at different times, or by different processes: a later run adds its
model. A part is taken again where the same was asked: the same study, source, options and seed, by
the same version of isoscope. Files and folders that a user names are known by sizes and times.

A study that could not run on a model leaves a part as well, with the reason; it is tried again by
the next run, and never replaces figures.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isoscope.data.location import redacted
from isoscope.data.output import cannot_be_written
from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.results.result import NewerSchemaError, Result, load_result
from isoscope.tasks.registry import data_folder
from isoscope.verbs.study.api import (
    Sources,
    StudyRun,
    facts_about,
    judged,
    over_all_models,
    run_study,
    together,
)
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.scope import FACTS
from isoscope.verbs.study.judgement.verdicts import NOT_RUN_FIELD
from isoscope.verbs.study.records.provenance import (
    MADE,
    clocked,
    digest_of,
    provenance,
)
from isoscope.verbs.study.records.seeds import OTHER_SEEDS, as_other_seed
from isoscope.verbs.study.records.store import ENDING, load_record
from isoscope.verbs.study.registry import (
    Study,
    Subject,
    find_study,
    turn,
)
from isoscope.verbs.study.runs.pieces import WHOLE, Piece, described, own_options, pieces_of

# Where studies are looked for, and several are kept, unless a user says otherwise.
USUAL = "studies"

# Field of a result that says what was asked for.
ASKED = "asked"

# Folders inside: for what trainings leave, and for the parts of studies.
WORK, PARTS = "work", "parts"

# Name of the part that a record of before there were parts becomes.
EARLIER = "earlier"

# Stands between the name of a part and its seed, where it is not the first.
SEED_MARK = "~"


@dataclass(frozen=True)
class Outcome:
    """What became of a study on a model."""

    study: Study
    run: StudyRun | None
    """All that is known of the study; None where it did not run."""
    known: bool = False
    """Whether its result was there already."""
    failure: str = ""
    name: str = WHOLE
    """The model."""
    replaced: bool = False
    """Whether an answer to another question was there."""


class StudyFolder:
    """Results of studies in a folder.

    Parameters
    ----------
    path : str or Path
        The folder; it is made when the first result is kept.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def file_of(self, study: Study) -> Path:
        """Return where the record of a study is kept."""
        return self.path / f"{study.id}.json"

    def part_of(self, piece: Piece, seed: int | None = None) -> Path:
        """Return where what was found of one model is kept."""
        name = file_name(piece.name) + ("" if seed is None else f"{SEED_MARK}{seed}")
        return self.path / PARTS / piece.study.id / f"{name}.json"

    def run(
        self, study: Study, sources: Sequence[Any], *, again: bool = False, **options: Any
    ) -> tuple[StudyRun, bool]:
        """Run a study on every model, or take what the same question gave before.

        Returns
        -------
        tuple of StudyRun and bool
            All that the folder has of the study, and whether it was there already.

        Raises
        ------
        UsageError
            Where it could run on no model.
        """
        outcomes = [
            self.run_piece(piece, again=again, **options)
            for piece in pieces_of(study, sources, options)
        ]
        if all(outcome.failure for outcome in outcomes):
            raise UsageError(outcomes[0].failure)
        run = self.record(study)
        assert run is not None
        return run, all(outcome.known for outcome in outcomes)

    def run_piece(
        self,
        piece: Piece,
        *,
        again: bool = False,
        seeds: int = 1,
        seed: int = 0,
        several: bool = False,
        **options: Any,
    ) -> Outcome:
        """Run a study on one model with every seed, unless it is there already.

        What fails leaves a part that says so, and an outcome with the reason. One of ``several``
        studies passes over the options that are for others of them.
        """
        if several:
            options = own_options(piece.study, options)
        self.prepare()
        try:
            self.keep_earlier(piece.study)
        except UsageError as error:  # a record that cannot be read, which stays as it is
            return Outcome(piece.study, None, failure=str(error), name=piece.name)
        # A training repeats itself with seeds of its own.
        count = 1 if piece.study.trains else seeds
        known, values = True, []
        replaced = False
        for k in range(count):
            path = self.part_of(piece, None if k == 0 else seed + k)
            asked = described(piece.taken, {**options, "seed": seed + k}, piece.study)
            try:
                found = None if again else finished(path, asked)
            except UsageError as error:  # a part of a newer version, which stays as it is
                return Outcome(piece.study, None, failure=str(error), name=piece.name)
            if found is None:
                known = False
                replaced |= not again and has_figures(path)
                try:
                    found = self._made(piece, asked, {**options, "seed": seed + k, "again": again})
                except Exception as error:  # one study must not stop the others, whatever happened
                    failure = said(error)
                    self.keep_failure(piece.study, piece.taken.subjects, failure, options)
                    return Outcome(piece.study, None, failure=failure, name=piece.name)
                save(found, path)
            values.append([(row.value, row.low, row.high) for row in found.rows])
            if k == 1 and values[0] == values[1]:
                break  # nothing is drawn at random
        try:
            run = self.record(piece.study)
        except DataError as error:  # the part of another model is damaged; this one is kept
            return Outcome(piece.study, None, failure=str(error), name=piece.name)
        return Outcome(piece.study, run, known, name=piece.name, replaced=replaced)

    def _made(self, piece: Piece, asked: Mapping[str, Any], options: Mapping[str, Any]) -> Result:
        """Run a study on one model, and note how."""
        with clocked() as spent:
            run = run_study(piece.study, piece.taken, folder=self.path / WORK, **options)
        extra = {name: value for name, value in run.result.extra.items() if name != "claims"}
        made = made_by(piece, spent, options)
        rows = run.result.rows
        if piece.study.over_models is not None:  # the record has them over all its models
            rows = [row for row in rows if row.subject != ALL_MODELS]
        extra |= {ASKED: asked, MADE: {piece.name: made}}
        return replace(run.result, rows=rows, extra=extra)

    def keep_failure(
        self, study: Study, subjects: Sequence[Subject], why: str, options: Mapping[str, Any]
    ) -> None:
        """Leave a part that says why there are no figures, where there were none before."""
        for subject in subjects or (None,):
            alone = () if subject is None else (subject,)
            piece = Piece(study, Sources("", alone, (), False, (), {}))
            path = self.part_of(piece)
            if has_figures(path):
                continue
            facts = {one.name: facts_about(one).to_dict() for one in alone}
            extra = {
                "study": {"id": study.id, "title": study.title, "paper": study.paper},
                NOT_RUN_FIELD: {piece.name: why}, FACTS: facts,
                MADE: {piece.name: made_by(piece, {}, options)},
            }  # fmt: skip
            save(Result([], command=str(options.get("command", "")), extra=extra), path)
        with suppress(DataError):  # of a damaged part of another model
            self.record(study)

    def keep_earlier(self, study: Study) -> None:
        """Make a record of before there were parts a part, so that the next record has it too.

        A record that cannot be read may be all that there is of a long run: it is refused. Where
        there are parts a damaged record is made anew from them, but not one of a newer version.
        """
        folder, file = self.path / PARTS / study.id, self.file_of(study)
        if not file.is_file():
            return
        try:
            result = load_result(file)
        except DataError as error:
            if folder.is_dir() and not isinstance(error, NewerSchemaError):
                return
            raise UsageError(f"{error}; move it away, or name another folder with --out") from error
        if not folder.is_dir() and isinstance(result.extra.get("study"), dict):
            save(result, folder / f"{EARLIER}.json")

    def record(self, study: Study) -> StudyRun | None:
        """Put the parts of a study together, and keep them as its record; None without any."""
        run = self.joined(study)
        if run is not None:
            run.save(self.file_of(study))
        return run

    def joined(self, study: Study) -> StudyRun | None:
        """Put the parts of a study together."""
        files = sorted((self.path / PARTS / study.id).glob("*.json"), key=lambda path: path.name)
        parts = {path.stem: checked_result(path) for path in files}
        if not parts:
            return None
        with as_recorded(self.path / PARTS / study.id):
            return joined_parts(study, parts)

    def prepare(self) -> None:
        """Make the folder, before any work is done for it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(cannot_be_written(self.path, error)) from error

    def sound_runs(self) -> Iterator[StudyRun]:
        """Give out every record that can be read."""
        for study in self._studies():
            with suppress(DataError):
                yield self._run_of(study)

    def runs(self) -> Iterator[StudyRun]:
        """Give out every record, paper by paper; other files are passed over.

        Parts are put together here as well, in case two processes added models at the same time.
        """
        if not self.path.is_dir():
            raise UsageError(f"{self.path}: there is no such folder of studies")
        found = self._studies()
        if not found:
            raise UsageError(
                f"{self.path} holds no results of studies; isoscope study run ID… --out "
                f"{self.path} makes them"
            )
        yield from [self._run_of(study) for study in found]

    def _studies(self) -> list[Study]:
        """Return the studies that the folder has anything of."""
        paths = (
            *self.path.glob("*.json"), *self.path.glob(f"*{ENDING}"), *self.path.glob(f"{PARTS}/*")
        )  # fmt: skip
        found = {study.id: study for study in map(study_of, paths) if study is not None}
        return sorted(found.values(), key=turn)

    def _run_of(self, study: Study) -> StudyRun:
        run = self.joined(study)
        if run is not None:
            return run
        files = (self.file_of(study), self.path / f"{study.id}{ENDING}")
        return load_run(next(path for path in files if path.is_file()))


def joined_parts(study: Study, parts: Mapping[str, Result]) -> StudyRun:
    """Put what was found of several models, and with several seeds, into one record."""
    first = {name: part for name, part in parts.items() if SEED_MARK not in name}
    if EARLIER in first:
        subjects = {row.subject for name, part in first.items() if name != EARLIER
                    for row in part.rows}  # fmt: skip
        old = first.pop(EARLIER)
        first = {EARLIER: replace(old, rows=[r for r in old.rows if r.subject not in subjects]),
                 **first}  # fmt: skip
    others: dict[int, list[Result]] = {}
    for name, part in parts.items():
        base = first.get(name.partition(SEED_MARK)[0])
        if SEED_MARK in name and base is not None and same_but_seed(base, part):
            others.setdefault(int(part.seeds["seed"]), []).append(part)
    result = over_all_models(study, together(once(list(first.values()))))
    # A model that was run again has the command of that run, and not those of before.
    made = result.extra.get(MADE, {}).values()
    commands = dict.fromkeys(about["command"] for about in made if about.get("command"))
    if not commands:
        commands = dict.fromkeys(part.command for part in first.values() if part.command)
    extra = {name: value for name, value in result.extra.items() if name != ASKED}
    if others:
        extra[OTHER_SEEDS] = {
            str(seed): as_other_seed(over_all_models(study, together(once(found))))
            for seed, found in sorted(others.items())
        }
    return judged(study, replace(result, command=" && ".join(commands), extra=extra))


def once(parts: Sequence[Result]) -> list[Result]:
    """Keep figures that stand beside every model, such as those of a toy, in the first part."""
    seen: set[str] = set()
    kept = []
    for part in parts:
        rows = [row for row in part.rows if row.subject not in seen]
        tables = [table for table in part.tables if table.subject not in seen]
        kept.append(replace(part, rows=rows, tables=tables))
        seen |= {row.subject for row in part.rows}
    return kept


def same_but_seed(one: Result, other: Result) -> bool:
    """Whether two parts answer the same question with different seeds."""
    asked = [dict(part.extra.get(ASKED, {}), seed=None) for part in (one, other)]
    return asked[0] == asked[1]


def made_by(piece: Piece, spent: dict[str, float], options: Mapping[str, Any]) -> dict[str, Any]:
    """Say how a part was made: version, machine, seed, command, and digests of what it read."""
    subject = piece.subject
    data = data_folder(options.get("data"))
    return provenance(
        spent,
        seed=options.get("seed", 0),
        command=options.get("command", ""),
        source=None if subject is None else source_words(subject.source),
        digest=None if subject is None else digest_of(subject.source),
        data=None if data is None else digest_of(data),
        text=digest_of(options.get("text")),
    )


def source_words(source: Any) -> str | None:
    """Return how a user named a source, without secrets; None for what is in memory."""
    return redacted(str(source)) if isinstance(source, str | Path) else None


def said(error: Exception) -> str:
    """Return an error in one line; one that nobody expected with its kind."""
    text = " ".join(str(error).split())
    if isinstance(error, IsoscopeError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def has_figures(path: Path) -> bool:
    """Whether a part is there and holds more than why it failed."""
    try:
        return bool(load_result(path).rows)
    except IsoscopeError:
        return False


def save(result: Result, path: Path) -> None:
    """Write a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    result.save(path)


def finished(path: Path, asked: Mapping[str, Any]) -> Result | None:
    """Return what was found before, if the same was asked; what is damaged is made anew."""
    if not path.is_file():
        return None
    try:
        result = load_result(path)
    except NewerSchemaError as error:  # a newer isoscope may still need it
        raise UsageError(f"{error}; name another folder with --out") from error
    except DataError:
        return None
    return result if result.extra.get(ASKED) == asked else None


def file_name(name: str) -> str:
    """Return a name of a model as a name of a file."""
    return re.sub(r"[^\w.+ -]", "_", name).strip() or "_"


def study_of(path: Path) -> Study | None:
    """Return the study whose result a file or folder holds, by its name."""
    try:
        return find_study(path.name.removesuffix(".gz").removesuffix(".json"))
    except UsageError:
        return None


def load_run(path: Path) -> StudyRun:
    """Read a record that a study wrote; its claims are judged anew, on the figures."""
    result = checked_result(path)
    about = result.extra.get("study")
    if not isinstance(about, dict):
        raise DataError(f"{path} is no result of isoscope study run")
    with as_recorded(path):
        return judged(find_study(str(about.get("id"))), result)


@contextmanager
def as_recorded(path: Path) -> Iterator[None]:
    """Refuse in a line what is a result, and was still not written by a study.

    A result keeps anything under ``extra``, and judging takes it for what a study puts there.
    """
    try:
        yield
    except IsoscopeError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} was changed or damaged: it is no record of a study; delete it, and run the "
            "study again"
        ) from error


def checked_result(path: Path) -> Result:
    """Read a part or a record; one that is damaged or half written is refused in a line."""
    try:
        return load_record(path) if path.name.endswith(ENDING) else load_result(path)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(
            f"{path} is not a complete record ({error}); delete it, and run the study again"
        ) from error
    except DataError as error:
        text = str(error)
        raise DataError(text if str(path) in text else f"{path}: {text}") from error
