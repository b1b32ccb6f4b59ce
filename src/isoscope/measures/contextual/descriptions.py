"""What a reader must know about each contextual measure before trusting it.

They are not functions of a single space, as the measures of the registry are: they need the token,
the word and the text of every vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.measures.contextual.explained import MINIMUM, PER_WORD, WORDS
from isoscope.measures.contextual.massive import LISTED, MASSIVE
from isoscope.measures.contextual.persistence import OUTLIER_SHARE

if TYPE_CHECKING:
    from isoscope.measures.registry import Direction


@dataclass(frozen=True)
class ContextualMeasure:
    """A measure of a model's layers over a text, and its description."""

    name: str
    summary: str
    formula: str
    range: str
    direction: Direction
    length_dependent: bool
    reference: str
    also: tuple[str, ...] = ()
    """What else is reported under the same name, after a slash."""
    table: bool = False


CONTEXTUAL_MEASURES = (
    ContextualMeasure(
        name="intra_sim",
        summary="How alike the vectors of one token type are wherever it stands.",
        formula="mean over token types seen n ≥ 2 times of (‖Σu‖² − n) / (n² − n); "
        "by_count: weighted by n",
        range="[−1, 1]",
        direction="neither",
        length_dependent=False,
        reference="Machina & Mercer 2024, eq. 7",
        also=("by_count", "types_seen_twice"),
    ),
    ContextualMeasure(
        name="self_similarity",
        summary="How alike the vectors of one word are wherever it stands.",
        formula="mean over words seen n ≥ 2 times of (‖Σu‖² − n) / (n² − n); "
        "corrected: less the mean cosine of the layer",
        range="[−1, 1]",
        direction="neither",
        length_dependent=False,
        reference="Ethayarajh 2019; Luo et al. 2021, definition 1",
        also=("corrected",),
    ),
    ContextualMeasure(
        name="intra_sentence_similarity",
        summary="How close the tokens of a text are to their mean vector.",
        formula="mean over texts of (Σu)·(Σx) / (n ‖Σx‖), n ≥ 2 tokens; "
        "corrected: less the mean cosine of the layer",
        range="[0, 1]",
        direction="neither",
        length_dependent=False,
        reference="Ethayarajh 2019; Luo et al. 2021, definition 2",
        also=("corrected",),
    ),
    ContextualMeasure(
        name="max_explainable_variance",
        summary="How much of a word's vectors one static vector could explain at most.",
        formula=f"mean over at most {WORDS:,} words, {MINIMUM} to {PER_WORD} occurrences each, of "
        "σ₁² / Σσ², not centred; corrected: less that of as many random word occurrences",
        range="[0, 1]",
        direction="neither",
        length_dependent=True,
        reference="Ethayarajh 2019",
        also=("corrected",),
    ),
    ContextualMeasure(
        name="massive_activations",
        summary="The few tokens whose vectors are far longer than all others.",
        formula=f"tokens with ‖x‖ above {MASSIVE:g} times the median; the {LISTED} longest, each "
        "with its largest entry",
        range="[0, 1] for the share",
        direction="neither",
        length_dependent=True,
        reference="Sun et al. 2024",
        also=("share", "count", "largest"),
        table=True,
    ),
    ContextualMeasure(
        name="persistence",
        summary="Dimensions that are outliers in many layers.",
        formula="per dimension: the layers in which it is the minimum, or the maximum, in at least "
        f"{OUTLIER_SHARE:.0%} of the vectors, and these shares over all layers",
        range="[0, 1] for shares",
        direction="neither",
        length_dependent=False,
        reference="Luo et al. 2021, section 3.2.1",
        table=True,
    ),
)
"""In the order in which tables show them."""
