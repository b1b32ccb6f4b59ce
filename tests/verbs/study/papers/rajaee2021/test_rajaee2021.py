"""Local isotropy against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from judging_for_tests import hardly, outcomes, surely

from isoscope.compute.stats.jackknife import deal
from isoscope.errors import UsageError
from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.rajaee2021.blocks import local_i1
from isoscope.verbs.study.registry import Subject

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(0, 1.5, (4, 3))
X = np.concatenate([centre + RNG.normal(0, 0.2, (30, 3)) for centre in CENTRES])


def log10_i1(vectors: np.ndarray) -> float:
    """min Z / max Z over eigenvectors, each turned so that Z(c) ≥ Z(−c)."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    projected = vectors @ directions
    z = np.maximum(np.exp(projected).sum(axis=0), np.exp(-projected).sum(axis=0))
    return float(np.log10(z.min() / z.max()))


def test_the_table() -> None:
    run = run_study("R-T1", [Subject("BERT", X)])
    parts = [row.part for row in run.result]
    assert parts == ["raw", "k=1", "k=3", "k=6", "k=9", "k=20"]
    assert run.result.rows[0].log10 == pytest.approx(log10_i1(X), abs=1e-9)
    centred = log10_i1(X - X.mean(axis=0))
    assert run.result.rows[1].log10 == pytest.approx(centred, abs=1e-9)
    assert [verdict.outcome for verdict in run.verdicts] == [
        "not applicable", "holds", *["not applicable"] * 3,
    ]  # fmt: skip
    assert outcomes("R-T1", run.result.rows)[:2] == ["holds", "holds"]
    row = run.result.row("local_i1", part="k=20")
    assert len(row.extra["replicates"]) == 10
    assert row.low < row.value < row.high
    assert run.result.rows[0].extra["printed"] == 5.05e-05
    (table,) = run.result.tables
    assert len(table.rows) == 1 + 4 * 5
    logs = [row["log10_i1"] for row in table.rows if row["clusters"] == 20]
    assert run.result.row("local_i1", part="k=20").value == pytest.approx(
        np.mean([10**log for log in logs])
    )


def test_what_cannot_be_clustered(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for k in (1, 2):
        np.save(tmp_path / f"layer_{k}.npy", X)
    with pytest.raises(UsageError, match="2 clouds"):
        run_study("R-T1", [str(tmp_path / "layer_{k}.npy")])


def test_replicates_leave_texts_out_with_the_clusters_moved_a_little() -> None:
    texts = np.arange(len(X)) // 2
    raw = Row("mine", "raw", "none", "local_i1", 1.0, log10=log10_i1(X))
    four = Row("mine", "k=4", "none", "local_i1", 1.0, log10=0.0)
    found = local_i1({4: four}, raw, X, texts, 3)
    blocks = deal(len(X) // 2, 3)[texts]
    for k in range(10):
        some = X[blocks != k]
        assert found[0].extra["replicates"][k] == pytest.approx(log10_i1(some), abs=1e-9)
        # The four groups lie far apart, so that any start finds them.
        labels = np.repeat(np.arange(4), 30)[blocks != k]
        means = np.array([some[labels == c].mean(axis=0) for c in range(4)])
        local = log10_i1(some - means[labels])
        assert found[1].extra["replicates"][k] == pytest.approx(local, abs=1e-9)


def of_clusters(subject: str, raw: float, one: float, twenty: float) -> list[Row]:
    values = (("raw", raw), ("k=1", one), ("k=20", twenty))
    return [
        Row(subject, part, "none", "local_i1", value, log10=float(np.log10(value)))
        for part, value in values
    ]


def test_claims_name_models_where_the_paper_does() -> None:
    apart = "not applicable"
    for subject, rows, expected in (
        ("mine", (1e-5, 1e-4, 0.3), ["holds", apart, apart, apart, apart]),
        ("BERT", (1e-5, 1e-4, 0.3), ["holds", "holds", apart, apart, apart]),
        ("roberta-base", (1e-6, 1e-4, 0.3), ["holds", apart, "fails", apart, apart]),
        ("gpt2", (1e-174, 1e-220, 1e-60), ["holds", apart, apart, "holds", "holds"]),
        ("GPT-2", (1e-220, 1e-30, 1e-60), ["reversed", apart, apart, "fails", "reversed"]),
    ):
        assert outcomes("R-T1", surely(of_clusters(subject, *rows))) == expected
    assert outcomes("R-T1", hardly(of_clusters("mine", 1e-5, 0.1, 0.2)))[0] == "undecided"
    assert outcomes("R-T1", of_clusters("mine", 1e-5, 0.1, 0.2))[0] == "undecided"
