"""Windows close when they are full, and hold every text once."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from isoscope.data.texts import open_texts
from isoscope.data.texts.shards import WINDOW_CHARACTERS, WINDOW_TEXTS, windows
from isoscope.models import tokens as batching


def test_a_window_closes_with_either_limit() -> None:
    texts = list(open_texts(["aa", "b", "cccc", "d", "e", "f", "g"]).texts())
    found = [[text.text for text in window] for window in windows(texts, most=3, characters=5)]
    assert found == [["aa", "b", "cccc"], ["d", "e", "f"], ["g"]]
    found = [[text.text for text in window] for window in windows(texts, most=9, characters=3)]
    assert found == [["aa", "b"], ["cccc"], ["d", "e", "f"], ["g"]]
    assert list(windows([])) == []


def test_usual_windows() -> None:
    assert (WINDOW_TEXTS, WINDOW_CHARACTERS) == (4_096, 2_097_152)
    short = open_texts(["x"] * 10_000).texts()
    assert [len(window) for window in windows(short)] == [4_096, 4_096, 1_808]
    long = open_texts(["x" * 2**20] * 5).texts()
    assert [len(window) for window in windows(long)] == [2, 2, 1]
    assert batching.windows is windows


@given(
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1),
    st.integers(1, 5),
    st.integers(1, 9),
)
def test_each_window_is_full_but_was_not_before_its_last_text(
    strings: list[str], most: int, characters: int
) -> None:
    texts = list(open_texts(strings).texts())
    found = list(windows(texts, most, characters))
    assert [text for window in found for text in window] == texts
    for window in found:
        lengths = [len(text.text) for text in window]
        assert len(lengths) <= most
        assert sum(lengths[:-1]) < characters
    for window in found[:-1]:
        assert len(window) == most or sum(len(text.text) for text in window) >= characters


def test_a_window_comes_before_the_text_behind_it_is_read() -> None:
    taken: list[str] = []

    def made() -> Iterator[str]:
        for text in ["a", "b", "c", "d"]:
            taken.append(text)
            yield text

    stream = windows(open_texts(made).texts(), most=2)
    next(stream)
    assert taken == ["a", "b"]
