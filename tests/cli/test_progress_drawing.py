"""The bar that a person sees."""

from __future__ import annotations

import doctest
import io
import threading

import pytest
from clock_for_tests import Clock
from rich.console import Console

from isoscope.cli import progress as progress_drawing
from isoscope.cli.progress import PATIENCE, DrawnBar, rate_text, short


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def console(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("TERM", "xterm")
    return Console(file=io.StringIO(), force_terminal=True, width=120, get_time=clock)


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def line(bar: DrawnBar, width: int = 120) -> str:
    """Return what is on the screen now, without the signs of the bar itself."""
    page = Console(file=io.StringIO(), width=width, color_system=None)
    page.print(bar.drawn())
    shown = text(page)
    assert shown.count("\n") == 1
    return " ".join(shown.replace("━", " ").replace("╸", " ").replace("╺", " ").split())


def test_the_line_of_a_stage(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("first read", 0, 1_000_000)
    assert line(bar) == "first read 0 of 1,000,000 rows"
    clock.now += 10
    bar.report("first read", 12_345, 1_000_000)
    assert line(bar) == "first read 12,345 of 1,000,000 rows 1,234 rows/s 0:13:20 left"
    clock.now += 10
    bar.report("first read", 1_000_000, 1_000_000)
    assert line(bar) == "first read 1,000,000 of 1,000,000 rows 50k rows/s done"
    bar.end()


def test_a_resumed_run_is_no_faster_than_it_is(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("first read", 900_000, 1_000_000)
    clock.now += 10
    bar.report("first read", 901_000, 1_000_000)
    assert line(bar).endswith("100 rows/s 0:16:30 left")
    bar.end()


def test_one_bar_is_drawn_whatever_went_before(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("first read", 5, 10)
    clock.now += 2
    bar.report("second read", 3, 10)
    assert line(bar) == "second read 3 of 10 rows"
    bar.end()


def test_without_a_total(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("counting texts", 1000, None)
    clock.now += 2
    bar.report("counting texts", 51_000, None)
    assert line(bar) == "counting texts 51,000 texts 25k texts/s"
    bar.end()


def test_a_name_that_says_what_it_counts(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("texts", 0, 10)
    clock.now += 2
    bar.report("texts", 4, 10)
    assert line(bar) == "texts 4 of 10 2/s 0:00:03 left"
    bar.end()


def test_checkpoints_stay_in_front_of_what_runs_inside(console: Console) -> None:
    bar = DrawnBar(console, "texts")
    bar.report("checkpoints", 3, 4)
    assert line(bar) == "checkpoints 3 of 4"
    bar.report("first read", 1, 7)
    assert line(bar) == "checkpoints 3 of 4 · first read 1 of 7 texts"
    bar.report("checkpoints", 4, 4)
    bar.report("second read", 1, 7)
    assert line(bar) == "second read 1 of 7 texts"
    bar.end()


def test_names_are_no_markup(console: Console) -> None:
    bar = DrawnBar(console, "steps")
    bar.report("[red]run[/x] :smile:", 1, 2)
    assert line(bar) == "[red]run[/x] :smile: 1 of 2 steps"
    bar.end()


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_a_narrow_terminal_has_one_line(console: Console, clock: Clock, width: int) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("checkpoints", 3, 4)
    bar.report("compare queries and documents", 0, 10**9)
    clock.now += 10
    bar.report("compare queries and documents", 10**6, 10**9)
    assert line(bar, width)
    bar.end()


def test_short_work_draws_nothing(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("first read", 1, 10)
    clock.now += PATIENCE - 0.01
    bar.report("first read", 2, 10)
    bar.end()
    assert text(console) == ""


def test_long_work_draws_a_bar_and_takes_it_away(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("first read", 1, 10)
    clock.now += PATIENCE
    bar.report("first read", 2, 10)
    assert "2 of 10 rows" in text(console)
    clock.now += 1
    bar.report("first read", 7, 10)
    bar.end()
    assert "7 of 10 rows" in text(console)
    assert text(console).endswith("\x1b[2K")  # the line is wiped


def test_no_bar_after_the_end(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.end()
    clock.now += 10
    bar.report("first read", 2, 10)
    assert text(console) == ""


def test_printing_is_left_alone(
    console: Console, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    bar = DrawnBar(console, "rows")
    clock.now += 10
    bar.report("first read", 2, 10)
    print("a result")
    bar.end()
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in text(console)


class Hangup(io.StringIO):
    """A terminal that is gone."""

    def write(self, _: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_is_gone_is_no_reason_to_stop(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    bar = DrawnBar(Console(file=Hangup(), force_terminal=True, get_time=clock), "rows")
    clock.now += 10
    bar.report("first read", 2, 10)
    bar.report("first read", 3, 10)
    bar.end()


def test_many_threads_at_once(console: Console, clock: Clock) -> None:
    bar = DrawnBar(console, "rows")
    bar.report("reduce", 0, 8000)
    clock.now += 10
    done, lock = 0, threading.Lock()

    def work() -> None:
        nonlocal done
        for _ in range(2000):
            with lock:
                done += 1
                mine = done
            bar.report("reduce", mine, 8000)  # which another thread may overtake
            if mine % 1000 == 0:
                console.print("a note")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert line(bar) == "reduce 8,000 of 8,000 rows 800 rows/s done"
    bar.end()


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (9.996, "10 rows/s"),
        (99.96, "100 rows/s"),
        (9999.4, "9,999 rows/s"),
        (10_000, "10k rows/s"),
        (1_234_567, "1.23M rows/s"),
        (1.0, "1 rows/s"),
        (0.99, "59.4 rows/min"),
        (1 / 60, "1 rows/min"),
        (1 / 3600, "1 rows/h"),
        (1 / 36_000, "0.1 rows/h"),
    ],
)
def test_how_rates_are_written(rate: float, said: str) -> None:
    assert rate_text(rate, "rows") == said


def test_examples_in_docstrings() -> None:
    found = doctest.testmod(progress_drawing)
    assert (found.attempted, found.failed) == (2, 0)
    assert short(0) == "0"
