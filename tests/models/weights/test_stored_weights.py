from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isoscope
from isoscope.data.location import Location
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402
from tiny_models import ARCHITECTURES, save_tiny_gguf  # noqa: E402

FILE = "model.safetensors"


@pytest.fixture
def copied(tiny_model: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """The folder of a tiny model that a test may change."""
    return lambda architecture: Path(
        shutil.copytree(tiny_model(architecture), tmp_path / architecture)
    )


def whole_network(folder: Path) -> Any:
    """The network with its head, as transformers loads it."""
    config = transformers.AutoConfig.from_pretrained(folder)
    return getattr(transformers, config.architectures[0]).from_pretrained(folder)


def opened(folder: Path) -> isoscope.Model:
    return isoscope.open_model(str(folder))


def rewritten(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Store the weights once more, changed."""
    save_file(change(load_file(folder / FILE)), folder / FILE, {"format": "pt"})


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_tensor_is_that_of_the_loaded_network(
    architecture: str, tiny_model: Callable[[str], Path]
) -> None:
    folder = tiny_model(architecture)
    model, state = opened(folder), whole_network(folder).state_dict()
    assert "network" not in vars(model)
    for path, expected in state.items():
        if expected.is_floating_point():
            assert np.array_equal(model.tensor(path), expected.numpy()), path
    parts, base = model.parts, model.network.state_dict()
    own = [norm.gain for norm in parts.norms if norm.where != "head"]
    own += [norm.bias for norm in parts.norms if norm.where != "head"]
    own += [parts.input_embedding, *(table.path for table in parts.positions.tables)]
    for path in filter(None, own):
        assert np.array_equal(model.tensor(path), base[path].numpy()), path
    assert model.tied is (architecture != "gpt-neox")


def without_base(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("bert."): values for name, values in tensors.items()}


def with_old_norms(tensors: dict[str, Any]) -> dict[str, Any]:
    old = {"weight": "gamma", "bias": "beta"}
    renamed = {}
    for name, values in tensors.items():
        parent, _, end = name.rpartition(".")
        norm = parent.endswith("LayerNorm")
        renamed[f"{parent}.{old[end]}" if norm else name] = values
    return renamed


@pytest.mark.parametrize(
    "change", [without_base, with_old_norms, lambda tensors: with_old_norms(without_base(tensors))]
)
def test_names_of_other_times_and_without_a_head(
    change: Callable[[dict[str, Any]], dict[str, Any]], copied: Callable[[str], Path]
) -> None:
    folder = copied("bert")
    expected = whole_network(folder).bert.state_dict()
    rewritten(folder, change)
    model = opened(folder)
    for path, values in expected.items():
        if values.is_floating_point():
            assert np.array_equal(model.tensor(path), values.numpy()), path


def test_names_with_a_head_for_a_network_without(copied: Callable[[str], Path]) -> None:
    folder = copied("bert")
    expected = opened(folder).tensor("embeddings.LayerNorm.bias")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("BertForMaskedLM", "BertModel"))
    assert "bert.embeddings.LayerNorm.bias" in load_file(folder / FILE)
    model = opened(folder)
    assert model.parts.prefix == ""
    assert np.array_equal(model.tensor("embeddings.LayerNorm.bias"), expected)


def test_only_the_bytes_of_the_tensor_are_read(
    tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(tiny_model("gpt2"))
    model.weights.shape("wte.weight")  # the header is read once
    handed_out = []
    original = Location.open

    def watched(location: Location) -> Any:
        file = original(location)
        readinto = file.readinto  # type: ignore[attr-defined]

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def __enter__(self) -> Counting:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def readinto(self, buffer: Any) -> int:
                got: int = readinto(buffer)
                handed_out.append(got)
                return got

            def read(self, *_: object) -> bytes:
                raise AssertionError("reads something else")

        return Counting()

    monkeypatch.setattr(Location, "open", watched)
    values = model.tensor("ln_f.weight")
    assert sum(handed_out) == values.nbytes


def test_other_files_of_several_need_not_be_there(copied: Callable[[str], Path]) -> None:
    folder = copied("llama")
    network = whole_network(folder)
    expected = network.model.norm.weight.detach().numpy()
    (folder / FILE).unlink()
    network.save_pretrained(folder, max_shard_size="20KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 2
    holds = [path for path in shards if "model.norm.weight" in load_file(path)]
    for path in set(shards) - set(holds):
        path.write_bytes(b"spoilt")
    model = opened(folder)
    assert np.array_equal(model.tensor("norm.weight"), expected)
    with pytest.raises(DataError, match="is not a whole .safetensors file"):
        [model.tensor(path) for path in network.state_dict()]
    holds[0].unlink()
    with pytest.raises(DataError, match="llama is not complete: .* is missing"):
        opened(folder).tensor("norm.weight")


@pytest.mark.parametrize("zipped", [True, False])
def test_pickles_give_the_same_numbers_and_the_same_fingerprint(
    zipped: bool, copied: Callable[[str], Path]
) -> None:
    folder = copied("gpt-neox")
    before = opened(folder)
    expected = {path: before.tensor(path) for path in ("embed_in.weight", "lm_head.weight")}
    marks = {path: before.fingerprint(path) for path in expected}
    assert len(set(marks.values())) == 2
    torch.save(
        load_file(folder / FILE),
        folder / "pytorch_model.bin",
        _use_new_zipfile_serialization=zipped,
    )
    (folder / FILE).unlink()
    model = opened(folder)
    for path, values in expected.items():
        assert np.array_equal(model.tensor(path), values)
        assert model.fingerprint(path) == marks[path]


def test_a_pickle_with_code_is_not_run(copied: Callable[[str], Path], tmp_path: Path) -> None:
    class Malicious:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return Path.touch, (tmp_path / "was-run",)

    folder = copied("gpt2")
    (folder / FILE).unlink()
    torch.save({"transformer.wte.weight": Malicious()}, folder / "pytorch_model.bin")
    with pytest.raises(DataError, match="pytorch_model.bin cannot be read as tensors"):
        opened(folder).tensor("wte.weight")
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_types_are_widened_to_what_numpy_has(
    dtype: Any, copied: Callable[[str], Path]
) -> None:
    folder = copied("gpt2")
    rewritten(folder, lambda tensors: {key: values.to(dtype) for key, values in tensors.items()})
    stored = load_file(folder / FILE)["transformer.wte.weight"]
    values = opened(folder).tensor("wte.weight")
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    assert values.dtype == str(wide).removeprefix("torch.")
    assert np.array_equal(values, stored.to(wide).numpy())


def test_a_head_that_is_stored_too_is_tied_only_with_the_same_numbers(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("gpt2")
    matrix = load_file(folder / FILE)["transformer.wte.weight"]
    rewritten(folder, lambda tensors: {**tensors, "lm_head.weight": matrix.clone()})
    assert opened(folder).tied is True
    rewritten(folder, lambda tensors: {**tensors, "lm_head.weight": matrix + 1})
    model = opened(folder)
    assert model.tied is False
    assert np.array_equal(model.tensor("lm_head.weight"), (matrix + 1).numpy())


def test_what_is_not_there_is_named(copied: Callable[[str], Path]) -> None:
    folder = copied("gpt2")
    with pytest.raises(UsageError, match="no tensor of gpt2 is called 'ln_g.weight'"):
        opened(folder).tensor("ln_g.weight")
    rewritten(folder, lambda tensors: {**tensors, "transformer.ln_f.weight": torch.ones(7)})
    with pytest.raises(DataError, match=r"ln_f.weight is stored as \(7,\), but .* \(32,\)"):
        opened(folder).tensor("ln_f.weight")
    rewritten(
        folder, lambda tensors: {key: tensors[key] for key in tensors if "ln_f.bias" not in key}
    )
    with pytest.raises(DataError, match="gpt2 is not complete: its weights have no ln_f.bias"):
        opened(folder).tensor("ln_f.bias")


def test_a_matrix_of_another_shape_is_not_taken_for_the_head(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("gpt-neox")

    def spoil(tensors: dict[str, Any]) -> dict[str, Any]:
        return {**tensors, "embed_out.weight": tensors["embed_out.weight"][:-1].clone()}

    rewritten(folder, spoil)
    with pytest.raises(DataError, match="its weights have no lm_head.weight"):
        opened(folder).tensor("lm_head.weight")


def test_tensors_of_a_gguf_file_are_those_of_the_network(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    pytest.importorskip("gguf")
    model = opened(save_tiny_gguf(tiny_model("llama"), tmp_path / "tiny.gguf"))
    assert (model.parts.unembedding, model.tied) == ("lm_head.weight", True)
    for path, values in model.network.state_dict().items():
        assert np.array_equal(model.tensor(path), values.numpy())
    assert np.array_equal(model.tensor("lm_head.weight"), model.tensor("embed_tokens.weight"))
    assert model.fingerprint("norm.weight") == opened(tiny_model("llama")).fingerprint(
        "norm.weight"
    )


def test_the_head_of_a_gguf_file_that_is_not_tied(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    pytest.importorskip("gguf")
    folder = copied("llama")
    config = (folder / "config.json").read_text()
    untied = config.replace('"tie_word_embeddings": true', '"tie_word_embeddings": false')
    assert untied != config
    (folder / "config.json").write_text(untied)
    rewritten(
        folder,
        lambda tensors: {**tensors, "lm_head.weight": 2 * tensors["model.embed_tokens.weight"]},
    )
    model = opened(save_tiny_gguf(folder, tmp_path / "tiny.gguf"))
    assert (model.tied, model.stored_twice) == (False, False)
    entry, out = model.tensor("embed_tokens.weight"), model.tensor("lm_head.weight")
    assert np.allclose(out, 2 * entry, atol=1e-5)
