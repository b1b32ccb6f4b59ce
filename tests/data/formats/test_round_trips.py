"""What was written is what is read: every format, any finite numbers, any words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from clouds_for_tests import joined, labels
from formats_for_tests import FORMATS, FileFormat
from fuzz_cases import DRAWN
from hypothesis import given, settings
from hypothesis import strategies as st

import isoscope
from isoscope.data import base as contract
from isoscope.data.formats import word_text

pytestmark = pytest.mark.fuzz
AWKWARD = ["", " ", "\r", "a\rb", "\n", "\t", "\x00", "\x85", "\u2028", "\ufeff", '"', "'", ","]
AWKWARD += ["nan", "NULL", "null", "1.0", "12 3", "x 1.0 2.0\rb", "\\", "\\x41", "a b", "#", "\x1a"]
ANY_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.sampled_from(AWKWARD)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round-trips")


@pytest.fixture(autouse=True, scope="module")
def _short_batches() -> Iterator[None]:
    """128 rows a batch, the fewest, so that small files have several."""
    with mock.patch.object(contract, "BATCH_ELEMENTS", 1):
        yield


def words_for(ending: str) -> st.SearchStrategy[str]:
    """Return the words that a format can hold."""
    if ending.startswith((".txt", ".vec")):
        # A line feed ends the line; a carriage return or space at the end of a word would be
        # taken for part of a line end only if no number followed, and one always does.
        return ANY_TEXT.filter(lambda word: "\n" not in word)
    if ending.startswith(".bin"):
        # A space ends the word, and some writers put a line feed before it. Without a word the
        # vector before is too short.
        return ANY_TEXT.filter(lambda word: word and " " not in word and not word.startswith("\n"))
    return ANY_TEXT


@st.composite
def contents(draw: st.DrawFn, ending: str, kind: FileFormat) -> tuple[list[str], np.ndarray, dict]:
    """Draw words, vectors and options; few different rows, repeated to up to 300."""
    dtype = draw(st.sampled_from(kind.dtypes))
    shape = draw(st.tuples(st.integers(2, 12), st.integers(1, 6)))
    finite = arrays.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False)
    few = draw(arrays.arrays(dtype, shape, elements=finite))
    some = draw(st.lists(words_for(ending), min_size=1, max_size=8))
    rows = draw(st.sampled_from((shape[0], shape[0], 128, 129, 300)))
    options = {name: draw(st.sampled_from(values)) for name, values in kind.options.items()}
    words = [some[k % len(some)] for k in range(rows)]
    if options.get("separator"):
        words = [word.replace(options["separator"], "_") for word in words]
    if ending.startswith((".txt", ".vec")):
        # Without a header the first line says how wide the vectors are, and with one the second.
        words[0] = "first"
    return words, np.resize(few, (rows, shape[1])), options


@pytest.mark.parametrize("ending", FORMATS)
def test_what_was_written_is_read(folder: Path, ending: str) -> None:
    kind = FORMATS[ending]
    path = folder / f"x{ending}"

    @settings(max_examples=DRAWN)
    @given(contents(ending, kind), st.sampled_from((64, 1 << 23)))
    def check(content: tuple[list[str], np.ndarray, dict], chunk: int) -> None:
        words, vectors, options = content
        path.unlink(missing_ok=True)
        path.write_bytes(kind.write(words, vectors, options))
        with mock.patch.object(word_text, "CHUNK", chunk):
            cloud = isoscope.open_cloud(path)
            assert cloud.rows in (None, len(vectors))
            assert cloud.dtypes == (vectors.dtype.name,)
            read = joined(cloud)
            if kind.label:
                assert labels(cloud, kind.label) == words
        np.testing.assert_array_equal(read, vectors, strict=True)
        np.testing.assert_array_equal(np.signbit(read), np.signbit(vectors))

    check()


def test_words_with_spaces_in_text(folder: Path) -> None:
    """The last d fields are the vector, whatever stands before them."""
    path = folder / "spaces.txt"

    @settings(max_examples=DRAWN)
    @given(st.lists(ANY_TEXT.filter(lambda word: "\n" not in word), min_size=1, max_size=6))
    def check(words: list[str]) -> None:
        path.unlink(missing_ok=True)
        path.write_text("first 1.0 2.0\n" + "".join(f"{w} 3.0 4.0\n" for w in words), newline="")
        cloud = isoscope.open_cloud(path)
        assert labels(cloud, "word") == ["first", *words]
        np.testing.assert_array_equal(joined(cloud), [[1, 2], *[[3, 4]] * len(words)])

    check()
