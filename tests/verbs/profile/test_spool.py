"""Vectors on disk between the reads: whole for a shard, or not there."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from isoscope.data.blocks import Dealt
from isoscope.verbs.profile.spool import Spool, spool_folder

torch = pytest.importorskip("torch")

Batch = tuple[dict[str, torch.Tensor], Dealt | None]


def batches(dtype: torch.dtype = torch.float32, *, deals: bool = True) -> Iterator[Batch]:
    """Batches of two layers, of several lengths."""
    generator = torch.Generator().manual_seed(1)
    for rows in (5, 1, 7):
        layers = {
            name: torch.randn(rows, width, generator=generator).to(dtype)
            for name, width in (("embedding", 4), ("block 1", 3))
        }
        groups = np.arange(rows, dtype=np.int64) * 2**40 + rows
        yield layers, Dealt(groups) if deals else None


BYTES = 13 * (7 * 4 + 8)
"""Of all batches."""


def written(path: Path, limit: int = 10**6, **options: object) -> Spool:
    with Spool(path, limit) as spool:
        for layers, dealt in batches(**options):  # type: ignore[arg-type]
            spool.write(layers, dealt)
    return spool


def assert_same(found: list[Batch], expected: list[Batch]) -> None:
    assert len(found) == len(expected)
    for (layers, dealt), (others, groups) in zip(found, expected, strict=True):
        assert list(layers) == list(others)
        for name, vectors in others.items():
            assert layers[name].dtype == vectors.dtype
            assert torch.equal(layers[name].view(torch.uint8), vectors.view(torch.uint8))
        assert (dealt is None) == (groups is None)
        if dealt is not None and groups is not None:
            np.testing.assert_array_equal(dealt.groups, groups.groups)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("deals", [True, False])
def test_what_was_written_is_read(tmp_path: Path, dtype: torch.dtype, deals: bool) -> None:
    written(tmp_path / "shard-0", dtype=dtype, deals=deals)
    other = Spool(tmp_path / "shard-0")  # as another worker has it
    assert other.complete
    assert_same(list(other.read()), list(batches(dtype, deals=deals)))
    assert_same(list(other.read()), list(batches(dtype, deals=deals)))


def test_shards_do_not_mix(tmp_path: Path) -> None:
    written(tmp_path / "shard-1")
    with Spool(tmp_path / "shard-12") as other:
        other.write({"embedding": torch.ones(2, 2)}, None)
    assert_same(list(Spool(tmp_path / "shard-1").read()), list(batches()))
    ((layers, _),) = Spool(tmp_path / "shard-12").read()
    assert torch.equal(layers["embedding"], torch.ones(2, 2))
    assert not Spool(tmp_path / "shard-2").complete


def test_a_slice_is_written_as_it_is_seen(tmp_path: Path) -> None:
    wide = torch.arange(12.0).reshape(3, 4)
    with Spool(tmp_path / "shard-0") as spool:
        spool.write({"embedding": wide[:, ::2]}, None)
    ((layers, _),) = spool.read()
    assert torch.equal(layers["embedding"], wide[:, ::2])


@pytest.mark.parametrize(("limit", "complete"), [(BYTES, True), (BYTES - 1, False), (1, False)])
def test_what_grows_beyond_the_limit_is_thrown_away(
    tmp_path: Path, limit: int, complete: bool
) -> None:
    assert written(tmp_path / "shard-0", limit).complete == complete
    assert Spool(tmp_path / "shard-0").complete == complete
    if not complete:
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, "gone/shard-0", "zero"])
def test_no_spool_takes_anything_and_has_nothing(tmp_path: Path, path: str | None) -> None:
    """Without a folder, in one that another machine has, and without room."""
    spool = Spool(None if path is None else tmp_path / path, 0 if path == "zero" else 10**6)
    with spool:
        for layers, dealt in batches():
            spool.write(layers, dealt)
    assert not spool.complete
    assert list(tmp_path.iterdir()) == []


def test_a_read_that_fails_leaves_no_spool(tmp_path: Path) -> None:
    def fail() -> None:
        with Spool(tmp_path / "shard-0") as spool:
            for layers, dealt in batches():
                spool.write(layers, dealt)
                raise ValueError("row 3 holds NaN")

    with pytest.raises(ValueError, match="row 3"):
        fail()
    assert not Spool(tmp_path / "shard-0").complete
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_means_that_the_model_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> memoryview:
        raise OSError(28, "No space left on device")

    with Spool(tmp_path / "shard-0") as spool:
        first, *rest = batches()
        spool.write(*first)
        monkeypatch.setattr("isoscope.verbs.profile.spool.buffer_of", full)
        for batch in rest:
            spool.write(*batch)
    assert not spool.complete
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, pathlib, signal, sys
import torch
from isoscope.verbs.profile.spool import Spool

with Spool(pathlib.Path(sys.argv[1])) as spool:
    spool.write({"embedding": torch.zeros(1000, 4)}, None)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_worker_wrote_is_no_spool(tmp_path: Path) -> None:
    path = tmp_path / "shard-0"
    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.exists()
    assert not Spool(path).complete
    written(path)  # whoever takes the shard over writes it anew
    assert_same(list(Spool(path).read()), list(batches()))


def test_an_index_that_was_not_finished_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            written(tmp_path / "shard-0")
    assert not Spool(tmp_path / "shard-0").complete
    written(tmp_path / "shard-0")
    assert Spool(tmp_path / "shard-0").complete


def test_a_folder_of_spools_goes_when_it_is_closed() -> None:
    with spool_folder(100) as folder:
        assert folder is not None
        assert Path(folder).is_dir()
        written(Path(folder) / "shard-0")
    assert not Path(folder).exists()
    with spool_folder(0) as none:
        assert none is None
