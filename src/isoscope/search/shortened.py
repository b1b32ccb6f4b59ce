"""Fewer components: the first ones, the principal ones, or these with variance 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.corrections.estimators.whiten import Whiten
    from isoscope.typing import Matrix


Way = Literal["as they are", "truncate", "pca", "whiten"]
WAYS: tuple[Way, ...] = ("truncate", "pca", "whiten")

Code = Literal["float32", "int8", "binary"]
CODES: tuple[Code, ...] = ("float32", "int8", "binary")

BITS = {"float32": 32, "int8": 8, "binary": 1}


@dataclass(frozen=True)
class Shortening:
    """One way to fewer components, learned from a whole cloud.

    ``truncate`` takes the first m components as they stand, which models trained for it allow
    (Kusupati et al. 2022, Matryoshka representation learning); ``pca`` gives (x − μ) V_m with the m
    directions of largest variance, ``whiten`` the same with variance 1 in each.
    """

    way: Way
    components: int
    fit: Whiten

    @property
    def name(self) -> str:
        """What rows call it."""
        return "none" if self.way == "as they are" else f"{self.way}:n_components={self.components}"

    def apply(self, vectors: Matrix) -> Matrix:
        """Make vectors shorter."""
        m = self.components
        if self.way in ("as they are", "truncate"):
            return vectors[:, :m]
        shorter = (vectors - self.fit.mean_) @ self.fit.components_[:m].T
        if self.way == "whiten":
            variances = self.fit.explained_variance_[:m].copy()
            variances[self.fit.dropped_[self.fit.dropped_ < m]] = np.inf  # rounding, so 0
            shorter = shorter / np.sqrt(variances)
        return np.asarray(shorter)

    def bytes(self, code: Code) -> int:
        """Return the bytes of a vector; bits are filled up to whole bytes."""
        return math.ceil(self.components * BITS[code] / 8)


def shortenings(components: Iterable[int], width: int, fit: Whiten) -> list[Shortening]:
    """Return the vectors as they are, and every way to every number of components."""
    return [
        Shortening("as they are", width, fit),
        *(Shortening(way, m, fit) for m in components for way in WAYS),
    ]


def parse_components(given: Iterable[int] | int | str) -> tuple[int, ...]:
    """Turn ``64,128,256`` or numbers into numbers, rising, without repeats."""
    if isinstance(given, int):
        given = [given]
    texts = given.split(",") if isinstance(given, str) else list(given)
    numbers = []
    for text in texts:
        number = str(text).strip()
        if not number.isdecimal() or int(number) < 1:
            raise UsageError(
                f"components are whole numbers from 1, such as 64,128,256, not {text!r}"
            )
        numbers.append(int(number))
    if not numbers:
        raise UsageError("name at least one number of components, such as 64,128,256")
    return tuple(sorted(set(numbers)))


def check_components(components: tuple[int, ...], width: int, name: str) -> None:
    """Refuse more components than there are dimensions."""
    if components[-1] > width:
        raise UsageError(
            f"{name} has {width:,} dimensions and cannot be reduced to {components[-1]:,}"
        )
