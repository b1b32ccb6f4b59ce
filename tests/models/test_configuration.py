from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.errors import DataError
from isoscope.models.model import is_known_quantisation, read_config
from isoscope.models.sources import Source

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("transformers")


def read(folder: Path, content: Any) -> Any:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "config.json").write_text(text)
    return read_config(Source("mine", "mine", folder))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "config.json is not JSON"),
        ([], "it is not a JSON object"),
        ({}, "it has no model_type"),
        ({"model_type": "perceptron-9000"}, "has no architecture 'perceptron-9000'"),
        (
            {"model_type": "special", "auto_map": {"AutoModel": "code.Special"}},
            r"mine \(special\) needs code that comes with it \(auto_map\)",
        ),
        ({"model_type": ["bert"]}, r"model_type must be a string, got \['bert'\]"),
        ({"model_type": "bert", "architectures": [3]}, "architectures must be a list of strings"),
        ({"model_type": "bert", "architectures": {"a": 1}}, "architectures must be a list"),
        ({"model_type": "bert", "num_hidden_layers": 10**9}, r"num_hidden_layers is 1e\+09, more"),
        (
            {"model_type": "bert", "text_config": {"n_layer": 1e30}},
            r"n_layer is 1e\+30, more than any network has",
        ),
        (
            {"model_type": "bert", "quantization_config": {"quant_method": "nonsense"}},
            "does not know the quantisation 'nonsense'",
        ),
        ({"model_type": "bert", "hidden_size": "wide"}, "mine: its configuration cannot be used"),
    ],
)
def test_configurations_that_are_refused(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


def test_known_quantisations_are_left_to_transformers() -> None:
    assert is_known_quantisation("gptq")
    assert is_known_quantisation("bitsandbytes")
    assert not is_known_quantisation("")
    assert not is_known_quantisation(["gptq"])


def test_a_gguf_file_of_nested_arrays(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    name = b"general.nested"
    head = struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, len(name)) + name
    nested = b"".join(struct.pack("<IQ", 9, 1) for _ in range(5_000))
    (tmp_path / "x.gguf").write_bytes(
        head + struct.pack("<I", 9) + nested + struct.pack("<IQI", 4, 1, 7)
    )
    with pytest.raises(DataError, match="x.gguf is not a whole GGUF file: it is nested too deeply"):
        read_config(Source("x", "x.gguf", tmp_path, "x.gguf"))


@pytest.mark.parametrize(
    "entries",
    [
        {"attn_implementation": "somebody/kernel"},
        {"_attn_implementation": "somebody/kernel@main:forward"},
        {"_attn_implementation": {"text_config": "somebody/kernel"}},
        {"text_config": {"_experts_implementation": "somebody/kernel"}},
    ],
)
def test_code_on_the_hub_is_not_loaded(tmp_path: Path, entries: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="_implementation names code on the hub, which isoscope "):
        read(tmp_path, {"model_type": "bert", **entries})
    read(tmp_path, {"model_type": "bert", "attn_implementation": "sdpa"})


def test_code_is_not_run_where_transformers_has_the_architecture(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("raise SystemExit('was run')\n")
    config = read(tmp_path, {"model_type": "falcon", "auto_map": {"AutoConfig": "code.Config"}})
    assert type(config).__name__ == "FalconConfig"
