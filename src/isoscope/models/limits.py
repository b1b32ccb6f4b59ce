"""How long a text may be for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.models.positions import ROTARY

if TYPE_CHECKING:
    from isoscope.models.positions import Positions

LARGEST_LENGTH = 10_000_000
"""Tokenizers without a limit say so by a number above any length."""


def position_limit(positions: Positions, config: Any) -> int | None:
    """Return how many positions a network can tell apart, None where any number will do.

    A table ends somewhere. Rotary models have none, but their configuration says for how many
    positions they were made. Relative positions and ALiBi have no end.
    """
    if positions.tables:
        return min(table.positions for table in positions.tables)
    limit = getattr(config.get_text_config(), "max_position_embeddings", None)
    return int(limit) if limit and ROTARY in positions.kinds else None


def sane_length(tokenizer: Any) -> int | None:
    """Return the limit that a tokenizer sets, where it sets one."""
    length = getattr(tokenizer, "model_max_length", None)
    return int(length) if length and length < LARGEST_LENGTH else None
