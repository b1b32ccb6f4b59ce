from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import isoscope
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

hub = pytest.importorskip("huggingface_hub")
pytest.importorskip("transformers")

from isoscope.models.sources import HubSource  # noqa: E402

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a hub that cannot be reached."""

    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("Name or service not known\nand more")

    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "get_hf_file_metadata", unreachable)
    return tmp_path / "cache"


def snapshot(cache: Path, name: str) -> Path:
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return repository / "snapshots" / COMMIT


def test_without_a_network_the_cache_serves(cache: Path, tiny_model: Callable[[str], Path]) -> None:
    shutil.copytree(tiny_model("gpt2"), snapshot(cache, "somebody/tiny"))
    model = isoscope.open_model("somebody/tiny")
    assert model.name == "somebody/tiny"
    assert model.provenance["revision"] == COMMIT
    assert model.network.wte.weight.shape[0] == len(model.tokenizer)


def test_without_network_and_cache_the_error_says_what_to_do(cache: Path) -> None:
    assert not cache.exists()
    with pytest.raises(UsageError) as caught:
        isoscope.open_model("somebody/tiny", revision="step10")
    message = str(caught.value)
    assert "somebody/tiny at revision step10" in message
    assert "(Name or service not known)" in message
    assert "HF_ENDPOINT" in message
    assert "\n" not in message


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("RepositoryNotFoundError", "no such public model on the hub"),
        ("GatedRepoError", "is gated: accept its terms"),
        ("RevisionNotFoundError", "has no revision step10"),
        ("RemoteEntryNotFoundError", "is not a transformers model: it has no config.json"),
        ("HfHubHTTPError", "the hub refused: said no$"),
    ],
)
def test_what_the_hub_answers(kind: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_: Any, **__: Any) -> None:
        error = getattr(hub.errors, kind)
        raise error("said no", response=SimpleNamespace(headers={}, request=None))

    monkeypatch.setattr(hub, "get_hf_file_metadata", answer)
    with pytest.raises(UsageError, match=message):
        isoscope.open_model("somebody/tiny", revision="step10")


@pytest.mark.usefixtures("cache")
def test_a_name_that_no_model_can_have() -> None:
    with pytest.raises(UsageError, match="no model of the hub has such a name"):
        isoscope.open_model("two words")


def test_weights_are_fetched_when_they_are_needed_and_no_pickle_beside_safetensors(
    cache: Path, tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    origin, folder, asked = tiny_model("gpt2"), snapshot(cache, "somebody/tiny"), []
    folder.mkdir(parents=True)

    def download(_: str, file: str, **__: Any) -> str:
        shutil.copy(origin / file, folder)
        return str(folder / file)

    def snapshot_download(_: str, *, revision: str, allow_patterns: list[str], **__: Any) -> None:
        assert revision == COMMIT
        asked.append(allow_patterns)
        for pattern in allow_patterns:
            for path in origin.glob(pattern):
                shutil.copy(path, folder)

    metadata = SimpleNamespace(commit_hash=COMMIT)
    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda _: metadata)
    monkeypatch.setattr(hub, "hf_hub_download", download)
    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    model = isoscope.open_model("somebody/tiny")
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    assert len(model.tokenizer) > 0
    assert not (folder / "model.safetensors").exists()
    assert model.network is not None
    assert not any("pytorch_model*.bin" in patterns for patterns in asked)


def test_a_download_that_was_broken_off_goes_on(
    cache: Path, tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = snapshot(cache, "somebody/tiny")
    shutil.copytree(tiny_model("gpt2"), folder)
    weights = folder / "model-00001-of-00001.safetensors"
    (folder / "model.safetensors").rename(weights)
    index = {"weight_map": {"transformer.wte.weight": weights.name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    content = weights.read_bytes()
    asked = []

    def snapshot_download(*_: Any, **__: Any) -> None:
        asked.append(1)
        weights.write_bytes(content)

    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    source = HubSource("somebody/tiny", "somebody/tiny", folder, revision=COMMIT)
    source.fetch_weights()
    assert not asked
    weights.unlink()
    source.fetch_weights()
    assert asked == [1]
    assert weights.exists()


def test_the_modules_of_sentence_transformers_are_fetched_from_their_folders(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    from sentence_folders_for_tests import HIDDEN, TEXTS, by_the_library, dense, parts, pooling
    from sentence_folders_for_tests import save_sentence_folder as save

    origin = save(tmp_path / "origin", pooling(), dense(HIDDEN, 8), parts.Normalize())
    folder, asked = snapshot(cache, "somebody/tiny"), []
    folder.mkdir(parents=True)
    shutil.copy(origin / "config.json", folder)

    def snapshot_download(
        _: str, *, allow_patterns: list[str], ignore_patterns: list[str] | None, **__: Any
    ) -> None:
        asked.extend(allow_patterns)
        for path in (path for pattern in allow_patterns for path in origin.glob(pattern)):
            place = path.relative_to(origin)
            if not ignore_patterns or len(place.parts) == 1:
                (folder / place).parent.mkdir(exist_ok=True)
                shutil.copy(path, folder / place)

    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda _: SimpleNamespace(commit_hash=COMMIT))
    monkeypatch.setattr(hub, "hf_hub_download", lambda *_, **__: str(folder / "config.json"))
    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    model = isoscope.open_model("somebody/tiny", device="cpu")
    assert model.has_pipeline
    found = model.pipeline.encode(model, TEXTS)
    assert abs(found - by_the_library(origin)).max() < 1e-5
    assert "2_Dense/model.safetensors" in asked
    assert not any("pytorch_model" in pattern for pattern in asked)  # safetensors will do
