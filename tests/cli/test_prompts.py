"""Prompts on the command line: what is used is said, and what cannot be is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

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

RANDOM = np.random.default_rng(0)
WORDS = ["the", "cat", "dog", "bird", "tree", "river", "bank", "boat", "old", "new", "red", "saw"]
DOCUMENTS = [" ".join(RANDOM.choice(WORDS, 6)) for _ in range(60)]
QUERIES = [" ".join(RANDOM.choice(WORDS, 3)) for _ in range(40)]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with prompts, documents, queries, pairs of the two, and vectors."""
    place = tmp_path_factory.mktemp("prompts")
    modules = pooling("cls"), dense(HIDDEN, 8), parts.Normalize()
    save_sentence_folder(place / "model", *modules, prompts=PROMPTS)
    (place / "documents.txt").write_text("\n".join(DOCUMENTS))
    (place / "queries.txt").write_text("\n".join(QUERIES))
    lines = [
        f"{query}\t{document}\t{answer}"
        for query, document, answer in zip(QUERIES, DOCUMENTS, ["yes", "no"] * 20, strict=False)
    ]
    (place / "pairs.tsv").write_text("\n".join(["text1\ttext2\tscore", *lines]))
    np.save(place / "vectors.npy", RANDOM.normal(size=(60, 4)))
    return place


def test_random_pairs_are_those_of_queries_and_documents(run: Run, folder: Path) -> None:
    process = run(
        "threshold", folder / "model", "--text", folder / "documents.txt", "--queries",
        folder / "queries.txt", "--query-prompt", "topic", "--corrections", "none", "--json",
        "--no-cache",
    )  # fmt: skip
    assert process.code == 0, process.error
    rows = json.loads(process.out)["rows"]
    (median,) = (row["value"] for row in rows if row["measure"] == "random-pairs/50%")
    asked = by_the_library(folder / "model", QUERIES, prompt_name="topic")
    cosines = asked @ by_the_library(folder / "model", DOCUMENTS, "encode_document").T
    assert median == pytest.approx(np.median(cosines), abs=1e-4)
    assert "prompt 'is it '" in rows[0]["subject"]
    assert "prompt 'a tree: '" in rows[0]["subject"]


def test_the_protocol_says_what_was_used(run: Run, folder: Path) -> None:
    pairs = ("--pairs", folder / "pairs.tsv", "--no-cache", "--corrections", "center")
    words = {
        (): "modules.json: cls pooling, dense 32 → 8 (Tanh), unit norm, at most 16 tokens a text, "
        "no prompt",
        ("--query-prompt", "query"): "prompts: 'the cat: ' for queries, 'a tree: ' for documents",
        ("--prompt", "topic"): "prompt 'is it '",
        ("--prompt", "see: "): "prompt 'see: '",
        (
            "--pooling",
            "mean",
        ): "mean pooling, special tokens in, not the pipeline in modules.json (a pooling is given)",
        (
            "--layer",
            "block 1",
        ): "not the pipeline in modules.json (it applies to the last layer only)",
    }
    for options, expected in words.items():
        process = run("advise", folder / "model", *pairs, *options, "--details")
        assert process.code == 0, process.error
        assert expected in " ".join(process.out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", "model", "--tasks", "pairs:pairs.tsv", "--prompt", "topik"),
         "no prompt of model is called 'topik'; did you mean topic? known: document, query, topic"),
        (("advise", "model", "--pairs", "pairs.tsv", "--query-prompt", "qery"),
         "did you mean query?"),
        (("diff", "model", "model", "--text", "documents.txt", "--prompt", "docment"),
         "did you mean document?"),
        (("advise", "vectors.npy", "--prompt", "query: "), "--prompt is put in front of texts"),
        (("threshold", "vectors.npy", "--prompt", "query: "),
         "--prompt is about texts that a model reads"),
        (("threshold", "vectors.npy", "--query-prompt", "query: "),
         "--query-prompt is about texts that a model reads"),
        (("threshold", "model", "--text", "documents.txt", "--query-prompt", "query"),
         "--query-prompt is about queries; name them with --queries"),
    ],
)  # fmt: skip
def test_wrong_prompts_are_refused_in_one_line(
    run: Run, folder: Path, arguments: tuple[str, ...], message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    process = run(*arguments)
    assert process.code == 2
    assert message in process.error
    assert process.error.count("\n") == 1
    assert not process.out
