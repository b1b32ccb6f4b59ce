"""The recipes of Luo against brute force on the vectors of tiny models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judged_for_tests import outcomes, sure

from isoscope.models.token_table import one_of_each, read_layers
from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.luo2021 import (
    MAXIMUM,
    MINIMUM,
    POOLED,
    SentencePairs,
    never_certain,
    printed_dimensions,
)
from isoscope.verbs.study.papers.luo2021.layers import COSINE, WITH_DEPTH, depth_row
from isoscope.verbs.study.registry import Subject

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


def pair_cosine(vectors: np.ndarray, texts: np.ndarray) -> float:
    """Mean cosine of the pairs of sentences, one vector each."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    place = {int(text): k for k, text in enumerate(texts)}
    pairs = SentencePairs.of(len(texts), 0)
    drawn = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return float(np.mean([units[place[a]] @ units[place[b]] for a, b in drawn]))


def many_texts(count: int = 60) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(" ".join(TEXTS).split(), rng.integers(3, 9))) for _ in range(count)]


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
    layer = open_read(bert, scatter=False).layers["layer 2"]
    tokens = layer.tokens.copy()
    tokens[:, [3, 7]] = 0
    after = run.result.row(COSINE, "clip", part="layer 2")
    assert after.value == pytest.approx(pair_cosine(tokens, layer.texts), abs=1e-6)
    assert "clip: the paper's dimensions" in after.protocol
    assert after.extra["dimensions"] == [3, 7]
    assert "(dimensions 3, 7)" in run.to_markdown()
    before = run.result.value(COSINE, part="layer 2")
    fall = run.result.value(f"{COSINE}/fall", "clip", part="layer 2")
    assert fall == pytest.approx(before - after.value)


def test_whitening_is_fitted_on_all_tokens(bert: Path) -> None:
    run = run_study("L-F3.12", [f"BERT={bert}"], text=TEXTS)
    tokens = np.concatenate(hidden_states(bert)[2])
    values, vectors = np.linalg.eigh(np.cov(tokens.T, bias=True))
    kept = values > 1e-9 * values.max()
    layer = open_read(bert).layers["layer 2"]
    white = (layer.tokens - tokens.mean(axis=0)) @ vectors[:, kept] / np.sqrt(values[kept])
    found = run.result.value(COSINE, "whiten", part="layer 2")
    assert found == pytest.approx(pair_cosine(white, layer.texts), abs=1e-3)
    # Of ten sentences no block can be left out.
    assert {verdict.outcome for verdict in run.verdicts} == {"undecided"}


def test_both_sentences_of_a_pair_are_in_one_block() -> None:
    pairs = SentencePairs.of(101, 3)
    assert len({*pairs.first.tolist(), *pairs.second.tolist()}) == 100
    assert (pairs.blocks[pairs.first] == pairs.of_pairs).all()
    assert (pairs.blocks[pairs.second] == pairs.of_pairs).all()
    assert np.bincount(pairs.of_pairs).tolist() == [5] * 10
    assert pairs.are_enough
    assert not SentencePairs.of(38, 3).are_enough


@pytest.mark.parametrize("name", ["L-F3.11", "L-F3.12", "L-F3.13", "L-F3.3"])
def test_what_a_block_of_sentences_changes(bert: Path, name: str) -> None:
    """Values without a block are those of a study of the other sentences."""
    texts = many_texts()
    run = run_study(name, [f"BERT={bert}"], text=texts)
    rows = [row for row in run.result if row.value is not None and "replicates" in row.extra]
    assert {len(row.extra["replicates"]) for row in rows} == {10}
    blocks = SentencePairs.of(len(texts), 0).blocks
    others = [text for text, block in zip(texts, blocks, strict=True) if block != 4]
    alone = run_study(name, [f"BERT={bert}"], text=others).result
    for row in rows:
        left = row.extra["replicates"][4]
        if name == "L-F3.13":
            again = alone.value(row.measure, row.correction, part=row.part)
            assert left == pytest.approx(again, rel=1e-4)
        if name == "L-F3.3":
            again = alone.row(row.measure, row.correction, part=row.part)
            if again.extra["dimension"] == row.extra["dimension"]:
                assert left == pytest.approx(again.value)
        assert row.low <= row.value <= row.high
    if name == "L-F3.12":
        layer = open_some(bert, others).layers["layer 2"]
        pairs = SentencePairs.of(len(texts), 0)
        assert len(layer.texts) == sum(blocks != 4)
        assert (pairs.of_pairs != 4).sum() * 2 == len(others)


def open_some(folder: Path, texts: list[str]) -> Any:
    from isoscope.data.texts import open_texts
    from isoscope.models.model import open_model

    return read_layers(open_model(str(folder)), open_texts(texts), 0, special=True)


def test_blocks_add_up_to_all_sentences(bert: Path) -> None:
    from isoscope.data.texts import open_texts
    from isoscope.models.model import open_model

    texts = many_texts()
    blocks = SentencePairs.of(len(texts), 0).blocks
    read = read_layers(
        open_model(str(bert)), open_texts(texts), 0, special=True, blocks=blocks
    ).layers["layer 2"]
    whole = open_some(bert, texts).layers["layer 2"]
    assert read.moments.rows == whole.moments.rows == sum(part.rows for part in read.parts)
    assert read.moments.scatter == pytest.approx(whole.moments.scatter, rel=1e-4, abs=1e-5)
    others = open_some(bert, [t for t, b in zip(texts, blocks, strict=True) if b != 4])
    left = read.moments.without(read.parts[4])
    expected = others.layers["layer 2"].moments
    assert left.rows == expected.rows
    assert left.mean == pytest.approx(expected.mean, abs=1e-5)
    assert left.scatter == pytest.approx(expected.scatter, rel=1e-3, abs=1e-4)


def test_a_share_of_all_sentences_is_not_one_of_all_vectors() -> None:
    row = Row("m", POOLED, "none", MAXIMUM, 1.0, extra={"replicates": [1.0] * 10, "blocks": "b"})
    found = never_certain(row, 100)
    assert found.extra == {"trials": 100}
    assert 0.95 < found.low < 0.97
    some = Row("m", POOLED, "none", MAXIMUM, 0.9, extra={"replicates": [0.9] * 9 + [0.91]})
    assert never_certain(some, 100) is some


def test_a_rise_is_tested_by_its_steps() -> None:
    def rise(values: list[float]) -> Row:
        rows = [Row("", f"layer {k}", "none", COSINE, v) for k, v in enumerate([0.0, *values])]
        return depth_row(rows)

    steady = rise([0.1 + 0.05 * k for k in range(12)])
    assert steady.value == pytest.approx(1)
    assert steady.extra["p"] == pytest.approx(2 / 2**11)
    wandering = rise([0.3, 0.5, 0.2, 0.6, 0.4, 0.5, 0.3, 0.6, 0.2, 0.5, 0.4, 0.45])
    assert wandering.extra["p"] > 0.5


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
    assert run.verdicts[0].outcome == "undecided"  # of ten sentences
    sure_of_it = run_study("L-F3.13", [f"BERT={bert}"], text=many_texts())
    assert sure_of_it.verdicts[0].outcome == "holds"
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
    return [sure(Row(subject, f"layer {k}", correction, COSINE, v)) for k, v in enumerate(values)]


def test_claims_about_random_pairs_hold_and_fail() -> None:
    def rise(value: float, p: float) -> Row:
        return Row("RoBERTa-base", "", "none", WITH_DEPTH, value, extra={"p": p})

    good = [*cosines("RoBERTa-base", [0.1, 0.4, 0.6, 0.9]), rise(0.5, 0.002)]
    assert outcomes("L-F3.2", good) == ["holds", "holds"]
    bad = [*cosines("RoBERTa-base", [0.9, 0.9, 0.4, 0.9]), rise(-0.3, 0.002)]
    assert outcomes("L-F3.2", bad) == ["fails", "reversed"]
    assert outcomes("L-F3.2", [rise(0.04, 0.9)])[1] == "undecided"
    assert outcomes("L-F3.2", cosines("RoBERTa", [0.9, 0.9, 0.5005]))[0] == "undecided"
    assert outcomes("L-F3.2", cosines("BERT-base", [0.9] * 4)) == ["not applicable"] * 2
    for fall, outcome in ((0.6, "holds"), (0.4, "fails"), (-0.4, "reversed"), (0.5, "undecided")):
        rows = [Row("RoBERTa", f"layer {k}", "clip", f"{COSINE}/fall", 0.0) for k in (0, 1)]
        rows.append(Row("RoBERTa", "layer 2", "clip", f"{COSINE}/fall", fall))
        assert outcomes("L-F3.11", map(sure, rows)) == [outcome]
    white = [*cosines("BERT", [0.1, 0.5]), *cosines("BERT", [0.3, 0.01], "whiten")]
    assert outcomes("L-F3.12", white) == ["holds", "holds"]
    worse = [*cosines("BERT", [0.1, 0.5]), *cosines("BERT", [0.0, 0.6], "whiten")]
    assert outcomes("L-F3.12", worse) == ["reversed", "fails"]
    other = [*cosines("mine", [0.1, 0.5]), *cosines("mine", [0.3, 0.01], "whiten")]
    assert outcomes("L-F3.12", other) == ["holds", "not applicable"]


def test_claims_about_extremes_hold_and_fail() -> None:
    def rows(bert: float, highest: float, lowest: float) -> list[Row]:
        found = [
            Row("bert-base-cased", POOLED, "none", MINIMUM, bert),
            Row("bert-base-cased", "layer 3", "none", MINIMUM, 0.1),
            Row("RoBERTa", POOLED, "none", MAXIMUM, highest),
            Row("RoBERTa", POOLED, "none", MINIMUM, lowest),
        ]
        return [sure(row) for row in found]

    assert outcomes("L-F3.3", rows(0.966, 1.0, 0.8819)) == ["holds"] * 3
    assert outcomes("L-F3.3", rows(0.9, 0.9, 0.8)) == ["fails"] * 3
    assert outcomes("L-F3.3", rows(0.951, 0.9905, 0.849)) == ["undecided"] * 3
    mine = [sure(Row("mine", POOLED, "none", MINIMUM, 0.2))]
    assert outcomes("L-F3.3", mine) == ["not applicable"] * 3


def test_a_text_is_asked_for(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isoscope.errors import UsageError

    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    with pytest.raises(UsageError, match="L-F3.3 reads a text"):
        run_study("L-F3.3", [Subject("BERT", str(bert))])


def test_printed_shares_stand_beside_models_of_the_papers_names(
    tiny_model: Folder, tmp_path: Path
) -> None:
    import shutil

    from isoscope.verbs.study.text import beside_printed

    folder = tmp_path / "roberta-base"
    shutil.copytree(tiny_model("roberta"), folder)
    run = run_study("L-F3.3", [str(folder)], text=many_texts())
    found = {one.what: one for one in beside_printed(run)}
    highest = found[f"roberta-base: {POOLED} {MAXIMUM} (none)"]
    assert highest.printed == pytest.approx(1.0, abs=0.005)
    assert highest.difference == pytest.approx(highest.measured - highest.printed)
    assert len(found) == 2
    decided = {verdict.outcome for verdict in run.verdicts if "RoBERTa" in verdict.text}
    assert decided == {"fails"}  # the weights are random
    assert {verdict.other_models for verdict in run.verdicts} == {()}
