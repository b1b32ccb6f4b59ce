"""How often do the 95 % intervals hold the truth? Run: python benchmarks/coverage.py

Clouds are drawn again and again from distributions whose true values are known, or taken from a
draw far larger than any of the clouds, and ``isoscope.measure`` is asked for its intervals. Two
figures for each measure: how often an interval was given, and how often it then held the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isoscope

Matrix = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Matrix, NDArray[Any]]]

MEASURES = (
    "mean_cosine", "cosine_quantiles", "random_pair_cosine", "uniformity", "mean_norm",
    "norm_of_mean", "mean_offset", "top_variance_share", "effective_rank", "participation_ratio",
)  # fmt: skip
PER_DOCUMENT = 10
PARTS, PART_ROWS = 40, 100_000


@dataclass(frozen=True)
class Design:
    """A distribution of clouds."""

    name: str
    rows: int
    draw: Draw
    documents: bool = False


def mixing(width: int) -> Matrix:
    """Return axes of uneven length, turned away from the coordinates."""
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(width, width)))[0]
    return np.asarray(np.linspace(2.0, 0.3, width)[:, None] * turned)


def offset(width: int, length: float) -> Matrix:
    """Return a mean vector."""
    direction = np.random.default_rng(1).normal(size=width)
    return length * direction / np.linalg.norm(direction)


def independent(width: int, length: float, *, heavy: bool = False) -> Draw:
    """Rows on their own; heavy ones have lengths that vary as those of a t distribution do."""

    def draw(rng: np.random.Generator, rows: int) -> tuple[Matrix, NDArray[Any]]:
        x = rng.normal(size=(rows, width))
        if heavy:
            x *= np.sqrt(5 / rng.chisquare(7, size=(rows, 1)))
        return x @ mixing(width) + offset(width, length), np.arange(rows)

    return draw


def in_documents(width: int, length: float) -> Draw:
    """Rows of ten to a document that share half of their variance."""

    def draw(rng: np.random.Generator, rows: int) -> tuple[Matrix, NDArray[Any]]:
        documents = rows // PER_DOCUMENT
        shared = np.repeat(rng.normal(size=(documents, width)), PER_DOCUMENT, axis=0)
        x = np.sqrt(0.5) * (shared + rng.normal(size=shared.shape))
        names = np.repeat(np.arange(documents), PER_DOCUMENT)
        return x @ mixing(width) + offset(width, length), names

    return draw


DESIGNS = (
    Design("independent rows, 2,000 × 8", 2_000, independent(8, 1.5)),
    Design("independent rows, 20,000 × 40", 20_000, independent(40, 3.0)),
    Design("heavy tails, 2,000 × 8", 2_000, independent(8, 1.5, heavy=True)),
    Design("mean zero, 2,000 × 8", 2_000, independent(8, 0.0)),
    Design("400 documents of 10 rows, 8 wide", 4_000, in_documents(8, 1.5), documents=True),
)


def intervals(vectors: Matrix, names: NDArray[Any] | None, seed: int) -> dict[str, Any]:
    """Measure a cloud and return its rows by measure."""
    result = isoscope.measure(
        vectors, MEASURES, "none", documents=names, intervals=True, seed=seed, workers=1
    )
    return {row.measure: row for row in result.rows}


def truth(design: Design) -> dict[str, float]:
    """Measure four million rows, in parts, so that the truth has no error worth speaking of."""
    rng = np.random.default_rng(10**6)
    # One row of every document: pairs of one document are no part of the truth.
    step = PER_DOCUMENT if design.documents else 1
    parts = []
    for _ in range(PARTS):
        large = design.draw(rng, PART_ROWS * step)[0][::step]
        result = isoscope.measure(large, MEASURES, "none", intervals=False, workers=1)
        values = {row.measure: row.value for row in result.rows if row.value is not None}
        parts.append(values | pair_truth(large))
    return {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}


def pair_truth(vectors: Matrix) -> dict[str, float]:
    """Take what sampled pairs estimate from many more pairs than any sample has."""
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    half = len(units) // 2
    cosines = np.concatenate(
        [np.einsum("ij,ij->i", units[:half], np.roll(units[half:], k, axis=0)) for k in range(20)]
    )
    found = {
        f"cosine_quantiles/{q}%": float(np.quantile(cosines, q / 100)) for q in (1, 5, 50, 95, 99)
    }
    found["random_pair_cosine"] = float(cosines.mean())
    found["uniformity"] = float(np.log(np.exp(4 * (cosines - 1)).mean()))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1_000)
    repeats = parser.parse_args().repeats
    for design in DESIGNS:
        true = truth(design)
        given = dict.fromkeys(true, 0)
        held = dict.fromkeys(true, 0)
        for seed in range(repeats):
            vectors, names = design.draw(np.random.default_rng(seed), design.rows)
            for name, row in intervals(vectors, names if design.documents else None, seed).items():
                if row.low is not None and row.high is not None:
                    given[name] += 1
                    held[name] += bool(row.low <= true[name] <= row.high)
        print(f"\n**{design.name}; {repeats:,} clouds**\n")
        print("| measure | interval given | holds the truth |\n| --- | ---: | ---: |")
        for name in true:
            share = f"{held[name] / given[name]:.1%}" if given[name] else ""
            print(f"| {name} | {given[name] / repeats:.0%} | {share} |")


if __name__ == "__main__":
    main()
