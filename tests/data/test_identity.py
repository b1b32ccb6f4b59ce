"""The identity of a source stays as long as the source does, and changes with it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import numpy as np
import pytest
from formats_for_tests import FORMATS

import isoscope
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import identity_of
from isoscope.data.combine import LabelledCloud
from isoscope.data.location import Location
from isoscope.data.selection import RowSelection
from isoscope.data.texts import SampledTexts, open_texts
from isoscope.errors import DataError

VECTORS = np.random.default_rng(0).standard_normal((50, 4))
WORDS = [f"w{k}" for k in range(50)]


def same(value: Any) -> Any:
    """Return an identity as a journal has it, which must be as it was."""
    assert json.loads(json.dumps(value)) == value
    return value


def touch(path: Path) -> None:
    """Let a file be changed a second later, by content of the same size."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))


@pytest.mark.parametrize("ending", FORMATS)
def test_files_of_vectors(tmp_path: Path, ending: str) -> None:
    kind = FORMATS[ending]
    path = tmp_path / f"x{ending}"
    path.write_bytes(kind.write(WORDS, VECTORS.astype(kind.dtypes[-1]), {}))
    first = same(identity_of(isoscope.open_cloud(path)))
    assert first["file"] == str(path)
    assert first["size"] == path.stat().st_size
    assert identity_of(RowSelection(isoscope.open_cloud(path))) == first
    touch(path)
    second = identity_of(isoscope.open_cloud(path))
    assert second != first
    assert {**second, "changed": first["changed"]} == first


def test_nothing_is_read_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", VECTORS)
    (tmp_path / "x.txt").write_text("a text\n")
    sources = isoscope.open_cloud(tmp_path / "x.npy"), open_texts(tmp_path / "x.txt")
    monkeypatch.setattr(Location, "open", None)
    for source in sources:
        identity_of(source)


def test_the_array_of_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=VECTORS, b=VECTORS)
    one, other = (isoscope.open_cloud(tmp_path / "x.npz", column=name) for name in "ab")
    assert identity_of(one) != identity_of(other)


def test_several_files(tmp_path: Path) -> None:
    for k in range(2):
        np.save(tmp_path / f"{k}.npy", VECTORS)
    for pattern, keys in (("*.npy", [0, 1]), ("{layer}.npy", ["layer 0", "layer 1"])):
        first = same(identity_of(isoscope.open_cloud(str(tmp_path / pattern))))
        assert [first[key]["file"] for key in keys] == [str(tmp_path / f"{k}.npy") for k in (0, 1)]
        touch(tmp_path / "1.npy")
        second = identity_of(isoscope.open_cloud(str(tmp_path / pattern)))
        assert second[keys[0]] == first[keys[0]]
        assert second[keys[1]] != first[keys[1]]


def test_arrays() -> None:
    first = same(identity_of(isoscope.open_cloud(VECTORS)))
    assert identity_of(isoscope.open_cloud(np.asfortranarray(VECTORS))) == first
    others: list[Any] = [VECTORS[:-1], VECTORS.astype(np.float32), VECTORS + 1e-15, -VECTORS]
    others += [ArrayCloud(VECTORS, "named"), ArrayCloud(VECTORS, labels={"word": np.array(WORDS)})]
    found = [json.dumps(identity_of(isoscope.open_cloud(other))) for other in others]
    assert len({json.dumps(first), *found}) == 7
    flat = identity_of(isoscope.open_cloud(VECTORS.reshape(100, 2)))
    assert flat["sha256"] == first["sha256"]
    assert flat != first


def test_a_large_array_is_digested_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.base.BATCH_ELEMENTS", 1)
    vectors = np.zeros((500, 3))
    first = identity_of(isoscope.open_cloud(vectors))
    vectors[-1, -1] = 1
    assert identity_of(isoscope.open_cloud(vectors)) != first


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.bfloat16, torch.float32):
        tensor = torch.from_numpy(VECTORS).to(dtype)
        first = same(identity_of(isoscope.open_cloud(tensor)))
        assert identity_of(isoscope.open_cloud(tensor.T.contiguous().T)) == first
        changed = tensor.clone()
        changed[-1, -1] += 1
        assert identity_of(isoscope.open_cloud(changed)) != first


def test_labels_held_apart() -> None:
    cloud = isoscope.open_cloud(VECTORS)
    found = [
        json.dumps(same(identity_of(LabelledCloud(cloud, key, values))))
        for key, values in (
            ("document", np.arange(50)),
            ("document", np.arange(50)[::-1]),
            ("other", np.arange(50)),
            ("document", np.array(["ab", "c", *WORDS[2:]], dtype=object)),
            ("document", np.array(["a", "bc", *WORDS[2:]], dtype=object)),
        )
    ]
    assert len({json.dumps(identity_of(cloud)), *found}) == 6


def test_what_is_made_by_others_says_what_it_is() -> None:
    found = same(identity_of(isoscope.open_cloud(lambda: iter([VECTORS]))))
    assert found == {"names": ["batches"], "widths": [4], "dtypes": ["float64"], "rows": None}


TEXTS = {
    "x.txt": "one\ntwo\n",
    "x.jsonl": '{"text": "one", "about": "a"}\n{"text": "two", "about": "b"}\n',
    "x.csv": "text,about\none,a\ntwo,b\n",
    "x.tsv": "text\tabout\none\ta\ntwo\tb\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_files_of_texts(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(TEXTS[name])
    columns: list[dict[str, Any]] = [{"column": "text"}, {"column": "about"}]
    columns += [{"column": "text", "document": "about"}]
    options = [{}] if name == "x.txt" else columns
    before = [same(identity_of(open_texts(path, **chosen))) for chosen in options]
    assert len(set(map(json.dumps, before))) == len(options)
    assert before[0]["file"] == str(path)
    touch(path)
    for chosen, first in zip(options, before, strict=True):
        assert identity_of(open_texts(path, **chosen)) != first


def test_parquet_and_several_files_of_texts(tmp_path: Path) -> None:
    for k in range(2):
        content = FORMATS[".parquet"].write(WORDS, VECTORS, {})
        (tmp_path / f"{k}.parquet").write_bytes(content)
    first = same(identity_of(open_texts(str(tmp_path / "*.parquet"), "word")))
    assert [one["file"] for one in first] == [str(tmp_path / f"{k}.parquet") for k in (0, 1)]
    assert first[0]["column"] == "word"


def test_texts_that_are_in_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    first = same(identity_of(open_texts(["one", "two"])))
    assert identity_of(open_texts(lambda: iter(["one", "two"]))) == first
    assert identity_of(open_texts(["one", "too"])) != first
    piped = []
    for content in (b"one\ntwo\n", b"one\ntwo\n", b"one\ntoo\n"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        piped.append(same(identity_of(open_texts("-"))))
    assert piped[0] == piped[1] != piped[2]


def test_drawn_texts() -> None:
    texts = open_texts(WORDS)
    found = [same(identity_of(SampledTexts(texts, *drawn))) for drawn in ((5, 0), (6, 0), (5, 1))]
    others = identity_of(SampledTexts(open_texts(WORDS[1:]), 5, 0))
    assert len({json.dumps(one) for one in (*found, others)}) == 4
    assert identity_of(SampledTexts(open_texts(list(WORDS)), 5, 0)) == found[0]


def test_behind_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = fsspec.filesystem("memory")
    content = FORMATS[".npy"].write(WORDS, VECTORS, {})
    filesystem.pipe("/a/x.npy", content)
    location = Location("memory://a/x.npy")
    size, created = location.stamp()
    assert size == len(content)
    assert created
    assert same(identity_of(isoscope.open_cloud(location.text)))["file"] == location.text
    filesystem.pipe("/a/x.npy", content)
    assert location.stamp() != (size, created)
    for known, mark in (
        ({"LastModified": 7, "ETag": '"abc"'}, '"abc"'),
        ({"mtime": 1.5, "ETag": None}, "1.5"),
        ({}, ""),
    ):
        found = {"size": 3, **known}
        monkeypatch.setattr(type(filesystem), "info", lambda *_, found=found, **__: found)
        assert location.stamp() == (3, mark)
    filesystem.store.clear()


def test_addresses_do_not_tell_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Location, "stamp", lambda _: (1, "now"))
    found = Location("https://me:secret@host/x.npy?signature=secret").identity()
    assert found == {"file": "https://host/x.npy", "size": 1, "changed": "now"}


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", VECTORS)
    cloud = isoscope.open_cloud(tmp_path / "x.npy")
    (tmp_path / "x.npy").unlink()
    with pytest.raises(DataError, match="x.npy cannot be read"):
        identity_of(cloud)
