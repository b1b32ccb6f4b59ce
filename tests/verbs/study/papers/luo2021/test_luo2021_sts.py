"""Sentence similarity of every layer, clipped and whitened, against the definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judged_for_tests import PAPERS_SIZE, outcomes, sure
from sts_for_tests import both_correlations, hidden_states, scored_pairs, write_sts_sets

from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.luo2021 import tasks as study
from isoscope.verbs.study.papers.luo2021.tasks import BEST, CLIP, OVER_GLOVE, SPEARMAN, WHITEN
from isoscope.verbs.study.papers.luo2021.tasks import SIMILARITY_SCORES as SCORES
from isoscope.verbs.study.registry import find_study

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release of.*")
Folder = Callable[[str], Path]


def whitened(states: list[np.ndarray]) -> list[np.ndarray]:
    tokens = np.concatenate(states)
    values, vectors = np.linalg.eigh(np.cov(tokens.T, bias=True))
    kept = values > 1e-10 * values.max()  # the norm leaves one direction without variance
    return [
        (rows - tokens.mean(axis=0)) @ vectors[:, kept] / np.sqrt(values[kept]) for rows in states
    ]


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_every_layer_and_the_best(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    monkeypatch.setattr(study, "SETS", ("sts-13", "sts-b"))
    known = {1: [3], 2: [3, 7]}
    monkeypatch.setattr(study, "printed_dimensions", lambda *given: known.get(given[2], []))
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    folder, data = tiny_model(architecture), write_sts_sets(tmp_path / "data")
    run = run_study("L-T4.2", [f"BERT={folder}"], data=data)
    assert {row.part for row in run.result} == {BEST, *(f"layer {k}" for k in range(4))}
    assert {row.correction for row in run.result} == {"none", CLIP, WHITEN}
    first, second, _, _ = scored_pairs("sts-13", data)
    states = hidden_states(folder, [*first, *second], special=True)
    for layer in range(4):
        tokens = [layers[layer] for layers in states.values()]
        spaces = {"none": tokens, WHITEN: whitened(tokens)}
        if layer in known:
            keep = ~np.isin(np.arange(tokens[0].shape[1]), known[layer])
            spaces[CLIP] = [rows * keep for rows in tokens]
        for correction, changed in spaces.items():
            means = [rows.mean(axis=0) for rows in changed]
            vectors = dict(zip(states, means, strict=True))
            expected = both_correlations(vectors, "sts-13", data)
            for score, value in zip(SCORES, expected, strict=True):
                row = run.result.row(f"sts-13/{score}", correction, part=f"layer {layer}")
                assert row.value == pytest.approx(value, abs=1e-6)
    two = run.result.row(f"sts-b/{SPEARMAN}", CLIP, part="layer 2")
    assert "clip: the paper's dimensions 3, 7" in two.protocol
    assert two.protocol.startswith("sts-b: mean pooling, special tokens in")
    assert "transductive" in two.protocol
    assert not any("best" in row.note for row in run.result if row.part != BEST)
    three = run.result.row(f"sts-b/{SPEARMAN}", CLIP, part="layer 3")
    assert "clip: isoscope's rule" in three.protocol
    for correction in ("none", CLIP, WHITEN):
        measure = f"sts-b/{SPEARMAN}"
        scores = [run.result.value(measure, correction, part=f"layer {k}") for k in (1, 2, 3)]
        best = run.result.row(measure, correction, part=BEST)
        assert best.value == max(scores)
        assert best.extra["layer"] == f"layer {np.argmax(scores) + 1}"
        printed = {"none": 0.5861, CLIP: 0.6306, WHITEN: 0.6997}[correction]
        assert best.extra["printed"] == pytest.approx(printed)
        assert "chosen on the scored pairs" in best.note
        assert best.extra["selected"]
        assert f"(layer {np.argmax(scores) + 1}), printed {printed:g}" in run.to_markdown()
        above = run.result.value(f"{measure}/{OVER_GLOVE}", correction)
        assert above == pytest.approx(max(scores) - 0.5802)


def scores(subject: str, name: str, **values: float) -> list[Row]:
    return [
        sure(Row(subject, BEST, correction, f"{name}/{SPEARMAN}", value))
        for correction, value in values.items()
    ]


def above(name: str, value: float) -> Row:
    return sure(Row("mine", BEST, WHITEN, f"{name}/{SPEARMAN}/{OVER_GLOVE}", value))


def test_claims_hold_and_fail() -> None:
    outside = "not applicable"
    good = [
        *scores("mine", "sts-12", none=0.4, clip=0.5, whiten=0.5),
        *scores("mine", "sick-r", none=0.4, clip=0.5, whiten=0.3),
        above("sts-12", -0.1), above("sick-r", 0.1),
    ]  # fmt: skip
    assert outcomes("L-T4.2", good) == ["holds"] * 3 + [outside]
    bad = [*scores("mine", "sts-b", none=0.4, clip=0.3, whiten=0.3), above("sts-b", -0.1)]
    assert outcomes("L-T4.2", bad) == ["reversed"] * 3 + [outside]
    close = [*scores("mine", "sts-b", none=0.4, clip=0.4001, whiten=0.3999), above("sts-b", 1e-4)]
    assert outcomes("L-T4.2", close) == ["undecided"] * 3 + [outside]
    small = replace(PAPERS_SIZE, parameters=66_000_000)
    assert outcomes("L-T4.2", good, small) == [outside] * 4
    for worse, outcome in ((5, "holds"), (4, "fails")):
        rows = [
            row
            for k, name in enumerate(study.SETS)
            for row in scores("BERT-distil", name, none=0.4, clip=0.3 if k < worse else 0.5)
        ]
        assert outcomes("L-T4.2", rows, small) == [outside] * 3 + [outcome]
    layers = [Row("mine", "layer 1", c, f"sts-b/{SPEARMAN}", 0.1) for c in ("none", CLIP)]
    assert outcomes("L-T4.2", layers) == ["not run"] * 3 + [outside]


def layer_rows(values: list[float], correction: str, half: float) -> list[Row]:
    return [
        Row("m", f"layer {k}", correction, f"sts-b/{SPEARMAN}", v, low=v - half, high=v + half)
        for k, v in enumerate(values)
    ]


def test_choosing_a_layer_on_the_scored_pairs_is_paid_for() -> None:
    plain = layer_rows([0.9, 0.50, 0.60, 0.59], "none", 0.02)
    clipped = layer_rows([0.9, 0.50, 0.70, 0.71], CLIP, 0.02)
    changes = [
        replace(row, measure=f"{row.measure}/difference", value=value, low=value - 0.01,
                high=value + 0.01)
        for row, value in zip(clipped, [0.0, 0.0, 0.10, 0.12], strict=True)
    ]  # fmt: skip
    rows = {
        (row.correction, row.measure): row
        for row in study.best_similarity_rows([*plain, *clipped, *changes])
    }
    best = rows["none", f"sts-b/{SPEARMAN}"]
    assert (best.value, best.extra["layer"], best.extra["selected"]) == (0.6, "layer 2", True)
    assert best.low < 0.58  # that of one layer alone
    assert best.high > 0.62
    change = rows[CLIP, f"sts-b/{SPEARMAN}/difference"]
    assert change.value == pytest.approx(0.11)
    # Layers 2 and 3 may each be the best: between the smaller and the larger difference.
    assert 0.07 < change.low < 0.09
    assert 0.13 < change.high < 0.15
    run = [*rows.values()]
    assert outcomes("L-T4.2", run)[0] == "holds"


def test_printed_numbers() -> None:
    printed = find_study("L-T4.2").printed()
    models = {model for model, *_ in printed}
    assert len(models) == 7
    assert sum(name.endswith(SPEARMAN) for *_, name in printed) == 7 + 6 * 3 * 7
    glove = f"sts-b/{SPEARMAN}/{OVER_GLOVE}"
    assert printed["BERT-base", BEST, WHITEN, glove] == pytest.approx(0.6997 - 0.5802)
    assert printed["BERT-large", BEST, CLIP, f"sts-16/{SPEARMAN}"] == pytest.approx(0.7141)
