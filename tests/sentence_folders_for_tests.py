"""Folders of sentence-transformers, saved by that package itself, as it is now and as it was."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_models import HIDDEN, save_tiny_model, torch

library = pytest.importorskip("sentence_transformers")

from sentence_transformers.sentence_transformer import modules as parts  # noqa: E402

TEXTS = (
    "the cat sat on the bank of the river, and it saw a big bird in the old tree!",
    "A dog.",
    "",
    "it was the small red boat of the dog",
    "The GREEN boat ran on; THE MONEY, old and new, was in the bank of the river?",
    "bird",
)
"""Texts of several lengths, some of them longer than a model reads, with capitals and none."""

PROMPTS = {"query": "the cat: ", "document": "a tree: ", "topic": "is it "}


def save_sentence_folder(
    folder: Path,
    *modules: Any,
    architecture: str = "bert",
    longest: int | None = 16,
    seed: int = 0,
    **settings: Any,
) -> Path:
    """Save a tiny network with modules behind it; ``settings`` are those of the model."""
    network = save_tiny_model(architecture, folder.with_name(f"{folder.name}-network"), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = parts.Transformer(str(network), max_seq_length=longest)
        model = library.SentenceTransformer(modules=[first, *modules], device="cpu", **settings)
        model.save(str(folder), create_model_card=False)
    return folder


def pooling(mode: str | tuple[str, ...] = "mean", **options: Any) -> Any:
    """Make a pooling of the tiny networks."""
    return parts.Pooling(HIDDEN, mode, **options)


def dense(inner: int, outer: int, activation: Any = None, **options: Any) -> Any:
    """Make a dense layer with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(inner)
        return parts.Dense(
            inner, outer, activation_function=activation or torch.nn.Tanh(), **options
        )


def layer_norm(dimension: int) -> Any:
    """Make a layer norm with gain and bias of its own."""
    made = parts.LayerNorm(dimension)
    with torch.no_grad():
        made.norm.weight.copy_(torch.linspace(0.5, 2, dimension))
        made.norm.bias.copy_(torch.linspace(-1, 1, dimension))
    return made


def by_the_library(
    folder: Path, texts: Sequence[str] = TEXTS, way: str = "encode", **options: Any
) -> NDArray[Any]:
    """Encode texts with the package that saved the folder."""
    model = library.SentenceTransformer(str(folder), device="cpu")
    found: NDArray[Any] = getattr(model, way)(list(texts), show_progress_bar=False, **options)
    return found


def change_json(path: Path, change: Callable[[Any], Any]) -> None:
    """Rewrite a JSON file."""
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def write_as_before_version_6(folder: Path, **network: Any) -> None:
    """Rewrite the settings of modules in the way of versions 2 to 5."""
    switches = {
        "cls": "cls_token",
        "max": "max_tokens",
        "mean": "mean_tokens",
        "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
        "weightedmean": "weightedmean_tokens",
        "lasttoken": "lasttoken",
    }

    def old_pooling(given: dict[str, Any]) -> dict[str, Any]:
        modes = np.atleast_1d(given["pooling_mode"]).tolist()
        return {"word_embedding_dimension": given["embedding_dimension"]} | {
            f"pooling_mode_{name}": mode in modes for mode, name in switches.items()
        }

    def old_modules(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {**one, "type": f"sentence_transformers.models.{one['type'].rpartition('.')[2]}"}
            for one in given
        ]

    change_json(folder / "1_Pooling" / "config.json", old_pooling)
    change_json(folder / "modules.json", old_modules)
    for path in folder.glob("*_Normalize/config.json"):
        path.unlink()
        path.parent.rmdir()
    (folder / "sentence_bert_config.json").write_text(json.dumps(network))
    change_json(
        folder / "tokenizer_config.json", lambda given: {**given, "model_max_length": 1_000_000}
    )
