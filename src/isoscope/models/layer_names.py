"""Names of layers and matrices, their order, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from isoscope.models.structure.stacks import Stack


EMBEDDING_MATRIX, UNEMBEDDING_MATRIX = "embedding matrix", "unembedding matrix"
POSITIONS = "positional embeddings"


LAYER = re.compile(
    r"(?:(encoder|decoder) )?(?:(embedding)|(block|layer) (\d{1,6})|(final norm|last layer))"
)
Place: TypeAlias = tuple[bool, int, bool]


def side_of_layer(part: str) -> str | None:
    """Return ``encoder``, ``decoder`` or nothing for a layer; None for other parts."""
    found = LAYER.fullmatch(part)
    return None if found is None else found[1] or ""


def place_of(layer: str) -> Place:
    """Return by what layers of one side are sorted.

    The last block keeps its name where papers number what is behind the final norm: block 12 comes
    before layer 12.
    """
    found = LAYER.fullmatch(layer)
    if found is None or found[5]:
        return True, 0, False
    return False, int(found[4] or 0), found[3] == "layer"


def in_words(layer: str) -> str:
    """Return a layer, or a run of blocks, as sentences name it.

    Examples
    --------
    >>> in_words("embedding"), in_words("block 3"), in_words("block 1–5")
    ('the embedding', 'block 3', 'blocks 1–5')
    """
    if not layer[-1:].isdigit():
        return f"the {layer}"
    return (
        layer.replace("block ", "blocks ").replace("layer ", "layers ") if "–" in layer else layer
    )


def in_order(layers: Iterable[str]) -> list[str]:
    """Return different layers from the input on, an encoder's before a decoder's."""
    return sorted(
        dict.fromkeys(layers),
        key=lambda layer: (side_of_layer(layer) == "decoder", place_of(layer)),
    )


FINAL = "final norm"

BLOCK = re.compile(r"(?:(encoder|decoder) )?block (\d+)")


EVERYTHING, ORDINARY = "all", "ordinary"


# What is added to the name of a layer for the tokens that are not the main ones.
SUFFIX = {EVERYTHING: ", all tokens", ORDINARY: ", ordinary tokens"}


def without_suffix(part: str) -> str:
    """Return the layer that a part is about."""
    for suffix in SUFFIX.values():
        part = part.removesuffix(suffix)
    return part


def numbered_layers(stacks: Sequence[Stack]) -> dict[str, str]:
    """Number the layers as transformers' ``hidden_states`` does: the input is layer 0.

    The last one is behind the final norm, where there is one, so that the last block's own output
    has no number. Of a sequence-to-sequence model the encoder is numbered.
    """
    layers = list(stacks[0].layers)
    # transformers overwrites the last block's output with what the final norm makes of it.
    if layers[-1].endswith("final norm"):
        del layers[-2]
    return {layer: f"layer {number}" for number, layer in enumerate(layers)}


EMBEDDING = "embedding"
FINAL_NORM = "final norm"


def side_of(path: str) -> str:
    """Return which side of a sequence-to-sequence model a path is on, as far as it says."""
    return next((part for part in path.split(".") if part in ("encoder", "decoder")), "")
