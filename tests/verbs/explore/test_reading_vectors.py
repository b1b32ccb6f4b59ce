"""Sources of vectors as they are explored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import DataError, UsageError
from isoscope.verbs.explore import word_rows as module
from isoscope.verbs.explore.word_rows import read_vectors

VECTORS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


@pytest.fixture
def word_file(tmp_path: Path) -> Path:
    lines = [f"word{row} {' '.join(map(str, vector))}" for row, vector in enumerate(VECTORS)]
    path = tmp_path / "words.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_words_are_labels(word_file: Path) -> None:
    explored = read_vectors(str(word_file))
    assert (explored.name, explored.protocol) == ("words", "60 rows")
    np.testing.assert_array_equal(explored.layers["words"], VECTORS)
    assert explored.rows_of("word42") == [42]
    assert explored.context is None


def test_without_labels_words_are_row_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", VECTORS.astype(np.float64))
    explored = read_vectors(tmp_path / "x.npy")
    assert explored.rows_of("59") == [59]
    assert explored.layers["x"].dtype == np.float32
    np.testing.assert_array_equal(explored.colourings["place in the source"].values, np.arange(60))


def test_another_label_holds_the_words(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"v": VECTORS.tolist(), "id": list(range(60)), "name": [f"n{i}" for i in range(60)]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    path = str(tmp_path / "x.parquet")
    assert read_vectors(path, column="v", words="name").rows_of("n7") == [7]
    assert read_vectors(path, column="v").rows_of("7") == [7]
    with pytest.raises(UsageError, match="no label 'title'"):
        read_vectors(path, column="v", words="title")


def test_parts_are_layers(tmp_path: Path) -> None:
    for layer in (1, 2, 10):
        np.save(tmp_path / f"layer_{layer}.npy", VECTORS * layer)
    explored = read_vectors(f"{tmp_path}/layer_{{layer}}.npy")
    assert list(explored.layers) == ["layer 1", "layer 2", "layer 10"]
    np.testing.assert_array_equal(explored.layers["layer 10"], VECTORS * 10)
    np.save(tmp_path / "layer_3.npy", VECTORS[:50])
    with pytest.raises(DataError, match="layer 3: its rows are not those of layer 1"):
        read_vectors(f"{tmp_path}/layer_{{layer}}.npy")
    with pytest.raises(UsageError, match="--drop-invalid is for a single cloud"):
        read_vectors(f"{tmp_path}/layer_{{layer}}.npy", drop_invalid=True)


def test_parts_must_have_the_same_words(tmp_path: Path) -> None:
    for layer, words in enumerate(("a b c", "a b c", "a c b")):
        lines = [f"{word} {row} 1 2" for row, word in enumerate(words.split())]
        (tmp_path / f"layer_{layer}.txt").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="layer 2: its rows are not those of layer 0"):
        read_vectors(f"{tmp_path}/layer_{{layer}}.txt")


def test_of_more_than_fits_a_random_part_is_read(
    word_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY", 20 * 4 * 4)
    explored = read_vectors(str(word_file), seed=5)
    assert explored.protocol == "20 rows of 60, drawn at random (seed 5)"
    for word, vector in zip(explored.words, explored.layers["words"], strict=True):
        np.testing.assert_array_equal(vector, VECTORS[int(word.removeprefix("word"))])
    assert len(set(explored.words)) == 20
    assert set(read_vectors(str(word_file), seed=6).words) != set(explored.words)


def test_rows_that_are_not_finite() -> None:
    vectors = VECTORS.copy()
    vectors[3, 1] = np.nan
    with pytest.raises(DataError, match="--drop-invalid"):
        read_vectors(vectors)
    explored = read_vectors(vectors, drop_invalid=True)
    assert explored.protocol == "59 rows, numbered without the 1 that are not finite"
    np.testing.assert_array_equal(explored.layers["array"][3], VECTORS[4])


def test_a_model_needs_texts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="is a model: add --text"):
        read_vectors(tmp_path)
    with pytest.raises(UsageError, match="is a model: add --text"):
        read_vectors("some.gguf")


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None]] = []
    read_vectors(VECTORS, progress=lambda *now: told.append(now))
    assert told[-1] == ("read", 60, 60)
