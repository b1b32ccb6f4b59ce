"""Who reads what a correction is fitted on, and a table by whichever way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isoscope
from isoscope.compute.execution import Execution
from isoscope.corrections import Center
from isoscope.data.arrays import ArrayCloud
from isoscope.data.postgres.cloud import PostgresCloud
from isoscope.errors import UsageError
from isoscope.verbs.correct.files import apply_to_files

if TYPE_CHECKING:
    from postgres_for_tests import Server

VECTORS = np.random.default_rng(3).standard_normal((30, 3)).astype(np.float32)
CLOUD = ArrayCloud(VECTORS)


def test_threads_by_default() -> None:
    with Execution().open(CLOUD, {}) as plan:
        assert (plan.workers, plan.pool, plan.journal) == (None, None, None)
        assert (plan.on_error, plan.shard_rows, plan.skipped) == ("stop", None, {})
    with Execution(workers=3, on_error="skip", shard=7).open(CLOUD, {}) as plan:
        assert (plan.workers, plan.pool) == (3, None)
        assert (plan.on_error, plan.shard_rows) == ("skip", 7)


def test_files_that_could_not_be_opened_are_left_out_already(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VECTORS)
    np.save(tmp_path / "b.npy", VECTORS)
    (tmp_path / "c.npy").write_bytes(b"no array")
    cloud = isoscope.open_cloud(str(tmp_path / "*.npy"), on_error="skip")
    with Execution(on_error="skip").open(cloud, {}) as plan:
        assert list(plan.skipped) == [str(tmp_path / "c.npy")]


def test_ray_is_opened_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def refuse(*arguments: Any) -> None:
        asked.append(arguments)
        raise UsageError("no Ray answers")

    monkeypatch.setattr("isoscope.compute.execution.open_pool", refuse)
    with (
        pytest.raises(UsageError, match="no Ray answers"),
        Execution("ray:host:1", 2).open(CLOUD, {}),
    ):
        pass
    assert asked == [("ray:host:1", 2)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"configuration": {"correction": "whiten"}}, 'with correction "center", and'),
        ({"source": ArrayCloud(VECTORS + 1)}, "started with source.sha256"),
        ({"shard": 9}, "started with shard_rows 7"),
    ],
)
def test_the_journal_knows_what_was_asked(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    asked: dict[str, Any] = {"source": CLOUD, "configuration": {"correction": "center"}}
    how: dict[str, Any] = {"shard": 7, "journal": tmp_path / "journal"}

    def interrupted() -> None:
        with Execution(**how).open(**asked) as plan:
            assert plan.journal is not None
            plan.journal.save("fit 0-0", {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    other = Execution(**how | {key: change[key] for key in change if key in how}, resume=True)
    with (
        pytest.raises(UsageError, match=words),
        other.open(**asked | {key: change[key] for key in change if key in asked}),
    ):
        pass
    again = Execution("local", 1, "skip", **how, resume=True)
    with again.open(**asked) as plan:
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
    with Execution(nowhere, journal=tmp_path / "journal").open(cloud, {}) as plan:
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


@pytest.mark.needs_package("pgserver", "pgserver, which carries PostgreSQL,")
@pytest.mark.needs_package("psycopg", "psycopg")
@pytest.mark.parametrize("documents", [None, np.arange(30) // 2])
def test_a_table_is_measured_by_this_process_too(postgres: Server, documents: Any) -> None:
    name = "measured" if documents is None else "measured_documents"
    postgres.table(name, "id int PRIMARY KEY, v vector(3)")
    postgres.fill(name, range(30), VECTORS)
    source = postgres.address(name, "column=v")
    here, there = (
        isoscope.measure(source, ["mean_cosine"], ["none"], documents=documents, engine=engine)
        for engine in ("local", "ray:nowhere:1")
    )
    assert here.value("mean_cosine") == there.value("mean_cosine")


def test_options_that_make_no_sense_are_refused_at_once() -> None:
    for wrong, words in (
        ({"engine": "spark"}, "--engine must be local, ray or ray:ADDRESS, got 'spark'"),
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"on_error": "ignore"}, "on-error must be stop or skip, got 'ignore'"),
        ({"shard": 0}, "a shard must have at least one of its rows, got 0"),
    ):
        with pytest.raises(UsageError, match=words):
            Execution(**wrong)
