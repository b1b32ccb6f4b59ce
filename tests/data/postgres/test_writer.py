"""Vectors written back into a real PostgreSQL: all or nothing, and nothing that was there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isoscope
from isoscope.data import Change, Written, rewrite_files
from isoscope.data.base import Cloud
from isoscope.data.rewrite import refuse_corrected
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from postgres_for_tests import Server

pytestmark = [
    pytest.mark.needs_package("pgserver", "pgserver, which carries PostgreSQL,"),
    pytest.mark.needs_package("psycopg", "psycopg"),
]

VECTORS = np.random.default_rng(3).standard_normal((30, 3)).astype(np.float32)
MATRIX = np.array([[1, 2], [0.5, -1], [3, 0.25]], np.float32)


def narrow(rows: NDArray[Any]) -> NDArray[Any]:
    """Three numbers become two."""
    return rows @ MATRIX.astype(rows.dtype)


CHANGE = Change(narrow, 3, 2, "narrow", "f1")
EXPECTED = narrow(VECTORS)


def make(server: Server, name: str, key: str = "int", kind: str = "vector(3)") -> None:
    server.table(name, f"id {key} PRIMARY KEY, v {kind}")
    order = np.random.default_rng(1).permutation(30)
    server.fill(name, order, VECTORS[order])


def write(source: str, out: str, change: Change = CHANGE, **options: Any) -> Written:
    (written,) = rewrite_files(source, out, change, **options)
    return written


def read(source: str) -> tuple[NDArray[Any], list[Any]]:
    cloud = isoscope.open_cloud(source)
    assert isinstance(cloud, Cloud)
    (batch,) = cloud.read()
    return batch.vectors, list(batch.labels["id"])


def columns(server: Server, table: str) -> list[tuple[str, str]]:
    return server.run(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        table,
    )


def test_a_new_column(postgres: Server) -> None:
    make(postgres, "docs")
    seen: list[tuple[str, int, int | None]] = []
    written = write(
        postgres.address("docs", "column=v"),
        postgres.address("docs", "column=new"),
        progress=lambda *step: seen.append(step),
    )
    assert (written.rows, written.width, written.marked, written.without) == (30, 2, True, 0)
    assert seen == [("apply", 30, 30)]
    assert columns(postgres, "docs") == [
        ("id", "integer"),
        ("v", "vector(3)"),
        ("new", "vector(2)"),
    ]
    new, ids = read(postgres.address("docs", "column=new"))
    np.testing.assert_array_equal(new, EXPECTED)
    assert ids == list(range(30))
    old, _ = read(postgres.address("docs", "column=v"))
    np.testing.assert_array_equal(old, VECTORS)


@pytest.mark.parametrize("key", ["smallint", "bigint", "uuid", "text"])
def test_a_new_table(postgres: Server, key: str) -> None:
    ids: list[Any] = [k - 7 for k in range(30)]
    if key == "uuid":
        ids = [f"{k:08x}-0000-4000-8000-00000000000a" for k in range(30)]
    elif key == "text":
        ids = [f"{k:02d} {'ü' * k}" for k in range(30)]
    postgres.table("old", f"id {key} PRIMARY KEY, v vector(3)")
    postgres.fill("old", ids, VECTORS)
    postgres.run("DROP TABLE IF EXISTS fresh")
    write(postgres.address("old"), postgres.address("public.fresh", "column=w"))
    assert columns(postgres, "fresh") == [("id", key), ("w", "vector(2)")]
    vectors, found = read(postgres.address("fresh"))
    np.testing.assert_array_equal(vectors, EXPECTED)
    assert found == ids
    with pytest.raises(Exception, match="duplicate key"):
        postgres.run("INSERT INTO fresh SELECT * FROM fresh")


def test_the_new_table_names_its_column_as_the_old_one(postgres: Server) -> None:
    make(postgres, "old")
    postgres.run("DROP TABLE IF EXISTS fresh")
    write(postgres.address("old"), postgres.address("fresh"))
    assert columns(postgres, "fresh") == [("id", "integer"), ("v", "vector(2)")]


def test_rows_without_a_vector_stay_without_one(postgres: Server) -> None:
    postgres.table("holes", "id text PRIMARY KEY, v vector(3)")
    postgres.fill("holes", "abc", [VECTORS[0], None, VECTORS[2]])
    written = write(postgres.address("holes"), postgres.address("holes", "column=new"))
    assert (written.rows, written.without) == (2, 1)
    rows = postgres.run("SELECT id, v IS NULL, new IS NULL FROM holes ORDER BY id")
    assert rows == [("a", False, False), ("b", True, True), ("c", False, False)]


@pytest.mark.parametrize(("kind", "dtype"), [("real[]", np.float32), ("float8[]", np.float64)])
def test_arrays_stay_arrays(postgres: Server, kind: str, dtype: Any) -> None:
    postgres.table("arrays", f"id int PRIMARY KEY, v {kind}")
    for k, vector in enumerate(VECTORS.tolist()):
        postgres.run("INSERT INTO arrays VALUES (%s, %s)", k, vector)
    write(postgres.address("arrays"), postgres.address("arrays", "column=new"))
    rows = postgres.run("SELECT new FROM arrays ORDER BY id")
    np.testing.assert_array_equal(
        np.array([row for (row,) in rows], dtype), narrow(VECTORS.astype(dtype))
    )


def test_a_table_as_a_file(postgres: Server, tmp_path: Path) -> None:
    make(postgres, "docs")
    written = write(postgres.address("docs", user="postgres:pw"), str(tmp_path / "x.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), EXPECTED)
    assert "pw" not in written.source
    with pytest.raises(UsageError, match=r"is written as \.npy or"):
        write(postgres.address("docs"), str(tmp_path / "x.parquet"))


def test_what_is_there_is_never_changed(postgres: Server) -> None:
    make(postgres, "docs")
    make(postgres, "others")
    source = postgres.address("docs", "column=v")
    for out, words in {
        postgres.address("docs", "column=v"): "has a column v; name a new one",
        postgres.address("docs"): "names no new column",
        postgres.address("others", "column=w"): "there is a table others; name a new one",
    }.items():
        with pytest.raises(UsageError, match=words):
            write(source, out)
    assert columns(postgres, "others") == [("id", "integer"), ("v", "vector(3)")]
    postgres.run("CREATE VIEW shown AS SELECT * FROM docs")
    with pytest.raises(UsageError, match="shown is not a table"):
        write(source, postgres.address("shown", "column=w"))


def test_a_correction_is_noted_and_not_applied_twice(postgres: Server) -> None:
    make(postgres, "docs")
    same = Change(lambda rows: rows - rows[0], 3, 3, "shift", "f2")
    first, second, third = (postgres.address("docs", f"column={name}") for name in ("v", "a", "b"))
    refuse_corrected(first, None)
    write(first, second, same)
    with pytest.raises(UsageError, match=r"column=a already carries this correction \(shift\)"):
        write(second, third, same)
    with pytest.raises(UsageError, match="holds vectors that shift has corrected"):
        refuse_corrected(second, None)
    write(second, third)
    ((comment,),) = postgres.run("SELECT col_description('docs'::regclass, 4)")
    assert comment.index("shift") < comment.index("narrow")
    postgres.run("COMMENT ON COLUMN docs.v IS 'made by hand'")
    refuse_corrected(first, None)


def test_rows_that_cannot_be_told_apart(postgres: Server) -> None:
    postgres.table("loose", "n int, v vector(3)")
    postgres.fill("loose", [1, 2, 2], VECTORS[:3])
    source, out = postgres.address("loose"), postgres.address("loose", "column=w")
    with pytest.raises(UsageError, match="there is no primary key"):
        write(source, out)
    with pytest.raises(DataError, match="two rows have the same n; .* the database is as it was"):
        write(source + "&id=n", out)
    postgres.run("UPDATE loose SET n = NULL WHERE n = 1")
    with pytest.raises(DataError, match=r"a row has no n \(NULL\)"):
        write(source + "&id=n", out)
    assert len(columns(postgres, "loose")) == 2


def test_what_does_not_fit(postgres: Server, tmp_path: Path) -> None:
    make(postgres, "docs")
    source = postgres.address("docs")
    wide = Change(narrow, 5, 2, "narrow", "f")
    with pytest.raises(DataError, match="has 3 dimensions; this correction .* was fitted on 5"):
        write(source, postgres.address("docs", "column=w"), wide)
    with pytest.raises(UsageError, match="does not know the type vector; run CREATE EXTENSION"):
        write(source, postgres.address("new", db="bare"))
    np.save(tmp_path / "x.npy", VECTORS)
    with pytest.raises(UsageError, match="only the vectors of a table"):
        write(str(tmp_path / "x.npy"), postgres.address("new"))
    with pytest.raises(DataError, match="nowhere.* does not exist; the database is as it was"):
        write(source, postgres.address("nowhere.new"))


def test_another_database(postgres: Server) -> None:
    postgres.table("arrays", "id int PRIMARY KEY, v real[]")
    postgres.run("INSERT INTO arrays VALUES (1, '{1,2,3}'), (2, '{4,5,6}')")
    postgres.run("DROP TABLE IF EXISTS arrays", db="bare")
    write(postgres.address("arrays"), postgres.address("arrays", db="bare"))
    rows = postgres.run("SELECT id, cardinality(v) FROM arrays ORDER BY id", db="bare")
    assert rows == [(1, 2), (2, 2)]


@pytest.mark.parametrize("side", ["reader", "writer"])
@pytest.mark.parametrize("out", ["docs", "fresh"])
def test_a_cut_connection_leaves_the_table_as_it_was(postgres: Server, side: str, out: str) -> None:
    """Thousands of rows, and a change that cuts the connection at the second batch."""
    postgres.run("DROP TABLE IF EXISTS fresh")
    postgres.table("docs", "id int PRIMARY KEY, v vector(3)")
    postgres.run(
        "INSERT INTO docs SELECT k, array[k, 1, 2]::vector FROM generate_series(1, 30000) k"
    )
    before = postgres.run("SELECT md5(string_agg(docs::text, ',' ORDER BY id)) FROM docs")
    pattern = "COPY (SELECT%" if side == "reader" else "COPY %FROM STDIN%"
    change = Change(at_second_call(lambda: cut(postgres, pattern)), 3, 2, "narrow", "f3")
    with pytest.raises(DataError, match="the connection was cut") as caught:
        write(postgres.address("docs"), postgres.address(out, "column=w"), change)
    assert "\n" not in str(caught.value)
    assert ("the database is as it was" in str(caught.value)) == (side == "writer")
    assert postgres.run("SELECT md5(string_agg(docs::text, ',' ORDER BY id)) FROM docs") == before
    assert columns(postgres, "docs") == [("id", "integer"), ("v", "vector(3)")]
    assert postgres.run("SELECT to_regclass('fresh')") == [(None,)]


def cut(server: Server, pattern: str) -> None:
    found = server.run(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE query LIKE %s AND application_name = 'isoscope' AND state = 'active'",
        pattern,
    )
    assert found == [(True,)]


def at_second_call(act: Callable[[], None]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    calls: list[int] = []

    def change(rows: NDArray[Any]) -> NDArray[Any]:
        calls.append(len(rows))
        if len(calls) == 2:
            act()
        return narrow(rows)

    return change


def test_vectors_with_norm_1_keep_it(postgres: Server) -> None:
    """A correction that was fitted on unit vectors brings those of a table to norm 1 as well."""
    rows: list[NDArray[Any] | None] = list(VECTORS / np.linalg.norm(VECTORS, axis=1)[:, None])
    correction = isoscope.corrections.Center().fit(np.array(rows))
    rows[4], rows[9] = np.zeros(3, np.float32), None
    postgres.table("unit", "id int PRIMARY KEY, v vector(3)")
    postgres.fill("unit", range(30), rows)
    source = postgres.address("unit", "column=v")
    for name, keep_norms in (("corrected", False), ("kept", True)):
        out = postgres.address("unit", f"column={name}")
        (written,) = isoscope.apply_correction(
            correction, source, out, keep_norms=keep_norms
        ).written
        assert (written.rows, written.without, written.zero_vectors) == (29, 1, 1)
        assert written.normalized != keep_norms
        vectors, _ = read(out)
        norms = np.linalg.norm(vectors, axis=1)
        assert (norms[4], np.isnan(norms[9])) == (0, True)
        others = np.delete(norms, [4, 9])
        assert np.allclose(others, 1, atol=1e-6) != keep_norms
