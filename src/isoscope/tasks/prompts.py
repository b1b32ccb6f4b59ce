"""Which prompts the texts of a task get, and which of its texts are queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import UsageError
from isoscope.models.sentences.prompts import prompts_of
from isoscope.tasks.datasets.own_pairs import OwnPairProblem
from isoscope.tasks.problems.retrieval import RetrievalProblem

if TYPE_CHECKING:
    from isoscope.models.encode import Encoder
    from isoscope.models.sentences.prompts import Role
    from isoscope.tasks.problem import Problem
    from isoscope.tasks.protocol import FitTexts, SentenceProtocol, TaskPlan
    from isoscope.typing import Places


def with_prompt(encoder: Encoder, protocol: SentenceProtocol, role: Role = "text") -> Encoder:
    """Return an encoder that puts the prompt of one kind of text in front of all texts."""
    return encoder.with_prompts(prompt_for(encoder, protocol, role))


def prompt_for(encoder: Encoder, protocol: SentenceProtocol, role: Role) -> str:
    """Return the prompt that a protocol names, or else the one that such texts usually get."""
    given = protocol.query_prompt if role == "query" else protocol.prompt
    if given is None and not encoder.has_usual_prompts:
        return ""
    prompts = prompts_of(encoder.model)
    return prompts.usual(role) if given is None else prompts.find(given)


def refuse_prompts(protocol: SentenceProtocol) -> None:
    """Say that only texts have prompts."""
    for name, given in (("prompt", protocol.prompt), ("query-prompt", protocol.query_prompt)):
        if given is not None:
            raise UsageError(f"--{name} is put in front of texts that a model reads; leave it out")


def with_prompts(
    encoder: Encoder, protocol: SentenceProtocol, problem: Problem
) -> tuple[Encoder, Problem, Places | None]:
    """Return an encoder with the prompts of a problem, the problem, and its queries.

    The queries of a search, and the first texts of pairs where a prompt for queries is named, have
    rows of their own even where a document has the same text: with another prompt it is another
    vector.
    """
    if problem.mentions is not None:
        if protocol.prompt is not None or protocol.query_prompt is not None:
            raise UsageError(f"{problem.task} is about words in texts, which have no prompt")
        return encoder.with_prompts(""), problem, None
    pairs = isinstance(problem, OwnPairProblem) and protocol.query_prompt is not None
    if not (pairs or isinstance(problem, RetrievalProblem)):
        if protocol.query_prompt is not None:
            raise UsageError(f"{problem.task} has no queries; name --prompt for all of its texts")
        return with_prompt(encoder, protocol), problem, None
    of_documents, of_queries = (
        prompt_for(encoder, protocol, role) for role in ("document", "query")
    )
    changed = encoder.with_prompts(of_documents, of_queries)
    if isinstance(problem, RetrievalProblem):
        if of_documents == of_queries:
            return changed, problem, None
        texts, rows = own_rows(problem.texts, problem.query_rows, problem.document_rows)
        return changed, replace(problem, texts=texts, query_rows=rows), np.unique(rows)
    assert isinstance(problem, OwnPairProblem)
    texts, rows = own_rows(problem.texts, problem.first, problem.second)
    return changed, replace(problem, texts=texts, first=rows), np.unique(rows)


def own_rows(
    texts: tuple[str, ...], queries: Places, documents: Places
) -> tuple[tuple[str, ...], Places]:
    """Give queries that share a row with a document one of their own, behind all others."""
    shared = np.intersect1d(queries, documents)
    places = np.arange(len(texts))
    places[shared] = len(texts) + np.arange(len(shared))
    return (*texts, *(texts[row] for row in shared)), places[queries]


def with_prompts_of_job(
    encoder: Encoder, protocol: SentenceProtocol, job: TaskPlan
) -> tuple[Encoder, TaskPlan, Places | None]:
    """Return the same for a task that is ready to run; corrections are fitted on documents."""
    changed, problem, queries = with_prompts(encoder, protocol, job.problem)
    ready = replace(job, problem=problem)
    before = job.splits[0].fit
    if isinstance(problem, OwnPairProblem) and queries is not None and before is not None:
        documents = {problem.texts[row] for row in problem.second}
        of_queries = {problem.texts[row] for row in queries} - documents
        splits = tuple(one._replace(fit=without_queries(one.fit, of_queries)) for one in job.splits)
        assert splits[0].fit is not None
        told, tells = (
            fit.describe(protocol.correct_at, len(splits)) for fit in (before, splits[0].fit)
        )
        words = tuple(tells if word == told else word for word in job.words)
        ready = replace(ready, splits=splits, words=words)
    return changed, ready, queries


def without_queries(fit: FitTexts | None, queries: set[str]) -> FitTexts | None:
    """Leave out texts that are queries alone, whose prompt is another."""
    if fit is None:
        return None
    return replace(fit, texts=tuple(text for text in fit.texts if text not in queries))
