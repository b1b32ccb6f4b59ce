"""Luo (2021): dimensions that are the minimum or the maximum of nearly all vectors of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.estimates import LEVEL, wilson
from isoscope.compute.stats.jackknife import BLOCKS, FEWEST_IN_BLOCK
from isoscope.models.layer_names import numbered_layers
from isoscope.models.token_table import ReadLayers, read_layers
from isoscope.results.fields import BLOCKS as BLOCKS_FIELD
from isoscope.results.fields import REPLICATES
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.study.inputs import SST_2, per_model, some_texts
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.evidence import TRIALS
from isoscope.verbs.study.judgement.replicates import with_replicates
from isoscope.verbs.study.judgement.scope import is_called
from isoscope.verbs.study.reference import Column, printed_numbers, printed_table
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.measures.reads.moments import Moments
    from isoscope.models.model import Model

    # How often each dimension is the minimum, and the maximum.
    Counts = tuple[NDArray[np.int64], NDArray[np.int64]]


BERT = "BERT-base|bert-base-cased|BERT"
ROBERTA = "RoBERTa-base|RoBERTa"
MODELS = (
    BERT,
    ROBERTA,
    "BERT-distil|distilbert-base-cased",
    "RoBERTa-distil|distilroberta-base",
    "BERT-large|bert-large-cased",
    "RoBERTa-large",
)
# Dimension of the paper's models; 768 for the others.
WIDTHS = {"BERT-large": 1_024, "RoBERTa-large": 1_024}

# As many as the paper drew from each of its two corpora.
SENTENCES = 10_000

LARGEST_MEANS = 8
MINIMUM, MAXIMUM = "largest_share_as_minimum", "largest_share_as_maximum"
POOLED = "non-input layers"
INPUT = {"part": "layer 0"}


@dataclass(frozen=True)
class SentencePairs:
    """Disjoint random pairs of sentences, dealt into blocks.

    Attributes
    ----------
    first, second : array
        Numbers of the two sentences of every pair.
    of_pairs, blocks : array
        The block of every pair, and of every sentence.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    of_pairs: NDArray[np.intp]
    blocks: NDArray[np.intp]

    @classmethod
    def of(cls, sentences: int, seed: int) -> SentencePairs:
        """Draw pairs, and deal them."""
        order = np.random.default_rng(seed).permutation(sentences)
        count = sentences // 2
        first, second = order[:count], order[count : 2 * count]
        of_pairs = np.arange(count, dtype=np.intp) % BLOCKS
        blocks = np.zeros(sentences, np.intp)
        blocks[first] = blocks[second] = of_pairs
        return cls(first, second, of_pairs, blocks)

    @property
    def are_enough(self) -> bool:
        """Whether a block has pairs enough to be left out."""
        return len(self.first) >= FEWEST_IN_BLOCK * BLOCKS

    @property
    def label(self) -> str:
        """What the blocks are."""
        return f"{BLOCKS} blocks of {len(self.first):,} pairs of sentences"


def printed_dimensions(subject: str, width: int, layer: int | None = None) -> list[int]:
    """Return the outlier dimensions that the paper names for a model, or for one of its layers.

    The numbers are taken to count from 0, as those of RoBERTa-base do in public code.
    """
    paper = next((names.split("|")[0] for names in MODELS if is_called(names, subject)), None)
    if paper is None or width != WIDTHS.get(paper, 768):
        return []
    return sorted(
        {
            int(row["dimension"])
            for row in printed_table("luo2021_outlier_dimensions")
            if row["model"] == paper
            and (layer is None or int(row["first_layer"]) <= layer <= int(row["last_layer"]))
        }
    )


def read_some(
    request: Request,
    model: Model,
    sentences: int = SENTENCES,
    *,
    scatter: bool = False,
    last: bool = False,
    blocks: bool = False,
) -> ReadLayers:
    """Read all layers of a model, or the last, over some sentences of the text.

    Special tokens are included. With ``blocks``, sums are also those of each block of sentences;
    both sentences of a random pair are in one block.
    """
    assert request.text is not None
    texts = some_texts(request.text, sentences, request.seed)
    dealt = SentencePairs.of(texts.survey().texts, request.seed).blocks if blocks else None
    return read_layers(
        model, texts, request.seed, special=True,
        scatter=scatter, blocks=dealt, progress=request.progress,
        layers=list(numbered_layers(model.stacks).values())[-1:] if last else None,
    )  # fmt: skip


@per_model
def figure_3_3(request: Request, model: Model, _: str) -> Result:
    """How often one dimension is the minimum or the maximum, and the mean vector of each layer."""
    read = read_some(request, model, blocks=True)
    counts = extreme_counts(read)
    rows = [replace(row, part=part) for part, both in counts.items() for row in share_rows(both)]
    if read.texts >= FEWEST_IN_BLOCK * BLOCKS:
        of = f"{BLOCKS} blocks of {read.texts:,} sentences"
        rows = with_replicates(rows, [list(left_rows(rows, read, k)) for k in range(BLOCKS)], of)
    rows = [replace(never_certain(row, read.texts), protocol=read.protocol) for row in rows]
    note = f"the {LARGEST_MEANS} largest entries of each layer's mean vector"
    return Result(rows, [Table("", "", "none", "mean_vectors", mean_entries(read), note)])


def never_certain(row: Row, sentences: int) -> Row:
    """Take a share that is the same without any block for one of independent sentences.

    A share of 0 or 1 of a sample is not one of all vectors. No share of a sentence's tokens varies
    more than one that is 0 or 1.
    """
    left = row.extra.get(REPLICATES)
    if row.value is None or left is None or max(left) > min(left):
        return row
    low, high = wilson(row.value, sentences, LEVEL)
    extra = {k: v for k, v in row.extra.items() if k not in (REPLICATES, BLOCKS_FIELD)}
    return replace(row, low=low, high=high, extra={**extra, TRIALS: sentences})


def left_rows(rows: Sequence[Row], read: ReadLayers, block: int) -> Iterator[Row]:
    """Yield the shares of the same dimensions without a block of sentences."""
    counts = extreme_counts(read, without=block)
    for row in rows:
        count = counts[row.part][0 if row.measure == MINIMUM else 1]
        total = int(count.sum())
        share = float(count[row.extra["dimension"]] / total) if total else None
        yield replace(row, value=share)


def extreme_counts(read: ReadLayers, without: int | None = None) -> dict[str, Counts]:
    """Count how often each dimension is minimum and maximum, in each layer and pooled.

    ``without`` leaves out a block of sentences.
    """
    counts = {part: of_moments(layer.moments) for part, layer in read.layers.items()}
    if without is not None:
        lost = {part: of_moments(layer.parts[without]) for part, layer in read.layers.items()}
        counts = {
            part: (both[0] - lost[part][0], both[1] - lost[part][1])
            for part, both in counts.items()
        }
    behind = [both for part, both in counts.items() if part != "layer 0"]
    lowest, highest = (np.sum([both[k] for both in behind], axis=0) for k in (0, 1))
    return {POOLED: (lowest, highest), **counts}


def of_moments(moments: Moments) -> Counts:
    """Return the counts of a layer."""
    assert moments.minimum_counts is not None
    assert moments.maximum_counts is not None
    return moments.minimum_counts, moments.maximum_counts


def share_rows(counts: Counts) -> list[Row]:
    """Name the dimension that is most often the minimum, and the one most often the maximum."""
    rows = []
    for measure, count in zip((MINIMUM, MAXIMUM), counts, strict=True):
        most, total = int(count.argmax()), int(count.sum())
        share = float(count[most] / total) if total else None
        rows.append(Row("", "", "none", measure, share, n=total, extra={"dimension": most}))
    return rows


def outlier_dimensions(read: ReadLayers, share: float) -> list[int]:
    """Return the dimensions that are an extreme in a share of the vectors of all layers pooled."""
    lowest, highest = extreme_counts(read)[POOLED]
    most = np.maximum(lowest, highest) / max(int(lowest.sum()), 1)
    return [int(k) for k in np.flatnonzero(most >= share)]


def mean_entries(read: ReadLayers) -> list[dict[str, str | int | float]]:
    """List the largest entries of every layer's mean vector."""
    found: list[dict[str, str | int | float]] = []
    for part, layer in read.layers.items():
        mean = layer.moments.mean
        largest = np.argsort(-np.abs(mean), kind="stable")[:LARGEST_MEANS]
        found += [{"layer": part, "dimension": int(k), "mean": float(mean[k])} for k in largest]
    return found


PRINTED_SHARES = partial(
    printed_numbers, "luo2021_outlier_dimensions",
    Column("share_of_vectors", ("{model}", POOLED, "none", "{extreme}")),
    names={"min": MINIMUM, "max": MAXIMUM},
)  # fmt: skip

add_study(
    "L-F3.3", figure_3_3,
    Claim("one dimension is the minimum in at least 95 % of BERT's vectors",
          {"measure": MINIMUM, "subject": BERT, "part": POOLED}, {}, ">=", 0.95),
    Claim("one dimension is the maximum in at least 99 % of RoBERTa's vectors",
          {"measure": MAXIMUM, "subject": ROBERTA, "part": POOLED}, {}, ">=", 0.99),
    Claim("another dimension is the minimum in at least 85 % of RoBERTa's vectors",
          {"measure": MINIMUM, "subject": ROBERTA, "part": POOLED}, {}, ">=", 0.85),
    models=MODELS, printed=PRINTED_SHARES, text=SST_2,
)  # fmt: skip
