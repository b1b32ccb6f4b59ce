"""Corrected sentence vectors against tokens that were corrected and pooled by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from isoscope.corrections import make_correction
from isoscope.corrections.named import named
from isoscope.data.sampling import TokenSample
from isoscope.errors import UsageError
from isoscope.models.encode import Encoder
from isoscope.models.model import Model, open_model
from isoscope.models.sentences.pooling import POOLINGS, token_batches
from isoscope.tasks.protocol import FitTexts
from isoscope.verbs.evaluate.sentence_spaces import Space, sentence_spaces

NOUNS = ("cat", "dog", "bird", "tree", "river", "boat", "bank")
TEXTS = [f"the {noun} {verb} on it" for noun in NOUNS for verb in ("sat", "ran", "flew")] + [""]
OTHERS = [f"a big {noun} and {other}" for noun in NOUNS for other in NOUNS]
LAYERS = ["embedding", "block 2"]


@pytest.fixture
def bert(tiny_model: Callable[[str], Path]) -> Model:
    return open_model(str(tiny_model("bert")), device="cpu")


def tokens_of(model: Model, texts: list[str], layer: str, special: bool) -> list[np.ndarray]:
    """The tokens of every text, each an array of its own; none for one without any."""
    found: list[np.ndarray] = [np.empty((0, 32))] * len(texts)
    for batch in token_batches(model, texts, [layer], special_tokens=special):
        parts = np.split(batch.layers[layer].numpy(), np.cumsum(batch.counts)[:-1])
        for place, part in zip(batch.rows, parts, strict=True):
            found[place] = part.astype(np.float64)
    return found


def spaces(
    encoder: Encoder, corrections: list[Any], fit: FitTexts, level: Any
) -> dict[tuple[str, str], Space]:
    found = sentence_spaces(encoder, TEXTS, named(corrections), layers=LAYERS, level=level, fit=fit)
    return {(one.layer, one.correction): one for several in found for one in several}


POOL: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean": lambda rows: rows.mean(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "cls": lambda rows: rows[0],
    "last": lambda rows: rows[-1],
}


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("transductive", [True, False])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_tokens_are_corrected_then_pooled(
    bert: Model, pooling: str, transductive: bool, special: bool
) -> None:
    wanted = [
        "none", "center", "all-but-the-top:n_components=2", "center:renormalize=true",
        "cluster-pc-removal:n_clusters=2:n_components=1", StandardScaler(),
    ]  # fmt: skip
    fit = FitTexts.scored(TEXTS) if transductive else FitTexts.apart(OTHERS, "others", TEXTS)
    found = spaces(Encoder(bert, pooling, special, cache=False), wanted, fit, "token")
    assert len(found) == 2 * len(wanted)
    for layer in LAYERS:
        tokens = tokens_of(bert, TEXTS, layer, special)
        learned = tokens if transductive else tokens_of(bert, OTHERS, layer, special)
        rows = np.concatenate(learned)
        for one in named(wanted):
            if one.name.startswith("cluster"):  # which starts from rows in their order
                continue
            changed = tokens
            if one.transformer is not None:
                one.transformer.fit(rows)
                changed = [
                    one.transformer.transform(part) if len(part) else part for part in tokens
                ]
            vectors = found[layer, one.name].vectors
            for row, part in zip(vectors, changed, strict=True):
                if not len(part):
                    assert np.isnan(row).all()
                    continue
                np.testing.assert_allclose(row, POOL[pooling](part), atol=1e-4)


def test_clusters_are_removed_from_tokens(bert: Model) -> None:
    """Not from their mean, which lies between clusters."""
    name = "cluster-pc-removal:n_clusters=2:n_components=1"
    encoder = Encoder(bert, cache=False)
    found = spaces(encoder, [name], FitTexts.scored(TEXTS), "token")
    tokens = np.concatenate(
        [batch.layers["block 2"].numpy() for batch in token_batches(bert, TEXTS, ["block 2"])]
    )
    correction = make_correction(name).fit(tokens)
    expected = [
        correction.transform(part.astype(np.float32)).mean(axis=0)
        for part in tokens_of(bert, TEXTS, "block 2", True)
    ]
    np.testing.assert_allclose(found["block 2", name].vectors, expected, atol=1e-4)


def test_sentence_vectors_are_corrected(bert: Model) -> None:
    encoder = Encoder(bert, special_tokens=False, cache=False)
    fit = FitTexts.apart(OTHERS, "others", TEXTS)
    found = spaces(encoder, ["none", "whiten:n_components=5"], fit, "sentence")
    learned, raw = encoder.encode(OTHERS)["block 2"], encoder.encode(TEXTS)["block 2"]
    whiten = make_correction("whiten:n_components=5").fit(learned)
    vectors = found["block 2", "whiten:n_components=5"].vectors
    np.testing.assert_allclose(vectors[:-1], whiten.transform(raw[:-1]), rtol=1e-3, atol=1e-3)
    assert np.isnan(vectors[-1]).all()
    np.testing.assert_array_equal(found["block 2", "none"].vectors, raw)


@pytest.mark.parametrize("level", ["token", "sentence"])
def test_a_fit_on_scored_texts_has_to_be_asked_for(bert: Model, level: Any) -> None:
    encoder = Encoder(bert, cache=False)
    with pytest.raises(UsageError, match="--transductive"):
        FitTexts.apart(TEXTS, "mine", TEXTS)
    with pytest.raises(UsageError, match="1 text of mine would be fitted on and scored"):
        spaces(encoder, ["center"], FitTexts((*OTHERS, TEXTS[0]), "mine"), level)
    with pytest.raises(UsageError, match="which texts"):
        list(sentence_spaces(encoder, TEXTS, named(["center"]), level=level))
    assert spaces(encoder, ["center"], FitTexts.scored(TEXTS), level)


def test_scored_texts_are_left_out_of_others() -> None:
    fit = FitTexts.apart([*OTHERS, TEXTS[0], OTHERS[0]], "STS-B train", TEXTS)
    assert fit.texts == tuple(OTHERS)
    assert fit.describe("token") == (
        "corrections fitted on all tokens of STS-B train (49 distinct texts, scored ones left "
        "out: 1)"
    )
    assert FitTexts.scored(TEXTS).describe("sentence") == (
        "corrections fitted on the sentence vectors of the texts of all scored pairs (22 distinct "
        "texts), transductive"
    )


def test_wrong_levels_are_refused(bert: Model) -> None:
    with pytest.raises(UsageError, match="token or sentence, not 'word'"):
        spaces(Encoder(bert, cache=False), ["none"], FitTexts.scored(TEXTS), "word")


def test_a_sample_of_tokens_is_the_same_for_any_batches() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.arange(1_000.0)[:, None]
    drawn = []
    for step in (1, 7, 1_000):
        sample = TokenSample(50, seed=3)
        for first in range(0, 1_000, step):
            sample.add(rows[first : first + step])
        drawn.append(sample.rows())
    assert len(drawn[0]) == 50
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[0], drawn[2])
    assert (np.diff(drawn[0][:, 0]) > 0).all()
