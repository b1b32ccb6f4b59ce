"""Every study: an experiment of a paper as a short recipe with claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.compute.execution import LOCAL
from isoscope.errors import unknown_name
from isoscope.measures.registry import all_measures
from isoscope.studies.reference import misprints

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.compute.stage import Progress
    from isoscope.data.texts.base import TextSource
    from isoscope.models.checkpoints import Every
    from isoscope.results.result import Result
    from isoscope.studies.claims import Claim
    from isoscope.studies.scales import Scale


Key: TypeAlias = tuple[str, str, str, str]
"""Subject, part, correction and measure of a printed number."""


@dataclass(frozen=True)
class Subject:
    """A model that a study looks at: its name in the result, and where its vectors are."""

    name: str
    source: Any


@dataclass(frozen=True)
class TextNeed:
    """What a study reads: the user's text, or the one that the paper read."""

    usual: str
    """What the paper read, in a few words."""
    find: Callable[[Path], TextSource | None] | None = None
    """Finds the paper's own text in the folder of benchmarks; None where it is not there."""
    required: bool = True


@dataclass(frozen=True)
class Checkpoints:
    """Which checkpoints of a training are looked at; see ``isoscope.profiles.profile``."""

    revisions: str | None = None
    every: Every = None
    keep: int | None = None
    cache: Path | None = None


@dataclass(frozen=True)
class Request:
    """What a recipe gets."""

    subjects: tuple[Subject, ...]
    data: Path | None
    seed: int
    progress: Progress | None
    column: str | None
    words: Mapping[str, Any]
    """How words are found: the options of ``isoscope.tasks.evaluate``."""
    text: TextSource | None = None
    """What models read, for studies of layers."""
    checkpoints: Checkpoints = Checkpoints()
    """Which checkpoints of a model are looked at, for studies of training."""
    dtype: str | None = None
    device: str | None = None
    """In what and where models compute, as ``isoscope.open_model`` takes it."""
    last_unused: int | None = None
    """How many of the last rows stand for tokens that were never used (B-F3)."""
    tasks: tuple[str, ...] = ()
    """The sets that the user asked for; empty for all that are there."""
    scale: str = ""
    """How large a study that trains is, one of its scales; empty for other studies."""
    reuse: tuple[Path, ...] = ()
    """Results of finished runs that are taken instead of training."""
    folder: Path | None = None
    """Where a run may leave what it can go on from, and models that other studies use too; None
    for nowhere."""
    again: bool = False
    """Whether trainings are run that the folder has already."""
    engine: str = LOCAL
    workers: int | None = None
    """Who reads the texts, as ``isoscope.profiles.profile`` takes it."""
    shared: list[str] = field(default_factory=list)
    """Filled by recipes: what the workers shared."""

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

    def paper_name(self, subject: str) -> str:
        """Return what the paper calls a model, or the name as it is."""
        for model in self.models:
            names = model.split("|")
            if subject.casefold() in {name.casefold() for name in names}:
                return names[0]
        return subject

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
        return DOCUMENTS[self.id[0]]

    @property
    def misprints(self) -> list[dict[str, str]]:
        """What is known to be misprinted in its table."""
        return misprints(self.id)


DOCUMENTS = {
    "B": "Biś et al. (2021)",
    "R": "Rajaee & Pilehvar (2021)",
    "D": "Ding et al. (2022)",
    "L": "Luo (2021)",
    "P": "Machina & Mercer (2024)",
}
"""The documents by the first letter of an id."""

_STUDIES: dict[str, Study] = {}


def register(study: Study) -> Study:
    """Add a study; an id can be taken once."""
    if study.id in _STUDIES:
        raise ValueError(f"the study {study.id} is registered twice")
    _STUDIES[study.id] = study
    return study


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
