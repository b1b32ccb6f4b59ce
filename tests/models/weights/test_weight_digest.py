from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import isoscope
from isoscope.errors import DataError
from isoscope.models.weights import tensors as weight_digest
from isoscope.models.weights.tensors import weights_digest

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture
def folder(tmp_path: Path, tiny_model: Callable[[str], Path]) -> Path:
    return Path(shutil.copytree(tiny_model("gpt-neox"), tmp_path / "tiny"))


def digest(folder: Path) -> str:
    return weights_digest(isoscope.open_model(str(folder)))


def test_the_same_in_other_files(folder: Path, tmp_path: Path) -> None:
    """Pickles of old models hold buffers beside the parameters."""
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    tensors = {name: tensors[name] for name in sorted(tensors, reverse=True)}
    tensors["gpt_neox.layers.0.attention.masked_bias"] = torch.tensor(-1e9)
    other = Path(shutil.copytree(folder, tmp_path / "pickle"))
    (other / "model.safetensors").unlink()
    torch.save(tensors, other / "pytorch_model.bin")
    (other / "tokenizer_config.json").unlink()
    assert digest(other) == digest(folder)


@pytest.mark.parametrize("which", ["first", "last", "head"])
def test_one_bit_of_one_tensor(folder: Path, which: str) -> None:
    from safetensors.torch import load_file, save_file

    before = digest(folder)
    tensors = load_file(folder / "model.safetensors")
    names = sorted(tensors)
    head = next(name for name in names if "embed_out" in name or "lm_head" in name)
    name = {"first": names[0], "last": names[-1], "head": head}[which]
    flat = tensors[name].view(-1)
    flat[-1] = torch.nextafter(flat[-1], torch.tensor(9.0))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert digest(folder) != before


def test_names_that_the_network_does_not_know(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: object) -> list[str]:
        raise DataError("its weights have no such tensor")

    monkeypatch.setattr(weight_digest, "parameters", unknown)
    before = digest(folder)
    assert digest(folder) == before
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert digest(folder) != before


def test_truncated_weights_have_none(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match="truncated"):
        digest(folder)
