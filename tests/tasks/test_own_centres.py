"""Queries with a centre of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.corrections.named import named
from isoscope.corrections.query_centre import OWN
from isoscope.errors import DataError, UsageError
from isoscope.tasks.cross_fitting import Candidate, OwnCentres, check_own, is_own, with_own_centres
from isoscope.verbs.advise.decision import candidates

RNG = np.random.default_rng(9)
TOPICS = RNG.normal(size=(150, 12))
DOCUMENTS = TOPICS + 0.7 * RNG.normal(size=TOPICS.shape)
OFFSET = np.zeros(12)
OFFSET[0] = 9.0
QUERIES = TOPICS + 0.7 * RNG.normal(size=TOPICS.shape)


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    """Every query with its document, and with another one."""
    lines = ["query_row,document_row,score"]
    for row in range(150):
        lines += [f"{row},{row},1", f"{row},{(row + 7) % 150},0"]
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_mean_leaves_out_the_queries_of_a_fold() -> None:
    vectors = np.concatenate([DOCUMENTS, QUERIES])
    query_rows = 150 + np.arange(150)
    folds = [query_rows[:50], query_rows[50:]]
    own = OwnCentres(vectors, query_rows, folds)
    np.testing.assert_allclose(own.mean(), QUERIES.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(own.mean((0,)), QUERIES[50:].mean(axis=0), atol=1e-12)
    with pytest.raises(DataError, match="a fold has no queries"):
        own.mean((0, 1))


def test_documents_keep_theirs() -> None:
    vectors = np.concatenate([DOCUMENTS, QUERIES])
    own = OwnCentres(vectors, 150 + np.arange(150), [np.arange(0), np.arange(0)])
    (center,) = named(["center"])
    center.transformer.fit(DOCUMENTS)
    rows = np.arange(300)
    found = own.applied(center, rows, center.apply(vectors), ())
    np.testing.assert_allclose(found[:150], DOCUMENTS - DOCUMENTS.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found[150:], QUERIES - QUERIES.mean(axis=0), atol=1e-12)


def test_only_what_subtracts_a_mean_is_tried() -> None:
    found = with_own_centres(candidates(["center", "clip", "whiten"], 12))
    assert [one.name for one in found] == ["center" + OWN, "whiten" + OWN]
    assert all(is_own(one.name) for one in found)
    assert with_own_centres(candidates(["clip"], 12)) == ()
    with pytest.raises(UsageError, match="none of clip subtracts a mean"):
        check_own(candidates(["clip"], 12))


def test_one_centre_is_simpler_than_two() -> None:
    shared, own, whiten = (Candidate(n, ()) for n in ("center", "center" + OWN, "whiten"))
    assert shared.rank < own.rank < whiten.rank


def test_advice_finds_that_queries_lie_elsewhere(clicks: Path) -> None:
    """Queries with an offset of their own: a shared centre leaves it, their own takes it away."""
    found = isoscope.advise(DOCUMENTS, pairs=clicks, queries=QUERIES + OFFSET, corrections="center")
    scores = {row.correction: row.value for row in found.result if row.measure.endswith("/auc")}
    assert set(scores) == {"none", "center", "center" + OWN}
    assert scores["center" + OWN] > scores["center"] + 0.02
    assert found.query_correction is not None
    assert found.correction is not None
    np.testing.assert_allclose(
        found.query_correction.mean_, (QUERIES + OFFSET).mean(axis=0), atol=1e-9
    )
    np.testing.assert_allclose(found.correction.mean_, DOCUMENTS.mean(axis=0), atol=1e-9)
    assert "centred on their own mean" in found.sentence


def test_centres_can_be_chosen(clicks: Path) -> None:
    shared = isoscope.advise(
        DOCUMENTS, pairs=clicks, queries=QUERIES, corrections="center", centres="shared"
    )
    assert {row.correction for row in shared.result} == {"none", "center"}
    own = isoscope.advise(
        DOCUMENTS, pairs=clicks, queries=QUERIES, corrections="center", centres="own"
    )
    assert {row.correction for row in own.result} == {"none", "center" + OWN}


def test_without_queries_there_is_one_centre(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "row1,row2,score\n" + "".join(f"{k},{k + 1},{k % 2}\n" for k in range(0, 100, 2))
        + "".join(f"{k},{k + 1},{1 - k % 2}\n" for k in range(0, 100, 2))
    )  # fmt: skip
    with pytest.raises(UsageError, match="does not distinguish queries from documents"):
        isoscope.advise(DOCUMENTS, pairs=path, corrections="center", centres="own")
    with pytest.raises(UsageError, match="as --queries or as --second, not both"):
        isoscope.advise(DOCUMENTS, pairs=path, queries=QUERIES, second=QUERIES)
