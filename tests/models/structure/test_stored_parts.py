"""Checkpoints whose configuration names a head that they do not store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import isoscope
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import ARCHITECTURES, without_head

TEXTS = ["the cat sat on the bank.", "a dog saw the old tree.", "it was a small, new boat."] * 4

# Heads with weights of their own; the others are the embedding, or stored in all cases.
OWN_HEADS = ("bert", "roberta", "distilbert", "mpnet", "gpt-neox")


@pytest.mark.parametrize("architecture", OWN_HEADS)
def test_parts_of_a_head_that_is_not_stored_are_left_out(
    architecture: str, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_model(architecture)
    whole = isoscope.open_model(str(folder))
    assert whole.not_stored == ()
    assert whole.parts.unembedding is not None
    model = isoscope.open_model(str(without_head(folder, tmp_path / "headless")))
    assert model.not_stored
    assert (model.parts.unembedding, model.parts.tied, model.tied) == (None, None, None)
    assert model.parts.norms == tuple(n for n in whole.parts.norms if n.where != "head")
    assert model.parts.input_embedding == whole.parts.input_embedding
    for norm in model.parts.norms:
        assert norm.gain is not None
        np.testing.assert_array_equal(model.tensor(norm.gain), whole.tensor(norm.gain))
    assert "not all stored" in model.provenance["not_stored"]
    assert "not_stored" not in whole.provenance
    with pytest.raises(UsageError, match="headless has no unembedding"):
        model.embedding_cloud("output")


@pytest.mark.parametrize("architecture", sorted(set(ARCHITECTURES) - set(OWN_HEADS)))
def test_nothing_is_missing_where_a_head_is_the_embedding(
    architecture: str, tiny_model: Callable[[str], Path]
) -> None:
    model = isoscope.open_model(str(tiny_model(architecture)))
    assert model.not_stored == ()
    assert model.parts.unembedding is not None


def test_a_missing_bias_leaves_the_unembedding(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    folder = without_head(tiny_model("mpnet"), tmp_path / "mpnet")
    stored = load_file(tiny_model("mpnet") / "model.safetensors")
    kept = {name: tensor for name, tensor in stored.items() if name != "lm_head.bias"}
    assert len(kept) < len(stored)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    model = isoscope.open_model(str(folder))
    assert model.not_stored
    assert all(path.endswith("bias") for path in model.not_stored)
    assert model.parts.unembedding is not None
    assert model.parts.norms[-1].where == "head"


def test_what_is_missing_of_the_network_itself_is_refused(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    folder = without_head(tiny_model("mpnet"), tmp_path / "mpnet")
    stored = load_file(folder / "model.safetensors")
    del stored["encoder.layer.1.output.LayerNorm.weight"]
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    model = isoscope.open_model(str(folder))
    assert all(path.startswith("lm_head") for path in model.not_stored)
    with pytest.raises(DataError, match=r"not complete: .*encoder\.layer\.1"):
        _ = model.network


def test_a_folder_without_weights_names_its_parts(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = without_head(tiny_model("mpnet"), tmp_path / "mpnet")
    (folder / "model.safetensors").unlink()
    model = isoscope.open_model(str(folder))
    assert model.parts.unembedding is not None
    with pytest.raises(DataError, match="has no weights"):
        model.tensor(model.parts.input_embedding)


def test_a_profile_says_which_weights_are_missing(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = str(without_head(tiny_model("mpnet"), tmp_path / "headless"))
    weights = isoscope.profile(folder)
    told = "MPNetForMaskedLM has a head whose weights are not all stored"
    assert "There is no unembedding" in weights.verdicts[0]["sentence"]
    assert told in weights.verdicts[0]["sentence"]
    layers = isoscope.profile(folder, TEXTS, measures="mean_cosine,persistence")
    for found in (weights, layers):
        assert told in found.to_markdown()


def test_explain_layernorm_goes_on_without_the_norm_of_the_head(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = without_head(tiny_model("mpnet"), tmp_path / "headless")
    found = isoscope.explain(str(folder), TEXTS, topics="layernorm")
    assert "lm_head" not in " ".join(row.protocol for row in found.rows)
    assert "are not all stored" in found.extra["remarks"][0]
