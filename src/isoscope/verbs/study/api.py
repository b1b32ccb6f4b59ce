"""Running a study: its recipe on the user's models, then its claims on what came out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.compute.execution import LOCAL
from isoscope.data.output import write_atomically
from isoscope.errors import IsoscopeError, UsageError
from isoscope.models.model import MODELS
from isoscope.results.destination import check_ending
from isoscope.results.fields import REMARKS, SETTINGS
from isoscope.results.merge import joined_without_verdicts
from isoscope.results.result import SCHEMA_VERSION, Result, Row
from isoscope.tasks.registry import data_folder
from isoscope.verbs.study.inputs import (
    SPARE,
    chosen_tasks,
    find_text,
    is_a_transformer,
    one_model_kept,
    open_subject,
    some_texts,
)
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.judge import in_scope, judge_claims
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.scope import FACTS, MADE, VECTORS, Facts, describe_model
from isoscope.verbs.study.judgement.verdicts import NOT_RUN_FIELD, Verdict
from isoscope.verbs.study.records.seeds import agreed, of_other_seeds, with_seed_spread
from isoscope.verbs.study.registry import (
    MINI,
    PRETRAIN,
    Checkpoints,
    Request,
    Scale,
    Study,
    Subject,
    all_studies,
    called,
    chosen_scale,
    find_study,
    finished_runs,
)
from isoscope.verbs.study.text import study_markdown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.models.checkpoints import Every
    from isoscope.progress import Progress


__all__ = ["Claim", "Study", "StudyRun", "Verdict", "all_studies", "find_study", "run_study"]

# What a recipe says of a result as a whole.
KEPT = (MODELS, SETTINGS, REMARKS, NOT_RUN_FIELD, FACTS)

# Sources that a study makes itself.
MADE_MODEL = "made:"

# Texts that are read of what stands in for a paper's own.
SPARE_TEXTS = 300


@dataclass(frozen=True)
class StudyRun:
    """What a study found: figures, and a verdict for every claim."""

    study: Study
    result: Result
    verdicts: tuple[Verdict, ...]

    def to_markdown(self) -> str:
        """Return figures, printed values and claims for a person."""
        return study_markdown(self.study, self.result, self.verdicts)

    def to_json(self) -> str:
        """Return the result as JSON, which ``Result.load`` reads, with study and claims in it."""
        return self.result.to_json()

    def save(self, path: str | Path) -> None:
        """Write JSON, or Markdown when the name ends in ``.md``; atomically."""
        target = Path(path)
        check_ending(target)
        text = self.to_markdown() if target.suffix.lower() == ".md" else self.to_json()
        write_atomically(target, text + "\n")


def run_study(
    study: str | Study,
    sources: Sequence[Any] | Sources = (),
    *,
    data: str | Path | None = None,
    column: str | None = None,
    words: str | None = None,
    vocabulary: str | Path | None = None,
    lowercase: bool = False,
    prefix: str = "",
    text: Any = None,
    text_column: str | None = None,
    sample: int | None = None,
    revisions: str | None = None,
    every: Every = None,
    keep: int | None = None,
    cache: str | Path | None = None,
    dtype: str | None = None,
    device: str | None = None,
    last_unused: int | None = None,
    tasks: str | None = None,
    scale: str | None = None,
    reuse: Sequence[str | Path] = (),
    folder: str | Path | None = None,
    again: bool = False,
    engine: str = LOCAL,
    workers: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: str = "",
) -> StudyRun:
    """Run one experiment of a paper on one's own models.

    Parameters
    ----------
    study : str
        Id from ``isoscope study list``.
    sources : sequence
        What ``isoscope.open_cloud`` takes, or ``isoscope.open_model`` for studies of models;
        ``NAME=SOURCE`` names a model, so that the claims know whether it is one of the paper's.
        Where a study needs one and none is named, it takes those of its scale that are at hand.
    data : str or Path, optional
        Folder with benchmarks; by default the environment variable ``ISOSCOPE_DATA``.
    column, words, vocabulary, lowercase, prefix
        How vectors and words are found, as for ``isoscope.tasks.evaluate``; the same for every
        source.
    text : str, Path, list of str or TextSource, optional
        What ``isoscope.data.texts.open_texts`` takes, for studies of layers; by default the
        paper's own text from the folder of benchmarks.
    text_column : str, optional
        Which column of a table holds the texts.
    sample : int, optional
        Read a random sample of this many texts; of a study of sentence pairs, so many pairs of
        every set, and of a study of verbs so many occurrences, of whole verbs.
    revisions, every, keep, cache : optional
        Which checkpoints are looked at, and where they are kept, as for
        ``isoscope.profile``; for studies of training.
    dtype, device : str, optional
        In what and where models compute, as for ``isoscope.open_model``.
    last_unused : int, optional
        Let this many of the last rows stand for unused tokens (B-F3), where the vocabulary has
        no ``[unused…]``.
    tasks : str, optional
        Names with commas of the sets to score, for studies of several; by default those of its
        sets whose data are in the folder.
    scale : str, optional
        ``mini`` takes what is at hand, ``paper`` the paper's own models, where no source is named;
        also how large a study that trains is. By default the first that the study has.
    reuse : sequence of path
        Results of ``isoscope train finetune --out`` whose runs are taken instead of training.
    folder : str or Path, optional
        Where trainings are kept, so that a killed one goes on and a finished one is read again.
    again : bool
        Run trainings that the folder has already.
    engine, workers : str and int, optional
        Who reads the texts of a study that profiles models, as for ``isoscope.profile``.
    seed : int
        Of all that is drawn at random.
    progress : callable, optional
        Called with the name of a read, rows done, and rows in all.
    command : str
        Kept in the result, so that it can be made again.
    """
    chosen = find_study(study) if isinstance(study, str) else study
    taken = sources_of(chosen, sources, reuse, scale)
    if not chosen.training and (revisions, every, keep, cache) != (None,) * 4:
        raise UsageError(f"{chosen.id} looks at no checkpoints; leave --revisions and others out")
    options = taken.options
    sample = options.get("sample") if sample is None else sample
    # Checkpoints are chosen by both together: one of the user's and one of the scale's would mix.
    if revisions is None and every is None:
        revisions, every = options.get("revisions"), options.get("every")
    benchmarks = data_folder(data)
    read = None
    if not taken.finished:
        # Only the mini scale reads a text of a package: the paper's scale must have the paper's. A
        # paper that read a text that no folder of benchmarks has leaves no other.
        nowhere = chosen.text is not None and chosen.text.find is None
        spare = taken.scale == MINI and (taken.usual or nowhere)
        read = find_text(chosen, text, text_column, benchmarks, spare=spare)
        if text is None and read is not None and read.name == SPARE:
            usual = chosen.scales[MINI].options.get("sample", SPARE_TEXTS)
            sample = sample or int(usual)
        if read is not None and sample is not None:
            read = some_texts(read, sample, seed)
    lowercase = lowercase or bool(options.get("lowercase"))
    request = Request(
        subjects=taken.subjects,
        data=benchmarks,
        seed=seed,
        progress=progress,
        column=column,
        words={
            "words": words, "vocabulary": vocabulary, "lowercase": lowercase, "prefix": prefix
        },
        text=read,
        sample=sample,
        checkpoints=Checkpoints(revisions, every, keep, None if cache is None else Path(cache)),
        dtype=dtype,
        device=device,
        last_unused=last_unused,
        tasks=chosen_tasks(chosen, options.get("tasks") if tasks is None else tasks),
        scale=taken.scale,
        reuse=taken.finished,
        folder=None if folder is None else Path(folder),
        again=again,
        engine=engine,
        workers=workers,
    )  # fmt: skip
    result = with_printed(found_by(chosen, request), chosen)
    if request.shares_work and not request.shared:
        warnings.warn(
            f"{chosen.id} has no work that workers could share: it ran in this process; only "
            "several studies are distributed",
            stacklevel=2,
        )
    # Other fields, such as the kind of a result, are about the call that the recipe made.
    about = {"id": chosen.id, "title": chosen.title, "paper": chosen.paper}
    kept = {name: result.extra[name] for name in KEPT if name in result.extra}
    if taken.absent:
        said = [f"left out: {source}, which is not installed" for source in taken.absent]
        kept[REMARKS] = [*kept.get(REMARKS, []), *said]
    extra = {"study": about, **kept}
    return judged(chosen, replace(result, seeds={"seed": seed}, command=command, extra=extra))


def found_by(study: Study, request: Request) -> Result:
    """Run a recipe on one model after the other, and add what is known about each.

    A model that lacks what the study needs is noted, and does not keep the others from it; where
    none has it, the study does not run.
    """
    subjects = request.subjects
    if not study.sources or not subjects:
        found = [found_alone(study, request)]
    else:
        found, failed = [], {}
        for subject in subjects:
            try:
                found.append(found_alone(study, replace(request, subjects=(subject,))))
            except IsoscopeError as error:
                failed[subject.name] = str(error)
                last = error
        if not found:
            raise last
        if failed:
            facts = {one.name: facts_about(one).to_dict() for one in subjects if one.name in failed}
            found.append(Result([], extra={NOT_RUN_FIELD: failed, FACTS: facts}))
    return over_all_models(study, together(found))


def found_alone(study: Study, request: Request) -> Result:
    """Run a recipe on the models of a request, and describe them; each is opened once."""
    with one_model_kept():
        result = study.recipe(request)
        facts = {one.name: facts_asked(one, request).to_dict() for one in request.subjects}
    if study.trains:
        # Finished runs say which model they trained, which need not be here any more.
        trained = {row.subject for row in result.rows} - {*facts, "", ALL_MODELS}
        facts |= dict.fromkeys(sorted(trained), MADE.to_dict())
    return replace(result, extra={**result.extra, FACTS: facts})


def together(results: Sequence[Result]) -> Result:
    """Put what was found of several models together; every remark is kept once."""
    result = joined_without_verdicts(results)
    remarks = [remark for one in results for remark in one.extra.get(REMARKS, [])]
    if remarks:
        result = replace(result, extra={**result.extra, REMARKS: list(dict.fromkeys(remarks))})
    return result


def over_all_models(study: Study, result: Result) -> Result:
    """Add the figures over models, such as a correlation, in place of those of fewer models."""
    if study.over_models is None:
        return result
    single = [row for row in result.rows if row.subject != ALL_MODELS]
    # Models that the claim is not about would change a figure over models.
    alone = in_scope(study.claims, replace(result, rows=single), study.models)
    return with_printed(replace(result, rows=[*single, *study.over_models(alone)]), study)


def facts_asked(subject: Subject, request: Request) -> Facts:
    """Describe a subject as a request has it: a user may say which tokens are unused."""
    facts = facts_about(subject)
    return facts if request.last_unused is None else replace(facts, unused_tokens=True)


def facts_about(subject: Subject) -> Facts:
    """Describe a subject: a model that can be opened, vectors, or what isoscope trains itself."""
    if str(subject.source).startswith((PRETRAIN, MADE_MODEL)):
        return MADE
    if not is_a_transformer(subject):
        return VECTORS
    try:
        return describe_model(open_subject(subject))
    except IsoscopeError:
        # A folder of checkpoints is a training, and a missing model was noted by the recipe.
        return Facts("transformer")


@dataclass(frozen=True)
class Sources:
    """What a study takes: the user's sources, those of a scale, or finished runs.

    Attributes
    ----------
    scale : str
        The scale that is asked for, or the usual one.
    subjects : tuple of Subject
        Models or vectors.
    finished : tuple of Path
        Results of runs that are taken instead.
    usual : bool
        Whether the sources are those of the scale.
    absent : tuple of str
        Sources of the scale whose packages are not installed.
    options : mapping
        Options of the scale, where it is the user's choice or brought the sources.
    """

    scale: str
    subjects: tuple[Subject, ...]
    finished: tuple[Path, ...]
    usual: bool
    absent: tuple[str, ...]
    options: Mapping[str, Any]


def sources_of(
    study: Study, sources: Sequence[Any] | Sources, reuse: Sequence[str | Path], scale: str | None
) -> Sources:
    """Return what a study takes, and refuse what does not go together."""
    if isinstance(sources, Sources):
        return sources
    finished = finished_runs(study, reuse, sources=bool(sources), scale=scale)
    size = chosen_scale(study, scale)
    scaled = study.scales.get(size, Scale())
    # What needs no source, such as a toy, takes one only where a scale is asked for.
    usual = not sources and not finished and (study.sources or scale is not None)
    absent: tuple[str, ...] = ()
    if usual:
        sources, absent = scaled.at_hand
        if absent and not sources:
            raise UsageError(f"{study.id}: {absent[0]} is not installed; name a source")
    subjects = tuple(as_subject(source) for source in sources)
    names = [subject.name.casefold() for subject in subjects]
    if len(set(names)) != len(names):
        raise UsageError(
            "two sources have the same name; give them different names with NAME=SOURCE"
        )
    if study.sources and not subjects and not finished:
        raise UsageError(f"{study.id} needs {study.needs}; name at least one source")
    if subjects and not (study.sources or study.may_have_sources):
        raise UsageError(f"{study.id} makes its own vectors; leave the sources out")
    # What belongs to a scale is not pressed upon sources that a user chose.
    options = scaled.options if usual or scale is not None else {}
    return Sources(size, subjects, finished, usual, absent, options)


def judged(study: Study, result: Result) -> StudyRun:
    """Judge the claims of a study on figures, and keep the verdicts with them."""
    verdicts = judge_claims(study.claims, result, study.models)
    others = [judge_claims(study.claims, one, study.models) for one in of_other_seeds(result)]
    verdicts = agreed(verdicts, others)
    claims = [verdict.to_dict() for verdict in verdicts]
    result = with_seed_spread(result)
    extra = {**result.extra, "claims": claims}
    # Files of an older schema have outcomes that are no longer given.
    return StudyRun(study, replace(result, extra=extra, schema_version=SCHEMA_VERSION), verdicts)


def as_subject(source: Any) -> Subject:
    """Take ``NAME=SOURCE`` apart; a source without a name is called what its file is called."""
    if isinstance(source, Subject):
        return source
    if isinstance(source, str | Path):
        text = str(source)
        name, equals, rest = text.partition("=")
        if equals and name and rest and "/" not in name and not Path(text).exists():
            if name.strip().casefold() in ("", ALL_MODELS):
                raise UsageError(f"{text}: a source cannot be called {name.strip()!r}")
            return Subject(name.strip(), rest)
        return Subject(called(text) or text, text)
    return Subject(getattr(source, "name", "array"), source)


def with_printed(result: Result, study: Study) -> Result:
    """Put the number that the paper prints beside every row that has one."""
    printed = {
        tuple(text.casefold() for text in key): value for key, value in study.printed().items()
    }

    def beside(row: Row) -> Row:
        key = (study.paper_name(row.subject), row.part, row.correction, row.measure)
        value = printed.get(tuple(text.casefold() for text in key))
        return row if value is None else replace(row, extra={**row.extra, "printed": value})

    return replace(result, rows=[beside(row) for row in result.rows])
