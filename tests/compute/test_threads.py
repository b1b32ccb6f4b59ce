from __future__ import annotations

import sys
import threading
from types import ModuleType

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from isoscope.compute.threads import BlasLimit, accumulate, in_parallel, one_blas_thread


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


def test_overlapping_runs_restore_the_threads_of_blas() -> None:
    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(threads()) == {1}
    first.__exit__(None, None, None)
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert threads() == before


def test_every_thread_can_hold_blas_to_one() -> None:
    """threadpoolctl alone lets only the first thread that held it do so again."""

    def held() -> set[int]:
        with one_blas_thread():
            return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    found = [held()]
    other = threading.Thread(target=lambda: found.append(held()))
    other.start()
    other.join()
    assert found == [{1}, {1}]


def test_blas_is_looked_for_again_after_an_import_only(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    class Counted(ThreadpoolController):
        def __init__(self) -> None:
            looked.append(1)
            super().__init__()

    monkeypatch.setattr("isoscope.compute.threads.ThreadpoolController", Counted)
    limit = BlasLimit()
    for _ in range(3):
        with limit():
            pass
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "a_new_module", ModuleType("a_new_module"))
    with limit():
        pass
    assert len(looked) == 2


def test_none_is_an_item_like_any_other() -> None:
    state, other = Collector(), Collector()
    accumulate([None, None, None], [state, other])  # type: ignore[list-item]
    assert len(state.items) == 2


def test_results_keep_their_order() -> None:
    assert in_parallel([lambda k=k: k * k for k in range(5)]) == [0, 1, 4, 9, 16]
