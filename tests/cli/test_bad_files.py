"""Every format with every trouble: a line that names file and row, an exit code, no output."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from clouds_for_tests import shifted
from formats_for_tests import FORMATS, PLAIN
from pyarrow import feather, parquet

from isoscope.cli.app import main
from isoscope.data import CloudGroup
from isoscope.verbs.measure import api as measuring

BAD = 213
"""The row with the trouble, in the third batch of the shortest batches that there are."""
VECTORS = shifted(0, 300, 4)
WORDS = [f"w{k}" for k in range(300)]


def content(ending: str, vectors: np.ndarray = VECTORS) -> bytes:
    kind = FORMATS[ending]
    return kind.write(WORDS, vectors.astype(kind.dtypes[-1]), {"kind": "list"})


def refused(
    arguments: list[str | Path],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str]:
    """Measure something that cannot be; return exit code and message, and check the rest."""
    before = sorted(folder.iterdir())
    out = folder / "result.json"
    monkeypatch.setattr(
        sys, "argv", ["isoscope", "measure", *map(str, arguments), "--out", str(out)]
    )
    with pytest.raises(SystemExit) as left:
        main()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("isoscope: ")
    assert sorted(folder.iterdir()) == before  # neither a result nor half of one
    return int(str(left.value.code)), printed.err


Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Refused:
    return lambda *arguments: refused(list(arguments), tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("ending", FORMATS)
def test_nan(tmp_path: Path, measured: Refused, ending: str) -> None:
    bad = VECTORS.copy()
    bad[BAD, 2] = np.nan
    path = tmp_path / f"x{ending}"
    path.write_bytes(content(ending, bad))
    code, message = measured(path)
    assert code == 1
    assert str(path) in message
    label = f" (word 'w{BAD}')" if FORMATS[ending].label else ""
    assert f"row {BAD}{label} holds NaN" in message


@pytest.mark.parametrize("ending", FORMATS)
def test_nan_in_one_of_several_files(tmp_path: Path, measured: Refused, ending: str) -> None:
    bad = VECTORS.copy()
    bad[BAD, 2] = np.inf
    for name, vectors in (("a", VECTORS), ("b", bad), ("c", VECTORS)):
        (tmp_path / f"{name}{ending}").write_bytes(content(ending, vectors))
    code, message = measured(tmp_path / f"*{ending}")
    assert code == 1
    assert str(tmp_path / f"b{ending}") in message
    assert f"row {BAD}" in message


@pytest.mark.parametrize("ending", FORMATS)
def test_a_column_that_is_not_there(tmp_path: Path, measured: Refused, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    path.write_bytes(content(ending))
    code, message = measured(path, "--column", "vv")
    assert code == 2
    assert str(path) in message
    several = ending.startswith((".npz", ".safetensors", ".parquet", ".feather", ".jsonl"))
    assert ("did you mean v?" if several else "leave --column out") in message


@pytest.mark.parametrize("ending", FORMATS)
def test_mixed_widths_over_files(tmp_path: Path, measured: Refused, ending: str) -> None:
    (tmp_path / f"a{ending}").write_bytes(content(ending))
    (tmp_path / f"b{ending}").write_bytes(content(ending, VECTORS[:, :3]))
    code, message = measured(tmp_path / f"*{ending}")
    assert code == 1
    assert f"b{ending}" in message
    assert "has 3 dimensions" in message


def column_file(ending: str, vectors: list[Any]) -> bytes:
    table = pyarrow.table({"v": pyarrow.array(vectors, pyarrow.list_(pyarrow.float32()))})
    sink = pyarrow.BufferOutputStream()
    if ending == ".parquet":
        parquet.write_table(table, sink, row_group_size=100)
    else:
        feather.write_feather(table, sink, chunksize=100)
    return bytes(sink.getvalue())


def changed_line(ending: str, row: int, change: Callable[[bytes], bytes]) -> bytes:
    lines = content(ending).splitlines(keepends=True)
    at = row + (ending == ".vec")
    lines[at] = change(lines[at].rstrip(b"\n")) + b"\n"
    return b"".join(lines)


def without_numbers(ending: str) -> bytes:
    """Make a file one of whose vectors is missing."""
    if ending in (".parquet", ".feather"):
        return column_file(ending, [*VECTORS[:BAD].tolist(), None, *VECTORS[BAD + 1 :].tolist()])
    if ending == ".jsonl":
        return changed_line(ending, BAD, lambda _: b'{"word": "w", "v": null}')
    return changed_line(ending, BAD, lambda line: line.split(b" ")[0])


def ragged(ending: str) -> bytes:
    """Make a file one of whose vectors is one number short."""
    if ending in (".parquet", ".feather"):
        rows = VECTORS.tolist()
        return column_file(ending, [*rows[:BAD], rows[BAD][:3], *rows[BAD + 1 :]])
    if ending == ".jsonl":
        return changed_line(ending, BAD, lambda line: line.rsplit(b",", 1)[0] + b"]}")
    if ending in (".txt", ".vec"):
        return changed_line(ending, BAD, lambda line: line.rsplit(b" ", 1)[0])
    whole = content(ending)
    if ending == ".fvecs":
        return (
            whole[: BAD * 20] + struct.pack("<i", 3) + whole[BAD * 20 + 8 : BAD * 20 + 20]
            + whole[(BAD + 1) * 20 :]
        )  # fmt: skip
    start = whole.index(b"w%d " % BAD)
    return whole[: start + 5] + whole[start + 9 :]


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (".parquet", f"row {BAD} has no vector (null)"),
        (".feather", f"row {BAD} has no vector (null)"),
        (".jsonl", f"row {BAD} has no list in the field 'v'"),
        (".txt", f"row {BAD} has 0 numbers, the first has 4"),
        (".vec", f"row {BAD} has 0 numbers, the first has 4"),
    ],
)
def test_a_vector_that_is_missing(
    tmp_path: Path, measured: Refused, ending: str, words: str
) -> None:
    path = tmp_path / f"x{ending}"
    path.write_bytes(without_numbers(ending))
    code, message = measured(path)
    assert code == 1
    assert str(path) in message
    assert words in message


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (".parquet", f"row {BAD} has 3 numbers, the first has 4"),
        (".feather", f"row {BAD} has 3 numbers, the first has 4"),
        (".jsonl", f"row {BAD} has 3 numbers, the first has 4"),
        (".txt", f"row {BAD} has 3 numbers, the first has 4"),
        (".vec", f"row {BAD} has 3 numbers, the first has 4"),
        (".fvecs", f"row {BAD} says it has 3 numbers, the first has 4"),
        (".bin", f"row {BAD + 1} has no word"),  # the vector before it took its bytes
    ],
)
def test_a_ragged_row(tmp_path: Path, measured: Refused, ending: str, words: str) -> None:
    path = tmp_path / f"x{ending}"
    path.write_bytes(ragged(ending))
    code, message = measured(path)
    assert code == 1
    assert str(path) in message
    assert words in message


def test_ragged_rows_of_an_array(tmp_path: Path, measured: Refused) -> None:
    rows = np.array([np.zeros(3), np.zeros(2)], dtype=object)
    np.save(tmp_path / "x.npy", rows, allow_pickle=True)
    np.savez(tmp_path / "x.npz", v=rows)
    code, message = measured(tmp_path / "x.npy")
    assert code == 1
    assert "holds Python objects" in message
    code, message = measured(tmp_path / "x.npz")
    assert code == 1
    assert "x.npz" in message


class Shrinking:
    """A group whose file is cut when it is read for the nth time."""

    shards = None
    """Read whole: shards of the group below would be read past this one."""

    def __init__(self, group: CloudGroup, path: Path, content: bytes, reads: int) -> None:
        self._group, self._path, self._content, self._left = group, path, content, reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)

    def batches(self) -> Iterator[Any]:
        self._left -= 1
        if self._left == 0:
            with self._path.open("r+b") as file:
                file.truncate(len(self._content))
                file.write(self._content)
        return self._group.batches()


@pytest.mark.parametrize("reads", [1, 2])
@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_that_shrinks(
    tmp_path: Path, measured: Refused, monkeypatch: pytest.MonkeyPatch, ending: str, reads: int
) -> None:
    """Cut in the middle, before the first read of the data and before the second."""
    path = tmp_path / f"x{ending}"
    whole = content(ending)
    path.write_bytes(whole)
    opened = measuring.open_cloud
    monkeypatch.setattr(
        measuring,
        "open_cloud",
        lambda *a, **k: Shrinking(opened(*a, **k), path, whole[: len(whole) // 2], reads),
    )
    code, message = measured(path)
    assert code == 1
    assert str(path) in message


@pytest.mark.parametrize("ending", [".txt", ".fvecs", ".jsonl"])
def test_a_file_that_loses_whole_rows(
    tmp_path: Path, measured: Refused, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """What is left is a file as good as any: only its size tells."""
    path = tmp_path / f"x{ending}"
    path.write_bytes(content(ending))
    shorter = PLAIN[ending].write(WORDS[:200], VECTORS[:200].astype(PLAIN[ending].dtypes[0]), {})
    opened = measuring.open_cloud
    monkeypatch.setattr(
        measuring, "open_cloud", lambda *a, **k: Shrinking(opened(*a, **k), path, shorter, 1)
    )
    code, message = measured(path)
    assert code == 1
    assert "changed while it was read" in message
    assert str(path) in message


def test_an_output_that_stands_is_kept(tmp_path: Path, measured: Refused) -> None:
    """A run that fails leaves an older result as it was."""
    (tmp_path / "result.json").write_text("{}")
    (tmp_path / "x.npy").write_bytes(content(".npy")[:-1])
    assert measured(tmp_path / "x.npy")[0] == 1
    assert (tmp_path / "result.json").read_text() == "{}"
