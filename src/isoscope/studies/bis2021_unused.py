"""Biś et al. (2021), figure 3: tokens that were never used lie where rare tokens lie.

Unused tokens only ever moved away from what a model predicted, so that their direction is the
common one; the rarer a token is, the closer it stays to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.clouds.single import SingleCloud
from isoscope.errors import UsageError
from isoscope.results.measuring import versions
from isoscope.results.result import Result, Row
from isoscope.studies.bis2021 import PAPER
from isoscope.studies.claims import Claim
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.subjects import open_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.clouds.contract import Cloud

    Vector = NDArray[np.float64]
    Rows = NDArray[np.int64]

BIN = 1_000
FREQUENT, RARE = (2_000, 3_000), (28_500, 29_500)
"""The bins of which the paper prints the mean, in a vocabulary of about 30,000."""

MEASURE = "cosine_with_unused"
DIFFERENCE = f"{MEASURE}/rare_minus_frequent"

Range = tuple[int, int]


@dataclass(frozen=True)
class Bins:
    """Ids to look at: all in bins of a thousand, and the two that are compared."""

    every: tuple[Range, ...]
    frequent: Range | None
    rare: Range | None


def figure_3(request: Request) -> Result:
    """Mean cosine of unused tokens with the tokens of each bin, raw and centred."""
    rows: list[Row] = []
    for subject in request.subjects:
        group = open_vectors(subject, request.column)
        if len(group.names) != 1:
            raise UsageError(f"{subject.name} holds {len(group.names)} clouds; B-F3 looks at one")
        cloud = SingleCloud(group, group.names[0])
        mean, total, unused, how = first_look(cloud, request.last_unused)
        bins = choose_bins(total, unused, named=request.last_unused is None)
        ranges = list(dict.fromkeys([*bins.every, *filter(None, (bins.frequent, bins.rare))]))
        for correction, centre in (("none", np.zeros_like(mean)), ("center", mean)):
            cosines = mean_cosines(cloud, unused, ranges, centre)
            rows += [
                Row(
                    subject.name, called(ids), correction, MEASURE, cosines[ids],
                    n=ids[1] - ids[0], protocol=f"{total:,} rows; {len(unused):,} {how}",
                    note="" if cosines[ids] is not None else "only zero vectors",
                )
                for ids in ranges
            ]  # fmt: skip
            rows.append(difference(subject.name, correction, bins, cosines))
    return Result(rows, versions=versions())


def first_look(cloud: Cloud, last: int | None) -> tuple[Vector, int, Rows, str]:
    """Return mean and number of all rows, those of unused tokens, and how these were found."""
    from isoscope.profiles.weights import UNUSED  # imports torch

    total = np.zeros(cloud.width)
    named: list[int] = []
    count = 0
    for batch in cloud.read():
        total += np.asarray(batch.vectors, dtype=np.float64).sum(axis=0)
        count += len(batch.vectors)
        if "word" in batch.labels:
            words = batch.labels["word"]
            named += [
                batch.first_row + k
                for k, word in enumerate(words)
                if UNUSED.fullmatch(str(word))
            ]  # fmt: skip
    if last is not None:
        if not 0 < last < count:
            raise UsageError(f"{cloud.name} has {count:,} rows; {last:,} of them cannot be unused")
        return total / count, count, np.arange(count - last, count), "last ones taken for unused"
    if not named:
        raise UsageError(
            f"{cloud.name}: no token is called [unused…]; --last-unused 1000 takes the last rows, "
            "as the paper does for RoBERTa"
        )
    return total / count, count, np.array(named), "unused tokens, by their names"


def choose_bins(rows: int, unused: Rows, *, named: bool) -> Bins:
    """Cut the vocabulary into bins, and say which are of frequent and of rare tokens.

    Ids are taken to rise as frequency falls. With unused tokens at the start of a vocabulary like
    BERT's the bins are the paper's; else the first and the last thousand ids without unused ones.
    """
    every = tuple((start, min(start + BIN, rows)) for start in range(0, rows, BIN))
    if named and rows >= RARE[1] and unused.max() < FREQUENT[0]:
        return Bins(every, FREQUENT, RARE)
    taken = np.zeros(rows + 1, np.int64)
    taken[unused + 1] = 1
    before = taken.cumsum()
    starts = np.arange(max(rows - BIN + 1, 0))
    free = starts[before[starts + BIN] == before[starts]]
    if not len(free) or free[0] + BIN > free[-1]:
        return Bins(every, None, None)
    first, last = int(free[0]), int(free[-1])
    return Bins(every, (first, first + BIN), (last, last + BIN))


def mean_cosines(
    cloud: Cloud, unused: Rows, ranges: Sequence[Range], centre: Vector
) -> dict[Range, float | None]:
    """Return the mean cosine of all pairs of an unused token and a token of a range.

    Both means are over unit vectors, so that it is their inner product. An unused token meets
    itself in its own bin, as in the paper.
    """
    sums = np.zeros((len(ranges), cloud.width))
    counts = np.zeros(len(ranges), np.int64)
    own, count = np.zeros(cloud.width), 0
    for batch in cloud.read():
        x = np.asarray(batch.vectors, dtype=np.float64) - centre
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        units = np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0)
        first, last = batch.first_row, batch.first_row + len(x)
        inside = unused[(unused >= first) & (unused < last)] - first
        own += units[inside].sum(axis=0)
        count += int((lengths[inside] > 0).sum())
        for k, (start, stop) in enumerate(ranges):
            part = slice(max(start - first, 0), max(stop - first, 0))
            sums[k] += units[part].sum(axis=0)
            counts[k] += int((lengths[part] > 0).sum())
    direction = own / max(count, 1)
    return {
        ids: float(total @ direction / number) if number and count else None
        for ids, total, number in zip(ranges, sums, counts, strict=True)
    }


def difference(
    subject: str, correction: str, bins: Bins, cosines: dict[Range, float | None]
) -> Row:
    """Return how much closer unused tokens are to rare tokens than to frequent ones."""
    if bins.frequent is None or bins.rare is None:
        note = "the vocabulary is too small for two bins of a thousand ids without unused tokens"
        return Row(subject, "", correction, DIFFERENCE, None, note=note)
    rare, frequent = cosines[bins.rare], cosines[bins.frequent]
    value = None if rare is None or frequent is None else rare - frequent
    note = f"{called(bins.rare)} less {called(bins.frequent)}"
    return Row(subject, "", correction, DIFFERENCE, value, note=note)


def called(ids: Range) -> str:
    """Return the name of a bin."""
    return f"ids {ids[0]:,} to {ids[1] - 1:,}"


def printed_figure_3() -> dict[Key, float]:
    """Return the two means that the text prints."""
    bert = "BERT-base-uncased"
    return {
        (bert, called(FREQUENT), "none", MEASURE): 0.27,
        (bert, called(RARE), "none", MEASURE): 0.63,
        (bert, "", "none", DIFFERENCE): 0.36,
    }


register(
    Study(
        "B-F3", "Cosine of unused tokens with the vocabulary, from frequent tokens to rare ones",
        PAPER + ", figure 3, whose caption says cased where its numbers fit the uncased model",
        "a model, or its input embedding matrix with words as labels; all rows count", figure_3,
        (
            Claim("unused tokens are closer to rare tokens than to frequent ones, by at least 0.2",
                  {"measure": DIFFERENCE}, {"correction": "none"}, ">=", 0.2),
        ),
        ("BERT-base-uncased|BERT", "RoBERTa-base|RoBERTa"), printed_figure_3,
    )
)  # fmt: skip
