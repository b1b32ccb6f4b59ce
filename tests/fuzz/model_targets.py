"""Targets: configurations, tokenizers, weights and sentence pipelines of models."""

from __future__ import annotations

import io
import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import safetensors.numpy

from fuzz.mutations import Files, changed_json, changed_safetensors
from fuzz.target import Target
from isoscope.models.model import read_config, read_tokenizer
from isoscope.models.sentences.sentence_pipeline import PipelineReader
from isoscope.models.sources import Source
from isoscope.models.weights.weight_files import (
    PickleFiles,
    SafetensorsFiles,
    check_whole,
    open_gguf,
    quantisation_of,
)


def source(folder: Path) -> Source:
    return Source("mine", "mine", folder)


BERT = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8, "vocab_size": 30,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "max_position_embeddings": 16, "id2label": {"0": "a", "1": "b"}, "dtype": "float32",
}  # fmt: skip
GPT = {"model_type": "gpt2", "n_embd": 8, "n_layer": 2, "n_head": 2, "vocab_size": 30,
       "quantization_config": {"quant_method": "gptq", "bits": 4}}  # fmt: skip
ROPE = {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "torch_dtype": "bfloat16",
        "rope_scaling": {"rope_type": "linear", "factor": 2.0}}  # fmt: skip


def config_seeds() -> list[Files]:
    return [{"config.json": json.dumps(one).encode()} for one in (BERT, GPT, ROPE)]


def read_configuration(folder: Path) -> object:
    return type(read_config(source(folder))).__name__


def tokenizer_seeds() -> list[Files]:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "a", "b"]
    made = Tokenizer(models.WordPiece({w: k for k, w in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]",
             "cls_token": "[CLS]", "sep_token": "[SEP]", "model_max_length": 16}  # fmt: skip
    return [{
        "config.json": json.dumps(BERT).encode(),
        "tokenizer.json": made.to_str().encode(),
        "tokenizer_config.json": json.dumps(about).encode(),
    }]  # fmt: skip


def read_tokens(folder: Path) -> object:
    tokenizer = read_tokenizer(source(folder))
    found = tokenizer(["the cats", ""], return_offsets_mapping=True)
    return f"{len(found['input_ids'])} {min(len(tokenizer), 12)}"


TENSORS = {"embeddings.weight": np.ones((6, 4), "f4"), "b.bias": np.zeros(4, "f2")}


def weight_seeds() -> list[Files]:
    index = {"metadata": {"total_size": 104}, "weight_map": dict.fromkeys(TENSORS, "a.safetensors")}
    content = safetensors.numpy.save(TENSORS)
    return [
        {"model.safetensors": content},
        {"model.safetensors.index.json": json.dumps(index).encode(), "a.safetensors": content},
    ]


def read_weights(folder: Path) -> object:
    files = SafetensorsFiles(folder, "mine")
    for path in folder.glob("*.safetensors"):
        check_whole(path)
    read = 0
    for name in files.names[:4]:
        shape = files.shape(name)
        if np.prod(shape, dtype=float) < 1e6:
            read += files.array(name).shape == shape
            sum(map(len, files.pieces(name)))
    return f"{len(files.names)} {read}"


@cache
def pickled() -> bytes:
    import torch

    file = io.BytesIO()
    torch.save({name: torch.from_numpy(array) for name, array in TENSORS.items()}, file)
    return file.getvalue()


def read_pickle(folder: Path) -> object:
    files = PickleFiles(folder, "mine")
    return sum(1 for name in files.names if files.array(name).shape == files.shape(name))


def gguf_seeds() -> list[Files]:
    import gguf

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_block_count(1)
        writer.add_embedding_length(4)
        writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
        writer.add_tensor("token_embd.weight", np.ones((6, 4), np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return [{"x.gguf": path.read_bytes()}]


def read_gguf(folder: Path) -> object:
    path = folder / "x.gguf"
    return f"{quantisation_of(path)} {len(open_gguf(path).tensors)}"


def pipeline_seeds() -> list[Files]:
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {
            "idx": 1,
            "name": "1",
            "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
        {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
        {"idx": 3, "name": "3", "path": "3_N", "type": "sentence_transformers.models.Normalize"},
    ]
    dense = {"linear.weight": np.ones((3, 8), "f4"), "linear.bias": np.zeros(3, "f4")}
    pooling = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True}
    settings = {
        "in_features": 8, "out_features": 3, "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }  # fmt: skip
    parts = {
        "config_sentence_transformers.json": {"prompts": {"query": "query: "}, "model_type":
                                              "SentenceTransformer"},
        "sentence_bert_config.json": {"max_seq_length": 16, "do_lower_case": False},
        "1_Pooling/config.json": pooling,
        "2_Dense/config.json": settings,
        "modules.json": modules,
    }  # fmt: skip
    files = {name: json.dumps(one).encode() for name, one in parts.items()}
    newer = {
        **files,
        "1_Pooling/config.json": b'{"embedding_dimension": 8, "pooling_mode": ["mean"]}',
        "sentence_bert_config.json": json.dumps({
            "transformer_task": "feature-extraction", "processor_kwargs": {"model_max_length": 9},
            "modality_config": {"text": {"method": "forward"}},
        }).encode(),
    }  # fmt: skip
    return [{**one, "2_Dense/model.safetensors": safetensors.numpy.save(dense)}
            for one in (files, newer)]  # fmt: skip


@cache
def bert_config() -> object:
    from transformers import BertConfig

    return BertConfig(**{key: one for key, one in BERT.items() if key != "model_type"})


def read_sentences(folder: Path) -> object:
    pipeline = PipelineReader(source(folder), bert_config()).read()
    return f"{pipeline.dimension(8)} {str(pipeline)[:40]}"


JSON = {".json": changed_json, ".safetensors": changed_safetensors}
TARGETS = [
    Target("config.json", config_seeds, read_configuration, JSON, ("transformers",), 30),
    Target("tokenizer", tokenizer_seeds, read_tokens, JSON, ("transformers",), 12),
    Target("weights .safetensors", weight_seeds, read_weights, JSON),
    Target("weights .bin", lambda: [{"pytorch_model.bin": pickled()}], read_pickle, {},
           ("torch",), 60),
    Target("GGUF", gguf_seeds, read_gguf, {}, ("gguf",), 60),
    Target("sentence pipeline", pipeline_seeds, read_sentences, JSON, ("torch", "transformers")),
]  # fmt: skip
