"""States of both reads: they merge, and come back bit by bit from a journal or another process."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.compute.journal import Journal
from isoscope.corrections.apply import CorrectedCloud
from isoscope.corrections.registry import make_correction, parse_corrections
from isoscope.data.arrays import ArrayCloud
from isoscope.data.combine import SingleCloud
from isoscope.data.open import open_cloud
from isoscope.data.selection import RowSelection
from isoscope.measures.reads.moments import MomentParts, Moments
from isoscope.measures.reads.passes import (
    FirstState,
    FirstWork,
    MomentsTaker,
    ProjectionsTaker,
    SecondState,
    SecondWork,
    added,
    first_read,
)
from isoscope.measures.reads.projections import Exponents, ProjectionPlan
from isoscope.measures.reads.request import Request
from isoscope.measures.registry import find_measure
from isoscope.measures.views import ViewShape

NAMES = ("block 1", "a|b %", "")
"""Clouds may be called anything."""
WIDTH = 3
State = FirstState | SecondState


def batches(seed: int, names: tuple[str, ...] = NAMES, rows: int = 40) -> Any:
    return {
        name: next(ArrayCloud(shifted(seed + k, rows, WIDTH)).read())._replace(
            first_row=1_000 * seed
        )
        for k, name in enumerate(names)
    }


def first(
    seed: int, *, deals: bool = True, names: tuple[str, ...] = NAMES, rows: int = 40
) -> FirstState:
    work = FirstWork(MomentParts(), dict.fromkeys(NAMES, WIDTH), 16, 0, deals=deals)
    taker = MomentsTaker(work)
    taker.add(batches(seed, names, rows))
    found = taker.take()
    return FirstState(found.moments, found.samples, 16, "document", {"not finite": seed + 1})


def second(seed: int, *, names: tuple[str, ...] = NAMES) -> SecondState:
    ones = np.ones(WIDTH)
    plan = ProjectionPlan(
        mean=ones, raw_basis=np.eye(WIDTH), basis=np.eye(WIDTH),
        exponents=(Exponents("raw", ones), Exponents("centred", ones)),
        views=(ViewShape(ones, np.zeros(WIDTH), on_components=False),), dimensions=True,
        double=True,
    )  # fmt: skip
    taker = ProjectionsTaker(SecondWork(dict.fromkeys(NAMES, plan), deals=True))
    taker.add(batches(seed, names))
    return taker.take()


def same(one: State, other: State) -> bool:
    """Whether two states are the same bit by bit."""
    (left, facts), (right, others) = one.to_entry(), other.to_entry()
    return (
        type(one) is type(other)
        and facts == others
        and left.keys() == right.keys()
        and all(
            (left[key].dtype, left[key].shape, left[key].tobytes())
            == (right[key].dtype, right[key].shape, right[key].tobytes())
            for key in left
        )
    )


STATES = [
    first(0),
    first(1, deals=False),
    FirstState({}, {}, 0),
    FirstState({}, {}, 16, "document", {"not finite": 40}),
    second(0),
    SecondState({}),
]


@pytest.mark.parametrize("state", STATES)
def test_a_journal_gives_back_what_it_was_given(state: State, tmp_path: Path) -> None:
    arrays, facts = state.to_entry()
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", arrays, facts)
    with Journal.open(tmp_path / "j", {}, resume=True) as journal:
        entry = journal.load("s")
    assert entry is not None
    again = type(state).from_entry(entry.arrays, entry.facts)
    assert same(again, state)
    assert same(pickle.loads(pickle.dumps(state)), state)
    assert again.to_entry()[1] == facts


@pytest.mark.parametrize("make", [first, second])
def test_restored_states_merge_as_those_they_were(make: Any) -> None:
    one, other = make(0), make(1)
    restored = [type(state).from_entry(*state.to_entry()) for state in (one, other)]
    assert same(restored[0].merge(restored[1]), one.merge(other))
    assert not same(one.merge(other), one)


@pytest.mark.parametrize("make", [first, second])
def test_nothing_changes_nothing(make: Any) -> None:
    state = make(0)
    nothing = FirstState({}, {}, 16) if make is first else SecondState({})
    assert same(nothing.merge(state), state)
    assert same(state.merge(nothing), state)


@pytest.mark.parametrize("make", [first, second])
def test_clouds_that_one_side_has_not_met_stay_as_they_are(make: Any) -> None:
    left, right, both = make(0, names=NAMES[:2]), make(0, names=NAMES[1:]), make(0)
    merged = left.merge(right)
    parts = merged.moments if make is first else merged.projections
    assert set(parts) == set(NAMES)
    rows = {name: part.rows for name, part in parts.items()}
    assert rows == {NAMES[0]: 40, NAMES[1]: 80, NAMES[2]: 40}
    alone = (both.moments if make is first else both.projections)[NAMES[0]]
    assert np.array_equal(alone.unit_sum, parts[NAMES[0]].unit_sum)


def test_a_merged_first_read_adds_rows_and_keeps_the_sample_as_small() -> None:
    one, other = first(0), first(1, rows=27)
    found = one.merge(other)
    assert found.sample_size == 16
    assert found.dealt_by == "document"
    assert found.left_out == {"not finite": 3}
    for name in NAMES:
        assert found.moments[name].rows == 67
        in_order = one.moments[name].merge(other.moments[name])
        assert found.moments[name].mean.tobytes() == in_order.mean.tobytes()
        sample, keys = found.samples[name], [one.samples[name].keys, other.samples[name].keys]
        assert len(sample.keys) == 16
        assert sorted(sample.keys) == sorted(np.concatenate(keys))[:16]
        assert (np.diff(sample.indices) > 0).all()


def test_the_label_of_documents_is_known_if_any_part_met_it() -> None:
    met, not_met = FirstState({}, {}, 4, "document"), FirstState({}, {}, 4)
    assert met.merge(not_met).dealt_by == not_met.merge(met).dealt_by == "document"


def test_counts_are_added_by_reason() -> None:
    assert added({"a": 1, "b": 2}, {"b": 3, "c": 4}) == {"a": 1, "b": 5, "c": 4}


def test_a_taker_begins_anew_after_every_chunk() -> None:
    work = FirstWork(MomentParts(), dict.fromkeys(NAMES, WIDTH), 16, 0, deals=True)
    taker = MomentsTaker(work)
    chunks = []
    for seed in (0, 1):
        taker.add(batches(seed))
        found = taker.take()
        chunks.append(FirstState(found.moments, found.samples, 16, "document"))
        assert taker.take().moments == {}
    for seed, chunk in enumerate(chunks):
        alone = first(seed)
        assert same(chunk, FirstState(alone.moments, alone.samples, 16, "document"))


def test_squares_of_a_batch_do_not_outlive_its_vectors() -> None:
    """The look for NaN sums ‖x‖², which are not those of what a correction makes of the rows."""
    cloud = np.random.default_rng(5).standard_normal((300, 6)) + 2
    selected = RowSelection(ArrayCloud(cloud))
    (batches,) = selected.batches()
    squares = next(iter(batches.values())).squares
    assert squares is not None
    np.testing.assert_allclose(squares, np.square(cloud).sum(axis=1))
    centred = CorrectedCloud(SingleCloud(selected, "array"), make_correction("center").fit(cloud))
    read = first_read(centred, MomentParts(scatter=False))
    found = next(iter(read.values())).moments
    assert found.norm_square_sum == pytest.approx(np.square(cloud - cloud.mean(axis=0)).sum())


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_variances_without_the_scatter(offset: float) -> None:
    cloud = np.random.default_rng(6).standard_normal((900, 5)).astype(np.float32) + offset
    cloud[:, 3] = 0.1
    wide = cloud.astype(np.float64)
    parts = MomentParts(scatter=False, variances=True)
    batches = open_cloud(lambda: iter([cloud[:1], cloud[1:500], cloud[500:]]))
    moments = next(iter(first_read(batches, parts).values())).moments
    assert moments.scatter is None
    assert moments.variances is not None
    np.testing.assert_allclose(moments.variances, wide.var(axis=0), rtol=1e-9, atol=1e-30)
    assert moments.variances[3] < 1e-30
    np.testing.assert_allclose(moments.mean, wide.mean(axis=0), rtol=1e-12)
    assert Moments.from_arrays(moments.to_arrays()).variances is not None


def test_unit_vectors_are_only_summed_where_a_measure_needs_them() -> None:
    cloud = np.random.default_rng(7).standard_normal((300, 6)) + 2
    with_units, without = (
        first_read(ArrayCloud(cloud), MomentParts(units=units))["array"].moments
        for units in (True, False)
    )
    assert np.isnan(without.unit_sum).all()
    assert np.isfinite(with_units.unit_sum).all()
    assert without.norm_sum == with_units.norm_sum
    needed = {"mean_norm": False, "effective_rank": False, "mean_cosine": True}
    for name, units in {**needed, "outlier_dimensions": True}.items():
        chosen = find_measure(name), parse_corrections(["none"])
        assert Request((chosen[0],), chosen[1], False, None, 0, None).parts.units == units


def test_light_reads_of_small_clouds_start_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would wait for threads about as long as they take, and the sums are the same."""
    cloud = shifted(4, 9_000, 16).astype(np.float32)
    threaded = isoscope.measure(cloud, "mean_offset", "none", intervals=False, workers=2)

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("isoscope.compute.threads.Lane", refused)
    alone = isoscope.measure(cloud, "mean_offset", "none", intervals=False)
    assert alone.value("mean_offset") == threaded.value("mean_offset")
    monkeypatch.setattr("isoscope.compute.map_reduce.cores", lambda: 2)
    with pytest.raises(AssertionError):
        isoscope.measure(cloud, "effective_rank", "none", intervals=False)
