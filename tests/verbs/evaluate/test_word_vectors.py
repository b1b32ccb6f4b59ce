"""Looking words up in clouds with labels, with a list beside them, or with neither."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from isoscope.data import open_cloud
from isoscope.data.arrays import ArrayCloud
from isoscope.data.combine import SingleCloud, WordedGroup
from isoscope.errors import DataError, UsageError
from isoscope.verbs.evaluate.word_vectors import collect, read_vocabulary

ROWS = np.arange(15, dtype=np.float32).reshape(5, 3)
WORDS = ["the", "cat", "sat", "cat", "Mat"]


def labelled(**labels: list[str]) -> ArrayCloud:
    return ArrayCloud(ROWS, "toy", labels={k: np.array(v, object) for k, v in labels.items()})


def test_the_first_row_of_a_word_counts() -> None:
    found = collect(labelled(word=WORDS), {"cat", "Mat", "mat", "dog"})["toy"]
    assert dict(found.places) == {"cat": 0, "Mat": 1}
    assert found.vectors.tolist() == [[3, 4, 5], [12, 13, 14]]
    assert found.vectors.dtype == np.float64
    assert (found.rows, found.repeated) == (5, 1)


def test_nothing_found_has_the_width_of_the_cloud() -> None:
    assert collect(labelled(word=WORDS), {"dog"})["toy"].vectors.shape == (0, 3)


def test_which_label_holds_the_words() -> None:
    assert collect(labelled(token=WORDS), {"cat"})["toy"].places
    assert collect(labelled(id=list("abcde"), word=WORDS), {"cat"})["toy"].places
    two = labelled(id=list("abcde"), token=WORDS)
    assert collect(two, {"cat"}, "token")["toy"].places
    with pytest.raises(UsageError, match="several labels.*--words.*id, token"):
        collect(two, {"cat"})
    with pytest.raises(UsageError, match="no label 'text'; it has id, token"):
        collect(two, {"cat"}, "text")
    with pytest.raises(UsageError, match="no words.*--vocabulary"):
        collect(ArrayCloud(ROWS, "toy"), {"cat"})


def test_a_parquet_column_of_words(tmp_path: Path) -> None:
    table = pyarrow.table({"token": WORDS, "vector": list(ROWS)})
    parquet.write_table(table, tmp_path / "v.parquet")
    (found,) = collect(open_cloud(tmp_path / "v.parquet"), {"sat"}).values()
    assert found.vectors.tolist() == [[6, 7, 8]]


def test_words_from_a_list_reach_across_batches_and_may_end_early() -> None:
    many = np.arange(20_000, dtype=np.float64).reshape(10_000, 2)
    words = np.array([f"w{k}" for k in range(9_990)], dtype=object)
    (found,) = collect(WordedGroup(ArrayCloud(many), words, "list"), {"w0", "w9989"}).values()
    assert found.vectors.tolist() == [[0, 1], [19978, 19979]]
    assert found.rows == 10_000


def test_a_list_longer_than_the_cloud_is_refused() -> None:
    words = np.array([*WORDS, "more"], dtype=object)
    with pytest.raises(DataError, match="list has 6 words, but toy has 5 rows"):
        collect(WordedGroup(ArrayCloud(ROWS, "toy"), words, "list"), {"cat"})


def test_tensors_with_a_list() -> None:
    torch = pytest.importorskip("torch")
    cloud = open_cloud(torch.from_numpy(ROWS).to(torch.bfloat16))
    (found,) = collect(WordedGroup(cloud, np.array(WORDS, object), "list"), {"sat"}).values()
    assert found.vectors.tolist() == [[6, 7, 8]]


def test_vocabulary_files(tmp_path: Path) -> None:
    lines = tmp_path / "vocab.txt"
    lines.write_bytes("a\r\nb\x85c\n\nd\n".encode())
    assert read_vocabulary(lines).tolist() == ["a", "b\x85c", "", "d"]
    mapped = tmp_path / "vocab.json"
    mapped.write_text(json.dumps({"Ġcat": 2, "the": 0}), "utf-8")
    assert read_vocabulary(mapped).tolist() == ["the", "", "Ġcat"]


@pytest.mark.parametrize("content", ["[1]", "{", '{"a": "b"}', "{}", '{"a": 1.5}'])
def test_json_that_maps_no_words_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(content)
    with pytest.raises(DataError, match="not a JSON object of words"):
        read_vocabulary(path)


def test_vocabularies_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_vocabulary(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_vocabulary(tmp_path / "latin.txt")


def test_a_part_of_a_group(tmp_path: Path) -> None:
    for d in (2, 3):
        np.save(tmp_path / f"layer_{d}.npy", ROWS[:, :d])
    group = open_cloud(str(tmp_path / "layer_{d}.npy"))
    part = SingleCloud(group, "d 3")
    assert (part.names, part.widths) == (("d 3",), (3,))
    assert np.concatenate([b["d 3"].vectors for b in part.batches()]).tolist() == ROWS.tolist()
