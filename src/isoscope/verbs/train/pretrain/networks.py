"""Networks with random weights, of the architecture that a plan asks for.

Masked tokens: BERT; with rotary positions RoFormer, which is BERT but for these. Next tokens:
GPT-2; with rotary positions GPT-NeoX with sequential blocks, which is GPT-2 but for these.
Positions that are not learned, and a bias that is none, are tensors that never change: the files
that come out are those of stock architectures. Only an RMSNorm before the output matrix needs
classes of its own, see ``isoscope.models.structure.rms_variants``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from isoscope.models.runtime import quietly
from isoscope.models.structure.rms_variants import final_norm_path, rms_classes, stock_classes
from isoscope.verbs.train.pretrain.plan import Plan, Size

# Deviation of random weights, as all four architectures have it.
INITIAL = 0.02

# GPT-2's own function (gelu_new), computed in one pass.
GPT2_ACTIVATION = "gelu_pytorch_tanh"


@dataclass(frozen=True)
class Reader:
    """A network in three parts: hidden states, what the output matrix reads, logits."""

    network: Any

    def hidden(self, tokens: Tensor) -> Tensor:
        """Return the last hidden states of texts: texts × tokens × width."""
        found: Tensor = self.network.base_model(input_ids=tokens)[0]
        return found

    def read(self, hidden: Tensor) -> Tensor:
        """Return what the output matrix reads of hidden states; BERT has a layer before it."""
        head = getattr(self.network, "cls", None)
        found: Tensor = hidden if head is None else head.predictions.transform(hidden)
        return found

    def logits(self, read: Tensor) -> Tensor:
        """Return the outputs for every token of the vocabulary."""
        found: Tensor = self.output(read)
        return found

    @property
    def output(self) -> nn.Linear:
        """The map to the vocabulary."""
        layer: nn.Linear = self.network.get_output_embeddings()
        return layer


def make_network(plan: Plan, tokenizer: Any) -> Any:
    """Make a network with random weights; the same plan and seed give the same ones.

    Parameters
    ----------
    plan : Plan
        What is asked for.
    tokenizer : PreTrainedTokenizerFast
        Its vocabulary and special tokens.
    """
    kind = architecture(plan)
    rms = plan.final_norm == "rmsnorm"
    config_class, _, head_class = rms_classes(kind) if rms else stock_classes(kind)
    config = config_class(**shape_options(kind, plan.shape), **common_options(plan, tokenizer))
    with torch.random.fork_rng(), quietly():
        torch.manual_seed(plan.seed)
        network = head_class(config)
    if kind == "gpt_neox":
        scale_as_gpt2(network)
    if plan.positions in ("none", "sinusoidal"):  # which never change
        table = position_table(network)
        freeze(table, 0.0 if plan.positions == "none" else sinusoids(*table.shape))
    if plan.final_norm == "layernorm-no-bias":
        freeze(network.get_submodule(final_norm_path(network)).bias, 0.0)
    return network


def architecture(plan: Plan) -> str:
    """Return the kind of network that a plan asks for."""
    if plan.objective == "mlm":
        return "roformer" if plan.positions == "rotary" else "bert"
    return "gpt_neox" if plan.positions == "rotary" else "gpt2"


def common_options(plan: Plan, tokenizer: Any) -> dict[str, Any]:
    """Return what all configurations call the same."""
    return {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": plan.tie,
        "initializer_range": INITIAL,
    }


SHAPE = ("width", "layers", "heads", "feed_forward", "context")
USUAL_NAMES = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings",
)  # fmt: skip

# Fields of a size, and what configurations call them: all but GPT-2 the same.
GPT2_NAMES = ("n_embd", "n_layer", "n_head", "n_inner", "n_positions")

# What configurations call the share of dropped numbers.
DROPOUTS = {
    "bert": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "roformer": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "gpt2": ("resid_pdrop", "embd_pdrop", "attn_pdrop"),
    "gpt_neox": ("hidden_dropout", "attention_dropout"),
}

ALL_TURNED = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 1.0}

# What is the same in every size.
FIXED: dict[str, dict[str, Any]] = {
    "gpt2": {"activation_function": GPT2_ACTIVATION},
    "gpt_neox": {
        "hidden_act": GPT2_ACTIVATION,
        "use_parallel_residual": False,
        "rope_parameters": ALL_TURNED,  # all dimensions of a head are turned
    },
}


def shape_options(kind: str, shape: Size) -> dict[str, Any]:
    """Return a size as the configuration of a kind of network takes it."""
    names = GPT2_NAMES if kind == "gpt2" else USUAL_NAMES
    found = {option: getattr(shape, field) for option, field in zip(names, SHAPE, strict=True)}
    if kind == "roformer":  # whose embeddings may be narrower than its blocks
        found["embedding_size"] = shape.width
    return {**found, **dict.fromkeys(DROPOUTS[kind], shape.dropout), **FIXED.get(kind, {})}


def scale_as_gpt2(network: Any) -> None:
    """Make what blocks add to their input 1/√(2 · blocks) times as large, as GPT-2 begins."""
    blocks = network.base_model.layers
    with torch.no_grad():
        for block in blocks:
            for layer in (block.attention.dense, block.mlp.dense_4h_to_h):
                layer.weight.div_(math.sqrt(2 * len(blocks)))


def position_table(network: Any) -> nn.Parameter:
    """Return the table of positions of BERT or GPT-2."""
    base = network.base_model
    found: nn.Parameter = (
        base.wpe if hasattr(base, "wpe") else base.embeddings.position_embeddings
    ).weight
    return found


def sinusoids(count: int, width: int) -> Tensor:
    """Return sin and cos of places at falling frequencies, at the scale of random embeddings.

    Vaswani et al. (2017), section 3.5; √2 · 0.02 times theirs, so that a row is as long as a
    learned one at the start.
    """
    places = torch.arange(count, dtype=torch.float64)[:, None]
    rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10_000) / width))
    table = torch.zeros(count, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(places * rates)
    table[:, 1::2] = torch.cos(places * rates[: width // 2])
    return (INITIAL * math.sqrt(2) * table).float()


def freeze(parameter: nn.Parameter, value: float | Tensor) -> None:
    """Set a parameter, and let it never change."""
    with torch.no_grad():
        parameter.copy_(torch.as_tensor(value).expand_as(parameter))
    parameter.requires_grad_(False)
