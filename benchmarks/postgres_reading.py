"""How fast are vectors read out of PostgreSQL, beside psql, which copies the same rows to a file?

    python benchmarks/postgres_reading.py              all of it, about two minutes
    python benchmarks/postgres_reading.py integers     one part of it

The server is pgserver's, in a folder that goes at the end. Every side runs the same ``COPY … TO
STDOUT (FORMAT BINARY)`` over the same socket: psql writes the bytes to a file, isoscope makes numpy
arrays of them, batch by batch, as measures see them. Sides alternate and the best of several rounds
counts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import psycopg
from psycopg import sql
from sides import best, blocks, run

import isoscope
from isoscope.data.postgres.copy_format import HEADER, ID_KINDS, TRAILER, VECTOR_KINDS, RowFormat

ROWS, WIDTH = 100_000, 384
ROUNDS = 5


@contextmanager
def running_server() -> Iterator[tuple[str, Path]]:
    """Start a server; give out its address and its psql."""
    folder = Path(tempfile.mkdtemp(prefix="isoscope-benchmark-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver
        from pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri(), Path(pgserver.__file__).parent / "pginstall" / "bin" / "psql"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def fill(uri: str, key: str) -> None:
    """Write a table with ids of a type, and vectors."""
    form = RowFormat(VECTOR_KINDS["vector"], WIDTH, ID_KINDS[key])
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("DROP TABLE IF EXISTS docs")
        made = "CREATE TABLE docs (id {} PRIMARY KEY, v vector({}))"
        connection.execute(sql.SQL(made).format(sql.Identifier(key), sql.Literal(WIDTH)))
        first = 0
        with connection.cursor().copy("COPY docs FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(HEADER)
            for block in blocks(ROWS, WIDTH):
                ids: np.ndarray = np.arange(first, first + len(block))
                if key == "text":
                    ids = np.array([f"document {k:07d}" for k in ids], object)
                copy.write(form.encode(ids, block))
                first += len(block)
            copy.write(TRAILER)
        connection.execute("VACUUM ANALYZE docs")


def drain(address: str) -> None:
    """Read a table from front to back."""
    for batches in isoscope.open_cloud(address).batches():
        for batch in batches.values():
            _ = batch.vectors


def copy_with_psql(psql: Path, uri: str, path: Path) -> None:
    """Let psql write the same rows to a file."""
    query = "COPY (SELECT id, v FROM docs ORDER BY id) TO STDOUT (FORMAT BINARY)"
    with path.open("wb") as file:
        subprocess.run([psql, uri, "--quiet", "--command", query], stdout=file, check=True)


def side_by_side(key: str) -> None:
    """Time both over a table with ids of a type; print isoscope's share of psql's rate."""
    with running_server() as (uri, psql):
        fill(uri, key)
        path = Path(tempfile.gettempdir()) / f"isoscope-benchmark-{os.getpid()}.copy"
        address = f"{uri}&table=docs&column=v"
        try:
            times = best(
                {
                    "psql, binary COPY to a file": partial(copy_with_psql, psql, uri, path),
                    "isoscope": lambda: drain(address),
                },
                ROUNDS,
            )
            size = path.stat().st_size
        finally:
            path.unlink(missing_ok=True)
    print(f"\n{ROWS:,} × {WIDTH} vector, ids of type {key}, best of {ROUNDS}")
    for name, seconds in times.items():
        ratio = times["psql, binary COPY to a file"] / seconds
        rate = "" if name.startswith("psql") else f"  {ratio:.2f} × the rate of psql"
        print(f"  {name:<30} {seconds:7.3f} s  {size / 1e6 / seconds:7,.0f} MB/s{rate}")


PARTS: dict[str, Callable[[], None]] = {
    "integers": partial(side_by_side, "int8"),
    "texts": partial(side_by_side, "text"),
}

if __name__ == "__main__":
    run(PARTS, sys.argv[1:])
