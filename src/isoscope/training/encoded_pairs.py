"""Pairs of texts as tokens: what an encoder-decoder reads, and what it should write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from isoscope.errors import UsageError
from isoscope.training.language_codes import decoder_start, set_languages
from isoscope.training.pair_data import PairData, hold_out
from isoscope.training.pair_tasks import pair_data

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.models.model import Model
    from isoscope.training.pair_data import WrittenPair
    from isoscope.training.run import Run


Part = Literal["test", "dev"]
HELD_OUT = 10
"""One in so many training pairs is scored where settings are chosen and there is no dev part."""


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs of a run as lists of tokens, ready for a collator.

    Attributes
    ----------
    train, scored : list of dict
        Tokens of the source (``input_ids``, ``attention_mask``) and of the target (``labels``).
    references : tuple of str
        What should be written for each text that is scored, uncut.
    notes : tuple of str
        About the data.
    start : dict
        How the decoder begins, where the language of the target decides it.
    """

    train: list[dict[str, Any]]
    scored: list[dict[str, Any]]
    references: tuple[str, ...]
    notes: tuple[str, ...]
    start: dict[str, int]


def encoded_pairs(run: Run, part: Part = "test") -> EncodedPairs:
    """Return the pairs of a run; runs of one task share them."""
    settings = run.settings
    most = run.model.longest or max(settings.longest, settings.longest_target)
    lengths = min(settings.longest, most), min(settings.longest_target, most)
    return _encoded(run.model, run.task, run.data, lengths, settings.limit, part)


@lru_cache(maxsize=2)
def _encoded(
    model: Model,
    task: str,
    data: Path | None,
    lengths: tuple[int, int],
    limit: int | None,
    part: Part,
) -> EncodedPairs:
    if not model.is_seq2seq:
        raise UsageError(
            f"{model.name} has no encoder and decoder: {task} needs a model such as BART or mBART"
        )
    found = pair_data(task, data)
    if part == "dev":
        found = with_dev_scored(found, task)
    tokenizer = model.tokenizer
    code = set_languages(tokenizer, found.languages)
    scored = tokens_of(tokenizer, found.scored, lengths)
    marked = None if code is None else int(tokenizer.convert_tokens_to_ids(code))
    return EncodedPairs(
        tokens_of(tokenizer, found.first(limit), lengths),
        scored,
        tuple(pair.target for pair in found.scored),
        found.notes,
        decoder_start(scored[0]["labels"], marked),
    )


def with_dev_scored(found: PairData, task: str) -> PairData:
    """Put the dev part, or else the end of the training pairs, in the place of the test set."""
    train, scored = (found.train, found.dev) if found.dev else hold_out(found.train, HELD_OUT, task)
    return PairData(train, scored, (), found.notes, found.languages)


def tokens_of(
    tokenizer: Any, pairs: Sequence[WrittenPair], lengths: tuple[int, int]
) -> list[dict[str, Any]]:
    """Cut both texts of every pair into tokens."""
    sources = tokenizer([pair.source for pair in pairs], truncation=True, max_length=lengths[0])
    targets = tokenizer(
        text_target=[pair.target for pair in pairs], truncation=True, max_length=lengths[1]
    )
    names = ("input_ids", "attention_mask")
    return [
        {name: sources[name][k] for name in names} | {"labels": targets["input_ids"][k]}
        for k in range(len(pairs))
    ]
