"""Reads in shards: the same bits whoever reads, and the same numbers however they are cut."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import joined, shifted
from faults_for_tests import Nested, balanced
from hypothesis import given
from hypothesis import strategies as st

import isoscope
from isoscope.compute.journal import Journal
from isoscope.compute.map_reduce import (
    CHUNK,
    SMALL,
    ChunkTaker,
    Collector,
    Piece,
    ReadWork,
    Run,
    chunk_size,
    chunks,
    in_turn,
    lane_count,
    read,
    without_skipped,
)
from isoscope.compute.pool import Here
from isoscope.compute.stage import Stage
from isoscope.corrections import fit_together
from isoscope.corrections.clusters.centers import find_centers
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import Batch, CloudGroup, Shard, rows_per_batch, shards_of
from isoscope.data.blocks import Dealer
from isoscope.data.combine import FileParts, LabelledCloud
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import (
    FirstState,
    FirstWork,
    SecondState,
    SecondWork,
    first_read,
)
from isoscope.measures.reads.projections import Exponents, ProjectionPlan
from isoscope.measures.views import ViewShape
from isoscope.verbs.diff.two_clouds import Reading

STEP, WIDTH = 128, 4
FEW, MANY = STEP * SMALL, STEP * 37 + 50
"""Rows of clouds whose chunks are single batches, and several."""

Bits = dict[str, tuple[str, tuple[int, ...], bytes]]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.base.BATCH_ELEMENTS", 1)
    assert rows_per_batch(WIDTH) == STEP


def first_work(group: CloudGroup, label: str | None = None) -> FirstWork:
    widths = dict(zip(group.names, group.widths, strict=True))
    return FirstWork(MomentParts(), widths, 32, 5, deals=True, label=label)


def second_work(group: CloudGroup) -> SecondWork:
    plans = {}
    for name, width in zip(group.names, group.widths, strict=True):
        ones = np.ones(width)
        plans[name] = ProjectionPlan(
            mean=0.5 * ones, raw_basis=np.eye(width), basis=np.eye(width)[::-1].copy(),
            exponents=(Exponents("raw", ones), Exponents("centred", 0.5 * ones)),
            views=(ViewShape(ones, np.zeros(width), on_components=False),), dimensions=True,
            double=False,
        )  # fmt: skip
    return SecondWork(plans, deals=True)


WORKS = [first_work, second_work]


def bits(state: FirstState | SecondState) -> Bits:
    arrays, facts = state.to_entry()
    found = {key: (str(a.dtype), a.shape, a.tobytes()) for key, a in arrays.items()}
    return {**found, "facts": ("", (), json.dumps(facts, sort_keys=True).encode())}


class Shuffled:
    """A pool that is done with shards in a random order."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def run(self, work: Any, shards: Sequence[Any], tick: Any) -> Iterator[Any]:
        order = list(shards)
        self._random.shuffle(order)
        return Here().run(work, order, tick)


def cloud(rows: int, seed: int = 0) -> ArrayCloud:
    return ArrayCloud(shifted(seed, rows, WIDTH).astype(np.float32))


@pytest.mark.parametrize("make", WORKS)
@pytest.mark.parametrize("rows", [FEW, MANY])
@pytest.mark.parametrize("shard_rows", [STEP, 6 * STEP, None])
def test_threads_and_pools_find_the_same_bits(make: Any, rows: int, shard_rows: int | None) -> None:
    group = cloud(rows)
    plans = [Run(workers=workers, shard_rows=shard_rows) for workers in (1, 2, 3, 5)]
    plans += [Run(pool=pool, shard_rows=shard_rows) for pool in (Here(), Shuffled(0), Shuffled(1))]
    found = [bits(read(group, make(group), "read", plan).state) for plan in plans]
    assert all(one == found[0] for one in found)


def assert_close(one: FirstState | SecondState, other: FirstState | SecondState) -> None:
    (left, facts), (right, others) = one.to_entry(), other.to_entry()
    assert facts == others
    assert left.keys() == right.keys()
    for key in left:
        np.testing.assert_allclose(left[key], right[key], rtol=1e-12, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("make", WORKS)
@pytest.mark.parametrize("shard_rows", [STEP, 3 * STEP, 6 * STEP, 17 * STEP])
def test_the_size_of_shards_changes_rounding_only(make: Any, shard_rows: int) -> None:
    group = cloud(MANY)
    whole = read(group, make(group), "read", Run()).state
    assert_close(whole, read(group, make(group), "read", Run(shard_rows=shard_rows)).state)


def test_the_sums_are_those_of_the_rows() -> None:
    x = shifted(3, MANY, WIDTH)
    group = ArrayCloud(x)
    found = read(group, first_work(group), "read", Run(workers=3, shard_rows=6 * STEP)).state
    moments = found.moments["array"]
    assert moments.rows == MANY
    np.testing.assert_allclose(moments.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(x.T, bias=True), rtol=1e-11)
    sample = found.samples["array"]
    assert len(sample.indices) == 32
    np.testing.assert_array_equal(sample.vectors, x[sample.indices])


def test_the_sample_is_one_of_all_shards() -> None:
    group = cloud(MANY)
    drawn = [
        read(group, first_work(group), "read", Run(shard_rows=rows)).state.samples["array"]
        for rows in (None, STEP, 6 * STEP)
    ]
    for sample in drawn[1:]:
        np.testing.assert_array_equal(sample.indices, drawn[0].indices)
        np.testing.assert_array_equal(sample.groups, drawn[0].groups)
    assert drawn[0].indices.max() > 30 * STEP


@pytest.mark.parametrize("make", WORKS)
def test_several_parts_are_read_as_if_each_were_alone(make: Any) -> None:
    clouds = {
        "layer 1": ArrayCloud(shifted(1, MANY, WIDTH), "layer 1"),
        "layer 2": ArrayCloud(shifted(2, 900, 3), "layer 2"),
    }
    group = FileParts(clouds)
    found = [
        read(group, make(group), "read", Run(workers=workers, shard_rows=5 * STEP)).state
        for workers in (1, 2, 5)
    ]
    assert bits(found[0]) == bits(found[1]) == bits(found[2])
    pooled = read(group, make(group), "read", Run(pool=Shuffled(2), shard_rows=5 * STEP)).state
    assert bits(pooled) == bits(found[0])
    for name, part in clouds.items():
        work = make(FileParts({name: part}))
        alone = read(part, work, "read", Run(shard_rows=5 * STEP)).state
        mine, others = alone.to_entry()[0], found[0].to_entry()[0]
        for key, array in mine.items():
            np.testing.assert_allclose(others[key], array, rtol=1e-12, atol=1e-12, err_msg=key)


def test_tensors_are_read_as_arrays_are() -> None:
    torch = pytest.importorskip("torch")
    x = shifted(4, MANY, WIDTH)
    tensor, array = isoscope.open_cloud(torch.from_numpy(x)), ArrayCloud(x, "tensor")
    for make in WORKS:
        found = [
            read(tensor, make(tensor), "read", Run(workers=workers)).state for workers in (1, 4)
        ]
        assert bits(found[0]) == bits(found[1])
        assert lane_count(tensor, 4, CHUNK, next(iter(tensor.batches()))) == 1  # torch has its own
        assert_close(found[0], read(array, make(array), "read", Run()).state)


def with_holes() -> np.ndarray:
    x = shifted(5, MANY, WIDTH)
    x[[3, 700, 701, 4000]] = np.nan
    return x


@pytest.mark.parametrize("plan", [Run(workers=1), Run(workers=3), Run(pool=Shuffled(3))])
def test_rows_that_are_left_out_are_counted_over_shards(plan: Run) -> None:
    x = with_holes()
    plan = Run(plan.workers, plan.pool, shard_rows=5 * STEP)
    selection = RowSelection(ArrayCloud(x), drop_invalid=True)
    moments = first_read(selection, MomentParts(), plan=plan)["array"].moments
    assert selection.left_out == {"not finite": 4}
    assert moments.rows == MANY - 4
    np.testing.assert_allclose(moments.mean, np.nanmean(x, axis=0), rtol=1e-12)


@pytest.mark.parametrize("plan", [Run(workers=2), Run(pool=Here())])
def test_a_row_that_is_not_finite_is_named_as_in_the_whole(plan: Run) -> None:
    selection = RowSelection(ArrayCloud(with_holes()[STEP:]))
    with pytest.raises(DataError, match=f"row {700 - STEP} holds NaN"):
        first_read(selection, MomentParts(), plan=Run(plan.workers, plan.pool, shard_rows=STEP))


@pytest.mark.parametrize("label", [None, "document"])
def test_documents_are_dealt_together_in_every_shard(label: str | None) -> None:
    x = shifted(6, MANY, WIDTH)
    documents = np.array([f"d{k % 7}" for k in range(MANY)])
    group = LabelledCloud(ArrayCloud(x), "document", documents)
    blocks = []
    for plan in (Run(workers=1), Run(workers=3), Run(pool=Shuffled(4))):
        dealer = Dealer(label)
        plan = Run(plan.workers, plan.pool, shard_rows=3 * STEP)
        found = first_read(group, MomentParts(), dealer=dealer, plan=plan)["array"].moments
        assert dealer.used == "document"
        assert found.blocks is not None
        blocks.append(found.blocks.to_arrays())
    for other in blocks[1:]:
        assert all(other[key].tobytes() == blocks[0][key].tobytes() for key in blocks[0])
    plain = Dealer()
    first_read(ArrayCloud(x), MomentParts(), dealer=plain, plan=Run(workers=3))
    assert plain.used == ""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three files, of which the second has a bad row in the middle of a chunk."""
    paths = [tmp_path / f"{number}.npy" for number in range(3)]
    for number, path in enumerate(paths):
        x = shifted(number, 12 * STEP, WIDTH)
        if number == 1:
            x[6 * STEP + 1] = np.inf
        np.save(path, x)
    return paths


POOLS = [None, Here(), Shuffled(5)]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_shard_is_as_if_its_file_were_not_there(
    files: list[Path], pool: Any, workers: int
) -> None:
    bad = str(files[1])
    selection = RowSelection(isoscope.open_cloud(str(files[0].parent / "*.npy")))
    assert chunk_size(selection) == CHUNK
    plan = Run(workers, pool, on_error="skip")
    found = read(selection, first_work(selection), "first", plan)
    assert list(found.skipped) == [bad]
    assert "holds NaN or an infinity" in found.skipped[bad]
    assert plan.skipped == found.skipped
    x = np.concatenate([np.load(files[0]), np.load(files[2])])
    moments = found.state.moments[selection.names[0]]
    assert moments.rows == len(x)
    np.testing.assert_allclose(moments.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(x.T, bias=True), rtol=1e-11)
    second = read(selection, second_work(selection), "second", plan)
    assert second.skipped == found.skipped
    files[1].unlink()
    rest = RowSelection(isoscope.open_cloud(str(files[0].parent / "*.npy")))
    alone = read(rest, second_work(rest), "second", Run()).state
    for key, array in second.state.to_entry()[0].items():
        if "block" not in key:  # rows are dealt by their numbers, which the bad file moves
            np.testing.assert_allclose(
                array, alone.to_entry()[0][key], rtol=1e-12, atol=1e-12, err_msg=key
            )


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_shard_stops_where_it_should(files: list[Path], pool: Any, workers: int) -> None:
    selection = RowSelection(isoscope.open_cloud(str(files[0].parent / "*.npy")))
    with pytest.raises(DataError, match=f"1.npy: row {6 * STEP + 1} holds NaN or an infinity"):
        read(selection, first_work(selection), "first", Run(workers, pool))


class Unreadable(ArrayCloud):
    """A cloud of which a disk gives out the first shard only."""

    def read(self) -> Iterator[Batch]:
        if self.start:
            raise OSError(5, "Input/output error")
        yield from super().read()


@pytest.mark.parametrize("pool", POOLS)
def test_what_a_disk_does_not_give_out_is_left_out_too(pool: Any) -> None:
    group = Unreadable(shifted(7, 3 * STEP, WIDTH))
    found = read(group, first_work(group), "read", Run(2, pool, on_error="skip", shard_rows=STEP))
    assert found.state.moments["array"].rows == STEP
    assert [why for why in found.skipped.values() if "Input/output error" in why]
    assert len(found.skipped) == 2
    with pytest.raises(DataError, match="array, rows 128 to 255: .*Input/output error"):
        read(group, first_work(group), "read", Run(2, pool and Here(), shard_rows=STEP))


def test_what_the_first_read_left_out_is_not_in_the_second(files: list[Path]) -> None:
    """Though it could be read by then."""
    selection = RowSelection(isoscope.open_cloud(str(files[0].parent / "*.npy")))
    plan = Run(on_error="skip")
    read(selection, first_work(selection), "first", plan)
    np.save(files[1], shifted(1, 12 * STEP, WIDTH))
    told: list[int] = []
    second = read(
        selection, second_work(selection), "second", plan, lambda _, done, __: told.append(done)
    )
    assert second.state.projections[selection.names[0]].rows == 24 * STEP
    assert (told[0], told[-1]) == (12 * STEP, 36 * STEP)  # what is left out counts as done
    rest = without_skipped(selection, plan)
    assert rest.rows == 24 * STEP
    assert sum(len(found[rest.names[0]].vectors) for found in rest.batches()) == 24 * STEP
    assert without_skipped(selection, Run()) is selection


def test_measures_of_fitted_spaces_leave_the_bad_file_out_too(files: list[Path]) -> None:
    source = str(files[0].parent / "*.npy")
    options: dict[str, Any] = {
        "measures": "mean_cosine,local_i1:n_clusters=2",
        "corrections": "none,standardize",
        "intervals": False,
    }
    with pytest.warns(UserWarning, match="left out: .*1.npy"):
        found = isoscope.measure(source, on_error="skip", **options)
    assert found.left_out == {"shards that could not be read": 1}
    assert list(found.extra["skipped_shards"]) == [str(files[1])]
    files[1].unlink()
    alone = isoscope.measure(source, **options)
    for row in alone.rows:
        if row.value is not None and row.measure == "mean_cosine":
            other = found.row(row.measure, row.correction)
            assert other.value == pytest.approx(row.value, rel=1e-9, abs=1e-12)
            assert other.n == row.n


@dataclass(frozen=True)
class Whole:
    """A shard of which only the group is asked for."""

    name: str
    group: Any = None


class Plain(ReadWork[Nested]):
    """A read whose states are what they were merged from."""

    kind = Nested

    def taker(self) -> ChunkTaker[Nested]:
        raise NotImplementedError

    def finished(self, state: Nested | None, group: Any) -> Nested:
        del group
        return Nested("empty") if state is None else state


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=4).flatmap(
        lambda counts: st.tuples(
            st.just(counts),
            st.permutations([(s, c) for s, n in enumerate(counts) for c in range(n + 1)]),
        )
    )
)
def test_chunks_are_merged_in_their_order_whichever_thread_is_first(
    given: tuple[list[int], list[tuple[int, int]]],
) -> None:
    """The last item of each shard stands for its reader being at the end."""
    counts, order = given
    shards = [Whole(str(number)) for number in range(len(counts))]
    stage: Stage[Any, Nested] = Stage("read", shards, [1] * len(counts), Nested)
    collector = Collector(stage, Plain())
    for shard, chunk in order:
        if chunk == counts[shard]:
            collector.expect(shard, chunk)
        else:
            collector.add(shard, chunk, Nested((shard, chunk)))
    expected = [
        balanced([(shard, chunk) for chunk in range(count)]) if count else "empty"
        for shard, count in enumerate(counts)
    ]
    assert stage.result().state.tree == balanced(expected)
    assert stage.missing == []


def test_what_comes_of_a_bad_shard_later_is_dropped() -> None:
    shards = [Whole("a"), Whole("b")]
    stage: Stage[Any, Nested] = Stage("read", shards, [1, 1], Nested, on_error="skip")
    collector = Collector(stage, Plain())
    collector.add(0, 0, Nested("bad"))
    collector.bad(0, DataError("row 3 holds NaN"))
    collector.bad(0, DataError("said twice"))
    assert collector.is_bad(0)
    assert not collector.is_bad(1)
    collector.add(0, 1, Nested("late"))
    collector.expect(0, 2)
    collector.add(1, 0, Nested("good"))
    collector.expect(1, 1)
    found = stage.result()
    assert found.state == Nested("good")
    assert found.skipped == {"a": "row 3 holds NaN"}


def test_chunks_have_their_batches_and_rows_their_numbers() -> None:
    group = cloud(MANY)
    (_, shard, *_) = shards_of(group, 10 * STEP)
    found = [[batch["array"] for batch in chunk] for chunk in chunks(shard, 4)]
    assert [len(chunk) for chunk in found] == [4, 4, 2]
    firsts = [batch.first_row for chunk in found for batch in chunk]
    assert firsts == list(range(10 * STEP, 20 * STEP, STEP))
    np.testing.assert_array_equal(
        np.concatenate([batch.vectors for chunk in found for batch in chunk]),
        joined(group)[10 * STEP : 20 * STEP],
    )


def test_a_chunk_goes_to_one_thread() -> None:
    stream = [
        Piece(shard, chunk, batches)
        for shard, chunk in ((0, 0), (0, 1), (1, 0), (1, 1))
        for batches in ({}, {}, None)
    ]
    dealt = list(in_turn(stream, 3))
    assert [piece for _, piece in dealt] == stream
    assert [lane for lane, _ in dealt] == [0] * 3 + [1] * 3 + [2] * 3 + [0] * 3


def test_as_many_threads_as_there_are_chunks() -> None:
    assert lane_count(cloud(FEW), 99, 1, {}) == SMALL
    assert lane_count(cloud(STEP + 1), 99, 1, {}) == 2
    assert lane_count(cloud(MANY), 99, 4, {}) == 10
    assert lane_count(cloud(MANY), 3, 4, {}) == 3
    assert lane_count(cloud(2), 3, 4, {}) == 1
    wide = ArrayCloud(np.zeros((5_000, 4_096), np.float16))
    assert lane_count(wide, 99, 1, {}) == 2  # d × d matrices take memory


def test_few_batches_are_dealt_one_by_one() -> None:
    assert chunk_size(cloud(FEW)) == 1
    assert chunk_size(cloud(FEW + 1)) == CHUNK


def test_progress_counts_rows() -> None:
    group = cloud(FEW)
    told: list[tuple[str, int, int | None]] = []
    plan = Run(workers=2, shard_rows=4 * STEP)
    read(group, first_work(group), "first read", plan, lambda *report: told.append(report))
    assert told == [("first read", STEP * k, FEW) for k in range(1, SMALL + 1)]


@pytest.mark.parametrize("pool", [None, Here()])
def test_a_read_goes_on_from_the_shards_that_are_kept(tmp_path: Path, pool: Any) -> None:
    group = cloud(FEW)
    shards = shards_of(group, 4 * STEP)
    work = first_work(group)
    work.chunk = chunk_size(group)
    told: list[int] = []
    with Journal.open(tmp_path / "j", {}) as journal:
        begun: Stage[Shard, FirstState] = Stage("read", shards, [4 * STEP] * 4, FirstState, journal)
        for number in (0, 2):
            begun.add(number, work(shards[number], lambda _: None))
        begun.result()
        plan = Run(2, pool, journal, shard_rows=4 * STEP)
        found = read(group, work, "read", plan, lambda _, done, __: told.append(done))
    assert (told[0], told[-1]) == (9 * STEP, FEW)
    unbroken = read(group, first_work(group), "read", Run(shard_rows=4 * STEP))
    assert bits(found.state) == bits(unbroken.state)


# Dies in the nth batch of the first or second read; every finished shard is kept.
KILLED = """
import json, os, signal, sys
import isoscope
from isoscope.data import base as contract
from isoscope.compute import stage as shard_journal
from isoscope.measures.reads import passes as reading

source, journal, where, count = sys.argv[1:5]
contract.BATCH_ELEMENTS = 1
shard_journal.SHARE = 0
left = int(count)

def deadly(method):
    def add(self, batches):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, batches)
    return add

if where == "first":
    reading.MomentsTaker.add = deadly(reading.MomentsTaker.add)
if where == "second":
    reading.ProjectionsTaker.add = deadly(reading.ProjectionsTaker.add)
isoscope.measure(source, workers=1, journal=journal, resume=True)
"""


def rows_of(source: str, **options: Any) -> Any:
    found = json.loads(isoscope.measure(source, **options).to_json())
    return {key: found[key] for key in ("rows", "tables", "verdicts", "left_out")}


def test_killed_in_both_reads_is_as_if_it_never_was(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.npy" for number in range(5)]
    for number, path in enumerate(paths):
        np.save(path, shifted(number, 4 * STEP, WIDTH).astype(np.float32))
    source, journal = str(tmp_path / "*.npy"), tmp_path / "journal"
    unbroken = rows_of(source)
    for where, count in (("first", 15), ("second", 11)):
        call = [sys.executable, "-c", KILLED, source, str(journal), where, str(count)]
        assert subprocess.run(call, check=False).returncode == -signal.SIGKILL
        assert any("first read" in path.name for path in journal.iterdir())
    assert any("second read" in path.name for path in journal.iterdir())
    for path in paths[:2]:  # finished in both reads: whoever reads them again finds NaN
        spoil(path)
    assert rows_of(source, journal=journal, resume=True, workers=3) == unbroken
    assert not journal.exists()


def spoil(path: Path) -> None:
    """Fill a file with NaN; neither its size nor its time tells."""
    before = path.stat()
    np.save(path, np.full_like(np.load(path), np.nan))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


THREADS = (1, 2, 3)


def on_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let this process have some cores."""
    monkeypatch.setattr("isoscope.compute.map_reduce.cores", lambda: count)


@pytest.mark.parametrize("options", [{"precision": "single"}, {"sample_weight": np.arange(MANY)}])
def test_fits_of_this_process_alone_do_not_depend_on_its_threads(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """Rows with weights, and products in single precision, are read by this process."""
    x = shifted(9, MANY, WIDTH).astype(np.float32)
    found = set()
    for count in THREADS:
        on_threads(monkeypatch, count)
        whiten = isoscope.make_correction("whiten")
        if "precision" in options:
            fit_together([whiten], ArrayCloud(x), **options)
        else:
            whiten.fit(x, **options)
        found.add(b"".join(one.tobytes() for one in whiten.state_arrays().values()))
    assert len(found) == 1


def test_clusters_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x = shifted(10, MANY, WIDTH)
    found = set()
    for count in THREADS:
        on_threads(monkeypatch, count)
        found.add(find_centers(ArrayCloud(x), 5, seed=0).tobytes())
    assert len(found) == 1


def test_clouds_in_step_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x = shifted(11, MANY, WIDTH)
    found = set()
    for count in THREADS:
        on_threads(monkeypatch, count)
        two = Reading(MomentParts(), 100, seed=0).in_step(ArrayCloud(x), ArrayCloud(x[:, ::-1]))
        assert two.cross is not None
        sums = (two.a.moments.scatter, two.b.moments.mean, two.cross.cross, two.a.sample.vectors)
        found.add(b"".join(np.ascontiguousarray(one).tobytes() for one in sums))
    assert len(found) == 1
