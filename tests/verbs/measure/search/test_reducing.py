"""Shorter vectors: bytes, neighbours kept and scores of labelled pairs, against brute force."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted
from scipy import stats
from searched_by_hand import cosines, hamming, overlap, rescored, top, units
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

import isoscope
from isoscope.verbs.measure.search.reduction import reduce

pytest.importorskip("faiss")

K = 10


def by_sklearn(cloud: np.ndarray, m: int) -> dict[str, np.ndarray]:
    components = PCA(m, svd_solver="full").fit_transform(cloud)
    return {
        "none": cloud,
        f"truncate:n_components={m}": cloud[:, :m],
        f"pca:n_components={m}": components,
        f"whiten:n_components={m}": components / components.std(axis=0),
    }


def test_neighbours_kept_in_every_space() -> None:
    cloud = shifted(0, 500, 12)
    result = reduce(cloud, [5], k=K)
    scores = cosines(cloud)
    true = top(scores, K)
    for name, space in by_sklearn(cloud, 5).items():
        found = top(cosines(space), 4 * K)
        kept = result.row("reduce/kept", name, "float32")
        assert kept.value == pytest.approx(overlap(found[:, :K], true).mean(), abs=1e-9)
        again = overlap(rescored(found, scores, K), true).mean()
        assert result.value("reduce/kept_rescored", name, "float32") == pytest.approx(again)
        in_bytes = result.value("reduce/kept", name, "int8")
        assert in_bytes == pytest.approx(kept.value, abs=0.02)
    # Ties of bits by chance: signs of components are those of whitened components.
    bits = [
        result.value("reduce/kept", f"{way}:n_components=5", "binary") for way in ("pca", "whiten")
    ]
    assert bits[0] == bits[1]
    assert result.value("reduce/kept", part="float32") == 1
    truncated = reduce(cloud, [12]).value("reduce/kept", "truncate:n_components=12", "float32")
    assert truncated == 1


@pytest.mark.parametrize(
    ("components", "code", "size"),
    [(3, "float32", 12), (3, "int8", 3), (3, "binary", 1), (9, "binary", 2), (8, "binary", 1)],
)
def test_bytes(components: int, code: str, size: int) -> None:
    result = reduce(shifted(0, 60, 12), [components])
    assert result.value("reduce/bytes", f"pca:n_components={components}", code) == size
    assert result.value("reduce/bytes", part="binary") == 2
    assert result.value("reduce/bytes", part="float32") == 48


def write_pairs(path: Path, cloud: np.ndarray, labels: bool) -> np.ndarray:
    random = np.random.default_rng(7)
    sides = random.integers(0, len(cloud), (200, 2))
    sides[:, 1] = (sides[:, 1] + (sides[:, 0] == sides[:, 1])) % len(cloud)  # no row with itself
    scores = np.einsum("ij,ij->i", units(cloud)[sides[:, 0]], units(cloud)[sides[:, 1]])
    scores = scores + 0.3 * random.standard_normal(200)
    if labels:
        scores = (scores > np.median(scores)).astype(float)
    lines = [f"{a}\t{b}\t{s:.6g}" for (a, b), s in zip(sides, scores, strict=True)]
    path.write_text("row1\trow2\tscore\n" + "\n".join(lines) + "\n")
    return np.column_stack([sides, scores])


@pytest.mark.parametrize("labels", [False, True])
def test_scores_of_pairs_are_taken_from_codes(tmp_path: Path, labels: bool) -> None:
    cloud = shifted(0, 900, 12)
    table = write_pairs(tmp_path / "mine.tsv", cloud, labels)
    first, second, human = table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]
    result = reduce(cloud, "5", pairs=tmp_path / "mine.tsv", sample=400)
    main = "auc" if labels else "spearman"
    name = f"reduce/pairs:mine/cosine/{main}"

    def score(similarities: np.ndarray) -> float:
        if labels:
            return float(roc_auc_score(human, similarities))
        return float(stats.spearmanr(similarities, human).statistic)

    for way, space in by_sklearn(cloud, 5).items():
        here = units(space)
        exact = score(np.einsum("ij,ij->i", here[first], here[second]))
        apart = [hamming(space[[a]], space[[b]])[0, 0] for a, b in zip(first, second, strict=True)]
        assert result.value(name, way, "float32") == pytest.approx(exact, abs=1e-3)
        assert result.value(name, way, "int8") == pytest.approx(exact, abs=0.01)
        same = score(1 - 2 * np.array(apart) / space.shape[1])
        assert result.value(name, way, "binary") == pytest.approx(same, abs=1e-9)
    change = result.row(f"{name}/difference", "pca:n_components=5", "binary")
    before, after = (
        result.value(name, way, code)
        for way, code in (("none", "float32"), ("pca:n_components=5", "binary"))
    )
    assert before is not None
    assert after is not None
    assert change.value == pytest.approx(after - before)
    assert change.low is not None
    assert change.extra["unit"] == "pairs"


def test_remarks_name_the_shortest_that_are_good_enough(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    flat = random.standard_normal((600, 4)) @ random.standard_normal((4, 32))
    flat += 1e-3 * random.standard_normal((600, 32))
    flat -= flat.mean(axis=0)
    write_pairs(tmp_path / "mine.tsv", flat, labels=False)
    lines = reduce(flat, "4,8", pairs=tmp_path / "mine.tsv").extra["reduce"]["remarks"]
    assert lines[0].startswith(
        "The shortest that keep 0.95 of the neighbours alone: pca to 4 components as "
    )
    assert "of 128 bytes" in lines[0]
    assert "pairs:mine/cosine/spearman" in lines[0]
    even = random.standard_normal((600, 32))
    nothing = reduce(even, "2").extra["reduce"]["remarks"][0]
    assert "all 32 components as int8, 32 of 128 bytes" in nothing


def test_directions_without_variance_do_not_blow_up() -> None:
    cloud = shifted(0, 200, 6)
    cloud = np.concatenate([cloud, cloud[:, :2]], axis=1).astype(np.float32)
    result = reduce(cloud, [6, 8])
    whitened = [result.value("reduce/kept", f"whiten:n_components={m}", "float32") for m in (6, 8)]
    assert whitened[0] == whitened[1]


def test_the_same_from_any_source_and_every_time(tmp_path: Path) -> None:
    cloud = shifted(0, 700, 6).astype(np.float32)
    write_pairs(tmp_path / "mine.tsv", cloud, labels=True)
    np.save(tmp_path / "array.npy", cloud)
    lines = [f"w{k} " + " ".join(repr(float(v)) for v in row) + "\n" for k, row in enumerate(cloud)]
    (tmp_path / "array.txt").write_text("".join(lines))
    asked: dict[str, Any] = {"pairs": tmp_path / "mine.tsv", "sample": 300}
    first, *others = (
        [row.value for row in reduce(tmp_path / name, "2,4", **asked)]
        for name in ("array.npy", "array.npy", "array.txt")
    )
    for other in others:
        assert other == pytest.approx(first, abs=1e-9)


def test_progress_and_fits() -> None:
    told: list[tuple[str, int, int | None]] = []
    reduce(shifted(0, 100, 6), "2,3", progress=lambda *entry: told.append(entry))
    assert [done for stage, done, _ in told if stage == "reduce"][-1] == 700
    assert sum(stage == "fit" and done == 100 for stage, done, _ in told) == 1  # one read


@pytest.mark.parametrize(
    ("components", "words"),
    [
        ("8,200", "array has 6 dimensions and cannot be reduced to 200"),
        ("", "whole numbers of at least 1"),
        ("8,many", "whole numbers of at least 1, such as 64,128,256, got 'many'"),
        ([0], "whole numbers of at least 1"),
        ([], "at least one number"),
    ],
)
def test_wrong_components(components: Any, words: str) -> None:
    with pytest.raises(isoscope.UsageError, match=words):
        reduce(shifted(0, 100, 6), components)


def test_wrong_pairs(tmp_path: Path) -> None:
    cloud = shifted(0, 100, 6)
    path = tmp_path / "mine.tsv"
    path.write_text("row1\trow2\tscore\n1\t100\t0.5\n2\t3\t0.1\n")
    with pytest.raises(isoscope.DataError, match="line 2: there is no row 100"):
        reduce(cloud, "2", pairs=path)
    with pytest.raises(isoscope.DataError, match="has 100 rows, from 0; there is no row 100"):
        reduce(lambda: iter([cloud]), "2", pairs=path)
    path.write_text("text1\ttext2\tscore\na\tb\t0.5\nc\td\t0.1\n")
    with pytest.raises(isoscope.UsageError, match="holds"):
        reduce(cloud, "2", pairs=path)


def test_pairs_on_rows_without_a_vector_are_left_out(tmp_path: Path) -> None:
    cloud = shifted(0, 100, 6)
    write_pairs(tmp_path / "mine.tsv", cloud, labels=False)
    whole = reduce(cloud, "2", pairs=tmp_path / "mine.tsv")
    cloud[5, 1] = np.nan
    with pytest.raises(isoscope.DataError, match="row 5 holds NaN"):
        reduce(cloud, "2", pairs=tmp_path / "mine.tsv")
    some = reduce(cloud, "2", pairs=tmp_path / "mine.tsv", drop_invalid=True)
    name = "reduce/pairs:mine/cosine/spearman"
    assert whole.row(name, part="float32").n == 200
    row = some.row(name, part="float32")
    assert row.n is not None
    assert 180 < row.n < 200
    assert f"{200 - row.n} pairs left out" in row.note


def test_without_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(isoscope.UsageError, match=r"pip install 'isoscope\[search\]'"):
        reduce(shifted(0, 100, 6), "2")
