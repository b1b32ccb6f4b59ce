"""Vectors that are kept come back bit for bit, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from isoscope.compute.vector_cache import (
    ENDING,
    VectorCache,
    default_folder,
    file_bytes,
    open_cache,
    space_digest,
    text_keys,
)
from isoscope.errors import UsageError

RNG = np.random.default_rng(0)
TEXTS = ["the cat", "", "a dog", "ein Müller"]
KEYS = text_keys(TEXTS)
VECTORS = RNG.standard_normal((4, 6)).astype(np.float32)
SPACE = space_digest({"model": "toy", "layer": "block 1"})


def files(cache: VectorCache) -> list[Path]:
    return sorted(cache.folder.glob(f"*/*{ENDING}"))


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    cache = VectorCache(tmp_path)
    cache.put(SPACE, KEYS, VECTORS)
    return cache


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_come_back_bit_for_bit(tmp_path: Path, dtype: type) -> None:
    vectors: np.ndarray = RNG.standard_normal((4, 6)).astype(dtype)
    vectors[1] = np.nan  # a text without a token
    cache = VectorCache(tmp_path)
    cache.put(SPACE, KEYS[:3], vectors[:3])
    cache.put(SPACE, KEYS[3:], vectors[3:])
    order = np.array([3, 0, 2, 1])
    found, back = cache.get(SPACE, KEYS[order])
    assert found.all()
    assert back is not None
    assert back.dtype == dtype
    assert back.tobytes() == vectors[order].tobytes()


def test_what_is_not_there_is_said_to_be_missing(cache: VectorCache) -> None:
    found, vectors = cache.get(SPACE, text_keys(["a dog", "a cow"]))
    assert found.tolist() == [True, False]
    assert vectors is not None
    np.testing.assert_array_equal(vectors[0], VECTORS[2])
    found, vectors = cache.get(space_digest({"model": "toy", "layer": "block 2"}), KEYS)
    assert not found.any()
    assert vectors is None
    assert cache.get(SPACE, text_keys([]))[0].shape == (0,)


def test_settings_are_kept_apart() -> None:
    one = space_digest({"a": "b", "c": "d"})
    assert one == space_digest({"c": "d", "a": "b"})
    assert one != space_digest({"a": "bc", "": "d"})
    assert one != space_digest({"a": "b", "c": "e"})


def test_every_damaged_byte_is_found(cache: VectorCache) -> None:
    (path,) = files(cache)
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x41]) + good[place + 1 :])
        found, vectors = cache.get(SPACE, KEYS)
        if found.any():  # a letter of the header that is of no account
            assert vectors is not None
            assert vectors[found].tobytes() == VECTORS[found].tobytes()
        else:
            assert not path.exists()


@pytest.mark.parametrize("kept", [0, 1, 40, 200, -1])
def test_a_file_that_is_cut_off_is_deleted(cache: VectorCache, kept: int) -> None:
    (path,) = files(cache)
    path.write_bytes(path.read_bytes()[:kept])
    assert not cache.get(SPACE, KEYS)[0].any()
    assert files(cache) == []
    cache.put(SPACE, KEYS, VECTORS)
    assert cache.get(SPACE, KEYS)[0].all()


def test_a_header_that_claims_much_takes_no_memory(cache: VectorCache) -> None:
    (path,) = files(cache)
    content = path.read_bytes().replace(b'"rows": 4', b'"rows": 400000000000')
    path.write_bytes(content)
    assert not cache.get(SPACE, KEYS)[0].any()


def test_the_limit_holds_and_what_was_used_last_stays(tmp_path: Path) -> None:
    size = len(file_bytes(KEYS[:1], VECTORS[:1]))
    cache = VectorCache(tmp_path, limit=3 * size)
    for k in range(3):
        cache.put(SPACE, KEYS[k : k + 1], VECTORS[k : k + 1])
    for age, path in enumerate(files(cache)):
        os.utime(path, (1_000 + age, 1_000 + age))
    assert cache.get(SPACE, KEYS[:1])[0].all()  # used now, whatever its age was
    for path in files(cache):
        if path.stat().st_mtime < 2_000:
            os.utime(path, (1_000, 1_000))
    cache.put(SPACE, KEYS[3:], VECTORS[3:])
    assert sum(path.stat().st_size for path in files(cache)) <= 3 * size
    assert cache.get(SPACE, KEYS)[0].tolist().count(True) == 3
    assert cache.get(SPACE, KEYS[:1])[0].all()
    assert cache.get(SPACE, KEYS[3:])[0].all()


def test_more_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, limit=100)
    cache.put(SPACE, KEYS, VECTORS)
    assert files(cache) == []
    with pytest.raises(UsageError, match="at least 0 bytes"):
        VectorCache(tmp_path, limit=-1)


def test_files_of_others_stay(cache: VectorCache) -> None:
    other = cache.folder / SPACE / "notes.txt"
    other.write_text("mine")
    VectorCache(cache.folder.parent, limit=0).make_room()
    assert files(cache) == []
    assert other.read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = VectorCache(tmp_path / "file")
    with pytest.warns(UserWarning, match="vectors are not cached"):
        cache.put(SPACE, KEYS, VECTORS)
    assert not cache.get(SPACE, KEYS)[0].any()


def test_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "here"))
    found = open_cache(True)
    assert found is not None
    assert found.folder == tmp_path / "here" / "vectors"
    assert open_cache(False) is None
    assert open_cache(None) is None
    assert open_cache(found) is found
    monkeypatch.setenv("ISOSCOPE_CACHE", "off")
    assert open_cache(True) is None
    monkeypatch.delenv("ISOSCOPE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert default_folder() == tmp_path / "isoscope"
