"""The six measures of context: formula, value, and note.

They are not functions of a single space, as the measures of the registry are: they need the token,
the word and the text of every vector. With u = x / ‖x‖,

    mean cosine of a group of n vectors       (‖Σ u‖² − n) / (n² − n)
    mean cosine of a text's tokens with their sum       (Σ u)·(Σ x) / (n ‖Σ x‖)
    largest share that one static vector explains       σ₁² / Σ σ², not centred

References
----------
Ethayarajh (2019), How contextual are contextualized word representations?, EMNLP. Luo et al.
(2021). Machina & Mercer (2024), Anisotropy is not inherent to transformers, NAACL. Sun et al.
(2024), Massive activations in large language models.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isoscope.errors import UsageError
from isoscope.measures.context.massive_tokens import LISTED, MASSIVE, LongestTokens
from isoscope.measures.context.outlier_rule import (
    extreme_shares,
    mean_deviations,
    rule_text,
    standing_out,
)
from isoscope.measures.context.top_share import top_share
from isoscope.measures.registry import Direction, TableValue, Value, documented, summary_of
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.measures.context.keyed_sums import WithinGroups
    from isoscope.measures.context.outlier_rule import Extremes
    from isoscope.measures.context.sums import SentenceCosines


# Words that are looked at.
WORDS = 1_000

# Occurrences of each.
PER_WORD = 100

# Where memory holds fewer, occurrences are given up for words, down to this many of each.
FEWEST_PER_WORD = 10

# Words that memory should hold before each has all its occurrences.
WORDS_BEFORE_OCCURRENCES = 200

# Occurrences below which a word is left out, as in Ethayarajh 2019.
MINIMUM = 5

# Matrices of random occurrences that a word is compared with; the mean over words smooths the
# rest, and more would take as long as the words themselves.
RANDOM_RUNS = 8

# Occurrences of any words, to tell what random vectors of the layer have in common.
RANDOM_OCCURRENCES = 500


def occurrences_per_word(capacity: int) -> int:
    """Return how many occurrences of a word to keep where this many fit for all words."""
    return int(np.clip(capacity // WORDS_BEFORE_OCCURRENCES, FEWEST_PER_WORD, PER_WORD))


@dataclass(frozen=True)
class Explained:
    """Mean over words of σ₁² / Σσ², and the same of as many random occurrences."""

    mean: float | None
    random: float | None
    """Mean over the same words of the share for as many occurrences of any words."""
    words: int
    occurrences: int


def explained_variance(
    words: Sequence[NDArray[Any]], sample: NDArray[Any], minimum: int = MINIMUM
) -> Explained:
    """Measure the words of a layer against a random sample of its word occurrences.

    σ₁² / Σσ² of a few vectors is large whatever they are (at least 1/n), so a word with n
    occurrences is compared with n of the sampled ones: the mean over up to eight disjoint runs of n
    rows, as far as the sample has them. Rows of the sample come in random order.
    """
    by_count: dict[int, list[NDArray[Any]]] = defaultdict(list)
    for vectors in without_zeros(words):
        if len(vectors) >= minimum:
            by_count[len(vectors)].append(vectors)
    drawn = np.concatenate(without_zeros([sample])).astype(np.float64)
    shares: list[float] = []
    random: list[float] = []
    for n, matrices in by_count.items():
        shares.extend(top_share(np.array(matrices, np.float64)).tolist())
        runs = min(len(drawn) // n, RANDOM_RUNS)
        if runs:
            baseline = top_share(drawn[: runs * n].reshape(runs, n, -1))
            random.extend([float(baseline.mean())] * len(matrices))
    found = len(shares)
    return Explained(
        mean=math.fsum(shares) / found if found else None,
        random=math.fsum(random) / found if found and len(random) == found else None,
        words=found,
        occurrences=sum(n * len(matrices) for n, matrices in by_count.items()),
    )


def without_zeros(groups: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the rows of each group that are not zero vectors."""
    if not len(groups):
        return []
    # Asked of all rows at once, as there are hundreds of words of a few rows.
    filled = np.concatenate(groups).any(axis=1)
    if filled.all():
        return list(groups)
    ends = np.cumsum([len(one) for one in groups])[:-1]
    return [one[kept] for one, kept in zip(groups, np.split(filled, ends), strict=True)]


@dataclass(frozen=True, kw_only=True)
class ContextualMeasure:
    """A measure of a model's layers over a text, and its description; JSON has it in this order."""

    name: str
    summary: str
    formula: str
    range: str
    direction: Direction = "neither"
    length_dependent: bool = False
    reference: str
    also: tuple[str, ...] = ()
    """What else is reported under the same name, after a slash."""
    table: bool = False
    title: str = ""
    symbol: str = ""
    when: str = ""


# In the order in which tables show them.
CONTEXTUAL_MEASURES: list[ContextualMeasure] = []

Function = TypeVar("Function", bound=Callable[..., Any])


def contextual(**description: Any) -> Callable[[Function], Function]:
    """Describe a contextual measure by the docstring of the decorated function, its name by its."""

    def decorate(function: Function) -> Function:
        written = {"summary": summary_of(function), **documented(function), **description}
        CONTEXTUAL_MEASURES.append(ContextualMeasure(name=function.__name__, **written))
        return function

    return decorate


NO_MEAN_COSINE = "the mean cosine of the layer is not known"


@dataclass(frozen=True)
class Contextual:
    """The contextual measures of one layer."""

    values: Mapping[str, Value]
    tables: Mapping[str, TableValue] = field(default_factory=dict)


def with_corrected(name: str, value: Value, corrected: Value) -> dict[str, Value]:
    """Return a value under its name, and what is left of it after a correction."""
    return {name: value, f"{name}/corrected": corrected}


def less_mean_cosine(value: Value, mean_cosine: float | None) -> Value:
    """Subtract what any two vectors of the layer have in common (Ethayarajh 2019)."""
    if value.value is None:
        return value
    if mean_cosine is None:
        return replace(value, value=None, note=NO_MEAN_COSINE)
    note = f"less the mean cosine of the layer, {mean_cosine:.4g}"
    return replace(
        value, value=value.value - mean_cosine, note="; ".join(filter(None, (note, value.note)))
    )


@contextual(also=("by_count", "types_seen_twice"))
def intra_sim(within: WithinGroups, share_kept: float) -> dict[str, Value]:
    """How alike the vectors of one token type are wherever it stands.

    Title: similarity within a token type
    Symbol: intra-sim
    When: to see how much context changes a token
    Formula: mean over token types seen n ≥ 2 times of (‖Σu‖² − n) / (n² − n); by_count: weighted
        by n
    Range: [−1, 1]
    Reference: Machina & Mercer 2024, eq. 7
    """
    note = sampled_note("token types", within.groups, share_kept)
    extra = {
        "types": within.groups,
        "types_seen_twice": within.groups_seen_twice,
        "share_kept": share_kept,
    }
    if within.mean is None:
        note = "no token type was seen twice"
    common = Value(None, note=note, rows=within.members, extra=extra)
    return {
        "intra_sim": replace(common, value=within.mean),
        "intra_sim/by_count": replace(common, value=within.mean_by_count),
        "intra_sim/types_seen_twice": replace(
            common,
            value=within.share_seen_twice,
            note=note if within.groups else "no vector that is not zero",
        ),
    }


@contextual(also=("corrected",))
def self_similarity(
    within: WithinGroups, share_kept: float, subwords: str, mean_cosine: float | None
) -> dict[str, Value]:
    """How alike the vectors of one word are wherever it stands.

    Title: self-similarity of a word
    Symbol: SelfSim
    When: to see how contextual a layer is
    Formula: mean over words seen n ≥ 2 times of (‖Σu‖² − n) / (n² − n); corrected: less the mean
        cosine of the layer
    Range: [−1, 1]
    Reference: Ethayarajh 2019; Luo et al. 2021, definition 1
    """
    notes = (subwords_note(subwords), sampled_note("words", within.groups, share_kept))
    note = "; ".join(filter(None, notes))
    if within.mean is None:
        note = "no word was seen twice"
    extra = {
        "words": within.groups,
        "words_seen_twice": within.groups_seen_twice,
        "share_kept": share_kept,
    }
    value = Value(within.mean, note=note, rows=within.members, extra=extra)
    return with_corrected("self_similarity", value, less_mean_cosine(value, mean_cosine))


@contextual(also=("corrected",))
def intra_sentence_similarity(
    found: SentenceCosines, mean_cosine: float | None
) -> dict[str, Value]:
    """How close the tokens of a text are to their mean vector.

    Title: similarity within a text
    Symbol: IntraSim
    When: to see how alike the tokens of a text are
    Formula: mean over texts of (Σu)·(Σx) / (n ‖Σx‖), n ≥ 2 tokens; corrected: less the mean cosine
        of the layer
    Range: [0, 1]
    Reference: Ethayarajh 2019; Luo et al. 2021, definition 2
    """
    notes = []
    if found.one_token:
        notes.append(f"{counted(found.one_token, 'text')} with fewer than two vectors left out")
    if found.no_mean:
        notes.append(f"{counted(found.no_mean, 'text')} with a mean of zero left out")
    if found.mean is None and not notes:
        notes.append("there are no texts")
    extra = {"sentences": found.sentences, "left_out": found.one_token + found.no_mean}
    value = Value(found.mean, note="; ".join(notes), rows=found.tokens, extra=extra)
    return with_corrected("intra_sentence_similarity", value, less_mean_cosine(value, mean_cosine))


@contextual(also=("corrected",), length_dependent=True)
def max_explainable_variance(
    found: Explained, subwords: str, per_word: int, memory_bytes: int
) -> dict[str, Value]:
    """How much of a word's vectors one static vector could explain at most.

    Title: maximum explainable variance
    Symbol: MEV
    When: to see whether a static vector would do
    Formula: mean over at most 1,000 words, 5 to 100 occurrences each, of σ₁² / Σσ², not centred;
        corrected: less that of as many random word occurrences
    Range: [0, 1]
    Reference: Ethayarajh 2019
    """
    within = f"within {memory_bytes / 2**20:,.0f} MB for all layers"
    note = (
        f"{counted(found.words, 'word')} chosen by hash, {MINIMUM} to {per_word} occurrences each, "
        f"{within}; {subwords_note(subwords)}"
    )
    if found.mean is None:
        note = f"no word with {MINIMUM} occurrences {within}"
    extra = {"words": found.words, "random": found.random}
    value = Value(found.mean, note=note, rows=found.occurrences, extra=extra)
    if found.mean is None:
        corrected = value
    elif found.random is None:
        corrected = replace(value, value=None, note="too few word occurrences to compare with")
    else:
        corrected = replace(
            value,
            value=found.mean - found.random,
            note=f"less that of as many random word occurrences, {found.random:.4g}; {note}",
        )
    return with_corrected("max_explainable_variance", value, corrected)


@contextual(also=("share", "count", "largest"), length_dependent=True, table=True)
def massive_activations(found: LongestTokens) -> dict[str, Value]:
    """The few tokens whose norms are far larger than those of all others.

    Title: massive activations
    When: if a few tokens have huge norms
    Formula: tokens with ‖x‖ above 5 times the median; the 20 longest, each with its largest entry
    Range: [0, 1] for the share
    Reference: Sun et al. 2024
    """
    massive, median, rows = found.massive, found.median, found.counted
    if massive is None or median is None:
        why = "no vector that is not zero" if not rows else "no finite median length"
        missing = Value(None, note=why, rows=rows)
        return {f"massive_activations/{name}": missing for name in ("share", "count", "largest")}
    note = f"longer than {MASSIVE:g} times the median, {median:.4g}, to within a bin of 4.4 %"
    common = Value(massive / rows, note=note, rows=rows, extra={"median": median})
    return {
        "massive_activations/share": common,
        "massive_activations/count": replace(common, value=float(massive)),
        "massive_activations/largest": replace(
            common, value=found.tokens[0].norm / median, note=""
        ),
    }


def massive_table(found: LongestTokens) -> TableValue:
    """Return the longest vectors by name."""
    note = f"the {LISTED} longest" if found.counted > LISTED else ""
    return TableValue(found.rows(), note)


def subwords_note(subwords: str) -> str:
    """Say which vector stands for a word."""
    return f"the vector of a word is the {subwords} of its tokens"


def sampled_note(things: str, kept: int, share: float) -> str:
    """Say that only some groups were kept, where that is so."""
    if share >= 1:
        return ""
    return f"{kept:,} {things} chosen by hash, about {share:.2g} of all, to stay within memory"


@contextual(table=True)
def persistence(layers: Mapping[str, Extremes]) -> TableValue:
    """Dimensions that are outliers in many layers.

    Title: persistence of outlier dimensions
    When: if the same dimension stands out in many layers
    Formula: per dimension: the layers in which it is the minimum, or the maximum, in at least 10%
        of the vectors (8/d where that is more), or its mean is more than 6 deviations from the
        others; its shares over all layers
    Range: [0, 1] for shares
    Reference: Luo et al. 2021, section 3.2.1; the rule is ours

    Parameters
    ----------
    layers : mapping of str to Extremes
        What is known about the dimensions of each layer, in order. Vectors that are not zero have
        one minimum and one maximum each.

    Returns
    -------
    TableValue
        Per dimension: how many and which layers, the share of the vectors of all layers pooled in
        which it is the minimum and the maximum, as in the paper, the largest share of any layer,
        and the deviation of its mean that is furthest from the others. Those of most layers come
        first.
    """
    for name, found in layers.items():
        kind = getattr(found, "kind", "dimension")
        if kind != "dimension":
            raise UsageError(
                f"layer {name!r} has {kind}s, which differ between layers; persistence needs the "
                "original dimensions"
            )
    width = max((len(found.mean) for found in layers.values()), default=0)
    lowest, highest, vectors, peak, furthest = np.zeros((5, width))
    where: list[list[str]] = [[] for _ in range(width)]
    for name, found in layers.items():
        own = slice(0, len(found.mean))
        lowest[own] += found.minimum_counts
        highest[own] += found.maximum_counts
        vectors[own] += max(int(found.minimum_counts.sum()), 1)
        peak[own] = np.maximum(peak[own], extreme_shares(found))
        far = mean_deviations(found)
        furthest[own] = np.where(np.abs(far) > np.abs(furthest[own]), far, furthest[own])
        for k in standing_out(found):
            where[k].append(name)
    outliers = [k for k in range(width) if where[k]]
    pooled = np.maximum(lowest, highest) / np.maximum(vectors, 1)
    outliers.sort(key=lambda k: (-len(where[k]), -pooled[k], k))
    rows_of_table: list[dict[str, Any]] = [
        {
            "dimension": k,
            "layers": len(where[k]),
            "of_layers": sum(len(found.mean) > k for found in layers.values()),
            "which": where[k],
            "share_minimum": float(lowest[k] / vectors[k]),
            "share_maximum": float(highest[k] / vectors[k]),
            "largest_share": float(peak[k]),
            "largest_deviations": float(furthest[k]),
        }
        for k in outliers
    ]
    return TableValue(rows_of_table, rule_text(width) if width else "")
