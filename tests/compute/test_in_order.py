"""Threads that work side by side give what one thread gives, in its order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from isoscope.compute.in_order import Turn, in_order

THREADS = [1, 2, 7]
STAGES = ("a", "b", "c")


def pause(number: int) -> None:
    """Take longer for early items than for late ones."""
    time.sleep(0.004 if number % 3 == 0 else 0)


@pytest.mark.parametrize("threads", THREADS)
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    def work(item: int, turn: Turn) -> int:
        del turn
        pause(item)
        return item * item

    assert list(in_order(range(20), work, threads)) == [k * k for k in range(20)]
    assert list(in_order([], work, threads)) == []


@pytest.mark.parametrize("threads", THREADS)
def test_sums_have_the_bits_of_one_thread(threads: int) -> None:
    terms = np.random.default_rng(0).standard_normal((40, 3)) * 10.0 ** np.arange(-9, 0, 3)
    sums = dict.fromkeys(STAGES, 0.0)
    places: dict[str, list[int]] = {stage: [] for stage in STAGES}

    def work(item: int, turn: Turn) -> None:
        pause(item)
        for stage, term in zip(STAGES, terms[item], strict=True):
            if stage == "b" and item % 4 == 1:
                continue  # a stage may be passed over, as where a batch has no massive token
            with turn.at(stage):
                sums[stage] = (sums[stage] + term) / 3
                places[stage].append(item)

    assert list(in_order(range(40), work, threads)) == [None] * 40
    expected = dict.fromkeys(STAGES, 0.0)
    for item in range(40):
        for stage, term in zip(STAGES, terms[item], strict=True):
            if stage != "b" or item % 4 != 1:
                expected[stage] = (expected[stage] + term) / 3
    assert sums == expected
    assert places["a"] == list(range(40))
    assert places["b"] == [item for item in range(40) if item % 4 != 1]


@pytest.mark.parametrize("threads", THREADS)
def test_the_first_failure_in_order_is_raised_and_all_threads_end(threads: int) -> None:
    before = threading.active_count()

    def work(item: int, turn: Turn) -> int:
        if item == 5:
            time.sleep(0.02)  # so that the failure of a later item comes first
            raise ValueError("five")
        if item == 6:
            raise ValueError("six")
        with turn.at("sum"):
            return item

    found: list[int] = []
    with pytest.raises(ValueError, match="five"):
        found.extend(in_order(range(50), work, threads))
    assert found == [0, 1, 2, 3, 4]
    assert threading.active_count() == before


def test_a_failure_while_a_turn_is_held_sends_later_items_away() -> None:
    def work(item: int, turn: Turn) -> None:
        with turn.at("sum"):
            if item == 2:
                raise ValueError("half a sum")

    with pytest.raises(ValueError, match="half a sum"):
        list(in_order(range(9), work, 3))


@pytest.mark.parametrize("threads", THREADS)
def test_a_failing_source_is_raised(threads: int) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(in_order(items(), lambda item, _: item, threads))


def test_few_items_are_taken_ahead_and_a_reader_may_stop() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1_000):
            taken.append(number)
            yield number

    before = threading.active_count()
    results = in_order(items(), lambda item, _: item, 3)
    assert next(results) == 0
    assert len(taken) == 4
    results.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", THREADS)
def test_blas_has_one_thread_and_each_thread_is_prepared(threads: int) -> None:
    prepared: list[int] = []

    def blas(item: int, turn: Turn) -> set[int]:
        del item, turn
        return {
            one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas"
        }

    found = list(in_order(range(4), blas, threads, lambda: prepared.append(threading.get_ident())))
    assert found == [{1}] * 4
    assert len(set(prepared)) == (0 if threads == 1 else threads)
