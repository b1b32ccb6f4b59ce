"""The recipes of Luo against brute force on the vectors of tiny models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.models.token_table import one_of_each, read_layers
from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.luo2021 import MAXIMUM, MINIMUM, POOLED, printed_dimensions
from isoscope.verbs.study.papers.luo2021.layers import COSINE
from isoscope.verbs.study.registry import Subject, find_study

TEXTS = [
    "the cat sat on the old tree.", "a small dog ran.", "it was the river bank",
    "the bird flew and the boat saw money", "green and red.", "the new boat was in the river",
    "a cat and a dog", "money is old", "birds saw the red tree", "it ran on and on and on",
]  # fmt: skip

Folder = Callable[[str], Path]


def hidden_states(folder: Path) -> list[list[np.ndarray]]:
    """Each text's tokens in every layer, by transformers itself, one text at a time."""
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    layers: list[list[np.ndarray]] = []
    with torch.no_grad():
        for text in TEXTS:
            inputs = tokenizer(text, return_tensors="pt")
            inputs.pop("token_type_ids", None)
            found = network(**inputs, output_hidden_states=True).hidden_states
            layers.append([state[0].double().numpy() for state in found])
    return [[text[k] for text in layers] for k in range(len(layers[0]))]


def mean_pair_cosine(vectors: np.ndarray, drawn: np.ndarray) -> list[float]:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return [float(units[a] @ units[b]) for a, b in drawn]


@pytest.fixture(scope="module")
def bert(tiny_model: Folder) -> Path:
    return tiny_model("bert")


def open_read(folder: Path, **options: Any) -> Any:
    from isoscope.data.texts import open_texts
    from isoscope.models.model import open_model

    return read_layers(open_model(str(folder)), open_texts(TEXTS), 0, special=True, **options)


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_layers_are_those_of_transformers(tiny_model: Folder, architecture: str) -> None:
    """Layer numbers are the usual tuple's: a decoder's last is behind its final norm."""
    folder = tiny_model(architecture)
    read = open_read(folder)
    expected = hidden_states(folder)
    assert list(read.layers) == [f"layer {k}" for k in range(len(expected))]
    for layer, states in zip(read.layers.values(), expected, strict=True):
        tokens = np.concatenate(states)
        assert layer.moments.rows == len(tokens)
        assert layer.moments.mean == pytest.approx(tokens.mean(axis=0), abs=1e-5)
        assert len(layer.tokens) == len(TEXTS)
        for state in states:  # one token of each text was drawn
            apart = np.abs(layer.tokens[:, None] - state[None]).max(axis=2)
            assert (apart.min(axis=1) < 1e-4).sum() >= 1


def test_one_token_of_each_text_at_random() -> None:
    sentences = np.repeat(np.arange(400), 4)
    positions = np.tile(np.arange(4), 400)
    rows = one_of_each(sentences, positions, 0)
    assert sentences[rows].tolist() == list(range(400))
    counts = np.bincount(positions[rows], minlength=4)
    assert counts.min() > 70  # 100 each, give or take four deviations
    shuffled = np.random.default_rng(0).permutation(1600)
    again = one_of_each(sentences[shuffled], positions[shuffled], 0)
    assert positions[shuffled][again].tolist() == positions[rows].tolist()
    assert one_of_each(sentences, positions, 1).tolist() != rows.tolist()


def test_random_pairs_share_no_token(bert: Path) -> None:
    run = run_study("L-F3.2", [f"RoBERTa={bert}"], text=TEXTS)
    tokens = open_read(bert).layers["layer 2"].tokens
    units = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    cosines = units @ units.T
    row = run.result.row(COSINE, part="layer 2")
    assert row.n == 10
    assert "5 pairs" in row.note
    # five of the 45 pairs, disjoint: all perfect matchings are tried
    sums = matchings(list(range(10)), cosines)
    assert np.abs(np.array(sums) / 5 - row.value).min() < 1e-5
    assert "special tokens in" in row.protocol
    depth = run.result.row(f"{COSINE}/with_depth")
    values = [run.result.value(COSINE, part=f"layer {k}") for k in (1, 2, 3)]
    ranks = np.argsort(np.argsort(values))
    assert depth.value == pytest.approx(np.corrcoef([0, 1, 2], ranks)[0, 1])


def matchings(left: list[int], cosines: np.ndarray) -> list[float]:
    """Return the sum over pairs for every way to pair all of them."""
    if not left:
        return [0.0]
    first, *rest = left
    return [
        cosines[first, other] + total
        for other in rest
        for total in matchings([k for k in rest if k != other], cosines)
    ]


def test_clipping_sets_found_dimensions_to_zero(bert: Path, monkeypatch: Any) -> None:
    from isoscope.verbs.study.papers.luo2021 import layers as luo

    monkeypatch.setattr(luo.luo2021, "printed_dimensions", lambda *_: [3, 7])
    run = run_study("L-F3.11", [f"RoBERTa={bert}"], text=TEXTS)
    tokens = open_read(bert, scatter=False).layers["layer 2"].tokens.copy()
    tokens[:, [3, 7]] = 0
    after = run.result.row(COSINE, "clip", part="layer 2")
    assert after.value == pytest.approx(luo.pair_cosine(tokens, 0).value, abs=1e-6)
    assert "clip: the paper's dimensions" in after.protocol
    assert after.extra["dimensions"] == [3, 7]
    assert "(dimensions 3, 7)" in run.to_markdown()
    before = run.result.value(COSINE, part="layer 2")
    fall = run.result.value(f"{COSINE}/fall", "clip", part="layer 2")
    assert fall == pytest.approx(before - after.value)


def test_whitening_is_fitted_on_all_tokens(bert: Path) -> None:
    from isoscope.verbs.study.papers.luo2021 import layers as luo

    run = run_study("L-F3.12", [f"BERT={bert}"], text=TEXTS)
    tokens = np.concatenate(hidden_states(bert)[2])
    values, vectors = np.linalg.eigh(np.cov(tokens.T, bias=True))
    kept = values > 1e-9 * values.max()
    drawn = open_read(bert).layers["layer 2"].tokens
    white = (drawn - tokens.mean(axis=0)) @ vectors[:, kept] / np.sqrt(values[kept])
    found = run.result.value(COSINE, "whiten", part="layer 2")
    assert found == pytest.approx(luo.pair_cosine(white, 0).value, abs=1e-3)
    distance = run.result.value(f"{COSINE}/distance_from_zero", "whiten", part="layer 2")
    assert distance == abs(found)


def test_scatter_before_and_after_whitening(bert: Path) -> None:
    run = run_study("L-F3.13", [f"BERT={bert}"], text=TEXTS)
    tokens = np.concatenate(hidden_states(bert)[3])
    values, vectors = np.linalg.eigh(np.cov(tokens.T, bias=True))
    share = run.result.value("top_variance_share", part="layer 3")
    assert share == pytest.approx(values[-1] / values.sum(), rel=1e-4)
    kept = int((values > 1e-9 * values.max()).sum())
    assert run.result.value("top_variance_share", "whiten") == pytest.approx(1 / kept)
    before, after = run.result.tables
    assert len(before.rows) == len(after.rows) == len(TEXTS)
    drawn = open_read(bert).layers["layer 3"].tokens - tokens.mean(axis=0)
    expected = np.abs(drawn @ vectors[:, -1])
    assert [abs(row["first"]) for row in before.rows] == pytest.approx(expected, abs=1e-3)
    ratios = [b["second"] / a["second"] for a, b in zip(before.rows, after.rows, strict=True)]
    assert ratios == pytest.approx([values[-2] ** -0.5] * len(TEXTS), rel=1e-2)
    assert run.verdicts[0].outcome == "holds"
    only = run_study("L-F3.1", [f"BERT={bert}"], text=TEXTS)
    assert only.verdicts == ()
    assert "claims nothing" in only.to_markdown()


def test_extreme_dimensions_are_counted(bert: Path) -> None:
    run = run_study("L-F3.3", [f"BERT={bert}"], text=TEXTS)
    states = [np.concatenate(layer) for layer in hidden_states(bert)]
    pooled = np.bincount(np.concatenate([layer.argmin(axis=1) for layer in states[1:]]))
    row = run.result.row(MINIMUM, part=POOLED)
    assert row.value == pytest.approx(pooled.max() / pooled.sum())
    assert row.extra["dimension"] == pooled.argmax()
    highest = np.bincount(states[2].argmax(axis=1))
    assert run.result.value(MAXIMUM, part="layer 2") == pytest.approx(highest.max() / highest.sum())
    largest = next(entry for entry in run.result.tables[0].rows if entry["layer"] == "layer 1")
    mean = states[1].mean(axis=0)
    assert largest["dimension"] == np.abs(mean).argmax()
    assert largest["mean"] == pytest.approx(mean[largest["dimension"]], abs=1e-5)


def test_dimensions_that_the_paper_names() -> None:
    assert printed_dimensions("roberta-base", 768) == [77, 588]
    assert printed_dimensions("BERT-large", 1_024, layer=10) == [678, 896]
    assert printed_dimensions("BERT-large", 1_024, layer=24) == []
    assert printed_dimensions("RoBERTa", 32) == []  # called so, but another model
    assert printed_dimensions("bert-base-uncased", 768) == []


def cosines(subject: str, values: list[float], correction: str = "none") -> list[Row]:
    return [Row(subject, f"layer {k}", correction, COSINE, v) for k, v in enumerate(values)]


def outcomes(name: str, rows: list[Row]) -> list[str]:
    study = find_study(name)
    return [claim.judge(Result(rows), study.models).outcome for claim in study.claims]


def test_claims_about_random_pairs_hold_and_fail() -> None:
    depth = Row("RoBERTa-base", "", "none", f"{COSINE}/with_depth", 0.9)
    good = [*cosines("RoBERTa-base", [0.1, 0.4, 0.6, 0.9]), depth]
    assert outcomes("L-F3.2", good) == ["holds", "holds"]
    bad = [*cosines("RoBERTa-base", [0.9, 0.9, 0.4, 0.9]), Row(*DEPTH, -0.2)]
    assert outcomes("L-F3.2", bad) == ["fails", "fails"]
    assert outcomes("L-F3.2", cosines("BERT-base", [0.9] * 4)) == ["cannot be judged"] * 2
    for fall, outcome in ((0.6, "holds"), (0.4, "fails")):
        rows = [Row("RoBERTa", f"layer {k}", "clip", f"{COSINE}/fall", 0.0) for k in (0, 1)]
        rows.append(Row("RoBERTa", "layer 2", "clip", f"{COSINE}/fall", fall))
        assert outcomes("L-F3.11", rows) == [outcome]
    white = [
        *cosines("BERT", [0.1, 0.5]), *cosines("BERT", [0.3, 0.01], "whiten"),
        Row("BERT", "layer 0", "whiten", f"{COSINE}/distance_from_zero", 0.3),
        Row("BERT", "layer 1", "whiten", f"{COSINE}/distance_from_zero", 0.01),
    ]  # fmt: skip
    assert outcomes("L-F3.12", white) == ["holds", "holds"]
    worse = [
        *cosines("BERT", [0.1, 0.5]), *cosines("BERT", [0.0, 0.6], "whiten"),
        Row("BERT", "layer 1", "whiten", f"{COSINE}/distance_from_zero", 0.6),
    ]  # fmt: skip
    assert outcomes("L-F3.12", worse) == ["fails", "fails"]


DEPTH = ("RoBERTa-base", "", "none", f"{COSINE}/with_depth")


def test_claims_about_extremes_hold_and_fail() -> None:
    def rows(bert: float, highest: float, lowest: float) -> list[Row]:
        return [
            Row("bert-base-cased", POOLED, "none", MINIMUM, bert),
            Row("bert-base-cased", "layer 3", "none", MINIMUM, 0.1),
            Row("RoBERTa", POOLED, "none", MAXIMUM, highest),
            Row("RoBERTa", POOLED, "none", MINIMUM, lowest),
        ]

    assert outcomes("L-F3.3", rows(0.966, 1.0, 0.8819)) == ["holds"] * 3
    assert outcomes("L-F3.3", rows(0.9, 0.9, 0.8)) == ["fails"] * 3


def test_a_text_is_asked_for(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoscope.errors import UsageError

    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    with pytest.raises(UsageError, match="L-F3.3 reads a text"):
        run_study("L-F3.3", [Subject("BERT", str(bert))])
