"""How fast are clouds read from files, beside the readers that people use, and in how much memory?

    python benchmarks/sources.py                all of it, about five minutes and 3 GB of disk
    python benchmarks/sources.py parquet text   some parts of it

Every side ends with all vectors in numpy arrays: isoscope batch by batch, as measures see them;
``np.load`` and gensim as one array. Files are read once before, so that all come from the cache
of the file system. Sides alternate and the best of several rounds counts: machines are noisy.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet
from sides import best, blocks, peak_memory, run, write_npy

import isoscope
from isoscope.data.base import rows_per_batch

ROUNDS = 5
LARGE = (325_000, 768)
"""About 1 GB in single precision."""
WORDS = (200_000, 300)
TEXT = (40_000, 300)
ROW_GROUP = 10_000
ARROW_BATCH = 65_536
"""Rows that pyarrow reads at a time unless told otherwise."""
PART = 81_250
"""Rows of each of several files: about 250 MB."""


def drain(path: Path) -> None:
    """Read a cloud from front to back."""
    for batches in isoscope.open_cloud(path).batches():
        for batch in batches.values():
            _ = batch.vectors


def side_by_side(
    path: Path, peers: Mapping[str, Callable[[], object]], rounds: int = ROUNDS
) -> None:
    """Time isoscope and others over one file; print each with isoscope's share of its time."""
    size = path.stat().st_size
    times = best({"isoscope": lambda: drain(path), **peers}, rounds)
    for name, seconds in times.items():
        ratio = "" if name == "isoscope" else f"  isoscope: {times['isoscope'] / seconds:.2f} ×"
        print(f"  {name:<42} {seconds:7.3f} s  {size / 1e6 / seconds:7,.0f} MB/s{ratio}")


def write_parquet(path: Path, rows: int, width: int) -> None:
    """Write vectors as a column of lists beside a column of names."""
    kind = pyarrow.list_(pyarrow.float32())
    schema = pyarrow.schema([("id", pyarrow.string()), ("vector", kind)])
    with parquet.ParquetWriter(path, schema) as writer:
        for block in blocks(rows, width):
            offsets = np.arange(0, block.size + 1, width, dtype=np.int32)
            lists = pyarrow.ListArray.from_arrays(offsets, pyarrow.array(block.reshape(-1)))
            names = pyarrow.array([f"d{k}" for k in range(len(block))])
            table = pyarrow.table({"id": names, "vector": lists.cast(kind)}, schema)
            writer.write_table(table, row_group_size=ROW_GROUP)


def iterate_parquet(path: Path, rows: int) -> None:
    """Read the vectors with pyarrow alone."""
    for batch in parquet.ParquetFile(path).iter_batches(rows, columns=["vector"]):
        column = batch.column(0)
        _ = column.flatten().to_numpy().reshape(len(column), -1)


def load_gensim(path: Path, *, binary: bool) -> object:
    """Read word vectors with gensim."""
    from gensim.models import KeyedVectors

    return KeyedVectors.load_word2vec_format(str(path), binary=binary)


def npy(folder: Path) -> None:
    path = folder / "x.npy"
    write_npy(path, *LARGE)
    print(f"\n.npy, {LARGE[0]:,} × {LARGE[1]} float32, best of {ROUNDS}")
    side_by_side(path, {"numpy.load": lambda: np.load(path)})


def parquet_file(folder: Path) -> None:
    path = folder / "x.parquet"
    write_parquet(path, *LARGE)
    print(f"\nParquet, {LARGE[0]:,} × {LARGE[1]} float32, row groups of {ROW_GROUP:,}, ", end="")
    print(f"best of {ROUNDS}")
    step = rows_per_batch(LARGE[1])
    peers = {
        f"pyarrow's iter_batches({ARROW_BATCH:,})": lambda: iterate_parquet(path, ARROW_BATCH),
        f"pyarrow's iter_batches({step:,})": lambda: iterate_parquet(path, step),
    }
    side_by_side(path, peers)


def word2vec(folder: Path) -> None:
    path = folder / "x.bin"
    rows, width = WORDS
    with path.open("wb") as file:
        file.write(f"{rows} {width}\n".encode())
        for number, block in enumerate(blocks(rows, width)):
            for k, row in enumerate(block):
                file.write(b"w%d_%d " % (number, k) + row.tobytes())
    print(f"\nword2vec binary, {rows:,} × {width}, best of {ROUNDS}")
    side_by_side(path, {"gensim": lambda: load_gensim(path, binary=True)})


def text(folder: Path) -> None:
    path = folder / "x.vec"
    rows, width = TEXT
    with path.open("w") as file:
        file.write(f"{rows} {width}\n")
        for block in blocks(rows, width):
            for k, row in enumerate(block):
                file.write(f"w{k} {' '.join(f'{value:.5f}' for value in row.tolist())}\n")
    print(f"\nText, {rows:,} × {width}, five digits, best of 3")
    side_by_side(path, {"gensim": lambda: load_gensim(path, binary=False)}, rounds=3)


def memory(folder: Path) -> None:
    """Peak resident memory of all measures over few and over many Parquet files."""
    print("\nisoscope.measure over Parquet files by wildcard, all measures, four corrections")
    first = folder / "part-0.parquet"
    write_parquet(first, PART, LARGE[1])
    for count in (2, 8):
        for k in range(1, count):
            link = folder / f"part-{k}.parquet"
            if not link.exists():
                link.hardlink_to(first)
        size = count * first.stat().st_size
        peak, seconds = peak_memory(str(folder / "part-*.parquet"))
        print(f"  {count} files, {size / 1e9:.1f} GB: peak resident memory {peak:,} MB", end="")
        print(f", {seconds:.0f} s")


def in_folder(part: Callable[[Path], None]) -> Callable[[], None]:
    """Give a part a folder that goes when it is done."""

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            part(Path(folder))

    return call


PARTS = {
    "npy": in_folder(npy),
    "parquet": in_folder(parquet_file),
    "word2vec": in_folder(word2vec),
    "text": in_folder(text),
    "memory": in_folder(memory),
}

if __name__ == "__main__":
    run(PARTS, sys.argv[1:])
