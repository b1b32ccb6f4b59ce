"""Writing JSON lines: one field of every object changed, all others kept in their order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from isoscope.clouds.contract import rows_per_batch
from isoscope.clouds.jsonl import JsonLinesCloud, objects
from isoscope.clouds.streams import readable

if TYPE_CHECKING:
    from isoscope.clouds.writing.change import Rewrite


def write_json_lines(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write an object a line; numbers have the digits that double precision needs."""
    where, cloud = str(rewrite.location), cast("JsonLinesCloud", rewrite.cloud)
    step = rows_per_batch(cloud.width)
    pending: list[dict[str, Any]] = []
    first = 0

    def write_pending() -> None:
        vectors = np.array([entry[cloud.column] for entry in pending], np.float64)
        changed = rewrite.changed(vectors, first).tolist()
        for entry, vector in zip(pending, changed, strict=True):
            entry[cloud.column] = vector
        file.write(b"".join(line(entry) for entry in pending))

    with readable(where), rewrite.location.stream() as source:
        for row, entry in enumerate(objects(source, where)):
            cloud.vector(entry, row)
            pending.append(entry)
            if len(pending) == step:
                write_pending()
                first, pending = row + 1, []
        if pending:
            write_pending()


def line(entry: dict[str, Any]) -> bytes:
    """Return one object as a line of UTF-8."""
    try:
        return json.dumps(entry, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can write down
        return json.dumps(entry).encode() + b"\n"
