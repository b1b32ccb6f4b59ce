from __future__ import annotations

import threading

import pytest

from isoscope.engines.local import accumulate, in_parallel


class Collector:
    def __init__(self) -> None:
        self.items: list[int] = []

    def add(self, item: int, /) -> None:
        self.items.append(item)


def test_items_are_dealt_by_position() -> None:
    states = [Collector() for _ in range(3)]
    accumulate(range(10), states)
    assert [state.items for state in states] == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


def test_an_error_in_a_thread_reaches_the_caller_and_threads_end() -> None:
    class Failing(Collector):
        def add(self, item: int, /) -> None:
            if item == 5:
                raise ZeroDivisionError("five")

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="five"):
        accumulate(range(1_000), [Failing(), Failing()])
    assert threading.active_count() == before


def test_an_error_in_the_source_ends_the_threads() -> None:
    def source():  # type: ignore[no-untyped-def]
        yield 1
        raise OSError("gone")

    before = threading.active_count()
    with pytest.raises(OSError, match="gone"):
        accumulate(source(), [Collector(), Collector()])
    assert threading.active_count() == before


def test_results_keep_their_order() -> None:
    assert in_parallel([lambda k=k: k * k for k in range(5)]) == [0, 1, 4, 9, 16]
