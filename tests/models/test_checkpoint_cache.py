from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.errors import DataError, UsageError
from isoscope.models.checkpoint_cache import MARK, CheckpointCache
from isoscope.models.checkpoints import Checkpoint, find_training

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainings_for_tests import FakeHub

hub = pytest.importorskip("huggingface_hub")
pytest.importorskip("transformers")

NOISES = {"step0": 0.0, "step1": 0.1, "step20": 0.2, "step100": 0.3}


@pytest.fixture
def served(
    tmp_path: Path, tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> FakeHub:
    from trainings_for_tests import FakeHub, save_training

    folder = save_training(tiny_model("gpt2"), tmp_path / "there", NOISES)
    return FakeHub(folder).serve(monkeypatch)


def checkpoints() -> list[Checkpoint]:
    return list(find_training("somebody/tiny", "step*").checkpoints)


def on_disk(cache: Path) -> list[str]:
    return sorted(mark.parent.name for mark in cache.glob(f"*/*/{MARK}"))


def test_one_at_a_time_in_a_folder_that_goes(served: FakeHub) -> None:
    with CheckpointCache() as cache:
        for checkpoint in checkpoints():
            folder = cache.folder_of(checkpoint)
            assert (folder / "model.safetensors").is_file()
            root = folder.parents[1]
            assert on_disk(root) == [checkpoint.revision]
    assert not root.exists()
    assert served.fetched == ["step0", "step1", "step20", "step100"]
    assert served.most_at_a_time == 1


def test_the_last_that_were_used_are_kept(served: FakeHub, tmp_path: Path) -> None:
    zero, one, twenty, hundred = checkpoints()
    cache = CheckpointCache(tmp_path / "cache", keep=2)
    for checkpoint in (zero, one, zero, twenty):  # the second use of the first counts
        cache.folder_of(checkpoint)
    cache.close()
    assert on_disk(tmp_path / "cache") == ["step0", "step20"]
    later = CheckpointCache(tmp_path / "cache", keep=2)
    later.folder_of(zero)
    later.folder_of(hundred)
    assert on_disk(tmp_path / "cache") == ["step0", "step100"]
    assert served.fetched == ["step0", "step1", "step20", "step100"]
    assert served.most_at_a_time == 2


def test_a_named_folder_keeps_all(served: FakeHub, tmp_path: Path) -> None:
    cache = CheckpointCache(tmp_path / "cache")
    for checkpoint in checkpoints() * 2:
        cache.folder_of(checkpoint)
    assert on_disk(tmp_path / "cache") == sorted(NOISES)
    assert len(served.fetched) == 4


def test_a_checkpoint_opens_under_its_own_name(served: FakeHub) -> None:
    with CheckpointCache() as cache:
        model = cache.open(checkpoints()[1], dtype="float64")
        assert model.name == "somebody/tiny@step1"
        assert model.provenance["source"] == "somebody/tiny"
        assert model.provenance["revision"] == served.commit("step1")
        assert model.provenance["dtype"] == "float64"
        assert len(model.tokenizer) == model.network.wte.weight.shape[0]


def test_local_folders_are_never_deleted(tmp_path: Path, tiny_model: Callable[[str], Path]) -> None:
    from trainings_for_tests import save_training

    run = save_training(tiny_model("gpt2"), tmp_path / "run", NOISES)
    with CheckpointCache(run, keep=1) as cache:
        for checkpoint in find_training(str(run)).checkpoints:
            assert cache.folder_of(checkpoint) == run / checkpoint.revision
            assert cache.open(checkpoint).name == f"run@{checkpoint.revision}"
    assert sorted(path.name for path in run.iterdir()) == sorted(NOISES)


@pytest.mark.usefixtures("served")
def test_folders_of_others_are_never_deleted(tmp_path: Path) -> None:
    zero, one, *_ = checkpoints()
    cache = CheckpointCache(tmp_path / "cache", keep=1)
    other = tmp_path / "cache" / "somebody%2Ftiny" / "mine"
    other.mkdir(parents=True)
    (other / "model.safetensors").write_text("mine")
    cache.folder_of(zero)
    cache.folder_of(one)
    assert (other / "model.safetensors").read_text() == "mine"
    assert on_disk(tmp_path / "cache") == ["step1"]
    (tmp_path / "cache" / "somebody%2Ftiny" / "step0").mkdir()
    (tmp_path / "cache" / "somebody%2Ftiny" / "step0" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files; name another --cache"):
        cache.folder_of(zero)


def test_a_branch_that_moved_is_fetched_again(served: FakeHub, tmp_path: Path) -> None:
    cache = CheckpointCache(tmp_path / "cache")
    zero, one, *_ = checkpoints()
    folder = cache.folder_of(zero)
    (folder / "left-over.json").write_text("{}")
    moved = Checkpoint(zero.model, zero.revision, None, one.commit)
    assert cache.folder_of(moved) == folder
    assert served.fetched == ["step0", "step1"]
    assert not (folder / "left-over.json").exists()


def test_a_broken_download_is_not_taken_for_a_whole_one(
    served: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_: str, *, local_dir: Path, **__: Any) -> None:
        (Path(local_dir) / "config.json").write_text("{}")
        raise ConnectionError("reset by peer")

    zero, one, *_ = checkpoints()
    cache = CheckpointCache(tmp_path / "cache", keep=1)
    monkeypatch.setattr(hub, "snapshot_download", breaks)
    with pytest.raises(UsageError, match=r"tiny at revision step0.*\(reset by peer\)"):
        cache.folder_of(zero)
    served.serve(monkeypatch)
    assert (cache.folder_of(zero) / "model.safetensors").is_file()
    assert served.fetched == ["step0"]
    monkeypatch.setattr(hub, "snapshot_download", breaks)
    with pytest.raises(UsageError):
        cache.folder_of(one)
    assert on_disk(tmp_path / "cache") == ["step1"]  # what there is of it counts


def test_safetensors_rather_than_pickles(served: FakeHub) -> None:
    import torch

    zero, one, *_ = checkpoints()
    (served.folder / "step0" / "pytorch_model.bin").write_bytes(b"not wanted")
    (served.folder / "step1" / "model.safetensors").unlink()
    torch.save({}, served.folder / "step1" / "pytorch_model.bin")
    with CheckpointCache() as cache:
        assert not (cache.folder_of(zero) / "pytorch_model.bin").exists()
        assert (cache.folder_of(one) / "pytorch_model.bin").exists()
    assert served.fetched == ["step0", "step1", "step1"]


@pytest.mark.parametrize(
    ("missing", "message"),
    [("config.json", "is not a transformers model: it has no"), ("model.safet*", "has no weights")],
)
def test_revisions_that_are_no_models(served: FakeHub, missing: str, message: str) -> None:
    for path in (served.folder / "step0").glob(missing):
        path.unlink()
    with CheckpointCache() as cache, pytest.raises(DataError, match=f"tiny@step0 {message}"):
        cache.folder_of(checkpoints()[0])


@pytest.mark.usefixtures("served")
def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    zero = checkpoints()[0]
    monkeypatch.setattr(hub, "snapshot_download", full)
    with CheckpointCache() as cache, pytest.raises(UsageError, match="larger disk with --cache"):
        cache.folder_of(zero)


@pytest.mark.usefixtures("served")
def test_a_hub_that_went_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise hub.errors.LocalEntryNotFoundError("Got: ConnectError\nand more")

    zero = checkpoints()[0]
    monkeypatch.setattr(hub, "snapshot_download", away)
    with CheckpointCache() as cache, pytest.raises(UsageError, match="hub cannot be reached"):
        cache.folder_of(zero)


@pytest.mark.usefixtures("served")
def test_places_and_numbers_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--keep must be at least 1"):
        CheckpointCache(keep=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        CheckpointCache(tmp_path / "file").folder_of(checkpoints()[0])


@pytest.mark.usefixtures("served")
def test_the_mark_says_what_is_there(tmp_path: Path) -> None:
    zero = checkpoints()[0]
    folder = CheckpointCache(tmp_path).folder_of(zero)
    assert json.loads((folder / MARK).read_text()) == {
        "model": "somebody/tiny",
        "revision": "step0",
        "commit": zero.commit,
        "complete": True,
    }
