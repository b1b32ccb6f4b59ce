"""Local isotropy against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.verbs.study.api import run_study
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
    outcomes = [verdict.outcome for verdict in run.verdicts]
    assert outcomes == ["holds", "holds"] + ["cannot be judged"] * 3
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
