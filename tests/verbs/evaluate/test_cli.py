"""``isoscope evaluate`` and ``isoscope list tasks`` as a user has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import OTHER_SIZE, put
from command_line import Run, runner

from isoscope.compute.pool import Here
from isoscope.models import encode as encoding_pool
from isoscope.models import encode as encoding_shards
from isoscope.results.result import Result


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [f"w{k} {' '.join(f'{x:.4f}' for x in rng.normal(1, 1, 4))}" for k in range(30)]
    (tmp_path / "toy.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "toy.txt"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    pairs = [f"w{a}-n w{b}-v {s}" for a, b, s in rng.integers(0, 35, (50, 3))]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "MEN_dataset_lemma_form_full").write_text("\n".join(pairs) + "\n")
    return tmp_path / "data"


@OTHER_SIZE
def test_the_table_a_person_reads(run: Run, vectors: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.md"
    process = run("evaluate", vectors, "--data", data, "--out", out, "--details")
    assert process.code == 0, process.error
    assert process.error == ""
    for words in ("men/cosine/spearman", "men/inner/pearson/difference", " of 50 pairs", " to "):
        assert words in process.out
        assert words in out.read_text("utf-8")


@OTHER_SIZE
def test_json_and_the_environment(run: Run, vectors: Path, data: Path) -> None:
    process = run(
        "evaluate", vectors, "--tasks", "men", "--corrections",
        "none,center-scaled,all-but-the-top:n_components=2", "--json", ISOSCOPE_DATA=str(data),
    )  # fmt: skip
    result = Result.from_json(process.out)
    assert {row.correction for row in result} == {
        "none",
        "center-scaled",
        "all-but-the-top:n_components=2",
    }
    assert "evaluate" in result.command
    assert len(result.rows) == 4 + 2 * 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--data"),
        (["--tasks", "mem"], "did you mean men"),
        (["--corrections", "middle"], "no correction is called 'middle'"),
        (["--tasks", "word-similarity:nowhere.txt"], "there is no file nowhere.txt"),
        (["--data", "nowhere"], "no such folder"),
        (["--out", "scores.xml"], "must end in"),
    ],
)
def test_errors_are_one_line(run: Run, vectors: Path, arguments: list[str], words: str) -> None:
    process = run("evaluate", vectors, *arguments)
    assert process.code == 2
    assert process.out == ""
    assert process.error.count("\n") == 1
    assert words in process.error


def test_help_has_an_example(run: Run) -> None:
    assert "isoscope evaluate package:glove" in run("evaluate", "--help").out


def test_tasks_are_listed_with_their_data(run: Run, data: Path) -> None:
    shown = run("list", "tasks", "--data", data, "--details").out
    assert "MEN_dataset_lemma_form_full" in shown
    assert "rw.txt, not in" in shown
    assert "word-similarity:FILE" in shown
    rows = {row["name"]: row for row in json.loads(run("list", "tasks", "--json").out)}
    assert rows["rare-words"]["size"] == 2034
    assert "not searched for" in rows["men"]["data"]
    assert not rows["men"]["present"]


def test_tasks_of_several_files_say_what_is_there(run: Run, tmp_path: Path) -> None:
    for split in ("train", "dev"):
        put(tmp_path / "glue" / "RTE" / f"{split}.tsv", "")
    put(tmp_path / "STSBenchmark" / "sts-test.csv", "")
    put(tmp_path / "BoolQ" / "val.jsonl", "")
    put(tmp_path / "dev" / "dev.data.txt", "")
    shown = run("list", "tasks", "--data", tmp_path, "--json").out
    rows = {row["name"]: row for row in json.loads(shown)}
    assert {row["family"] for row in rows.values()} == {
        "word-similarity", "sts", "wic", "classification", "token-classification",
    }  # fmt: skip
    assert [name for name, row in rows.items() if row["present"]] == ["boolq", "rte"]
    assert rows["rte"]["data"] == str(tmp_path / "glue" / "RTE")
    assert rows["rte"]["parts"] == "train 2,490, dev 277"
    assert rows["rte"]["files"][1]["name"] == "RTE/dev.tsv"
    assert rows["boolq"]["data"] == str(tmp_path / "BoolQ" / "val.jsonl")
    assert rows["sts-b"]["data"] == f"STSBenchmark/sts-train.csv and 1 more, not in {tmp_path}"
    assert rows["wic"]["data"].startswith("train/train.data.txt and 2 more, not in")
    for row in rows.values():
        assert row["licence"]
        assert row["citation"]
        assert row["protocol"]
        assert row["metrics"]
    words = " ".join(run("list", "tasks", "--data", tmp_path, "--details").out.split())
    assert "rte (classification, 2,767 pairs)" in words
    assert "parts: train 2,490, dev 277" in words


@pytest.mark.filterwarnings("always:.*in the release of")
def test_another_number_of_rows_than_the_release_is_one_line(
    run: Run, vectors: Path, data: Path
) -> None:
    process = run("evaluate", vectors, "--tasks", "men", "--data", data, "--json")
    assert process.code == 0
    assert process.error.count("\n") == 1
    assert process.error.startswith("isoscope: warning: ")
    assert "holds 50 pairs; in the release of men it holds 3,000" in process.error
    assert Result.from_json(process.out).rows


def test_a_model_without_tasks_is_told_which_it_is_scored_on(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    process = run("evaluate", tmp_path / "model")
    assert process.code == 2
    assert "a model is scored on sts-b or sick-r unless --tasks" in process.error
    process = run("evaluate", tmp_path / "model", "--data", tmp_path)
    assert f"and {tmp_path} has neither; isoscope list tasks --data" in process.error


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    folder = tmp_path / "texts" / "STSBenchmark"
    folder.mkdir(parents=True)
    for split, words in {"train": "big", "dev": "small", "test": "old"}.items():
        nouns = rng.choice(["cat", "dog", "bird", "tree", "boat"], (20, 2))
        lines = [
            f"g\tf\t2012\t{k}\t{k % 6}\tthe {words} {a}\tthe {b} is {words}"
            for k, (a, b) in enumerate(nouns)
        ]
        (folder / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "texts"


@pytest.mark.filterwarnings("ignore:.*in the release of.*")
def test_a_model_on_texts(
    run: Run, tiny_model: Callable[[str], Path], pairs: Path, tmp_path: Path
) -> None:
    model, cache = tiny_model("bert"), tmp_path / "cache"
    unnamed = run("evaluate", model, "--corrections", "none", "--data", pairs, "--json")
    assert {row.family for row in Result.from_json(unnamed.out)} == {"sts-b"}
    process = run(
        "evaluate", model, "--tasks", "sts-b", "--corrections", "none,center", "--layers", "all",
        "--pooling", "max", "--no-special-tokens", "--correct-at", "token", "--data", pairs,
        "--json", ISOSCOPE_CACHE=str(cache),
    )  # fmt: skip
    assert process.code == 0, process.error
    result = Result.from_json(process.out)
    assert {row.part for row in result} == {"embedding", "block 1", "block 2", "block 3"}
    assert "max pooling, special tokens out" in result.rows[0].protocol
    assert "all tokens of sts-b train" in result.rows[0].protocol
    assert list(cache.rglob("*.isoscope-vectors")) != []
    process = run(
        "evaluate", model, "--tasks", "sts-b", "--transductive", "--data", pairs, "--no-cache",
        "--isotropy", "mean_cosine", "--details",
    )  # fmt: skip
    assert process.code == 0, process.error
    for words in ("sts-b/cosine/spearman", "transductive", "sts-b/mean_cosine", "sts-b/seconds"):
        assert words in process.out
    assert "i1_scaled" not in process.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tasks", "sts-b", "--layers", "block 9"], "no layer of tiny-bert"),
        (["--tasks", "sts-b,men"], "one after the other"),
        (["--tasks", "sts-b", "--isotropy", "evenness"], "no measure is called 'evenness'"),
        (["--tasks", "sts-b", "--fit-on", "x.txt", "--transductive"], "not both"),
        (["--tasks", "sts-12"], "sts-12 reads STS12-en-test"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*in the release of.*")
def test_errors_on_texts_are_one_line(
    run: Run, tiny_model: Callable[[str], Path], pairs: Path, arguments: list[str], words: str
) -> None:
    process = run("evaluate", tiny_model("bert"), "--data", pairs, *arguments)
    assert process.code == 2
    assert process.out == ""
    assert words in process.error.splitlines()[-1]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What becomes of the workers, which are this process."""
    said: list[str] = []

    @contextmanager
    def open_here(engine: str, workers: int | None, *, accelerators: bool) -> Iterator[Here]:
        said.append(f"{engine} {workers} {accelerators}")
        try:
            yield Here()
        finally:
            said.append("closed")

    monkeypatch.setattr(encoding_pool, "open_pool", open_here)
    monkeypatch.setattr(encoding_shards, "SHARD_TEXTS", 4)
    return said


@pytest.mark.filterwarnings("always:.*in the release of.*")
def test_all_models_go_to_the_same_workers(
    run: Run, tiny_model: Callable[[str], Path], pairs: Path, opened: list[str]
) -> None:
    asked = [
        "evaluate", tiny_model("bert"), tiny_model("gpt2"), "--tasks", "sts-b", "--corrections",
        "none", "--data", pairs, "--no-cache", "--json", "--engine", "ray:auto", "--workers", "3",
    ]  # fmt: skip
    process = run(*asked, "--progress", "lines")
    assert process.code == 0, process.error
    assert opened == ["ray:auto 3 False", "closed"]
    result = Result.from_json(process.out)
    assert {row.subject for row in result} == {"tiny-bert", "tiny-gpt2"}
    assert {about["device"] for about in result.extra["models"].values()} == {"cpu"}
    lines = [json.loads(line) for line in process.error.splitlines() if line.startswith("{")]
    counted = {(line["done"], line["total"]) for line in lines if line["progress"] == "texts"}
    texts = max(total for _, total in counted)
    assert (texts, texts) in counted
    assert "isoscope: warning: " in process.error
    process = run(*asked, "--quiet")
    assert process.code == 0
    assert process.error == ""


def test_a_command_that_fails_leaves_no_worker(
    run: Run,
    tiny_model: Callable[[str], Path],
    pairs: Path,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError("no room on the disk")

    monkeypatch.setattr(encoding_shards, "pooled_spaces", failing)
    process = run(
        "evaluate", tiny_model("bert"), "--tasks", "sts-b", "--data", pairs, "--no-cache",
        "--workers", "2", "--quiet",
    )  # fmt: skip
    assert process.code == 1
    assert process.error == "isoscope: no room on the disk\n"
    assert opened == ["local 2 False", "closed"]


@pytest.mark.parametrize("asked", [["--engine", "ray"], ["--workers", "2"]])
def test_vectors_are_not_encoded(
    run: Run, vectors: Path, data: Path, opened: list[str], asked: list[str]
) -> None:
    process = run("evaluate", vectors, "--data", data, *asked)
    assert process.code == 2
    assert process.error.count("\n") == 1
    assert "--engine and --workers are for encoding texts with a model" in process.error
    assert opened == []
