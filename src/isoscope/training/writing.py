"""What a trained encoder-decoder writes, and its hidden states while it is told what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import DataCollatorForSeq2Seq, GenerationConfig

from isoscope.training.targets import NO_TOKEN, hidden_states

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.training.settings import Settings

AT_ONCE = 64


def pair_collator(tokenizer: Any) -> Any:
    """Return what makes a batch of pairs, each side as long as its longest text."""
    return DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=NO_TOKEN)


def generation_settings(network: Any, settings: Settings, start: dict[str, int]) -> Any:
    """Return how texts are written: the likeliest beam, and nothing that a checkpoint adds.

    Checkpoints bring lengths, penalties and beams of their own, with which runs of two models
    would differ in more than their weights.
    """
    config, own = network.config, network.generation_config
    positions = getattr(config, "max_position_embeddings", None) or settings.longest_target + 1
    wanted = {
        "max_new_tokens": min(settings.longest_target, positions - 1),
        "num_beams": settings.beams,
        "do_sample": False,
        "pad_token_id": config.pad_token_id,
        "bos_token_id": own.bos_token_id,
        "eos_token_id": own.eos_token_id,
        "decoder_start_token_id": own.decoder_start_token_id,
    }
    return GenerationConfig(**{**wanted, **start})  # type: ignore[no-untyped-call]


def write_texts(
    network: Any, tokenizer: Any, examples: Sequence[dict[str, Any]], how: Any
) -> list[str]:
    """Return what a network writes for every example."""
    network.eval()
    written: dict[int, str] = {}
    for places, batch in batches(network, tokenizer, examples):
        batch.pop("labels")
        with torch.inference_mode():
            tokens = network.generate(**batch, generation_config=how)
        texts = tokenizer.batch_decode(tokens, skip_special_tokens=True)
        written.update(zip(places, (text.strip() for text in texts), strict=True))
    return [written[k] for k in range(len(examples))]


def decoder_states(
    network: Any, tokenizer: Any, examples: Sequence[dict[str, Any]], most: int, seed: int
) -> np.ndarray:
    """Return the decoder's last hidden states at some tokens, when it reads the references.

    Parameters
    ----------
    network, tokenizer
        The model.
    examples : sequence of dict
        What is scored.
    most : int
        Tokens at most; which of them is drawn with the seed.
    seed : int
        Of the draw.
    """
    network.eval()
    total = sum(len(example["labels"]) for example in examples)
    drawn = np.zeros(total, bool)
    drawn[np.random.default_rng(seed).permutation(total)[:most]] = True
    states, first = [], 0
    for _, batch in batches(network, tokenizer, examples):
        with torch.inference_mode():
            found = hidden_states(network(**batch, output_hidden_states=True))
        rows = found[batch["labels"] != NO_TOKEN]
        kept = torch.from_numpy(drawn[first : first + len(rows)]).to(rows.device)
        states.append(rows[kept].float().cpu().numpy())
        first += len(rows)
    return np.concatenate(states)


def batches(
    network: Any, tokenizer: Any, examples: Sequence[dict[str, Any]]
) -> Iterator[tuple[list[int], Any]]:
    """Give out examples of like lengths together, with their places."""
    collate = pair_collator(tokenizer)
    order = sorted(range(len(examples)), key=lambda k: len(examples[k]["input_ids"]))
    for first in range(0, len(order), AT_ONCE):
        places = order[first : first + AT_ONCE]
        yield places, collate([dict(examples[k]) for k in places]).to(network.device)
