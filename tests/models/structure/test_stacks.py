from __future__ import annotations

from typing import Any

import pytest

from isoscope.errors import DataError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from isoscope.models.structure.skeleton import base_skeleton, trace  # noqa: E402
from isoscope.models.structure.stacks import find_stacks  # noqa: E402

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "vocab_size": 50,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def skeleton(name: str, **changes: Any) -> Any:
    return base_skeleton(getattr(transformers, f"{name}Config")(**{**SMALL, **changes}))


def test_layers_are_named_from_input_to_output() -> None:
    (stack,) = find_stacks(skeleton("Llama"))
    assert stack.layers == ("embedding", "block 1", "block 2", "final norm")
    assert stack.blocks == ("layers.0", "layers.1")


def test_a_final_norm_is_found_by_its_turn_where_its_name_misleads() -> None:
    network = skeleton("Lfm2", layer_types=["conv", "full_attention"])
    (stack,) = find_stacks(network, trace(network))
    assert stack.final_norm == "embedding_norm"


def test_a_final_norm_around_what_holds_the_blocks() -> None:
    network = skeleton("RobertaPreLayerNorm")
    (stack,) = find_stacks(network, trace(network))
    assert stack.final_norm == "LayerNorm"
    assert stack.blocks == ("encoder.layer.0", "encoder.layer.1")


def test_blocks_of_several_classes_are_one_stack() -> None:
    network = skeleton("Jamba", attn_layer_period=2, attn_layer_offset=1, num_experts=2)
    assert len({type(block) for block in network.layers}) == 2
    (stack,) = find_stacks(network, trace(network))
    assert (stack.blocks, stack.final_norm) == (("layers.0", "layers.1"), "final_layernorm")


def test_a_tower_that_reads_no_text_is_no_stack() -> None:
    from torch import nn

    tower = nn.ModuleList(nn.Sequential(nn.LayerNorm(4)) for _ in range(9))
    network = skeleton("Llama")
    network.image_tower = tower
    assert len(find_stacks(network)[0].blocks) == 9
    (stack,) = find_stacks(network, trace(network))
    assert stack.blocks == ("layers.0", "layers.1")


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("Albert", {}, "AlbertModel does not call each of its blocks once"),
        ("XLM", {"emb_dim": 32, "n_layers": 2, "n_heads": 4}, "XLMModel has no lists of blocks"),
    ],
)
def test_networks_without_a_block_for_every_layer(
    name: str, changes: dict[str, Any], message: str
) -> None:
    network = skeleton(name, **changes)
    with pytest.raises(DataError, match=message):
        find_stacks(network, trace(network))


def test_two_stacks_that_cannot_be_told_apart() -> None:
    network = torch.nn.Module()
    for side in ("left", "right"):
        blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.LayerNorm(4)) for _ in range(2))
        setattr(network, side, blocks)
    with pytest.raises(DataError, match="Module has 2 lists of blocks"):
        find_stacks(network)
