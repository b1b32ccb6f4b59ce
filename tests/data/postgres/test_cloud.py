"""Vectors in PostgreSQL, read from a real server with pgvector."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isoscope
from isoscope.data.base import Batch, Cloud
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from postgres_for_tests import Server

pytestmark = [
    pytest.mark.needs_package("pgserver", "pgserver, which carries PostgreSQL,"),
    pytest.mark.needs_package("psycopg", "psycopg"),
]

RANDOM = np.random.default_rng(7)
VECTORS = RANDOM.standard_normal((40, 3)).astype(np.float32)
LARGE = RANDOM.standard_normal((50_000, 16)).astype(np.float32) + np.float32(0.5)


def opened(source: str, column: str | None = None) -> Cloud:
    cloud = isoscope.open_cloud(source, column=column)
    assert isinstance(cloud, Cloud)
    return cloud


def read(cloud: Cloud) -> tuple[np.ndarray, list[Batch]]:
    batches = list(cloud.read())
    starts = np.cumsum([0, *(len(batch.vectors) for batch in batches)])
    assert [batch.first_row for batch in batches] == list(starts[:-1])
    return np.concatenate([batch.vectors for batch in batches]), batches


def make(server: Server, name: str, columns: str = "id int PRIMARY KEY, v vector(3)") -> None:
    server.table(name, columns)
    server.fill(name, range(40), VECTORS)


@pytest.fixture(scope="module")
def large(postgres: Server) -> str:
    """50,000 rows, written in another order than that of their ids."""
    postgres.table("large", "id bigint PRIMARY KEY, v vector(16)")
    order = np.random.default_rng(1).permutation(len(LARGE))
    postgres.fill("large", order, LARGE[order])
    return postgres.address("large", "column=v")


def test_rows_come_in_the_order_of_the_primary_key(postgres: Server) -> None:
    postgres.table("ordered", "id int PRIMARY KEY, v vector(3)")
    shuffled = np.random.default_rng(1).permutation(40)
    postgres.fill("ordered", shuffled - 5, VECTORS[shuffled])
    cloud = opened(postgres.address("ordered"))
    vectors, (batch,) = read(cloud)
    np.testing.assert_array_equal(vectors, VECTORS)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_array_equal(batch.labels["id"], np.arange(40) - 5)
    assert (cloud.name, cloud.rows, cloud.width, cloud.dtype) == ("ordered:v", 40, 3, "float32")
    assert (cloud.population, cloud.caveat) == (False, "")


IDS: dict[str, list[Any]] = {
    "smallint": list(range(-3, 37)),
    "integer": list(range(-3, 37)),
    "bigint": [k << 40 for k in range(-3, 37)],
    "text": sorted("ü" * (k % 4) + str(k) for k in range(40)),
    "varchar(9)": sorted("ü" * (k % 4) + str(k) for k in range(40)),
    "uuid": sorted(str(uuid.UUID(int=(k + 9) ** 30 % 2**128)) for k in range(40)),
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_every_kind_are_labels(postgres: Server, kind: str) -> None:
    collation = 'COLLATE "C"' if kind in ("text", "varchar(9)") else ""
    postgres.table("kinds", f'"the ""id""" {kind} {collation} PRIMARY KEY, v vector(3)')
    postgres.fill("kinds", IDS[kind], VECTORS)
    vectors, (batch,) = read(opened(postgres.address("kinds")))
    np.testing.assert_array_equal(vectors, VECTORS)
    assert list(batch.labels['the "id"']) == IDS[kind]


def test_names_are_quoted(postgres: Server) -> None:
    name, column = 'do"cs; DROP TABLE x', "Em bed'ding"
    postgres.table(name, f'id int PRIMARY KEY, "{column}" vector(3)')
    postgres.fill(name, range(40), VECTORS)
    encoded = name.replace('"', "%22").replace(";", "%3B").replace(" ", "%20")
    source = postgres.address(encoded, f"column={column.replace(' ', '%20')}")
    np.testing.assert_array_equal(read(opened(source))[0], VECTORS)


def test_schemas_and_dots_in_names(postgres: Server) -> None:
    postgres.run("CREATE SCHEMA IF NOT EXISTS other")
    postgres.run("CREATE TABLE other.t (id int PRIMARY KEY, v vector(2))")
    postgres.run("INSERT INTO other.t VALUES (1, '[1,2]'), (2, '[3,4]')")
    assert read(opened(postgres.address("other.t")))[0].tolist() == [[1, 2], [3, 4]]
    make(postgres, "a.b")
    np.testing.assert_array_equal(read(opened(postgres.address("a.b")))[0], VECTORS)


def test_named_ids_settle_the_order(postgres: Server) -> None:
    postgres.table("named", "id int PRIMARY KEY, v vector(3), rank int")
    postgres.run(
        "INSERT INTO named SELECT k, array[k, 0, 0]::vector, 9 - k FROM generate_series(0, 9) k"
    )
    vectors, (batch,) = read(opened(postgres.address("named", "id=rank")))
    assert vectors[:, 0].tolist() == list(range(9, -1, -1))
    assert batch.labels["rank"].tolist() == list(range(10))


def test_without_a_primary_key_the_order_is_that_of_the_table(postgres: Server) -> None:
    make(postgres, "keyless", "n int, v vector(3)")
    cloud = opened(postgres.address("keyless"))
    vectors, (batch,) = read(cloud)
    np.testing.assert_array_equal(vectors, VECTORS)
    assert not batch.labels
    assert "no primary key" in isoscope.measure(cloud, "mean_cosine").rows[0].protocol
    ids = read(opened(postgres.address("keyless", "id=n")))[1][0].labels["n"]
    assert ids.tolist() == list(range(40))


def test_a_key_of_two_columns_settles_the_order(postgres: Server) -> None:
    postgres.table("pairs", "a int, b int, v vector(1), PRIMARY KEY (b, a)")
    postgres.run("INSERT INTO pairs VALUES (1, 2, '[3]'), (2, 1, '[2]'), (1, 1, '[1]')")
    vectors, (batch,) = read(opened(postgres.address("pairs")))
    assert vectors[:, 0].tolist() == [1, 2, 3]
    assert not batch.labels


def test_views_need_an_id(postgres: Server) -> None:
    make(postgres, "below")
    postgres.run("CREATE VIEW seen AS SELECT * FROM below WHERE id < 10")
    with pytest.raises(UsageError, match=r"seen is a view, .* &id="):
        opened(postgres.address("seen"))
    np.testing.assert_array_equal(read(opened(postgres.address("seen", "id=id")))[0], VECTORS[:10])


def test_partitioned_tables(postgres: Server) -> None:
    postgres.run("CREATE TABLE parted (id int, v vector(3)) PARTITION BY RANGE (id)")
    for low in (0, 20):
        bounds = f"FOR VALUES FROM ({low}) TO ({low + 20})"
        postgres.run(f"CREATE TABLE parted_{low} PARTITION OF parted {bounds}")
    postgres.fill("parted", range(40), VECTORS)
    np.testing.assert_array_equal(read(opened(postgres.address("parted")))[0], VECTORS)


@pytest.mark.parametrize(("kind", "dtype"), [("real[]", "float32"), ("float8[]", "float64")])
@pytest.mark.parametrize("key", ["int", "text"])
def test_arrays_of_numbers(postgres: Server, kind: str, dtype: str, key: str) -> None:
    from postgres_for_tests import as_text

    postgres.table("arrays", f"id {key} PRIMARY KEY, v {kind}")
    for k, vector in enumerate(VECTORS[:9]):
        postgres.run("INSERT INTO arrays VALUES (%s, %s)", k, as_text(vector, "{}"))
    cloud = opened(postgres.address("arrays"))
    vectors, _ = read(cloud)
    assert (cloud.dtype, vectors.dtype.name) == (dtype, dtype)
    np.testing.assert_allclose(vectors, VECTORS[:9], rtol=1e-8 if dtype == "float64" else 0)


@pytest.mark.parametrize(
    ("value", "fault"),
    [("{1,null,2}", "holds a null number"), ("{{1,2,3}}", "array of arrays"), ("{}", "0 numbers")],
)
def test_arrays_that_are_no_vectors(postgres: Server, value: str, fault: str) -> None:
    postgres.table("odd", "id text PRIMARY KEY, v real[]")
    postgres.run("INSERT INTO odd VALUES ('a', '{1,2,3}'), ('b', %s)", value)
    with pytest.raises(DataError, match=rf"row 1 \(id 'b'\) .*{fault}"):
        read(opened(postgres.address("odd")))


def test_measures_equal_those_of_the_file(large: str, tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", LARGE)
    file = isoscope.measure(tmp_path / "large.npy")
    table = isoscope.measure(large)
    assert [row.measure for row in table] == [row.measure for row in file]
    for one, other in zip(table, file, strict=True):
        assert (one.value is None) == (other.value is None)
        assert (one.value or 0) == pytest.approx(other.value or 0, rel=1e-6, abs=1e-9)
        assert (one.low is None) == (other.low is None)
        assert (one.low or 0) == pytest.approx(other.low or 0, rel=1e-6, abs=1e-9)
        assert one.n == other.n
    sample = isoscope.measure(large, "mean_cosine", "none", sample=500)
    expected = isoscope.measure(tmp_path / "large.npy", "mean_cosine", "none", sample=500)
    assert sample.rows[0].value == expected.rows[0].value


def test_ids_order_and_bits_are_kept(large: str) -> None:
    vectors, batches = read(opened(large))
    assert len(batches) > 5
    np.testing.assert_array_equal(vectors, LARGE)
    ids = np.concatenate([batch.labels["id"] for batch in batches])
    np.testing.assert_array_equal(ids, np.arange(len(LARGE)))


def test_all_reads_see_one_state(postgres: Server) -> None:
    make(postgres, "live")
    cloud = opened(postgres.address("live"))
    before, _ = read(cloud)
    postgres.run("INSERT INTO live SELECT k, '[9,9,9]' FROM generate_series(100, 200) k")
    postgres.run("UPDATE live SET v = '[8,8,8]' WHERE id < 5")
    np.testing.assert_array_equal(read(cloud)[0], before)
    for one, other in zip(cloud.read(), cloud.read(), strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)
    assert opened(postgres.address("live")).rows == 141


def test_reading_cannot_write(postgres: Server) -> None:
    make(postgres, "safe")
    postgres.run(
        "CREATE OR REPLACE FUNCTION spoil() RETURNS vector LANGUAGE sql VOLATILE AS "
        "$$ INSERT INTO safe VALUES (99, '[0,0,0]') RETURNING v $$"
    )
    postgres.run("CREATE VIEW spoiled AS SELECT id, spoil() AS v FROM safe")
    with pytest.raises(DataError, match="read-only transaction"):
        read(opened(postgres.address("spoiled", "id=id")))
    assert postgres.run("SELECT count(*) FROM safe") == [(40,)]


def test_a_read_that_is_given_up_leaves_no_connection(large: str, postgres: Server) -> None:
    cloud = opened(large)
    batches = cloud.read()
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    cloud.close()  # type: ignore[attr-defined]
    del cloud
    for _ in range(50):
        rows = postgres.run(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'isoscope' "
            "AND query LIKE '%%large%%'"
        )
        if rows == [(0,)]:
            break
        threading.Event().wait(0.1)
    assert rows == [(0,)]


def test_nulls_stop_unless_they_are_to_be_dropped(postgres: Server) -> None:
    postgres.table("holes", "id int PRIMARY KEY, v vector(3)")
    rows = [None if k % 4 == 2 else vector for k, vector in enumerate(VECTORS)]
    postgres.fill("holes", range(40), rows)
    source = postgres.address("holes")
    with pytest.raises(DataError, match=r"row 2 \(id 2\) has no vector \(NULL\), as 10 of 40 rows"):
        isoscope.measure(source, "mean_cosine")
    result = isoscope.measure(source, "mean_cosine", drop_invalid=True)
    assert result.left_out == {"no vector (NULL)": 10}
    kept = VECTORS[np.arange(40) % 4 != 2]
    assert result.value("mean_cosine") == isoscope.measure(kept, "mean_cosine").value("mean_cosine")
    with pytest.raises(DataError, match="has no vector"):
        isoscope.measure(source, "mean_cosine", sample=30)
    postgres.run("UPDATE holes SET v = NULL")
    with pytest.raises(DataError, match="all 40 rows of v are NULL"):
        opened(source)


@pytest.mark.parametrize("key", ["int", "text"])
def test_mixed_widths_name_the_first_row(postgres: Server, key: str) -> None:
    postgres.table("mixed", f"id {key} PRIMARY KEY, v vector")
    postgres.fill("mixed", range(3), [VECTORS[0], VECTORS[1], VECTORS[2][:2]])
    cloud = opened(postgres.address("mixed"))
    assert cloud.width == 3
    with pytest.raises(DataError, match=r"row 2 \(id .?2.?\) has 2 numbers, the first has 3"):
        read(cloud)


def test_tables_without_rows(postgres: Server) -> None:
    for kind in ("vector(3)", "vector"):
        postgres.table("empty", f"id int PRIMARY KEY, v {kind}")
        with pytest.raises(DataError, match="there are no vectors in it"):
            opened(postgres.address("empty"))


def test_what_is_not_there(postgres: Server) -> None:
    make(postgres, "present")
    with pytest.raises(UsageError, match="no table in .* 'absent'; .*present"):
        opened(postgres.address("absent"))
    with pytest.raises(UsageError, match="no column of present is called 'w'.* known: v"):
        opened(postgres.address("present", "column=w"))
    with pytest.raises(UsageError, match="no column of present is called 'key'"):
        opened(postgres.address("present", "id=key"))
    with pytest.raises(
        DataError, match="the column id is integer, not a vector;.*CREATE EXTENSION"
    ):
        opened(postgres.address("present", "column=id"))
    with pytest.raises(DataError, match=r"the column v is vector\(3\); ids are"):
        opened(postgres.address("present", "id=v"))
    with pytest.raises(UsageError, match="has no such database"):
        opened(postgres.address("present", db="nowhere"))
    with pytest.raises(UsageError, match="names no table"):
        opened(postgres.address("").replace("&table=", ""))


def test_a_database_without_the_extension(postgres: Server) -> None:
    postgres.run("CREATE TABLE IF NOT EXISTS docs (id int PRIMARY KEY, v text)", db="bare")
    with pytest.raises(DataError, match="the column v is text, not a vector; .*CREATE EXTENSION"):
        opened(postgres.address("docs", "column=v", db="bare"))
    with pytest.raises(DataError, match="no column of docs holds vectors; it has id integer, v te"):
        opened(postgres.address("docs", db="bare"))


def test_several_columns_of_vectors(postgres: Server) -> None:
    postgres.table("two", "id int PRIMARY KEY, a vector(1), b vector(2)")
    postgres.run("INSERT INTO two VALUES (1, '[1]', '[2,3]'), (2, '[4]', '[5,6]')")
    source = postgres.address("two")
    with pytest.raises(UsageError, match=r"2 arrays; .*: a vector\(1\), b vector\(2\)"):
        opened(source)
    assert opened(source, "b").width == 2
    assert opened(source + "&column=b", "b").width == 2
    with pytest.raises(UsageError, match="names the column 'b', and --column names 'a'"):
        opened(source + "&column=b", "a")


def test_unreachable_servers() -> None:
    for place in ("127.0.0.1:1", "/db?host=/nowhere", "nobody.invalid"):
        end = place if "?" in place else place + "/db?"
        with pytest.raises(UsageError, match="no PostgreSQL server answers there"):
            opened(f"postgresql://me:pw@{end}&table=t")


def test_a_connection_that_is_cut_while_reading(large: str, postgres: Server) -> None:
    batches = opened(large).read()
    next(batches)
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE 'COPY (SELECT%%' AND query LIKE '%%large%%'"
    )
    with pytest.raises(DataError, match="table=large&column=v: the connection was cut$"):
        for _ in batches:
            pass


def test_a_state_that_is_lost_between_two_reads(large: str, postgres: Server) -> None:
    cloud = opened(large)
    postgres.run(  # and wait until it is gone, or its snapshot may still be there
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE application_name = 'isoscope'"
    )
    with pytest.raises(DataError, match="PostgreSQL says: .*snapshot"):
        next(cloud.read())


# The kernel's high-water mark of this process; getrusage would include the parent's before exec.
PEAK = """
import re, sys, isoscope
isoscope.measure(sys.argv[1], "mean_cosine", "none", intervals=False)
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_does_not_grow_with_the_table(postgres: Server) -> None:
    """200 MB of vectors against 20 MB: a third of them would show that rows are kept."""
    peaks = []
    for rows in (5_000, 50_000):
        postgres.table("wide", "id int PRIMARY KEY, v vector(1000)")
        postgres.run("ALTER TABLE wide SET UNLOGGED, ALTER v SET STORAGE EXTERNAL")
        postgres.run(
            "INSERT INTO wide SELECT k, (SELECT array_agg(sin(k * j)) "
            "FROM generate_series(1, 1000) j)::real[]::vector FROM generate_series(1, 500) k"
        )
        postgres.run(
            "INSERT INTO wide SELECT id + 500 * k, v FROM wide, generate_series(1, %s) k",
            rows // 500 - 1,
        )
        process = subprocess.run(
            [sys.executable, "-c", PEAK, postgres.address("wide")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(process.stdout))
    postgres.run("DROP TABLE wide")
    assert peaks[1] - peaks[0] < 60
