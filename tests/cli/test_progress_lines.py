"""Lines of JSON for schedulers: what they say, how often, and to nobody."""

from __future__ import annotations

import io
import json
import os
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clock_for_tests import Clock

from isoscope.cli.progress import ProgressLines


class Written(io.StringIO):
    """A stream that knows what was flushed."""

    flushed = ""

    def flush(self) -> None:
        self.flushed = self.getvalue()

    @property
    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.flushed.splitlines()]

    @property
    def counts(self) -> list[tuple[str, int]]:
        return [(line["progress"], line["done"]) for line in self.said]


@pytest.fixture
def stream() -> Written:
    return Written()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines(stream: Written, clock: Clock) -> ProgressLines:
    return ProgressLines(stream, "texts", clock)


def test_what_a_line_says(lines: ProgressLines, stream: Written, clock: Clock) -> None:
    lines.report("first read", 23, 1000)
    clock.now += 8.04
    lines.report("first read", 123, 1000)
    assert stream.said == [
        {
            "progress": "first read",
            "done": 23,
            "total": 1000,
            "unit": "texts",
            "rate": None,
            "seconds_left": None,
            "elapsed": 0.0,
        },
        {
            "progress": "first read",
            "done": 123,
            "total": 1000,
            "unit": "texts",
            "rate": 12.44,
            "seconds_left": 70.5,
            "elapsed": 8.0,
        },
    ]


def test_what_is_not_known_is_null(stream: Written, clock: Clock) -> None:
    lines = ProgressLines(stream, "", clock)
    lines.report("first read", 23, None)
    assert [stream.said[0][key] for key in ("total", "unit", "rate", "seconds_left")] == [None] * 4


def test_slow_rates_keep_their_digits(lines: ProgressLines, stream: Written, clock: Clock) -> None:
    lines.report("checkpoints", 0, 10)
    clock.now += 7200
    lines.report("checkpoints", 1, 10)
    assert (stream.said[1]["rate"], stream.said[1]["unit"]) == (0.0001389, "checkpoints")


def test_numbers_of_numpy_and_names_of_any_kind(lines: ProgressLines, stream: Written) -> None:
    lines.report('a "run"\nλ', np.int64(3), np.int64(5))  # type: ignore[arg-type]
    assert stream.getvalue().isascii()
    assert stream.counts == [('a "run"\nλ', 3)]


def test_one_a_second_and_the_first_and_the_last(
    lines: ProgressLines, stream: Written, clock: Clock
) -> None:
    for done in range(1, 3501):
        lines.report("first read", done, 3500)
        clock.now += 1 / 1024
    assert [count for _, count in stream.counts] == [1, 1025, 2049, 3073, 3500]


def test_a_stage_that_ends_short_says_so_when_the_next_begins(
    lines: ProgressLines, stream: Written
) -> None:
    for done in (1, 2, 3):
        lines.report("counting texts", done, None)
    lines.report("first read", 1, 3)
    lines.report("first read", 2, 3)
    assert stream.counts == [("counting texts", 1), ("counting texts", 3), ("first read", 1)]
    lines.end()
    assert stream.counts[3:] == [("first read", 2)]


def test_a_stage_that_begins_again_has_its_last_line_before(
    lines: ProgressLines, stream: Written, clock: Clock
) -> None:
    for done in (1, 2, 3):
        lines.report("counting texts", done, None)
    clock.now += 0.5
    lines.report("counting texts", 1, None)
    assert [count for _, count in stream.counts] == [1, 3]
    lines.end()
    assert [count for _, count in stream.counts] == [1, 3, 1]


def test_the_end_repeats_nothing(lines: ProgressLines, stream: Written) -> None:
    lines.report("first read", 1, 2)
    lines.report("first read", 2, 2)
    lines.end()
    assert [count for _, count in stream.counts] == [1, 2]


def test_stages_side_by_side_are_no_flood(
    lines: ProgressLines, stream: Written, clock: Clock
) -> None:
    for done in range(1024):
        lines.report("one", done, 2000)
        lines.report("other", done, 2000)
        clock.now += 1 / 1024
    assert stream.counts == [("one", 0), ("other", 0)]
    lines.end()
    assert sorted(stream.counts[2:]) == [("one", 1023), ("other", 1023)]


def test_stages_that_begin_and_end_all_the_time_are_no_flood(
    lines: ProgressLines, stream: Written, clock: Clock
) -> None:
    for _ in range(1024):
        for stage in ("k-means", "clusters"):
            lines.report(stage, 50, 100)
            lines.report(stage, 100, 100)
        clock.now += 1 / 256
    assert len(stream.said) == 2 * 2 * 4


def test_nothing_after_the_end(lines: ProgressLines, stream: Written) -> None:
    lines.report("first read", 1, 2)
    lines.end()
    lines.report("second read", 1, 2)
    assert stream.counts == [("first read", 1)]


def test_threads_write_whole_lines_in_order(
    lines: ProgressLines, stream: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoscope.cli.progress.PAUSE", 0.0)
    lines.report("reduce", 0, 2000)
    done, lock = 0, threading.Lock()

    def work() -> None:
        nonlocal done
        for _ in range(500):
            with lock:
                done += 1
                mine = done
            lines.report("reduce", mine, 2000)  # which another thread may overtake

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [count for _, count in stream.counts]
    assert all(before < after for before, after in pairwise(counts))
    assert counts[-1] == 2000


def test_a_closed_pipe_is_silenced(clock: Clock) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream:  # noqa: PTH123  (a descriptor has no path)
        lines = ProgressLines(stream, "rows", clock)
        lines.report("first read", 1, 3)
        clock.now += 2
        lines.report("first read", 2, 3)
        lines.end()
        assert os.path.samestat(os.fstat(writing), Path(os.devnull).stat())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_no_reason_to_stop(clock: Clock) -> None:
    stream = Path("/dev/full").open("w")  # noqa: SIM115  (closing it fails, as writing does)
    lines = ProgressLines(stream, "rows", clock)
    lines.report("first read", 1, 3)
    lines.end()
    with pytest.raises(OSError, match="No space left"):
        stream.close()


def test_a_closed_stream_is_no_reason_to_stop(
    lines: ProgressLines, stream: Written, clock: Clock
) -> None:
    stream.close()
    lines.report("first read", 1, 3)
    clock.now += 2
    lines.report("first read", 2, 3)
    lines.end()
