"""A stage over shards: what is bad, what is done, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from faults_for_tests import Nested, Numbered, Reading, balanced

from isoscope.compute.journal import Journal
from isoscope.compute.pool import BadShard, Here, Shard, Tick, Value, Work, attempt
from isoscope.compute.stage import Stage
from isoscope.errors import DataError, UsageError

SHARDS = [Numbered(number) for number in range(5)]
SIZES = [10, 20, 30, 40, 50]
BAD = {1: "row 3 holds NaN", 3: "shard 3: ends early"}

Told = list[tuple[str, int, int | None]]


class Recording:
    """A pool that notes which shards it is handed, and is done with the last one first."""

    def __init__(self) -> None:
        self.handed: list[int] = []

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        self.handed = [number for number, _ in shards]
        for number, shard in reversed(shards):
            yield number, attempt(work, shard, tick)


def stage(**options: Any) -> Stage[Numbered, Nested]:
    return Stage("read", SHARDS, options.pop("sizes", SIZES), Nested, **options)


def test_all_shards_are_merged_in_their_order() -> None:
    pool = Recording()
    found = stage().run(pool, Reading())
    assert found.state.tree == balanced([0, 1, 2, 3, 4])
    assert found.skipped == {}
    assert pool.handed == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({1: BAD[1]}, "^shard 1: row 3 holds NaN; --on-error skip leaves it out$"),
        ({3: BAD[3]}, "^shard 3: ends early; --on-error skip leaves it out$"),
    ],
)
def test_a_bad_shard_stops_the_run_and_is_named(bad: dict[int, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        stage().run(Here(), Reading(bad))


def test_bad_shards_are_left_out_and_named() -> None:
    found = stage(on_error="skip").run(Recording(), Reading(BAD))
    assert found.state == Nested(balanced([0, None, 2, None, 4]), 3.0)
    assert list(found.skipped.items()) == [("shard 1", BAD[1]), ("shard 3", BAD[3])]


def test_nothing_but_bad_shards_is_an_error() -> None:
    everything = {number: f"is bad: {number}" for number in range(5)}
    with pytest.raises(DataError, match="no shard could be read: is bad: 0$"):
        stage(on_error="skip").run(Recording(), Reading(everything))
    nothing: Stage[Numbered, Nested] = Stage("read", [], [], Nested)
    with pytest.raises(DataError, match="no shard could be read: there is none"):
        nothing.run(Here(), Reading())


def test_a_wrong_call_stops_whatever_is_said_of_bad_shards() -> None:
    with pytest.raises(UsageError, match="no column of shard 2"):
        stage(on_error="skip").run(Here(), Reading(wrong=frozenset({2})))


class KilledError(Exception):
    """Stands for a kill."""


def run_until(folder: Path, stop: int) -> None:
    """Work so many shards through, then die."""

    class Dying(Recording):
        def run(self, work: Any, shards: Any, tick: Any) -> Iterator[Any]:
            yield from list(Here().run(work, shards, tick))[:stop]
            raise KilledError

    with Journal.open(folder, {}) as journal:
        begun = stage(journal=journal, on_error="skip")
        with pytest.raises(KilledError):
            begun.run(Dying(), Reading(BAD))


def test_finished_shards_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoscope.compute.stage.SHARE", 0)
    run_until(tmp_path / "j", 3)
    told: Told = []
    with Journal.open(tmp_path / "j", {}, resume=True) as journal:
        again = stage(
            journal=journal, on_error="skip", progress=lambda *report: told.append(report)
        )
        assert again.done == 60
        assert [number for number, _ in again.missing] == [3, 4]
        pool = Recording()
        found = again.run(pool, Reading(BAD))
    assert pool.handed == [3, 4]
    assert found.state == Nested(balanced([0, None, 2, None, 4]), 3.0)
    assert found.skipped == {"shard 1": BAD[1], "shard 3": BAD[3]}
    assert told == [
        ("read", 61, 150),
        ("read", 110, 150),
        ("read", 111, 150),
        ("read", 150, 150),
    ]


def test_a_finished_stage_needs_no_pool(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", {}) as journal:
        stage(journal=journal).run(Here(), Reading())
    with Journal.open(tmp_path / "j", {}, resume=True) as journal:
        again = stage(journal=journal)
        pool = Recording()
        found = again.run(pool, Reading(dict.fromkeys(range(5), "is gone")))
        assert (pool.handed, again.done) == ([], 150)
        assert found.state.tree == balanced([0, 1, 2, 3, 4])
        again.forget()
        assert journal.steps == ()


def test_everything_is_in_the_journal_when_a_stage_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though saving took so long that only the first shard was saved on the way."""
    monkeypatch.setattr("isoscope.compute.stage.SHARE", 1e12)
    with Journal.open(tmp_path / "j", {}) as journal:
        stage(journal=journal).run(Here(), Reading())
        assert set(journal.steps) == {"read 2-0", "read 0-4"}


def test_a_shard_that_an_earlier_read_left_out_is_not_handed_over() -> None:
    second = stage(on_error="skip")
    second.skip(2, "row 7 holds NaN")
    pool = Recording()
    found = second.run(pool, Reading())
    assert pool.handed == [0, 1, 3, 4]
    assert found.skipped == {"shard 2": "row 7 holds NaN"}
    assert second.done == 150


def test_progress_tells_shards_and_what_is_done_of_the_next_one() -> None:
    told: Told = []
    stage(progress=lambda *report: told.append(report)).run(Here(), Reading())
    assert [done for _, done, _ in told] == [1, 10, 11, 30, 31, 60, 61, 100, 101, 150]
    assert {(name, total) for name, _, total in told} == {("read", 150)}


def test_a_total_is_told_only_where_all_sizes_are_known() -> None:
    told: Told = []
    some = stage(sizes=[10, None, 30, None, 50], progress=lambda *report: told.append(report))
    some.run(Here(), Reading())
    assert told[-1] == ("read", 90, None)
    assert {total for _, _, total in told} == {None}
