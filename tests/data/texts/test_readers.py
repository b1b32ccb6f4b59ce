"""Some texts of a source."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from isoscope.data.texts import SampledTexts, open_texts
from isoscope.errors import DataError


def test_drawn_texts_keep_their_order_and_documents() -> None:
    texts = [f"text {k}" for k in range(500)]
    drawn = SampledTexts(open_texts(texts), 50, seed=0)
    found = list(drawn.texts())
    numbers = [int(text.document) for text in found]
    assert numbers == sorted(set(numbers))
    assert [text.text for text in found] == [texts[k] for k in numbers]
    assert len(found) == 50
    assert drawn.survey().texts == 50
    # Every stretch has its share: neither the first texts nor every tenth.
    assert 10 < sum(number < 250 for number in numbers) < 40


def test_a_sample_of_more_than_all_is_all() -> None:
    source = open_texts(["a", "b"])
    assert [text.text for text in SampledTexts(source, 5, seed=0).texts()] == ["a", "b"]


def test_a_few_kilobytes_of_parquet_that_are_gigabytes_of_text(tmp_path: Path) -> None:
    once = pyarrow.array(["word " * 400_000])
    same = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 5_000, pyarrow.int32()), once)
    path = tmp_path / "bomb.parquet"
    parquet.write_table(pyarrow.table({"text": same}), path, compression="zstd")
    with pytest.raises(DataError, match="unpacks to more than 1,000 times its size"):
        sum(len(text.text) for text in open_texts(path).texts())
