"""What was asked of no study, or did not finish: it is *not run*, and is not left out.

Every study stands for every transformer that any record knows; what a claim says about such a model
is then either not applicable, by its scope, or not run. This is made when pages are made, from the
records and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.models.model import MODELS
from isoscope.results.result import Result
from isoscope.verbs.study.api import as_subject, judged
from isoscope.verbs.study.judgement.scope import FACTS, MADE
from isoscope.verbs.study.judgement.verdicts import NOT_RUN_FIELD
from isoscope.verbs.study.records.provenance import MADE as MADE_BY
from isoscope.verbs.study.registry import Study, all_studies
from isoscope.verbs.study.runs.pieces import WHOLE, trains_its_own
from isoscope.verbs.study.text import SOURCES

if TYPE_CHECKING:
    from isoscope.verbs.study.api import StudyRun

NOT_ASKED = "has not been run"


def completed(runs: Sequence[StudyRun]) -> list[StudyRun]:
    """Return a run of every study, in which every known transformer has its place."""
    known, sources = transformers(runs), sources_of_models(runs)
    found = {run.study.id: run for run in runs}
    return [
        with_missing(
            study, found[study.id].result if study.id in found else Result([]), known, sources
        )
        for study in all_studies()
    ]


def sources_of_models(runs: Sequence[StudyRun]) -> dict[str, str]:
    """Return where the records have their models from, by name."""
    return {
        name: str(about["source"])
        for run in runs
        for name, about in run.result.extra.get(MODELS, {}).items()
        if about.get("source")
    }


def transformers(runs: Sequence[StudyRun]) -> dict[str, dict[str, Any]]:
    """Return the models that any record knows the structure of, in the order of their names.

    Where records differ, because a later version looked closer, the newest one counts; of one day,
    the one that knows a stored copy of a tied matrix for what it is.
    """
    known = sorted(
        (
            (name, str(run.result.extra.get(MADE_BY, {}).get(name, {}).get("date", "")), facts)
            for run in runs
            for name, facts in run.result.extra.get(FACTS, {}).items()
            if facts.get("kind") == "transformer" and facts.get("family")
        ),
        key=lambda one: (one[0].casefold(), one[1], one[2].get("tied") is True),
    )
    return {name: facts for name, _, facts in known}


def with_missing(
    study: Study, result: Result, known: dict[str, dict[str, Any]], sources: Mapping[str, str]
) -> StudyRun:
    """Give the models that a study was not run on their place among those that it was not."""
    facts = dict(result.extra.get(FACTS, {}))
    wanted: dict[str, dict[str, Any]] = {}
    if trains_its_own(study) or not (study.sources or study.may_have_sources):
        # Nobody has the checkpoints of the other models; its own training is missed.
        if not result.rows:
            wanted = dict.fromkeys(own_names(study), MADE.to_dict())
    else:
        wanted = known
        facts |= {name: about for name, about in known.items() if name in facts}
    there = {row.subject for row in result.rows} | {*result.extra.get(NOT_RUN_FIELD, {})}
    missing = {name: about for name, about in wanted.items() if name not in there}
    extra = {
        "study": {"id": study.id, "title": study.title, "paper": study.paper},
        **result.extra,
        FACTS: {**facts, **missing},
    }
    if missing:
        failed = result.extra.get(NOT_RUN_FIELD, {})
        # A study that is about no single model may have failed as a whole.
        reason = failed.get(WHOLE, NOT_ASKED)
        extra[NOT_RUN_FIELD] = {**failed, **dict.fromkeys(missing, reason)}
        extra[SOURCES] = {name: sources[name] for name in missing if name in sources}
    return judged(study, replace(result, extra=extra))


def own_names(study: Study) -> list[str]:
    """Return the names of what a study looks at where nobody brings a model."""
    scale = next(iter(study.scales.values()), None)
    if study.sources and scale is not None:
        return [as_subject(source).name for source in scale.sources]
    return [name.split("|")[0] for name in study.models] or [study.id]
