"""WiC by thresholds in every layer, against the definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import OTHER_SIZE, load
from class_sets_for_tests import write_wic
from judged_for_tests import PAPERS_SIZE, outcomes, sure
from sts_for_tests import hidden_states

from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.judgement.scope import Facts
from isoscope.verbs.study.papers.luo2021 import tasks as clipping
from isoscope.verbs.study.papers.luo2021.tasks import (
    APART,
    BEST,
    CLIP,
    NONE,
    ON_TRAIN,
    WHITEN,
    told,
)
from isoscope.verbs.study.papers.luo2021.tasks import best_sense_rows as best_rows
from isoscope.verbs.study.registry import find_study

pytestmark = OTHER_SIZE
Folder = Callable[[str], Path]
KNOWN = {1: [3], 2: [3, 7], 3: [5]}


def whitened(tokens: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    values, vectors = np.linalg.eigh(np.cov(tokens.T, bias=True))
    kept = values > 1e-10 * values.max()  # the norm leaves one direction without variance
    return lambda rows: (rows - tokens.mean(axis=0)) @ vectors[:, kept] / np.sqrt(values[kept])


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_every_layer_and_the_best(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipping, "printed_dimensions", lambda *given: KNOWN.get(given[2], []))
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    folder, data = tiny_model("bert"), write_wic(tmp_path / "data")
    result = run_study("L-T4.1", [f"BERT={folder}"], data=data).result
    pairs = load("wic", data)
    states = hidden_states(folder, [t for pair in pairs for t in (pair.first, pair.second)],
                           special=True)  # fmt: skip
    learned = np.array([pair.split == "train" for pair in pairs])
    same = np.array([pair.same for pair in pairs])
    scored = {t for pair in pairs if pair.split != "train" for t in (pair.first, pair.second)}
    on_train: dict[str, list[float]] = {NONE: [], CLIP: [], WHITEN: []}
    for layer in (1, 2, 3):
        fitted = np.concatenate([rows[layer] for text, rows in states.items()
                                 if text not in scored])  # fmt: skip
        keep = ~np.isin(np.arange(fitted.shape[1]), KNOWN[layer])
        for correction, change in (
            (NONE, lambda rows: rows),
            (CLIP, lambda rows, keep=keep: rows * keep),
            (WHITEN, whitened(fitted)),
        ):
            cosines = np.array(
                [
                    cosine(
                        change(states[pair.first][layer])[1 + pair.first_index],
                        change(states[pair.second][layer])[1 + pair.second_index],
                    )
                    for pair in pairs
                ]
            )
            right = [np.mean(same[learned] == (cosines[learned] > k / 10)) for k in range(1, 10)]
            threshold = (int(np.argmax(right)) + 1) / 10
            part = f"layer {layer}"
            row = result.row(ON_TRAIN, correction, part=part)
            assert row.value == pytest.approx(max(right))
            assert row.extra["above"] == threshold
            assert (row.low, row.n) == (None, None)
            expected = np.mean(same[~learned] == (cosines[~learned] > threshold))
            honest = result.row(APART, correction, part=part)
            assert honest.value == pytest.approx(expected)
            assert honest.extra["above"] == threshold
            on_train[correction].append(max(right))
    printed = {NONE: 0.675, CLIP: 0.685, WHITEN: 0.688}
    for correction, values in on_train.items():
        place = f"layer {int(np.argmax(values)) + 1}"
        best = result.row(ON_TRAIN, correction, part=BEST)
        assert best.value == pytest.approx(max(values))
        assert best.extra["layer"] == place
        assert best.extra["printed"] == pytest.approx(printed[correction])
        honest = result.row(APART, correction, part=BEST)
        assert honest.value == result.value(APART, correction, part=place)
        assert honest.low is not None
        assert "printed" not in honest.extra
    assert len(set(on_train[NONE] + on_train[WHITEN])) > 1
    assert "the paper's dimensions 3, 7" in result.row(ON_TRAIN, CLIP, part="layer 2").protocol
    assert "special ones too" in result.rows[0].protocol


def test_a_threshold_is_shown_beside_its_accuracy(
    tiny_model: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    run = run_study("L-T4.1", [str(tiny_model("bert"))], data=write_wic(tmp_path / "data"))
    best = run.result.row(ON_TRAIN, WHITEN, part=BEST)
    said = f"{best.value:.4f} ({best.extra['layer']}, above {best.extra['above']:g})"
    assert said in run.to_markdown()


def test_the_input_is_no_candidate_and_the_first_of_equals_is_taken() -> None:
    layers = {"layer 0": 0.9, "layer 1": 0.5, "layer 2": 0.7, "layer 3": 0.7}
    rows = told(
        Row(
            "",
            part,
            NONE,
            measure,
            value,
            note="accuracy of cosines above 0.3; 1 pair without a score left out",
            extra={"thresholds": [0.3]},
        )
        for part, value in layers.items()
        for measure in (ON_TRAIN, APART)
    )
    assert [(row.measure, row.extra["layer"]) for row in best_rows(rows)] == [
        (ON_TRAIN, "layer 2"), (APART, "layer 2"),
    ]  # fmt: skip
    assert {row.extra["above"] for row in rows} == {0.3}
    assert [row.note for row in rows][:2] == ["", "1 pair without a score left out"]


def accuracies(subject: str, **values: float) -> list[Row]:
    rows = [Row(subject, BEST, name, APART, value) for name, value in values.items()]
    return [sure(row) for row in rows]


def test_claims_hold_and_fail() -> None:
    outside = "not applicable"
    good = accuracies("BERT", none=0.5, clip=0.6, whiten=0.7)
    assert outcomes("L-T4.1", good) == ["holds", "holds", outside]
    worse = accuracies("mine", none=0.5, clip=0.4, whiten=0.3)
    assert outcomes("L-T4.1", worse) == ["reversed", "reversed", outside]
    close = accuracies("mine", none=0.6791, clip=0.6794, whiten=0.6793)
    assert outcomes("L-T4.1", close) == ["undecided", "undecided", outside]
    large = replace(PAPERS_SIZE, parameters=335_000_000)
    for whiten, outcome in ((0.4, "holds"), (0.6, "reversed")):
        rows = accuracies("BERT-large", none=0.5, clip=0.6, whiten=whiten)
        assert outcomes("L-T4.1", rows, large) == [outside] * 2 + [outcome]


@pytest.mark.parametrize(
    "facts",
    [
        replace(PAPERS_SIZE, parameters=22_000_000),
        replace(PAPERS_SIZE, objective="causal"),
        replace(PAPERS_SIZE, sentence_encoder=True),
    ],
)
def test_claims_are_about_base_models(facts: Facts) -> None:
    rows = accuracies("mine", none=0.5, clip=0.6, whiten=0.7)
    assert outcomes("L-T4.1", rows, facts) == ["not applicable"] * 3


def test_what_the_paper_prints_is_selected_and_has_no_interval() -> None:
    row = Row("m", BEST, NONE, ON_TRAIN, 0.9, extra={"thresholds": [0.3]})
    apart = Row("m", BEST, NONE, APART, 0.6, low=0.55, high=0.65, extra={"thresholds": [0.3]})
    printed, honest = told([row, apart])
    assert printed.extra["selected"]
    assert printed.low is None
    assert "selected" not in honest.extra
    assert (honest.low, honest.high) == (0.55, 0.65)


def test_printed_numbers() -> None:
    printed = find_study("L-T4.1").printed()
    assert len(printed) == 6 * 3
    assert printed["RoBERTa-large", BEST, WHITEN, ON_TRAIN] == pytest.approx(0.712)
