"""Every family of tasks through ``evaluate``, with a tiny model and files made here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from isoscope.errors import DataError, UsageError
from isoscope.models.encode import Encoder
from isoscope.models.model import open_model
from isoscope.models.tokens import Mention
from isoscope.results.fields import BEST
from isoscope.results.result import Result
from isoscope.tasks.datasets.own_pairs import OwnPairProblem, read_own_pairs
from isoscope.tasks.folds import dealt
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.evaluate.api import evaluate

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release of.*")

NOUNS = ("cat", "dog", "bird", "tree", "river", "boat", "bank", "money")
VERBS = ("sat", "ran", "flew", "saw")
RNG = np.random.default_rng(0)


def sentences(count: int) -> list[str]:
    chosen = zip(RNG.choice(NOUNS, count), RNG.choice(VERBS, count), range(count), strict=True)
    return [f"the {noun} {verb} on {'a big ' * (k % 3)}boat" for noun, verb, k in chosen]


@pytest.fixture
def run(
    tiny_model: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))

    def evaluated(tasks: str, corrections: Any = "none,center", **how: Any) -> Result:
        protocol = SentenceProtocol(device="cpu", isotropy=(), **how)
        return evaluate(
            str(tiny_model("bert")), tasks, corrections, data=tmp_path, sentences=protocol
        )

    return evaluated


def write_wic(folder: Path) -> list[tuple[str, str, bool]]:
    made = []
    for split, count in (("train", 30), ("dev", 10), ("test", 20)):
        place = folder / "WiC" / split
        place.mkdir(parents=True)
        lines, gold = [], []
        for first, second in zip(sentences(count), sentences(count), strict=True):
            same = first.split()[1] == second.split()[1]
            lines.append(f"boat\tN\t1-1\t{first}\t{second}")
            gold.append("T" if same else "F")
            made.append((first, second, same))
        (place / f"{split}.data.txt").write_text("\n".join(lines) + "\n")
        (place / f"{split}.gold.txt").write_text("\n".join(gold) + "\n")
    return made


def test_word_senses_in_every_layer(
    run: Callable[..., Result], tmp_path: Path, tiny_model: Callable[[str], Path]
) -> None:
    made = write_wic(tmp_path)
    result = run("wic", "none,whiten", layers="all")
    protocol = result.rows[0].protocol
    assert "threshold chosen on train (30 pairs), scored on the rest (30)" in protocol
    assert "words are the mean of their tokens" in protocol
    assert "corrections fitted on all tokens of the pairs to learn from" in protocol
    encoder = Encoder(open_model(str(tiny_model("bert")), device="cpu"), cache=False)
    texts = [text for first, second, _ in made for text in (first, second)]
    mentions = [
        Mention(k, len(text.split()[0]) + 1, len(text.split()[0]) + 1 + len(text.split()[1]))
        for k, text in enumerate(texts)
    ]
    rows = encoder.encode(texts, ["block 2"], mentions=mentions)["block 2"].astype(float)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (units[::2] * units[1::2]).sum(axis=1)
    same = np.array([one[2] for one in made])
    thresholds = np.arange(1, 10) / 10
    right = [np.mean((cosines[:30] > t) == same[:30]) for t in thresholds]
    best = thresholds[int(np.argmax(right))]
    row = result.row("wic/accuracy", part="block 2")
    assert row.value == pytest.approx(np.mean((cosines[30:] > best) == same[30:]))
    assert row.n == 30
    assert result.row("wic/accuracy", "whiten", part="block 2").value is not None
    learned = [row for row in result if row.measure == "wic/accuracy/learned"]
    plain = [row for row in learned if row.correction == "none"]
    best_layer = max(plain, key=lambda row: row.value or 0).part
    (chosen,) = [row for row in result if row.extra.get(BEST) and row.correction == "none"]
    assert (chosen.part, chosen.measure) == (best_layer, "wic/accuracy")
    assert "chosen on other pairs" in chosen.note


def test_word_senses_with_a_probe(run: Callable[..., Result], tmp_path: Path) -> None:
    write_wic(tmp_path)
    result = run("wic", "none", probe="mlp", epochs=True)
    assert result.row("wic/mlp/accuracy").n == 20
    (table,) = result.tables
    assert table.measure == "wic/mlp/epochs"
    assert [row["epoch"] for row in table.rows] == list(range(1, 11))
    with pytest.raises(UsageError, match="need --probe mlp"):
        run("wic", "none", probe="logistic", epochs=True)
    with pytest.raises(UsageError, match="probe"):
        run("wic", "none", probe="forest")


def test_own_pairs_are_cross_fitted(run: Callable[..., Result], tmp_path: Path) -> None:
    first, second = sentences(40), sentences(40)
    human = RNG.uniform(0, 5, 40).round(3)
    lines = [f"{a}\t{b}\t{s}" for a, b, s in zip(first, second, human, strict=True)]
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(["text1\ttext2\tscore", *lines]) + "\n")
    result = run(f"pairs:{path}")
    assert "cross-fitted in 5 folds" in result.rows[0].protocol
    assert result.row("pairs:mine/cosine/spearman/difference", "center").n == 40
    label = tmp_path / "labels.tsv"
    label.write_text("\n".join(f"{a}\t{b}\tyes" for a, b in zip(first, second, strict=True)) + "\n")
    undefined = run(f"pairs:{label}", "none").row("pairs:labels/cosine/auc")
    assert undefined.value is None
    assert "one class only" in undefined.note
    same = tmp_path / "same.tsv"
    same.write_text("\n".join(f"{a}\t{b}\t2.5" for a, b in zip(first, second, strict=True)) + "\n")
    constant = run(f"pairs:{same}", "none").row("pairs:same/cosine/spearman")
    assert constant.value is None
    assert "all scores are the same" in constant.note


def test_a_search_is_fitted_on_documents(run: Callable[..., Result], tmp_path: Path) -> None:
    documents = list(dict.fromkeys(sentences(60)))
    folder = tmp_path / "mine"
    (folder / "qrels").mkdir(parents=True)
    corpus = [json.dumps({"_id": f"d{k}", "text": text}) for k, text in enumerate(documents)]
    (folder / "corpus.jsonl").write_text("\n".join(corpus) + "\n")
    queries = [json.dumps({"_id": f"q{k}", "text": documents[k] + " !"}) for k in range(20)]
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n")
    judged = [f"q{k}\td{k}\t1" for k in range(20)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(judged) + "\n")
    result = run(f"retrieval:{folder}")
    row = result.row("retrieval:mine/ndcg@10", "center")
    assert row.n == 20
    assert f"of the documents, queries apart, ({len(documents)} distinct texts)" in row.protocol
    assert row.value is not None
    assert row.value > 0.5


def test_clusters_and_classes(run: Callable[..., Result], tmp_path: Path) -> None:
    folder = tmp_path / "TREC"
    folder.mkdir()
    for name, count in (("TREC.train.all", 60), ("TREC.test.all", 30)):
        texts = sentences(count)
        lines = [f"{5 if 'cat' in text or 'dog' in text else 4} {text}" for text in texts]
        (folder / name).write_text("\n".join(lines) + "\n")
    result = run("cluster:trec,trec", "none,center")
    clusters = result.row("cluster:trec/v-measure")
    assert clusters.n == 30
    assert "of trec train" in clusters.protocol
    classes = result.row("trec/logistic/accuracy")
    assert classes.n == 30
    assert "learned from train, scored on test" in classes.protocol
    (folder / "TREC.train.all").write_text("5 a cat\n" * 9)
    with pytest.raises(DataError, match="class"):
        run("trec", "none")


def test_absent_data_say_where_they_were_looked_for(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    for task in ("wic", "rte", "cluster:trec", "semcor-pos"):
        with pytest.raises(UsageError, match=str(tmp_path)):
            run(task)


SEEN: list[np.ndarray] = []


class Recorder(BaseEstimator):  # type: ignore[misc]
    """A correction that changes nothing, and keeps what it is fitted on."""

    def fit(self, X: np.ndarray, y: object = None) -> Recorder:
        del y
        SEEN.append(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X


def test_what_is_scored_is_never_fitted_on(
    run: Callable[..., Result], tmp_path: Path, tiny_model: Callable[[str], Path]
) -> None:
    first, second = sentences(30), sentences(30)
    human = RNG.uniform(0, 5, 30).round(3)
    lines = [f"{a}\t{b}\t{s}" for a, b, s in zip(first, second, human, strict=True)]
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(["text1\ttext2\tscore", *lines]) + "\n")
    SEEN.clear()
    run(f"pairs:{path}", [Recorder()])
    problem = OwnPairProblem.of_texts("mine", read_own_pairs(path))
    encoder = Encoder(open_model(str(tiny_model("bert")), device="cpu"), cache=False)
    vectors = encoder.encode(problem.texts, ["block 3"])["block 3"]
    folds = dealt(problem)
    assert len(SEEN) == len(folds)
    for seen, held in zip(SEEN, folds, strict=True):
        out = problem.rows_of(held)
        assert len(seen) == len(vectors) - len(out)
        for scored in vectors[out]:
            assert np.abs(seen - scored).max(axis=1).min() > 1e-4
    SEEN.clear()
    run(f"pairs:{path}", [Recorder()], transductive=True)
    assert [len(seen) for seen in SEEN] == [len(vectors)]
