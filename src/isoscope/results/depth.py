"""Several models side by side, layers at the same relative depth in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoscope.results.layered import OTHER_TOKENS, PARTS, is_of_checkpoint, short
from isoscope.results.render import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.results.result import Result, Row

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
FINAL = "final norm"
COMPARED = ("mean_cosine", "intra_sim", "effective_rank")
"""What models are laid beside each other by, as far as it was measured."""

BLOCK = re.compile(r"(?:(encoder|decoder) )?block (\d+)")


def depth_grids(result: Result) -> list[Grid]:
    """Return a grid over relative depth where several models have layers, else none."""
    layers: dict[str, dict[str, list[Row]]] = {}
    for row in result.rows:
        if row.correction == "none" and is_layer(row):
            for name, part in stacks_of(row):
                layers.setdefault(name, {}).setdefault(part, []).append(row)
    known = {row.measure for parts in layers.values() for rows in parts.values() for row in rows}
    measures = [name for name in COMPARED if name in known]
    if len({name.split(",")[0] for name in layers}) < 2 or not measures:
        return []
    header = ["depth", *(f"{measure}: {name}" for measure in measures for name in layers)]
    body = [
        [
            f"{depth:.0%}",
            *(
                short(at_depth(parts, depth, measure))
                for measure in measures
                for parts in layers.values()
            ),
        ]
        for depth in DEPTHS
    ]
    last = [short(of(parts.get(FINAL, []), m)) for m in measures for parts in layers.values()]
    if any(last):
        body.append([FINAL, *last])
    note = "0 % is what enters the first block, 100 % the last block; the nearest layer is shown"
    return [Grid(f"{len(layers)} models over relative depth", header, body, [note], [])]


def is_layer(row: Row) -> bool:
    """Whether a row is about a layer with the tokens that count, of a model as it is now."""
    return (
        PARTS not in row.extra and not row.part.endswith(OTHER_TOKENS) and not is_of_checkpoint(row)
    )


def stacks_of(row: Row) -> list[tuple[str, str]]:
    """Return model and layer, where encoder and decoder of a model are two."""
    side, _, rest = row.part.partition(" ")
    if side in ("encoder", "decoder"):
        return [(f"{row.subject}, {side}", rest)]
    return [(row.subject, row.part)]


def at_depth(parts: Mapping[str, Sequence[Row]], depth: float, measure: str) -> Row | None:
    """Return the value of the layer nearest to a depth, from the embedding, 0, to the last, 1."""
    blocks = {int(found[2]): part for part in parts if (found := BLOCK.fullmatch(part))}
    last = max(blocks, default=0)
    number = round(depth * last)
    return of(parts.get("embedding" if number == 0 else blocks.get(number, ""), []), measure)


def of(rows: Sequence[Row], measure: str) -> Row | None:
    """Return the row of a measure."""
    return next((row for row in rows if row.measure == measure), None)
