"""Rajaee & Pilehvar (2021): sets of sentence pairs, whole or as many pairs of each as wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from isoscope.data.sampling import lowest_indices
from isoscope.errors import UsageError
from isoscope.tasks.problems.pairs import SentenceSimilarity
from isoscope.tasks.registry import find_task
from isoscope.verbs.study.papers import rajaee2021 as paper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.models.model import Model
    from isoscope.tasks.registry import TextPair
    from isoscope.verbs.study.registry import Request


@dataclass(frozen=True)
class SomePairs(SentenceSimilarity):
    """A set of which some pairs are drawn at random, in their order.

    Attributes
    ----------
    most : int
        Pairs at most.
    seed : int
        Of the draw.
    """

    most: int = field(kw_only=True)
    seed: int = field(kw_only=True)

    def load(self, folder: Path | None, parts: Sequence[str] | None = None) -> list[TextPair]:
        """Read the pairs that are drawn."""
        pairs = super().load(folder, parts)
        return [pairs[place] for place in lowest_indices(len(pairs), self.most, self.seed)]


def similarity_sets(request: Request) -> list[SentenceSimilarity]:
    """Return the seven sets, or a draw from each of them."""
    found = []
    for name in paper.SIMILARITY_SETS:
        task = find_task(name)
        assert isinstance(task, SentenceSimilarity)
        if request.sample is not None:
            known = {one.name: getattr(task, one.name) for one in fields(task)}
            task = SomePairs(**known, most=request.sample, seed=request.seed)
        found.append(task)
    return found


# Tokens of a cluster for each dimension, at least. The largest principal components of noise hold
# (1 + √(d / n))² times their share of the dimensions (Marchenko & Pastur 1967): 4 times with as
# many tokens as dimensions, 7.5 times with a third of them, and 30 times with a twentieth, where
# removing a dozen of them leaves little of a cluster, whatever the model.
FEWEST = 1 / 3


def check_sample(request: Request, model: Model, name: str, tokens: int) -> None:
    """Refuse a sample with too few tokens for the clusters whose directions are removed."""
    settings = paper.settings_of(name)
    dimension = int(model.config.get_text_config().hidden_size)
    needed = math.ceil(FEWEST * settings.clusters * dimension)
    if request.sample is not None and tokens < needed:
        # A tenth more, as texts differ in length, and rounded up: it is a number to type.
        enough = math.ceil(1.1 * request.sample * needed / max(tokens, 1) / 50) * 50
        raise UsageError(
            f"--sample {request.sample} gives {tokens:,} tokens; the directions of "
            f"{settings.clusters} clusters in {dimension} dimensions take {needed:,} at least: try "
            f"--sample {enough}"
        )


def count_tokens(model: Model, texts: Sequence[str]) -> int:
    """Count the tokens of texts, without those that the tokenizer adds."""
    found = model.tokenizer(list(texts), add_special_tokens=False, verbose=False)
    return sum(map(len, found["input_ids"]))


def pairs_read(request: Request, name: str) -> str:
    """Say which pairs of a set, or of every set, are read."""
    if request.sample is None:
        return f"all pairs of {name}"
    return f"at most {request.sample:,} pairs of {name}, drawn at random (seed {request.seed})"
