"""Whether the gains and biases of norms make the dimensions that stand out.

A dimension with a large gain or bias in norm after norm is far from 0 whatever the token is. Beside
it stand the norms themselves, the last one above all, which shapes what the unembedding sees.

References
----------
Luo et al. (2021), section 3.2.2; Kovaleva et al. (2021), BERT busters; Machina & Mercer (2024),
Anisotropy is not inherent to transformers, sections 4.3 and 5.3.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.measures.views import NONE
from isoscope.models.structure.norm_layers import norm_name, norm_weights
from isoscope.results.fields import PARTS
from isoscope.results.model_rows import norm_ranks, norm_result
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic
from isoscope.verbs.explain.topics.outliers import clipped_layers, list_dimensions, non_input
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.measures.layer_norm import NormWeights
    from isoscope.models.model import Model


# The largest entries of a gain or bias: 1 % of them, and no fewer than three.
TOP_SHARE, TOP_FEWEST = 0.01, 3

# Share of the norms in which a dimension must be among the largest.
ENOUGH_NORMS = 0.5

# Norms of a model are alike, so that chances of single norms do not multiply. What counts is how
# likely as many of any so many dimensions are at the top of half of the norms (hypergeometric):
# where outliers have nothing to do with norms, something is found in one of twenty models at most.
RARE = 0.05

ALL_NORMS = "all norms"


@dataclass(frozen=True)
class NormTops:
    """In which norms each dimension is among the largest gains or biases.

    Attributes
    ----------
    top : int
        How many entries of a gain or bias are the largest.
    at_top : array of bool
        A row for every norm, a column for every dimension.
    far : array of bool
        The same for entries more than three deviations from their mean.
    """

    top: int
    at_top: NDArray[np.bool_]
    far: NDArray[np.bool_]

    @classmethod
    def of(cls, norms: Sequence[NormWeights], width: int) -> NormTops:
        """Rank all dimensions in norms of one width."""
        top = max(TOP_FEWEST, math.ceil(TOP_SHARE * width))
        at_top, far = np.zeros((2, len(norms), width), np.bool_)
        for number, weights in enumerate(norms):
            for ranks in weights.ranks(range(width)).values():
                at_top[number] |= np.asarray(list(ranks.values())) <= top
            far[number, [row["dimension"] for row in weights.outliers()]] = True
        return cls(top, at_top, far)

    @property
    def norms(self) -> int:
        """How many norms there are."""
        return len(self.at_top)

    @property
    def enough(self) -> int:
        """In how many norms a dimension must be at the top."""
        return math.ceil(ENOUGH_NORMS * self.norms)

    @property
    def often_at_top(self) -> NDArray[np.bool_]:
        """The dimensions at the top of enough norms."""
        return np.asarray(self.at_top.sum(axis=0) >= max(self.enough, 1))

    def hits(self, dimensions: Sequence[int]) -> list[int]:
        """Return those of some dimensions that are at the top of enough norms."""
        return [k for k in dimensions if self.often_at_top[k]]

    def chance(self, dimensions: Sequence[int]) -> float:
        """Return how likely as many of any so many dimensions are at the top of enough norms."""
        from scipy.stats import hypergeom

        width, hits = self.at_top.shape[1], len(self.hits(dimensions))
        # sf is P(X > k): as many hits or more is P(X > hits − 1).
        drawn = hypergeom(width, int(self.often_at_top.sum()), len(dimensions))
        return float(drawn.sf(hits - 1))


def explain_norms(question: Question) -> Explanation:
    """Measure every norm, and find the outliers of the vectors in them."""
    model = question.model
    measured = norm_result(model)
    rows = [replace(row, subject="") for row in measured.rows]
    tables = [replace(table, subject="") for table in measured.tables]
    if not rows:
        nothing = "No norm of this model has a gain or a bias."
        return Explanation(False, nothing, brief="no norm has a gain or a bias")
    dimensions: list[int] = []
    found, said = False, "Without a text it is not known which dimensions of the vectors stand out."
    brief, lacks = "whether norms make dimensions of the vectors stand out", "needs --text FILE"
    figures: tuple[KeyFigure, ...] = ()
    if question.texts is not None:
        lacks = ""
        layers = non_input(clipped_layers(question.enough("outliers beside norms")))
        width = len(next(iter(question.sample.layers.values()))[0])
        dimensions = sorted({k for layer in layers.values() for k in layer.dimensions})
        tops = NormTops.of(norms_of_vectors(model, width), width)
        found, said = judged(tops, dimensions)
        brief, figures = in_brief(tops, dimensions, found=found)
        if dimensions and tops.norms:
            how = f"norms of the same stack; outliers of the vectors: {question.sample.protocol}"
            rows += outlier_rows(tops, dimensions, how)
            ranks = replace(norm_ranks(model, dimensions), subject="")
            tables += [outlier_table(tops, dimensions), ranks]
    sentences = (said, far_sentence(measured, dimensions), last_norm_sentence(model, measured))
    return Explanation(found, " ".join(sentences), rows, tables, brief, figures, lacks)


def in_brief(
    tops: NormTops, dimensions: Sequence[int], *, found: bool
) -> tuple[str, tuple[KeyFigure, ...]]:
    """Return the finding as a clause, with the outlier that is at the top of most norms."""
    if not dimensions or not tops.norms:
        return "there is no outlier dimension to look for in norms", ()
    counts = tops.at_top.sum(axis=0)
    first = max(dimensions, key=lambda k: int(counts[k]))
    figures = [
        KeyFigure(f"norms where {first} is among the {tops.top} largest",
                  int(counts[first]), tops.norms, "norms in all", ".0f"),
    ]  # fmt: skip
    if tops.hits(dimensions):
        chance = tops.chance(dimensions)
        of = f"{len(dimensions)} dimensions drawn at random"
        figures.append(KeyFigure(f"chance that {of} do as well", chance, RARE, "limit", ".2g"))
    if found:
        brief = f"outlier dimension {first} has one of the largest gains or biases in most norms"
        return brief, tuple(figures)
    return "gains and biases of norms do not single out the outlier dimensions", tuple(figures)


def norms_of_vectors(model: Model, width: int) -> list[NormWeights]:
    """Read the norms that stand between the layers of the first stack, whose tokens are read.

    Norms of the head and of a decoder, and those of single heads, have other dimensions.
    """
    layers = model.stacks[0].layers
    found = (norm_weights(model, norm) for norm in model.parts.norms if norm.where in layers)
    return [weights for weights in found if weights is not None and len(weights.gain) == width]


def judged(tops: NormTops, dimensions: Sequence[int]) -> tuple[bool, str]:
    """Tell whether outliers of the vectors are at the top of norms more than chance makes it."""
    if not dimensions:
        return False, "No dimension of the vectors stands out that could be looked for in norms."
    if not tops.norms:
        return False, "No norm between the layers has weights of the vectors' dimensions."
    hits, width = tops.hits(dimensions), tops.at_top.shape[1]
    counts = tops.at_top.sum(axis=0)
    largest = f"among the {tops.top} largest gains or biases"
    if not hits:
        best = max(dimensions, key=lambda k: int(counts[k]))
        return False, (
            f"No dimension that stands out in the vectors ({list_dimensions(dimensions)}) is "
            f"{largest} of at least {tops.enough} of {tops.norms} norms; {best} comes nearest with "
            f"{counts[best]}."
        )
    first = max(hits, key=lambda k: int(counts[k]))
    others = [k for k in hits if k != first]
    also = f", and {list_dimensions(others)} of at least {tops.enough}" if others else ""
    chance, all_such = tops.chance(dimensions), int(tops.often_at_top.sum())
    said = (
        f"Dimension {first}, which stands out in the vectors, is {largest} of {counts[first]} of "
        f"{tops.norms} norms{also}. {all_such} of all {width:,} dimensions "
        f"{'is' if all_such == 1 else 'are'} so in at least {tops.enough}; "
        f"{counted(len(dimensions), 'dimension')} drawn at random would include as many with "
        f"probability {chance:.2g}"
    )
    if chance <= RARE:
        return True, f"{said}."
    return False, f"{said}, so this is not significant."


def outlier_rows(tops: NormTops, dimensions: Sequence[int], protocol: str) -> list[Row]:
    """Count the norms in which each outlier is at the top, and state the chance."""
    note = f"norms with it among the {tops.top} largest gains or biases"
    counts, far = tops.at_top.sum(axis=0), tops.far.sum(axis=0)
    figures = [
        *((f"norms_at_top/{k}", counts[k], tops.norms, note) for k in dimensions),
        *((f"norms_with_outlier_3sd/{k}", far[k], tops.norms, "") for k in dimensions),
        ("dimensions_at_top", tops.often_at_top.sum(), tops.at_top.shape[1],
         f"of all, in at least {tops.enough} norms"),
        ("dimensions_at_top/chance", tops.chance(dimensions), len(dimensions),
         f"that of any {len(dimensions)} dimensions as many are"),
    ]  # fmt: skip
    return [
        Row("", ALL_NORMS, NONE, measure, float(value),
            n=n, protocol=protocol, note=about, extra={PARTS: "norm"})
        for measure, value, n, about in figures
    ]  # fmt: skip


def outlier_table(tops: NormTops, dimensions: Sequence[int]) -> Table:
    """List for each outlier of the vectors how many norms make it large."""
    rows: list[dict[str, Any]] = [
        {
            "dimension": k,
            "norms_at_top": int(tops.at_top[:, k].sum()),
            "norms_3sd": int(tops.far[:, k].sum()),
            "of_norms": tops.norms,
        }
        for k in dimensions
    ]
    rows.sort(key=lambda row: (-row["norms_at_top"], -row["norms_3sd"]))
    note = (
        f"norms in which it is among the {tops.top} largest gains or biases, and more than 3 "
        "deviations from their mean (Kovaleva et al. 2021)"
    )
    return Table("", ALL_NORMS, NONE, "outliers_in_norms", rows, note)


def far_sentence(measured: Result, dimensions: Sequence[int]) -> str:
    """Say which dimension is most often three deviations off, and which outliers of vectors are."""
    norms = sum(row.measure == "outliers_3sd" for row in measured.rows)
    entries = measured.tables[0].rows
    counts = Counter(row["dimension"] for row in entries)
    if not counts:
        return f"No gain or bias of {norms} norms has an entry 3 deviations from its mean."
    said = (
        f"{len(entries):,} entries of gains and biases of {norms} norms are more than 3 deviations "
        f"from their mean, most often in dimension {counts.most_common(1)[0][0]}"
    )
    if not dimensions:
        return f"{said}."
    among = sum(k in counts for k in dimensions)
    return f"{said}; {among} of the {len(dimensions)} that stand out in the vectors are among them."


def last_norm_sentence(model: Model, measured: Result) -> str:
    """Say what gain and bias of the last norm are, in the figures of Machina & Mercer."""
    stack = model.stacks[-1]
    norms = [norm for norm in model.parts.norms if norm.where in stack.layers]
    final = model.parts.final_norm(stack.name)
    last = final or norms[-1]
    name = "The final norm" if final is not None else f"The last norm ({norm_name(last)})"
    its = [row for row in measured.rows if row.part == norm_name(last)]
    values = {row.measure: row.value for row in its}
    gain, bias = values.get("gain_avgnorm"), values.get("bias_avgnorm")
    if gain is None:
        return f"{name} has no weights."
    if bias is None:
        return f"{name} has an average gain of {gain:.2g} and no bias."
    ratio, along, across = (
        values.get(measure) for measure in ("bias_over_gain", "bias_parallel", "bias_perpendicular")
    )
    said = f"{name} has an average gain of {gain:.2g} and an average bias of {bias:.2g}"
    if ratio is not None:
        said += f", ‖b‖/‖g‖ = {ratio:.2g}"
    if along is not None and across is not None:
        said += f", ‖b∥‖ = {along:.2g} and ‖b⊥‖ = {across:.2g}"
        note = next((row.note for row in its if row.measure == "bias_parallel"), "")
        said += f" ({note})" if note else ""
    return f"{said}."


NORMS = Topic(
    "layernorm", "do gains and biases of norms make dimensions stand out?",
    "nothing; with a text, also the outliers of its vectors", explain_norms,
)  # fmt: skip
