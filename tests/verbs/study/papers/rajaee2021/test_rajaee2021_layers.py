"""Isotropy of layers against its definition, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judging_for_tests import hardly, outcomes, surely

from isoscope.models.token_table import LAST
from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study

Folder = Callable[[str], Path]
TEXTS = [
    "the cat sat on the old tree.", "a small dog ran.", "it was the river bank",
    "the bird flew and the boat saw money", "green and red.", "the new boat was in the river",
]  # fmt: skip

NOUNS = ("cat", "dog", "bird", "tree", "boat", "bank")


def log10_i1(vectors: np.ndarray) -> float:
    """min Z / max Z over eigenvectors, each turned so that Z(c) ≥ Z(−c)."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    projected = vectors @ directions
    z = np.maximum(np.exp(projected).sum(axis=0), np.exp(-projected).sum(axis=0))
    return float(np.log10(z.min() / z.max()))


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_i1_of_layers_without_special_tokens(tiny_model: Folder, architecture: str) -> None:
    import torch
    import transformers

    folder = tiny_model(architecture)
    run = run_study("R-T5", [str(folder)], text=TEXTS)
    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    states: list[list[np.ndarray]] = []
    with torch.no_grad():
        for text in TEXTS:
            inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
            kept = inputs.pop("special_tokens_mask")[0] == 0
            inputs.pop("token_type_ids", None)
            found = network(**inputs, output_hidden_states=True).hidden_states
            states.append([state[0][kept].double().numpy() for state in found])
    for k in range(4):
        row = run.result.row("i1", part=f"layer {k}")
        tokens = np.concatenate([text[k] for text in states])
        assert row.n == len(tokens)
        assert row.log10 == pytest.approx(log10_i1(tokens), abs=1e-3)
        assert "special tokens out" in row.protocol
    own = {row.part for row in run.result} - {f"layer {k}" for k in range(4)}
    assert own == ({"block 3"} if architecture == "gpt2" else set())
    depth = run_study("R-F1", [str(folder)], text=TEXTS).result
    assert depth.value("i1", part=LAST) == run.result.value("i1", part="layer 3")


def layers(subject: str, *values: float) -> list[Row]:
    return [
        Row(subject, f"layer {k}", "none", "i1", value, log10=float(np.log10(value)))
        for k, value in enumerate(values)
    ]


def test_claims_hold_and_fail() -> None:
    ordinary = Row("gpt2", "layer 1, ordinary tokens", "none", "i1", 0.5)
    good = [
        *layers("gpt2", 1e-2, 1e-9), *layers("BERT", 1e-3, 1e-5), *layers("RoBERTa", 9e-3, 1e-7),
    ]  # fmt: skip
    assert outcomes("R-T5", [*surely(good), ordinary]) == ["holds"] * 5
    bad = [*layers("gpt2", 1e-4, 1e-3), *layers("BERT", 1e-3, 1e-8), *layers("RoBERTa", 1e-5, 1e-7)]
    assert outcomes("R-T5", surely(bad)) == ["fails", "holds", "holds", "reversed", "fails"]
    assert outcomes("R-T5", hardly(good)) == ["undecided"] * 5
    alone = surely(layers("other", 0.1, 1e-9))
    assert outcomes("R-T5", alone) == ["holds", *["not applicable"] * 2]


def test_the_claim_about_depth() -> None:
    for last, outcome in ((1e-6, "holds"), (1e-8, "reversed")):
        rows = layers("roberta-base", 1e-2, 1e-7, last)
        rows[-1] = Row("roberta-base", LAST, "none", "i1", last, log10=float(np.log10(last)))
        assert outcomes("R-F1", surely(rows)) == [outcome]
        assert outcomes("R-F1", hardly(rows)) == ["undecided"]
        other = [replace(row, subject="mine") for row in surely(rows)]
        assert outcomes("R-F1", other) == ["not applicable"]


def test_layers_without_blocks_of_texts(tiny_model: Folder) -> None:
    texts = [f"the {a} sat on the {b}" for a in NOUNS for b in NOUNS]
    result = run_study("R-T5", [str(tiny_model("bert"))], text=texts).result
    for k in range(4):
        row = result.row("i1", part=f"layer {k}")
        assert len(row.extra["replicates"]) == 10
        assert row.low < row.value < row.high
        assert row.extra["blocks"] == f"10 blocks of {len(texts)} texts, seed 0"
