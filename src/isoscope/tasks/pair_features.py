"""Features of two vectors for a classifier.

A linear classifier of u and v alone weighs each by itself and cannot tell whether they agree;
|u − v| and u ∘ v say that, and nothing of the order of the two. So all four are the default, as in
InferSent: in entailment, and in questions about a passage, the order is what is asked. SentEval's
own are the last two, which is enough where order says nothing, as for paraphrases.

Neither |u − v| nor u ∘ v is linear in the vectors: even a classifier that is not regularised can
gain or lose by a linear correction here, other than for single texts.

References
----------
Conneau et al. (2017), Supervised learning of universal sentence representations from natural
language inference data, EMNLP. Conneau & Kiela (2018), SentEval, LREC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from isoscope.errors import unknown_name

if TYPE_CHECKING:
    from isoscope.tasks.probes.contract import Matrix

PairFeatures = Literal["ordered", "symmetric"]
"""``ordered`` is u, v, |u − v| and u ∘ v; ``symmetric`` the last two."""

BLOCKS: dict[PairFeatures, int] = {"ordered": 4, "symmetric": 2}
WORDS: dict[PairFeatures, str] = {
    "ordered": "[u, v, |u − v|, u ∘ v] of the two vectors",
    "symmetric": "[|u − v|, u ∘ v] of the two vectors",
}


def pair_features(u: Matrix, v: Matrix, kind: PairFeatures = "ordered") -> Matrix:
    """Return the features of every pair, row by row."""
    check_pair_features(kind)
    between = [np.abs(u - v), u * v]
    return np.concatenate(between if kind == "symmetric" else [u, v, *between], axis=1)


def check_pair_features(kind: str) -> None:
    """Refuse features that do not exist."""
    if kind not in get_args(PairFeatures):
        raise unknown_name("kind of pair features", kind, get_args(PairFeatures))
