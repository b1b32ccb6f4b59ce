"""Layers in the order of their depth, whatever a result calls them.

Profiles have ``embedding``, ``block 1``, …, ``final norm``, with ``encoder`` or ``decoder`` before
where a model has both; studies number them as papers do, from ``layer 0`` on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from isoscope.results.charts.vega import Spec, name

# As wide as the page, or as the theme where there is none: a chart whose horizontal axis has names
# would otherwise be as wide as they are many.
FITTED = {"width": "container"}

# Names that fit side by side at a slant, and standing; of more, some are left out.
SLANTED, UPRIGHT = 14, 26


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


def numbered(parts: Sequence[str]) -> dict[str, int]:
    """Return the number of every layer: its own, as of block 3, or else its place.

    The first may have none of its own: it is the input, layer 0.
    """
    ends = [re.search(r"(\d+)$", part) for part in parts]
    own = [int(end.group()) for end in ends if end is not None]
    if len(own) == len(parts) - 1 and ends[0] is None:
        own = [0, *own]
    if len(own) < len(parts) or len(set(own)) < len(own):
        own = list(range(len(parts)))
    return dict(zip(parts, own, strict=True))
