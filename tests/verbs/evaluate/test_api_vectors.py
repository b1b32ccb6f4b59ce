"""Vectors of one's own, scored on pairs of their rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.own_pairs import OwnPairProblem, read_own_pairs
from isoscope.tasks.folds import dealt
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.evaluate.api import evaluate

RNG = np.random.default_rng(0)
ROWS = (RNG.standard_normal((400, 6)) + 2).astype(np.float32)
PAIRS = RNG.permutation(400)[:120].reshape(60, 2)
HUMAN = RNG.standard_normal(60).round(4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", ROWS)
    lines = [f"{a}\t{b}\t{s}" for (a, b), s in zip(PAIRS, HUMAN, strict=True)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["row1\trow2\tscore", *lines]) + "\n")
    return tmp_path


def cosines(vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    one, other = vectors[pairs[:, 0]], vectors[pairs[:, 1]]
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray((one * other).sum(axis=1) / lengths)


def test_every_fold_is_scored_with_a_fit_on_all_other_rows(folder: Path) -> None:
    result = evaluate(folder / "vectors.npy", f"pairs:{folder / 'pairs.tsv'}", "none,center")
    rows = ROWS.astype(np.float64)
    plain = result.row("pairs:pairs/cosine/spearman")
    assert plain.value == pytest.approx(stats.spearmanr(cosines(rows, PAIRS), HUMAN).statistic)
    assert (
        "120 rows in pairs by number, 280 other rows; cross-fitted in 5 folds: corrections fitted "
        "on 400" in plain.protocol
    )
    problem = OwnPairProblem.of_rows("p", read_own_pairs(folder / "pairs.tsv"), 400)
    found = np.empty(60)
    for held in dealt(problem):
        mean = np.delete(rows, PAIRS[held].ravel(), axis=0).mean(axis=0)
        found[held] = cosines(rows - mean, PAIRS[held])
    expected = stats.spearmanr(found, HUMAN).statistic
    assert result.row("pairs:pairs/cosine/spearman", "center").value == pytest.approx(expected)
    assert result.row("pairs:pairs/mean_cosine", "center").value == pytest.approx(0, abs=0.05)
    papers = evaluate(
        folder / "vectors.npy", f"pairs:{folder / 'pairs.tsv'}", "center",
        sentences=SentenceProtocol(transductive=True, isotropy=()),
    )  # fmt: skip
    whole = stats.spearmanr(cosines(rows - rows.mean(axis=0), PAIRS), HUMAN).statistic
    assert papers.row("pairs:pairs/cosine/spearman", "center").value == pytest.approx(whole)


def test_rows_by_name(tmp_path: Path) -> None:
    lines = [f"w{k} {' '.join(f'{x:.5f}' for x in ROWS[k])}" for k in range(400)]
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n")
    pairs = [f"w{a}\tw{b}\t{s}" for (a, b), s in zip(PAIRS, HUMAN, strict=True)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["row1\trow2\tscore", *pairs]) + "\n")
    result = evaluate(tmp_path / "words.txt", f"pairs:{tmp_path / 'pairs.tsv'}", "none")
    expected = stats.spearmanr(cosines(ROWS.astype(float), PAIRS), HUMAN).statistic
    assert result.rows[0].value == pytest.approx(expected, abs=1e-4)
    (tmp_path / "pairs.tsv").write_text("row1\trow2\tscore\nw1\tw999\t2\n")
    with pytest.raises(DataError, match="line 2: no row of the source is called 'w999'"):
        evaluate(tmp_path / "words.txt", f"pairs:{tmp_path / 'pairs.tsv'}", "none")


def test_wrong_calls(folder: Path) -> None:
    task = f"pairs:{folder / 'pairs.tsv'}"
    with pytest.raises(UsageError, match="one after the other"):
        evaluate(folder / "vectors.npy", [task, "sts-b"], "none")
    (folder / "other").mkdir()
    (folder / "other" / "pairs.tsv").write_text((folder / "pairs.tsv").read_text())
    with pytest.raises(UsageError, match="two tasks would be called pairs:pairs"):
        evaluate(folder / "vectors.npy", [task, f"pairs:{folder / 'other' / 'pairs.tsv'}"], "none")
    with pytest.raises(UsageError, match="leave the second file out"):
        evaluate(folder / "vectors.npy", task, "none", second=folder / "vectors.npy")
    with pytest.raises(UsageError, match="fitted on the rows of the source"):
        evaluate(folder / "vectors.npy", task, "center", sentences=SentenceProtocol(fit_on="a.txt"))
    texts = folder / "texts.tsv"
    texts.write_text("text1\ttext2\tscore\na b\tc d\t1\n")
    with pytest.raises(UsageError, match="is about texts, which a model reads"):
        evaluate(folder / "vectors.npy", f"pairs:{texts}", "none")
    named = folder / "named.tsv"
    named.write_text("row1\trow2\tscore\n1\t2\t1\nx\t2\t3\n")
    with pytest.raises(DataError, match=r"named.tsv: line 3: a row should be a number from 0, not"):
        evaluate(folder / "vectors.npy", f"pairs:{named}", "none")
    broken = ROWS.copy()
    broken[np.setdiff1d(np.arange(400), PAIRS)[0]] = np.nan
    np.save(folder / "broken.npy", broken)
    with pytest.raises(DataError, match="NaN or an infinity; --drop-invalid"):
        evaluate(folder / "broken.npy", task, "center")
    result = evaluate(folder / "broken.npy", task, "center", drop_invalid=True)
    assert "279 other rows" in result.rows[0].protocol
    broken = ROWS.copy()
    broken[PAIRS[0, 0]] = np.inf
    np.save(folder / "broken.npy", broken)
    result = evaluate(folder / "broken.npy", task, "none,center", drop_invalid=True)
    assert result.rows[0].n == 59
    assert "1 pair without a score left out" in result.rows[0].note
