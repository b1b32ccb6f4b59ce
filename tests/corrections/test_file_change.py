"""What is done to the rows of a file: the bytes of any number of threads."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted
from threadpoolctl import threadpool_info, threadpool_limits

from isoscope.corrections import Center, Correction, Whiten, make_correction
from isoscope.corrections.apply import Applying, change_of

VECTORS = shifted(0, 4_100, 50).astype(np.float32)
FLOW = "flow:n_steps=1:hidden_features=4:max_iter=1:max_samples=400"


@pytest.mark.parametrize(
    "name", ["whiten:n_components=30:renormalize=true", "cluster-pc-removal:n_clusters=3", FLOW]
)
def test_threads_and_processes_change_nothing(name: str) -> None:
    if name == FLOW:
        pytest.importorskip("zuko")
    correction = make_correction(name).fit(VECTORS)
    one, three = (Applying(correction, n, correction.renormalize) for n in (1, 3))
    sent: Applying = pickle.loads(pickle.dumps(one))
    for rows in (VECTORS, VECTORS[:1], VECTORS[:777].astype(np.float64), VECTORS[:0]):
        found = one(rows)
        assert found.dtype == rows.dtype
        np.testing.assert_array_equal(found, three(rows))
        np.testing.assert_array_equal(found, sent(rows))
        if len(rows):
            np.testing.assert_array_equal(found, correction.transform(rows))


def watched(correction: Correction, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str, int]]:
    """Note of every call the rows, the thread, and how many threads BLAS has."""
    calls: list[tuple[int, str, int]] = []
    correct = correction._correct

    def noting(rows: Any) -> Any:
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        calls.append((len(rows), threading.current_thread().name, max(blas)))
        return correct(rows)

    monkeypatch.setattr(correction, "_correct", noting)
    return calls


def test_pieces_follow_from_the_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    correction = Center().fit(VECTORS)
    calls = watched(correction, monkeypatch)
    with threadpool_limits(2):
        for threads in (1, 3):
            calls.clear()
            Applying(correction, threads, renormalize=False)(VECTORS)
            assert sorted(rows for rows, _, _ in calls) == [4, *[512] * 8]
            assert len({name for _, name, _ in calls}) == threads
            assert {blas for _, _, blas in calls} == {1}


def test_a_correction_with_threads_of_its_own_gets_whole_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    correction = Center().fit(VECTORS)
    calls = watched(correction, monkeypatch)
    monkeypatch.setattr(Center, "own_threads", True)
    Applying(correction, 3, renormalize=False)(VECTORS)
    assert [(rows, name) for rows, name, _ in calls] == [(4_096, "MainThread"), (4, "MainThread")]


def test_what_files_say_of_it() -> None:
    correction = Whiten(n_components=4).fit(VECTORS)
    change = change_of(correction, 2)
    assert (change.width, change.new_width) == (50, 4)
    assert (change.name, change.fingerprint) == ("whiten:n_components=4", correction.fingerprint)
