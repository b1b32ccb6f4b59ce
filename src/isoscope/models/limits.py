"""How long a text may be for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

LARGEST_LENGTH = 10_000_000
"""Tokenizers without a limit say so by a number above any length."""


def position_limit(skeleton: nn.Module, config: Any) -> int | None:
    """Return how many positions a network can tell apart, None where any number will do.

    A table of positions has a row for each, and at times some rows before the first: RoBERTa and
    MPNet begin behind the padding token's, OPT and BART by an offset. Rotary models have no table;
    their configuration says for how many they were made. Relative positions have no end.
    """
    tables = [usable_rows(table) for table in position_tables(skeleton)]
    if tables:
        return min(tables)
    if any("rotary" in type(module).__name__.lower() for module in skeleton.modules()):
        limit = getattr(config.get_text_config(), "max_position_embeddings", None)
        return int(limit) if limit else None
    return None


def position_tables(skeleton: nn.Module) -> list[Any]:
    """Find the tables that are looked up by position."""
    from torch import nn

    return [
        module
        for path, module in skeleton.named_modules()
        if isinstance(module, nn.Embedding) and is_position(path.rpartition(".")[2])
    ]


def is_position(name: str) -> bool:
    """Whether the name of an embedding is one of positions, and not of distances between them."""
    return name == "wpe" or ("position" in name and "relative" not in name)


def usable_rows(table: Any) -> int:
    """Return how many positions a table has rows for."""
    before = getattr(table, "offset", None)
    if before is None:
        before = 0 if table.padding_idx is None else table.padding_idx + 1
    return int(table.num_embeddings) - int(before)


def sane_length(tokenizer: Any) -> int | None:
    """Return the limit that a tokenizer sets, where it sets one."""
    length = getattr(tokenizer, "model_max_length", None)
    return int(length) if length and length < LARGEST_LENGTH else None
