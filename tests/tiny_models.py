"""Tiny transformers with random weights, one for each architecture, saved as people save them.

Every LayerNorm and RMSNorm gets a gain and a bias of its own, so that leaving one out, or taking
one for another, changes numbers. Norms are not the only parameters that begin as constants: biases
of linear layers are left at zero.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

# A file of tests that imports this one skips where they are missing.
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

HIDDEN = 32
LAYERS = 3
HEADS = 4
INNER = 48
POSITIONS = 40
"""Number of positions that the tables and the rotary models have."""

PADDED_ROWS = 16
"""Rows of GPT-NeoX's embedding matrix beyond its tokenizer's vocabulary, as Pythia has them."""

WORDS = (
    "the a of and in is was it on that cat dog bird tree river bank money boat sat ran flew saw "
    "big small old new red green ##s ##ed ##ing ##er ##ly"
)
LETTERS = [*"abcdefghijklmnopqrstuvwxyz", *".,!?"]

SHAPE = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INNER,
}
SIDES = {
    "d_model": HIDDEN,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS - 1,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": INNER,
    "decoder_ffn_dim": INNER,
    "max_position_embeddings": POSITIONS,
}

ARCHITECTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("Bert", "ForMaskedLM", {**SHAPE, "max_position_embeddings": POSITIONS}),
    "roberta": ("Roberta", "ForMaskedLM", {**SHAPE, "max_position_embeddings": POSITIONS + 2}),
    "distilbert": (
        "DistilBert",
        "ForMaskedLM",
        {
            "dim": HIDDEN,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "hidden_dim": INNER,
            "max_position_embeddings": POSITIONS,
        },
    ),
    "mpnet": ("MPNet", "ForMaskedLM", {**SHAPE, "max_position_embeddings": POSITIONS + 2}),
    "gpt2": (
        "GPT2",
        "LMHeadModel",
        {"n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_positions": POSITIONS},
    ),
    "gpt-neox": (
        "GPTNeoX",
        "ForCausalLM",
        {**SHAPE, "max_position_embeddings": POSITIONS, "tie_word_embeddings": False},
    ),
    "opt": (
        "OPT",
        "ForCausalLM",
        {
            "hidden_size": HIDDEN,
            "word_embed_proj_dim": HIDDEN,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "ffn_dim": INNER,
            "max_position_embeddings": POSITIONS,
        },
    ),
    "falcon": (
        "Falcon",
        "ForCausalLM",
        {
            "hidden_size": HIDDEN,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "max_position_embeddings": POSITIONS,
        },
    ),
    "llama": (
        "Llama",
        "ForCausalLM",
        {**SHAPE, "max_position_embeddings": POSITIONS, "tie_word_embeddings": True},
    ),
    "bart": ("Bart", "ForConditionalGeneration", SIDES),
    "mbart": ("MBart", "ForConditionalGeneration", SIDES),
    "t5": (
        "T5",
        "ForConditionalGeneration",
        {
            "d_model": HIDDEN,
            "d_kv": HIDDEN // HEADS,
            "d_ff": INNER,
            "num_layers": LAYERS,
            "num_decoder_layers": LAYERS - 1,
            "num_heads": HEADS,
        },
    ),
}
"""Names of classes in transformers, and what makes them small."""

WORD_PIECES = ("bert", "distilbert", "mpnet")


def save_tiny_model(architecture: str, folder: Path, seed: int = 0) -> Path:
    """Make the model of an architecture and its tokenizer, and save both in a folder."""
    prefix, suffix, shape = ARCHITECTURES[architecture]
    tokenizer = word_pieces(architecture) if architecture in WORD_PIECES else byte_pairs()
    spare = PADDED_ROWS if architecture == "gpt-neox" else 0
    special = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id or tokenizer.cls_token_id,
        "eos_token_id": tokenizer.eos_token_id or tokenizer.sep_token_id,
    }
    if suffix == "ForConditionalGeneration":
        special["decoder_start_token_id"] = special["eos_token_id"]
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=len(tokenizer) + spare, **shape, **special
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = getattr(transformers, prefix + suffix)(config)
        randomise_norms(network)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def randomise_norms(network: torch.nn.Module) -> None:
    """Give every norm a gain around one and a bias around zero."""
    for module in network.modules():
        if "norm" in type(module).__name__.lower():
            for name, values in module.named_parameters(recurse=False):
                with torch.no_grad():
                    values.copy_(0.3 * torch.randn(values.shape) + (name == "weight"))


def word_pieces(architecture: str) -> transformers.PreTrainedTokenizerFast:
    """Make a tokenizer of words, pieces and letters, with BERT's special tokens and unused rows."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if architecture == "mpnet":  # whose padding is always the second row
        special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    unused = [f"[unused{k}]" for k in range(10)]
    letters = [*LETTERS, *(f"##{letter}" for letter in LETTERS if letter.isalpha())]
    rows = dict.fromkeys([*special, *unused, *WORDS.split(), *letters])
    tokenizer = Tokenizer(
        models.WordPiece({piece: k for k, piece in enumerate(rows)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, special.index(token)) for token in ("[CLS]", "[SEP]")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def byte_pairs() -> transformers.PreTrainedTokenizerFast:
    """Make a tokenizer of byte pairs with a few merges, which keeps spaces with the next word."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bytes_seen = ["Ġ", "Ċ", *LETTERS, *"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *"0123456789"]
    merges = [("Ġ", "t"), ("Ġt", "h"), ("Ġth", "e"), ("Ġ", "c"), ("Ġc", "a"), ("Ġca", "t")]
    merges += [("i", "n"), ("in", "g"), ("Ġ", "a")]
    rows = dict.fromkeys([*special, *bytes_seen, *("".join(pair) for pair in merges)])
    tokenizer = Tokenizer(
        models.BPE({piece: k for k, piece in enumerate(rows)}, merges, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B </s>",
        special_tokens=[(token, special.index(token)) for token in ("<s>", "</s>")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def save_tiny_gguf(folder: Path, path: Path, kind: str = "Q8_0") -> Path:
    """Write a tiny LLaMA that is saved in a folder as a GGUF file, its matrices quantised."""
    import gguf

    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind}"])
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(tokenizer))
    rows = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    merges = json.loads((folder / "tokenizer.json").read_text())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([token for token, _ in rows])
    writer.add_token_types([3 if row < 5 else 1 for _, row in rows])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, values in model.state_dict().items():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        array = values.numpy()
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            # The format keeps the two halves of a rotated pair side by side.
            halves = array.reshape(HEADS, 2, HIDDEN // HEADS // 2, HIDDEN)
            array = halves.swapaxes(1, 2).reshape(array.shape)
        stored = names.get_name(name, try_suffixes=(".weight",))
        wanted = gguf.GGMLQuantizationType[
            kind if array.ndim == 2 and array.shape[1] % 32 == 0 else "F32"
        ]
        writer.add_tensor(stored, gguf.quants.quantize(array, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def without_head(folder: Path, copy: Path) -> Path:
    """Copy a saved model without its head's weights, which the configuration goes on naming."""
    import shutil

    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, copy)
    stored = load_file(copy / "model.safetensors")
    kind = transformers.AutoConfig.from_pretrained(copy)
    with torch.device("meta"):
        base = transformers.AutoModel.from_config(kind)
    prefix = f"{base.base_model_prefix}."
    kept = {name.removeprefix(prefix): tensor for name, tensor in stored.items()}
    kept = {name: tensor for name, tensor in kept.items() if name in base.state_dict()}
    assert len(kept) < len(stored)
    save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
    return copy
