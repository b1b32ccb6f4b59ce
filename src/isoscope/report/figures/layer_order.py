"""Layers in the order of their depth, whatever a result calls them.

Profiles have ``embedding``, ``block 1``, …, ``final norm``, with ``encoder`` or ``decoder`` before
where a model has both; studies number them as papers do, from ``layer 0`` on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.report.vega import name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.report.vega import Spec

LAYER = re.compile(
    r"(?:(encoder|decoder) )?(?:(embedding)|(block|layer) (\d{1,6})|(final norm|last layer))"
)
Place: TypeAlias = tuple[bool, int, bool]
FITTED = {"width": "container"}
"""As wide as the page, or as the theme where there is none: a chart whose horizontal axis has names
would otherwise be as wide as they are many."""

SLANTED, UPRIGHT = 14, 26
"""Names that fit side by side at a slant, and standing; of more, some are left out."""


def side_of(part: str) -> str | None:
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


def in_order(layers: Iterable[str]) -> list[str]:
    """Return different layers from the input on, an encoder's before a decoder's."""
    return sorted(
        dict.fromkeys(layers), key=lambda layer: (side_of(layer) == "decoder", place_of(layer))
    )


def depth_axis(field: str, title: str, names: int, **more: Any) -> Spec:
    """Return an axis of names that marks sort by their ``depth``; ``names`` counts them."""
    return name(
        field,
        title,
        sort={"field": "depth", "op": "min"},
        axis={
            "labelAngle": -40 if names <= SLANTED else -90,
            "labelOverlap": "parity" if names > UPRIGHT else False,
        },
        **more,
    )


def layer_axis(layers: int, **more: Any) -> Spec:
    """Return an axis of points for layers; marks need ``layer`` and ``depth``."""
    return depth_axis("layer", "layer", layers, scale={"type": "point", "padding": 0.5}, **more)
