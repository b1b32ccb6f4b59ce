"""A small encoder-decoder that starts from scratch, for machines without a hub.

``made:bart`` is a BART with random weights, and a tokenizer of byte pairs that learns its
vocabulary from the training texts of the task. It has BART's special tokens in BART's rows, and is
saved as any model is.

BART's weights begin with a standard deviation of 0.02, which suits a width of 1,024: there, it is
close to 1/√width. A narrow network needs larger ones, or its attention sees no difference between
words for most of a short training, and every source gets the same translation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from isoscope.errors import UsageError, check_name
from isoscope.models.runtime import library, quietly
from isoscope.verbs.train.finetune.generation import is_pair_task, pair_data

PREFIX = "made:"
NAMES = ("bart",)

# Of the random weights: all runs start from the same ones, as from a checkpoint.
SEED = 0

VOCABULARY = 2_000
WIDTH = 128
LAYERS = 2
SHAPE: dict[str, Any] = {
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 256,
    "decoder_ffn_dim": 256,
    "max_position_embeddings": 1_024,
    "dropout": 0.0,
    "init_std": 1 / math.sqrt(WIDTH),
}
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def resolve_made_model(
    name: str, task: str, data: str | Path | None, limit: int | None, folder: Path
) -> Path | None:
    """Make the model that a name such as ``made:bart`` asks for; None for any other name.

    Parameters
    ----------
    name : str
        As the user wrote it.
    task : str
        Its training texts give the vocabulary.
    data : str or Path, optional
        The user's data folder.
    limit : int, optional
        How many pairs are learned from; the vocabulary sees no others.
    folder : Path
        The model is saved in a folder inside of it.
    """
    if not name.startswith(PREFIX):
        return None
    kind = name.removeprefix(PREFIX)
    check_name("made model", kind, NAMES)
    if not is_pair_task(task):
        raise UsageError(f"{name} writes texts: it is for translate and summarize, not for {task}")
    pairs = pair_data(task, data).first(limit)
    return make_small_bart((text for pair in pairs for text in pair), folder / f"made-{kind}")


def make_small_bart(texts: Iterable[str], folder: Path, seed: int = SEED) -> Path:
    """Make a tokenizer from texts and a BART with random weights, and save both in a folder.

    The same texts and seed give the same files.
    """
    torch, transformers = library("torch"), library("transformers")
    tokenizer = byte_pair_tokenizer(texts)
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=True,
        **SHAPE,
    )
    # The generator of the caller goes on as if nothing had been drawn here.
    with torch.random.fork_rng(), quietly():
        torch.manual_seed(seed)
        network = transformers.BartForConditionalGeneration(config)
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def byte_pair_tokenizer(
    texts: Iterable[str],
    vocabulary: int = VOCABULARY,
    longest: int = SHAPE["max_position_embeddings"],
) -> Any:
    """Learn a vocabulary of byte pairs: it can write any text, and ties are settled by order.

    Parameters
    ----------
    texts : iterable of str
        What the vocabulary is learned from.
    vocabulary : int
        Tokens at most; a small text has fewer pairs to offer.
    longest : int
        Tokens of a text that a model takes.
    """
    transformers, tokenizers = library("transformers"), library("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    learned = tokenizers.Tokenizer(tokenizers.models.BPE())
    learned.pre_tokenizer = byte_level(add_prefix_space=True)
    learned.decoder = tokenizers.decoders.ByteLevel()
    learned.train_from_iterator(
        texts,
        tokenizers.trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=list(SPECIAL),
            initial_alphabet=sorted(byte_level.alphabet()),
            show_progress=False,
        ),
    )
    begin, _, end, *_ = SPECIAL
    learned.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B {end}",
        special_tokens=[(token, SPECIAL.index(token)) for token in (begin, end)],
    )
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=learned,
        model_max_length=longest,
        clean_up_tokenization_spaces=False,
        **dict(zip(names, SPECIAL, strict=True)),
    )
