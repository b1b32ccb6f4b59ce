"""A space before and after its clusters are centred, against the definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judging_for_tests import hardly, outcomes, surely
from sts_for_tests import hidden_states, log10_i1

from isoscope.corrections import ClusterRemoval
from isoscope.models.token_table import LAST
from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.rajaee2021.isotropy import CENTRED, measured

Folder = Callable[[str], Path]
TEXTS = [
    "the cat sat on the old tree.", "a small dog ran.", "it was the river bank",
    "the bird flew and the boat saw money", "green and red.", "the new boat was in the river",
]  # fmt: skip


def mean_cosine(vectors: np.ndarray) -> float:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    return float((cosines.sum() - np.trace(cosines)) / (len(units) ** 2 - len(units)))


def test_tokens_before_and_after_local_centring(tiny_model: Folder) -> None:
    folder = tiny_model("gpt2")
    run = run_study("R-F2", [f"GPT-2={folder}"], text=TEXTS)
    tokens = np.concatenate(
        [layers[-1] for layers in hidden_states(folder, TEXTS, special=False).values()]
    )
    row = run.result.row("mean_cosine", part=LAST)
    assert row.n == len(tokens)
    assert row.value == pytest.approx(mean_cosine(tokens), abs=1e-5)
    assert run.result.row("i1").log10 == pytest.approx(log10_i1(tokens), abs=1e-3)
    assert "10 clusters, as many as for table 2" in row.protocol
    assert "last layer: final norm" in row.protocol
    assert [table.correction for table in run.result.tables] == ["none", CENTRED]
    # Six texts are too few to leave some out.
    assert {verdict.outcome for verdict in run.verdicts} == {"undecided"}


def test_clusters_are_centred_and_drawn() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 5, (3, 4))
    tokens = np.concatenate([c + rng.normal(0, 0.3, (40, 4)) for c in centres])
    found = measured(tokens, np.arange(len(tokens)), 3, 0)
    cosines, logs = [], []
    for seed in range(5):
        labels = ClusterRemoval(3, 0, random_state=seed).fit(tokens).assign(tokens)
        means = np.array([tokens[labels == k].mean(axis=0) for k in range(3)])
        cosines.append(mean_cosine(tokens - means[labels]))
        logs.append(log10_i1(tokens - means[labels]))
    assert found.value("mean_cosine", CENTRED) == pytest.approx(np.mean(cosines), abs=1e-9)
    assert len(found.row("mean_cosine", CENTRED).extra["replicates"]) == 10
    assert found.row("i1", CENTRED).log10 == pytest.approx(np.log10(np.mean(10 ** np.array(logs))))
    labels = ClusterRemoval(3, 0, random_state=0).fit(tokens).assign(tokens)
    local = tokens - np.array([tokens[labels == k].mean(axis=0) for k in range(3)])[labels]
    for table, vectors in zip(found.tables, (tokens, local), strict=True):
        centred = vectors - vectors.mean(axis=0)
        _, sizes, rows = np.linalg.svd(centred, full_matrices=False)
        expected = np.abs(centred @ rows[:2].T)
        assert len(table.rows) == len(tokens)
        assert [abs(entry["first"]) for entry in table.rows] == pytest.approx(expected[:, 0])
        assert [abs(entry["second"]) for entry in table.rows] == pytest.approx(expected[:, 1])
        assert [entry["cluster"] for entry in table.rows] == labels.tolist()
        share = found.value("top_variance_share", table.correction)
        assert share == pytest.approx(sizes[0] ** 2 / (sizes**2).sum())


@pytest.mark.parametrize(
    ("cosine", "i1", "expected"),
    [(0.01, 1e-41, ["holds", "holds"]), (-0.06, 1e-39, ["fails", "fails"])],
)
def test_claims_hold_and_fail(cosine: float, i1: float, expected: list[str]) -> None:
    rows = [
        Row("gpt2", LAST, CENTRED, "mean_cosine", cosine),
        Row("gpt2", LAST, CENTRED, "i1", i1, log10=float(np.log10(i1))),
    ]
    assert outcomes("R-F2", surely(rows)) == expected
    assert outcomes("R-F2", hardly(rows)) == ["undecided"] * 2
    others = [Row("BERT", LAST, CENTRED, "i1", 1e-50, log10=-50.0)]
    assert outcomes("R-F2", others) == ["not applicable"] * 2
