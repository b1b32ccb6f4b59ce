"""Massive activations: the few tokens of a layer whose vectors are far longer than all others.

A token x of a layer is massive where ‖x‖ is more than five times the median length of the layer.
That is not to be confused with outlier dimensions, which stand out in nearly every vector. A state
with texts is stored as plain arrays, so that it needs no pickle.

References
----------
Sun et al. (2024), Massive activations in large language models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.arrays import on_host
from isoscope.data.base import Array, Labels
from isoscope.measures.reads.moments import BINS, EDGES, count_norms, median_norm
from isoscope.typing import Arrays, Doubles


def texts_to_arrays(texts: Sequence[str], name: str) -> dict[str, NDArray[Any]]:
    """Return the UTF-8 bytes of all texts and where each begins; lone surrogates survive."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(one) for one in encoded], np.int64)
    return {
        f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8).copy(),
        f"{name}.offsets": np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
    }


def texts_from_arrays(arrays: Arrays, name: str) -> list[str]:
    """Rebuild the texts that ``texts_to_arrays`` took apart."""
    content = arrays[f"{name}.bytes"].tobytes()
    offsets = arrays[f"{name}.offsets"].tolist()
    return [
        content[first:last].decode("utf-8", "surrogatepass") for first, last in pairwise(offsets)
    ]


# Tokens of each layer that are kept by name.
LISTED = 20

# A token is massive when its length is above this many times the median.
MASSIVE = 5.0

# Massive tokens are a few where they are at most this share of a layer's tokens: sentences call
# them so up to here. Those that the literature describes, such as the first token of every text,
# are far fewer; where more are, lengths simply differ.
FEW_SHARE = 0.01

NUMBERS = ("norm", "value")
INTEGERS = ("sentence", "position", "token_id", "dimension")

# Columns of the table, in this order.
COLUMNS = (
    "token",
    "token_id",
    "position",
    "sentence",
    "norm",
    "times_median",
    "dimension",
    "value",
)


@dataclass(frozen=True)
class LongToken:
    """One of the longest vectors of a layer."""

    norm: float
    sentence: int
    position: int
    token_id: int
    token: str
    dimension: int
    """Where the entry with the largest absolute value stands."""
    value: float

    @property
    def rank(self) -> tuple[float, int, int]:
        """Longest first; of equal ones, as the first token of every text may be, in order."""
        return -self.norm, self.sentence, self.position


class LongestTokens:
    """The longest vectors of a layer, and how many there are of each length."""

    def __init__(self) -> None:
        self.tokens: list[LongToken] = []
        self.bins = np.zeros(BINS, np.int64)

    def add(
        self,
        norms: Doubles,
        vectors: Array,
        labels: Labels,
        token_texts: Callable[[], NDArray[Any]],
    ) -> None:
        """Count the lengths of a batch, and look whether one of the longest is among them.

        ``token_texts`` is called only then: most batches have none, and texts are made on demand.
        """
        positive = norms[norms > 0]
        if not len(positive):
            return
        self.bins += count_norms(positive)
        # Two cheap limits first: most batches have no token that is long enough, and then neither
        # vectors nor texts are fetched.
        least = self.tokens[-1].norm if len(self.tokens) == LISTED else 0.0
        if len(positive) > LISTED:
            least = max(least, float(np.partition(norms, -LISTED)[-LISTED]))
        rows = np.flatnonzero((norms >= least) & (norms > 0))
        if not len(rows):
            return
        sentence, position = labels["sentence"], labels["position"]
        rows = rows[np.lexsort((position[rows], sentence[rows], -norms[rows]))][:LISTED]
        if len(self.tokens) == LISTED:
            last = self.tokens[-1].rank
            rows = np.array(
                [row for row in rows if (-norms[row], sentence[row], position[row]) < last],
                np.int64,
            )
        if not len(rows):
            return
        texts, ids = token_texts(), labels["token id"]
        for row, entries in zip(rows, on_host(vectors, rows), strict=True):
            dimension = int(np.abs(entries).argmax())
            self.tokens.append(
                LongToken(
                    norm=float(norms[row]),
                    sentence=int(sentence[row]),
                    position=int(position[row]),
                    token_id=int(ids[row]),
                    token=str(texts[row]),
                    dimension=dimension,
                    value=float(entries[dimension]),
                )
            )
        self.tokens = _longest(self.tokens)

    def merge(self, other: LongestTokens) -> LongestTokens:
        """Combine what was found on two disjoint sets of tokens."""
        merged = LongestTokens()
        merged.tokens = _longest(self.tokens + other.tokens)
        merged.bins = self.bins + other.bins
        return merged

    @property
    def counted(self) -> int:
        """Vectors that are not zero."""
        return int(self.bins.sum())

    @property
    def median(self) -> float | None:
        """Median length, from the bins."""
        return median_norm(self.bins)

    @property
    def massive(self) -> int | None:
        """Vectors in the bins that begin above ``MASSIVE`` medians."""
        median = self.median
        if median is None:
            return None
        # The bin in which the limit itself lies is left out: a count that is short by the tokens of
        # one bin, 4.4 % wide, is better than one that contains ordinary ones.
        return int(self.bins[EDGES[:-1] >= MASSIVE * median].sum())

    def rows(self) -> list[dict[str, Any]]:
        """Return the longest tokens as rows of a table."""
        median = self.median
        rows = [
            {**asdict(token), "times_median": None if median is None else token.norm / median}
            for token in self.tokens
        ]
        return [{name: row[name] for name in COLUMNS} for row in rows]

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays."""
        fields = [asdict(token) for token in self.tokens]
        return {
            f"{prefix}.bins": self.bins.copy(),
            f"{prefix}.numbers": np.array(
                [[one[name] for name in NUMBERS] for one in fields], np.float64
            ).reshape(-1, len(NUMBERS)),
            f"{prefix}.integers": np.array(
                [[one[name] for name in INTEGERS] for one in fields], np.int64
            ).reshape(-1, len(INTEGERS)),
            **texts_to_arrays([token.token for token in self.tokens], f"{prefix}.texts"),
        }

    @classmethod
    def from_arrays(cls, prefix: str, arrays: Arrays) -> LongestTokens:
        """Rebuild the state that ``to_arrays`` took apart."""
        found = cls()
        found.bins = np.array(arrays[f"{prefix}.bins"], np.int64)
        numbers = arrays[f"{prefix}.numbers"].tolist()
        integers = arrays[f"{prefix}.integers"].tolist()
        texts = texts_from_arrays(arrays, f"{prefix}.texts")
        found.tokens = [
            LongToken(
                **dict(zip(NUMBERS, real, strict=True)),
                **dict(zip(INTEGERS, whole, strict=True)),
                token=text,
            )
            for real, whole, text in zip(numbers, integers, texts, strict=True)
        ]
        return found


def _longest(tokens: list[LongToken]) -> list[LongToken]:
    return sorted(tokens, key=lambda token: token.rank)[:LISTED]
