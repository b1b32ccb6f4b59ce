"""What is asked of studies, model by model, and as the folder of results keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isoscope.tasks.registry import data_folder
from isoscope.verbs.study.api import MADE_MODEL, Sources, as_subject, sources_of
from isoscope.verbs.study.inputs import stamp
from isoscope.verbs.study.registry import PRETRAIN, Study, Subject, all_studies, chosen_scale
from isoscope.version import __version__

# Name of a part about no single model.
WHOLE = "study"

# Options that change no number, or not on purpose.
NOT_ASKED = ("progress", "command", "device", "engine", "workers", "seeds")


@dataclass(frozen=True)
class Piece:
    """A study on one of the models that it was asked for."""

    study: Study
    taken: Sources
    """The model by itself; nothing where the study makes its own vectors."""

    @property
    def name(self) -> str:
        """The model, or a word for the study as a whole."""
        return self.taken.subjects[0].name if len(self.taken.subjects) == 1 else WHOLE

    @property
    def subject(self) -> Subject | None:
        """The model, where it is about one."""
        return self.taken.subjects[0] if self.name != WHOLE else None


def pieces_of(study: Study, sources: Sequence[Any], options: Mapping[str, Any]) -> list[Piece]:
    """Return a study model by model; what makes no sense is refused."""
    taken = sources_of(study, sources, options.get("reuse") or (), options.get("scale"))
    if not taken.subjects:
        return [Piece(study, taken)]
    return [Piece(study, replace(taken, subjects=(subject,))) for subject in taken.subjects]


def trains_its_own(study: Study) -> bool:
    """Whether a study looks at models that isoscope trains for it, unless told otherwise."""
    scale = next(iter(study.scales.values()), None)
    own = (PRETRAIN, MADE_MODEL)
    return scale is not None and any(source.startswith(own) for source in scale.sources)


def fitting_sources(study: Study, studies: Sequence[Study], sources: Sequence[str]) -> list[str]:
    """Return the sources that a study takes; of all studies, some train models of their own."""
    if len(studies) == len(all_studies()) and trains_its_own(study):
        own = (PRETRAIN, MADE_MODEL)
        return [one for one in sources if str(as_subject(one).source).startswith(own)]
    return list(sources)


def own_options(study: Study, options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out options that a study has no use for, where others were asked for with it."""
    idle: list[str] = []
    idle += ["text", "text_column"] if study.text is None else []
    idle += ["tasks"] if not study.tasks else []
    idle += ["revisions", "every", "keep", "cache"] if not study.training else []
    return {name: value for name, value in options.items() if name not in idle}


def described(
    sources: Sequence[Any] | Sources, options: Mapping[str, Any], study: Study | None = None
) -> dict[str, Any]:
    """Return all that decides what a study computes, as JSON holds it."""
    # The folder of data may be named by the environment.
    whole = {**options, "data": data_folder(options.get("data"))}
    given = {name: stamp(value) for name, value in whole.items() if name not in NOT_ASKED and value}
    if isinstance(sources, Sources):
        named: Sequence[Subject] = sources.subjects
        given |= {"usual": True} if sources.usual else {}
    else:
        named = [as_subject(source) for source in sources]
    taken = [[subject.name, stamp(subject.source)] for subject in named]
    if not taken and study is not None and not options.get("reuse"):
        scale = study.scales.get(chosen_scale(study, options.get("scale")))
        taken = [] if scale is None else [[source, source] for source in scale.at_hand[0]]
    return {"isoscope": __version__, "sources": taken, **given}
