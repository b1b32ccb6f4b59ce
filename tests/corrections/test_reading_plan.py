"""Who reads what a correction is fitted on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isoscope
from isoscope.corrections import Center
from isoscope.corrections.applying import apply_to_files
from isoscope.corrections.reading_plan import reading_plan
from isoscope.data.arrays import ArrayCloud
from isoscope.data.postgres.cloud import PostgresCloud
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from postgres_for_tests import Server

VECTORS = np.random.default_rng(3).standard_normal((30, 3)).astype(np.float32)
CLOUD = ArrayCloud(VECTORS)


def test_threads_by_default() -> None:
    with reading_plan(CLOUD, {}) as plan:
        assert (plan.workers, plan.pool, plan.journal) == (None, None, None)
        assert (plan.on_error, plan.shard_rows, plan.skipped) == ("stop", None, {})
    with reading_plan(CLOUD, {}, workers=3, on_error="skip", shard_rows=7) as plan:
        assert (plan.workers, plan.pool) == (3, None)
        assert (plan.on_error, plan.shard_rows) == ("skip", 7)


def test_files_that_could_not_be_opened_are_left_out_already(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VECTORS)
    np.save(tmp_path / "b.npy", VECTORS)
    (tmp_path / "c.npy").write_bytes(b"no array")
    cloud = isoscope.open_cloud(str(tmp_path / "*.npy"), on_error="skip")
    with reading_plan(cloud, {}, on_error="skip") as plan:
        assert list(plan.skipped) == [str(tmp_path / "c.npy")]


def test_ray_is_opened_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def refuse(*arguments: Any) -> None:
        asked.append(arguments)
        raise UsageError("no Ray answers")

    monkeypatch.setattr("isoscope.corrections.reading_plan.open_pool", refuse)
    with (
        pytest.raises(UsageError, match="no Ray answers"),
        reading_plan(CLOUD, {}, engine="ray:host:1", workers=2),
    ):
        pass
    assert asked == [("ray:host:1", 2)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"configuration": {"correction": "whiten"}}, 'with correction "center", and'),
        ({"source": ArrayCloud(VECTORS + 1)}, "begun with source.sha256"),
        ({"shard_rows": 9}, "begun with shard_rows 7"),
    ],
)
def test_the_journal_knows_what_was_asked(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    asked: dict[str, Any] = {
        "source": CLOUD, "configuration": {"correction": "center"}, "shard_rows": 7,
        "journal": tmp_path / "journal",
    }  # fmt: skip

    def interrupted() -> None:
        with reading_plan(**asked) as plan:
            assert plan.journal is not None
            plan.journal.save("fit 0-0", {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(UsageError, match=words), reading_plan(**asked | change, resume=True):
        pass
    with reading_plan(**asked, engine="local", workers=1, on_error="skip", resume=True) as plan:
        assert plan.journal is not None
        assert plan.journal.steps == ("fit 0-0",)


@pytest.mark.needs_package("pgserver", "pgserver, which carries PostgreSQL,")
@pytest.mark.needs_package("psycopg", "psycopg")
def test_a_table_is_read_and_written_by_this_process(postgres: Server, tmp_path: Path) -> None:
    postgres.table("planned", "id int PRIMARY KEY, v vector(3)")
    postgres.fill("planned", range(30), VECTORS)
    source, nowhere = postgres.address("planned", "column=v"), "ray:nowhere:1"
    expected = Center().fit(VECTORS)
    center = Center()
    cloud = isoscope.open_cloud(source)
    assert isinstance(cloud, PostgresCloud)
    with reading_plan(cloud, {}, engine=nowhere, journal=tmp_path / "journal") as plan:
        center.fit_cloud(cloud, plan=plan)
    cloud.close()
    assert center.fingerprint == expected.fingerprint
    outs = (postgres.address("planned", "column=new"), str(tmp_path / "new.npy"))
    for out in outs:
        applied = apply_to_files(
            center, source, out,
            engine=nowhere, workers=2, journal=tmp_path / "new.journal", resume=True,
        )  # fmt: skip
        assert [one.rows for one in applied.written] == [30]
    np.testing.assert_array_equal(np.load(outs[1]), expected.transform(VECTORS))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.npy"]
