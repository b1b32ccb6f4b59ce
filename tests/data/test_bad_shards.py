"""Bad files among many: left out and named, or an error."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import joined
from formats_for_tests import write_npz, write_parquet

import isoscope
from isoscope.data import open as opening
from isoscope.data.base import shards_of
from isoscope.data.combine import JoinedCloud
from isoscope.data.texts import open as texts_opening
from isoscope.data.texts import open_texts
from isoscope.data.texts.readers import JoinedTexts
from isoscope.errors import DataError, UsageError

VECTORS = np.random.default_rng(0).standard_normal((90, 4))


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Six files, of which the second, the fifth and the last are good."""
    (tmp_path / "0.npy").write_bytes(b"\x93NUMPY")
    np.save(tmp_path / "1.npy", VECTORS[:30])
    np.save(tmp_path / "2.npy", VECTORS[:30, :3])
    np.save(tmp_path / "3.npy", VECTORS[:30].astype(np.float32))
    np.save(tmp_path / "4.npy", VECTORS[30:60])
    np.save(tmp_path / "5.npy", VECTORS[60:])
    return str(tmp_path / "*.npy")


def test_bad_files_are_left_out_and_named(files: str, tmp_path: Path) -> None:
    cloud = isoscope.open_cloud(files, on_error="skip")
    assert isinstance(cloud, JoinedCloud)
    np.testing.assert_array_equal(joined(cloud), VECTORS)
    assert list(cloud.bad) == [str(tmp_path / f"{k}.npy") for k in (0, 2, 3)]
    reasons = list(cloud.bad.values())
    assert "0.npy is not a whole .npy file" in reasons[0]
    assert "has 3 dimensions" in reasons[1]
    assert "1.npy has 4" in reasons[1]
    assert "holds float32" in reasons[2]
    assert [shard.name for shard in shards_of(cloud)] == [
        str(tmp_path / f"{k}.npy") for k in (1, 4, 5)
    ]


def test_without_leave_a_bad_file_stops(files: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="0.npy is not a whole"):
        isoscope.open_cloud(files)
    with pytest.raises(DataError, match="0.npy is not a whole"):
        isoscope.open_cloud(files, on_error="stop")
    (tmp_path / "0.npy").unlink()
    with pytest.raises(DataError, match="2.npy has 3 dimensions"):
        isoscope.open_cloud(files)
    (tmp_path / "2.npy").unlink()
    with pytest.raises(DataError, match="3.npy holds float32"):
        isoscope.open_cloud(files)
    (tmp_path / "3.npy").unlink()
    cloud = isoscope.open_cloud(files)
    assert cloud.bad == {}  # type: ignore[attr-defined]


def test_one_good_file_is_enough_and_none_too_few(tmp_path: Path) -> None:
    (tmp_path / "0.npy").write_bytes(b"\x93NUMPY")
    np.save(tmp_path / "1.npy", np.arange(8))
    with pytest.raises(DataError, match="0.npy is not a whole"):
        isoscope.open_cloud(str(tmp_path / "*.npy"), on_error="skip")
    np.save(tmp_path / "2.npy", VECTORS)
    cloud = isoscope.open_cloud(str(tmp_path / "*.npy"), on_error="skip")
    np.testing.assert_array_equal(joined(cloud), VECTORS)
    assert len(cloud.bad) == 2  # type: ignore[attr-defined]


@pytest.mark.usefixtures("files")
def test_a_file_that_is_named_is_an_error_in_any_case(tmp_path: Path) -> None:
    for named in ("0.npy", "0*.npy", "{part}.npy"):
        with pytest.raises(DataError, match="0.npy is not a whole"):
            isoscope.open_cloud(str(tmp_path / named), on_error="skip")
    assert not hasattr(isoscope.open_cloud(tmp_path / "1.npy", on_error="skip"), "bad")


def test_a_wrong_call_is_no_fault_of_the_files(tmp_path: Path) -> None:
    for k in range(2):
        (tmp_path / f"{k}.npz").write_bytes(write_npz([], VECTORS, {}))
    pattern = str(tmp_path / "*.npz")
    with pytest.raises(UsageError, match="no array in .* is called 'absent'"):
        isoscope.open_cloud(pattern, "absent", on_error="skip")
    wrong: Any = "ignore"
    for opened in (isoscope.open_cloud, open_texts):
        with pytest.raises(UsageError, match="on_error must be stop or skip, got 'ignore'"):
            opened(pattern, on_error=wrong)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        isoscope.open_cloud(pattern, on_error="skip")


def refuse(opening_module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file system fail at one file, before any reader has it."""
    opener_of = opening_module.opener_of

    def opener(location: Any, *others: Any) -> Any:
        if location.text.endswith(name):
            raise PermissionError("Access Denied\nRequest 17")
        return opener_of(location, *others)

    monkeypatch.setattr(opening_module, "opener_of", opener)


def test_what_a_file_system_refuses(
    files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(opening, "4.npy", monkeypatch)
    cloud = isoscope.open_cloud(files, on_error="skip")
    assert cloud.bad[str(tmp_path / "4.npy")] == "Access Denied"  # type: ignore[attr-defined]
    assert cloud.rows == 60
    for k in (0, 2, 3):
        os.unlink(tmp_path / f"{k}.npy")  # noqa: PTH108
    with pytest.raises(PermissionError):
        isoscope.open_cloud(files)


def test_bad_files_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(name: str, *rows: dict[str, Any]) -> None:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    write("0.jsonl")
    write("1.jsonl", {"title": "x", "text": "one"}, {"title": "y", "text": "two"})
    (tmp_path / "2.jsonl").write_text("not JSON\n")
    write("3.jsonl", {"title": "z", "text": "three"})
    write("4.jsonl", {"title": "z", "text": "four"})
    refuse(texts_opening, "4.jsonl", monkeypatch)
    pattern = str(tmp_path / "*.jsonl")
    source = open_texts(pattern, on_error="skip")
    assert isinstance(source, JoinedTexts)
    assert [text.text for text in source.texts()] == ["one", "two", "three"]
    assert list(source.bad) == [str(tmp_path / f"{k}.jsonl") for k in (0, 2, 4)]
    assert "0.jsonl holds no text" in source.bad[str(tmp_path / "0.jsonl")]
    assert "line 1 is not JSON" in source.bad[str(tmp_path / "2.jsonl")]
    with pytest.raises(DataError, match="0.jsonl holds no text"):
        open_texts(pattern)
    for named in ("0.jsonl", "0*.jsonl"):
        with pytest.raises(DataError, match="0.jsonl holds no text"):
            open_texts(str(tmp_path / named), on_error="skip")
    with pytest.raises(UsageError, match="'absent'"):
        open_texts(pattern, "absent", on_error="skip")


def test_files_of_texts_of_which_none_is_good(tmp_path: Path) -> None:
    for k in range(2):
        (tmp_path / f"{k}.jsonl").write_text("[]\n")
    with pytest.raises(DataError, match="0.jsonl: line 1 is not a JSON object"):
        open_texts(str(tmp_path / "*.jsonl"), on_error="skip")


def test_the_first_good_file_chooses_the_column_of_texts(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("")
    (tmp_path / "1.csv").write_text("text\nyes\n")
    (tmp_path / "2.csv").write_text("sentence,text\nno,too\n")
    source = open_texts(str(tmp_path / "*.csv"), on_error="skip")
    assert [text.text for text in source.texts()] == ["yes", "too"]
    assert source.column == "text"


def test_columns_of_parquet(tmp_path: Path) -> None:
    words = [f"w{k}" for k in range(90)]
    (tmp_path / "0.parquet").write_bytes(write_parquet(words, VECTORS, {}))
    (tmp_path / "1.parquet").write_bytes(write_parquet(words, VECTORS, {})[:-200])
    (tmp_path / "2.parquet").write_bytes(b"")
    for source in (
        isoscope.open_cloud(str(tmp_path / "*.parquet"), "v", on_error="skip"),
        open_texts(str(tmp_path / "*.parquet"), "word", on_error="skip"),
    ):
        assert list(source.bad) == [  # type: ignore[union-attr]
            str(tmp_path / "1.parquet"),
            str(tmp_path / "2.parquet"),
        ]
