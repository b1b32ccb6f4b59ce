"""Which prompts the texts of a task get: a search, pairs, other texts, words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from sentence_folders_for_tests import (
    HIDDEN,
    PROMPTS,
    by_the_library,
    dense,
    parts,
    pooling,
    save_sentence_folder,
)
from tiny_models import LAYERS

import isoscope
from isoscope.errors import UsageError
from isoscope.measures.reads.moments import MomentParts
from isoscope.models.model import Model, open_model
from isoscope.models.tokens import Mention
from isoscope.tasks.encoding import encoder_of, open_source
from isoscope.tasks.problems.pairs import ScoredPairs
from isoscope.tasks.problems.retrieval import RetrievalProblem
from isoscope.tasks.prompts import own_rows, with_prompts, with_prompts_of_job
from isoscope.tasks.protocol import SentenceProtocol, job_of
from isoscope.tasks.registry import find_task
from isoscope.tasks.vectors import ground_of

LAST = f"block {LAYERS}"
DOCUMENTS = ["the cat sat", "a dog ran", "the bird flew", "a boat", "the old tree", "big money"]
QUERIES = ["a dog ran", "the cat", "the river bank"]
"""The first is a document as well."""

BOTH = "prompts: 'the cat: ' for queries, 'a tree: ' for documents"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_sentence_folder(
        tmp_path_factory.mktemp("sentences") / "model",
        pooling("cls"), dense(HIDDEN, 8), parts.Normalize(),
        prompts=PROMPTS, default_prompt_name="topic",
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return open_model(folder, device="cpu")


@pytest.fixture
def search(tmp_path: Path) -> Path:
    """A folder with documents, queries and judgements."""
    (tmp_path / "search" / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        lines = [json.dumps({"_id": f"{name}{k}", "text": text}) for k, text in enumerate(texts)]
        (tmp_path / "search" / f"{name}.jsonl").write_text("\n".join(lines))
    judged = [f"queries{k}\tcorpus{k + 1}\t1\n" for k in range(len(QUERIES))]
    (tmp_path / "search" / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(judged)
    )
    return tmp_path / "search"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Pairs of a query and a document, yes and no in turn."""
    random = np.random.default_rng(0)
    words = ["the", "cat", "dog", "bird", "tree", "river", "bank", "boat", "old", "new", "red"]
    lines = [
        f"{' '.join(random.choice(words, 3))}\t{' '.join(random.choice(words, 5))}\t{answer}"
        for answer in ["yes", "no"] * 15
    ]
    path = tmp_path / "pairs.tsv"
    path.write_text("text1\ttext2\tscore\n" + "\n".join(lines))
    return path


def ground(source: Any, task: str, **protocol: Any) -> Any:
    how = SentenceProtocol(cache=False, **protocol)
    return ground_of(source, find_task(task), MomentParts(), None, how)


def test_a_search_has_prompts_for_queries_and_documents(
    folder: Path, model: Model, search: Path
) -> None:
    found = ground(model, f"retrieval:{search}")
    problem = found.problem
    assert isinstance(problem, RetrievalProblem)
    documents = by_the_library(folder, DOCUMENTS, "encode_document")
    queries = by_the_library(folder, QUERIES, "encode_query")
    assert np.abs(found.vectors[problem.document_rows] - documents).max() < 1e-5
    assert np.abs(found.vectors[problem.query_rows] - queries).max() < 1e-5
    assert BOTH in found.protocol
    assert len(found.query_rows) == len(QUERIES)


def test_prompts_are_given_by_name_or_as_text(folder: Path, model: Model, search: Path) -> None:
    found = ground(model, f"retrieval:{search}", prompt="", query_prompt="topic")
    problem = found.problem
    documents = by_the_library(folder, DOCUMENTS, prompt="")
    queries = by_the_library(folder, QUERIES, prompt_name="topic")
    assert np.abs(found.vectors[problem.document_rows] - documents).max() < 1e-5
    assert np.abs(found.vectors[problem.query_rows] - queries).max() < 1e-5
    assert "prompts: 'is it ' for queries, none for documents" in found.protocol
    same = ground(model, f"retrieval:{search}", prompt="a ", query_prompt="a ")
    assert len(same.vectors) == len(DOCUMENTS) + len(QUERIES) - 1  # one text is both
    assert "prompt 'a '" in same.protocol


def test_a_named_pooling_has_no_prompt_unless_one_is_named(model: Model, search: Path) -> None:
    plain = ground(model, f"retrieval:{search}", pooling="mean")
    assert "prompt" not in plain.protocol
    assert plain.vectors.shape == (len(DOCUMENTS) + len(QUERIES) - 1, HIDDEN)
    named = ground(model, f"retrieval:{search}", pooling="mean", query_prompt="query")
    assert "prompts: 'the cat: ' for queries, none for documents" in named.protocol


def test_the_first_texts_of_pairs_are_queries_where_their_prompt_is_named(
    folder: Path, model: Model, pairs: Path
) -> None:
    either = ground(model, f"pairs:{pairs}")
    assert "prompt 'is it '" in either.protocol  # the default of the model
    assert either.query_rows is None
    assert np.abs(either.vectors - by_the_library(folder, either.problem.texts)).max() < 1e-5
    found = ground(model, f"pairs:{pairs}", query_prompt="query")
    assert BOTH in found.protocol
    texts, first, second = found.problem.texts, found.problem.first, found.problem.second
    assert set(found.query_rows) == set(first)
    assert not set(first) & set(second)
    asked = by_the_library(folder, [texts[row] for row in first], "encode_query")
    others = by_the_library(folder, [texts[row] for row in second], "encode_document")
    assert np.abs(found.vectors[first] - asked).max() < 1e-5
    assert np.abs(found.vectors[second] - others).max() < 1e-5


def test_corrections_are_fitted_on_the_documents_of_pairs(model: Model, pairs: Path) -> None:
    protocol = SentenceProtocol(cache=False, query_prompt="query")
    job = job_of(find_task(f"pairs:{pairs}"), None, protocol, fits=True)
    encoder = encoder_of(model, protocol, (LAST,), False)
    _, ready, _ = with_prompts_of_job(encoder, protocol, job)
    documents = {ready.problem.texts[row] for row in ready.problem.second}
    for before, after in zip(job.splits, ready.splits, strict=True):
        assert set(after.fit.texts) == set(before.fit.texts) & documents
    count = f"{len(ready.splits[0].fit.texts):,} distinct texts in the first fold"
    assert any(count in word for word in ready.words)


def test_evaluate_says_what_was_used(model: Model, search: Path, pairs: Path) -> None:
    found = isoscope.evaluate(
        model, [f"retrieval:{search}", f"pairs:{pairs}"], ["none", "center"], cache=False,
        prompt="document", query_prompt="query", isotropy=(),
    )  # fmt: skip
    assert all(BOTH in row.protocol for row in found.rows)
    scored = ground(model, f"retrieval:{search}")
    problem = scored.problem
    outputs = problem.outputs(scored.vectors, np.arange(0), np.arange(len(problem)))
    name = "retrieval:search/ndcg@10"
    assert found.value(name, "none") == pytest.approx(outputs[:, 0].mean())


def test_texts_of_a_store_and_queries_to_it(folder: Path, model: Model) -> None:
    ways = {"text": "encode", "document": "encode_document", "query": "encode_query"}
    for role, way in ways.items():
        cloud = open_source(
            model, text=DOCUMENTS, sentences=SentenceProtocol(cache=False), role=role
        )
        (batch,) = (one for batches in cloud.batches() for one in batches.values())
        assert np.abs(batch.vectors - by_the_library(folder, DOCUMENTS, way)).max() < 1e-5


def test_rows_of_queries() -> None:
    texts, rows = own_rows(("a", "b", "c", "d"), np.array([3, 1, 1]), np.array([0, 1, 2]))
    assert texts == ("a", "b", "c", "d", "b")
    assert rows.tolist() == [3, 4, 4]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"query_prompt": "query"}, "sts has no queries; name --prompt for all of its texts"),
        ({"prompt": "topc"}, "did you mean topic"),
    ],
)
def test_prompts_that_texts_cannot_have(model: Model, given: Any, message: str) -> None:
    protocol = SentenceProtocol(cache=False, **given)
    encoder = encoder_of(model, protocol, (LAST,), False)
    problem = ScoredPairs("sts", ("a", "b"), np.array([0]), np.array([1]), np.ones(1),
                          np.array([""], object))  # fmt: skip
    with pytest.raises(UsageError, match=message):
        with_prompts(encoder, protocol, problem)


def test_words_in_texts_have_no_prompt(model: Model) -> None:
    from isoscope.tasks.problems.word_senses import WordSenseProblem

    problem = object.__new__(WordSenseProblem)
    object.__setattr__(problem, "task", "wic")
    object.__setattr__(problem, "mentions", (Mention(0, 0, 1),))
    protocol = SentenceProtocol(cache=False)
    encoder = encoder_of(model, protocol, (LAST,), False)
    changed, _, queries = with_prompts(encoder, protocol, problem)
    assert (changed.prompt, queries) == ("", None)
    with pytest.raises(UsageError, match="wic is about words in texts, which have no prompt"):
        with_prompts(encoder, replace(protocol, prompt="topic"), problem)


@pytest.mark.parametrize("given", [{"prompt": "query: "}, {"query_prompt": "query: "}])
def test_vectors_have_no_prompt(given: dict[str, str]) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 4))
    for call in (
        lambda: isoscope.advise(rows, **given),
        lambda: isoscope.threshold(rows, **given),
        lambda: isoscope.diff(rows, rows, **given),
    ):
        with pytest.raises(UsageError, match="is put in front of texts that a model reads"):
            call()


def test_calls_that_know_no_queries(model: Model) -> None:
    with pytest.raises(UsageError, match="name them with --queries"):
        isoscope.threshold(model, text=DOCUMENTS, query_prompt="query", cache=False)
    with pytest.raises(UsageError, match="none of which is a query"):
        isoscope.diff(model, model, text=DOCUMENTS, query_prompt="query", cache=False)
