"""Damaged files of every format: a clean error or a right answer, never anything else.

Mutations of a small real file: bytes changed, cut out, doubled, the end cut off. A right answer is
one that holds as many numbers as the reader says, in rows of one width.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow
import pytest
import safetensors.numpy
from fuzz_cases import DAMAGED
from pyarrow import feather, parquet

import isoscope
from isoscope.errors import IsoscopeError

VECTORS = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
pytestmark = pytest.mark.fuzz


def seeds() -> dict[str, bytes]:
    """Return one small file of each format."""
    npy, columns, npz, table, arrow = (io.BytesIO() for _ in range(5))
    np.save(npy, VECTORS)
    np.save(columns, np.asfortranarray(VECTORS))
    np.savez_compressed(npz, v=VECTORS, ids=np.arange(12))
    column = pyarrow.array(list(VECTORS), pyarrow.list_(pyarrow.float32()))
    rows = pyarrow.table({"id": [str(k) for k in range(12)], "v": column})
    parquet.write_table(rows, table, row_group_size=5, compression="none")
    feather.write_feather(rows, arrow, compression="uncompressed")
    lines = [" ".join(f"{v:.4f}" for v in row) for row in VECTORS]
    words = b"".join(b"w%d " % k + row.tobytes() for k, row in enumerate(VECTORS))
    return {
        ".npy": npy.getvalue(),
        "columns.npy": columns.getvalue(),
        ".npz": npz.getvalue(),
        ".safetensors": safetensors.numpy.save({"v": VECTORS, "ids": np.arange(12)}),
        ".parquet": table.getvalue(),
        ".feather": arrow.getvalue(),
        ".txt": "".join(f"w{k} {line}\n" for k, line in enumerate(lines)).encode(),
        ".vec": ("12 3\n" + "".join(f"w{k} {line} \n" for k, line in enumerate(lines))).encode(),
        ".bin": b"12 3\n" + words,
        ".fvecs": b"".join((3).to_bytes(4, "little") + row.tobytes() for row in VECTORS),
        ".jsonl": "".join(
            f'{{"id": 1, "v": [{line.replace(" ", ", ")}]}}\n' for line in lines
        ).encode(),
    }


def mutated(content: bytes, random: np.random.Generator) -> bytes:
    """Damage a file in one to three places; headers are hit as often as all the rest."""
    changed = bytearray(content)
    for _ in range(random.integers(1, 4)):
        limit = len(changed) if random.random() < 0.5 else min(len(changed), 200)
        at = int(random.integers(0, max(limit, 1)))
        kind = random.integers(0, 5)
        if kind == 0 and changed:
            changed[at] = int(random.integers(0, 256))
        elif kind == 1:
            del changed[at : at + int(random.integers(1, 20))]
        elif kind == 2:
            changed[at:at] = changed[at : at + int(random.integers(1, 20))]
        elif kind == 3:
            changed[at:at] = bytes(random.integers(0, 256, 4, dtype=np.uint8))
        else:
            del changed[max(at, 1) :]
    return bytes(changed)


@pytest.mark.parametrize("ending", seeds())
def test_damaged_files(tmp_path: Path, ending: str) -> None:
    random = np.random.default_rng(0)
    content = seeds()[ending]
    path = tmp_path / f"x{ending}"
    read = 0
    for _ in range(DAMAGED):
        path.unlink(missing_ok=True)  # a new file: to truncate one may wait for the disk
        path.write_bytes(mutated(content, random))
        try:
            cloud = isoscope.open_cloud(path)
            batches = [next(iter(b.values())) for b in cloud.batches()]
        except IsoscopeError:
            continue
        rows = sum(len(batch.vectors) for batch in batches)
        assert cloud.rows in (None, rows)
        for batch in batches:
            assert batch.vectors.shape[1] == cloud.widths[0]
        read += 1
    assert 0 < read < DAMAGED
