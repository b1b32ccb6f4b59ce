"""The topic of frequency: bands, directions and lengths by how frequent tokens are.

Tokens of like frequency are looked at together: how evenly each band fills its space, and where it
lies. Then whether principal components, and lengths, follow how frequent tokens are. Occurrences of
one token are not independent of each other, so that the unit is the kind of token: components are
those of all vectors, and what is correlated is the mean projection of each kind's occurrences with
log10 frequency (Pearson), and the mean of their lengths with frequency (Spearman). In a matrix
every kind has one row. The sign of a component is arbitrary: |r| is given.

Tokens that a text lacks have no logarithm, but a rank: the last. Leaving them out there, too, would
leave most of a vocabulary and all of its rare end out where the text is short. So a matrix is two
populations, each with figures and a number of tokens of its own: the tokens of the text, whose
components and lengths are correlated with frequency, and all tokens of the vocabulary, whose
lengths and bands are. No figure is about some rows of one and some of the other.

References
----------
Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy, figure 5. Gong et al.
(2018), FRAGE: frequency-agnostic word representation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope import corrections
from isoscope.compute.stats.estimates import Score, pearson, spearman
from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import lowest_indices
from isoscope.measures.views import NONE
from isoscope.models.frequencies import (
    Coverage,
    Frequencies,
    word_counts,
)
from isoscope.models.layer_names import EMBEDDING_MATRIX
from isoscope.models.weights.embeddings import token_texts
from isoscope.results.result import Row, Table
from isoscope.results.tables import grouped
from isoscope.verbs.explain.names import DIFFERENCE, EXPLAINED_BY_FREQUENCY, NORM, WITH_FREQUENCY
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic, cosine
from isoscope.verbs.explain.topics.unused import UNUSED_TOKENS, unused_rows
from isoscope.verbs.measure.api import measure
from isoscope.wording import and_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


LAST_RANKS = (100, 1_000, 10_000)
BANDS = (
    "ranks 1 to 100", "ranks 101 to 1,000", "ranks 1,001 to 10,000", "ranks beyond 10,000",
    "not in the text",
)  # fmt: skip
NOT_IN_TEXT = len(BANDS) - 1

# The rows of the matrix whose tokens have a frequency above 0; the matrix itself stands for all.
IN_TEXT = f"{EMBEDDING_MATRIX}, tokens in the text"
# How many kinds of tokens a population has.
KINDS = "kinds_of_tokens"
UNKNOWN = -1

MEASURES = ("mean_cosine", "i1_scaled", "mean_norm")
WITH_MEAN = "cosine_with_mean"

# Of fewer vectors a mean cosine or an I1 says more about the draw than about the band.
FEWEST_ROWS = 30


def band_numbers(frequencies: Frequencies) -> NDArray[np.int64]:
    """Return the band of every token of a vocabulary, by its rank; −1 without a frequency.

    Among equally frequent tokens the first in the vocabulary has the first rank.
    """
    shares = frequencies.shares
    bands = np.full(len(shares), UNKNOWN)
    counted = np.flatnonzero(shares > 0)
    order = counted[np.argsort(-shares[counted], kind="stable")]
    # A rank belongs to the first band whose last rank is not below it: rank 100 is still in band 0.
    bands[order] = np.searchsorted(LAST_RANKS, np.arange(1, len(order) + 1))
    bands[shares == 0] = NOT_IN_TEXT
    return bands


def band_rows(
    where: str,
    vectors: NDArray[Any],
    ids: NDArray[np.int64],
    frequencies: Frequencies,
    texts: NDArray[np.int64] | None = None,
) -> list[Row]:
    """Measure the vectors of every band, and the cosine of their mean with the mean of all.

    Parameters
    ----------
    where : str
        What the vectors are of: a matrix or a layer.
    vectors : array
        A row for every token of a vocabulary, or for every occurrence in a text.
    ids : array
        The token of every row.
    frequencies : Frequencies
        Of the vocabulary.
    texts : array, optional
        The text of every row, of which intervals take account; None for a matrix, which is all
        there is and has no error.
    """
    bands = band_numbers(frequencies)[ids]
    left = int((bands == UNKNOWN).sum())
    protocol = (
        f"{len(ids):,} rows, {left:,} without a frequency left out of all bands; "
        f"frequencies: {frequencies.source}"
        + ("" if texts is None else "; rows of one text counted together")
    )
    mean = np.asarray(vectors.mean(axis=0, dtype=np.float64))
    rows: list[Row] = []
    for number, name in enumerate(BANDS):
        inside = bands == number
        if inside.any():
            known = None if texts is None else texts[inside]
            rows += [
                replace(row, subject="", part=f"{where}, {name}", protocol=protocol)
                for row in rows_of(vectors[inside], mean, known)
            ]
    return rows


def rows_of(
    vectors: NDArray[Any], mean: NDArray[np.float64], texts: NDArray[np.int64] | None
) -> Iterator[Row]:
    """Yield what is measured of one band; nothing is, where it is too small."""
    if len(vectors) < FEWEST_ROWS:
        note = f"left out: fewer than {FEWEST_ROWS} rows"
        for name in (*MEASURES, WITH_MEAN):
            yield Row("", "", NONE, name, None, n=len(vectors), note=note)
        return
    yield from measure(
        ArrayCloud(vectors), MEASURES, [NONE],
        intervals=texts is not None, documents=texts,
    )  # fmt: skip
    found = cosine(vectors.mean(axis=0, dtype=np.float64), mean)
    note = "undefined: a mean is 0" if found is None else ""
    yield Row("", "", NONE, WITH_MEAN, found, n=len(vectors), note=note)


COMPONENTS = 3
# Tokens of a scatter plot.
POINTS = 2_000


@dataclass(frozen=True)
class Directions:
    """How components and lengths go with frequency, and a picture of it."""

    rows: list[Row]
    scatter: Table


def frequency_directions(
    where: str,
    vectors: NDArray[Any],
    ids: NDArray[np.int64],
    tokens: NDArray[np.object_],
    frequencies: Frequencies,
    seed: int = 0,
) -> Directions:
    """Correlate the first components and the lengths of vectors with log10 frequency.

    Parameters
    ----------
    where : str
        What the vectors are of: a matrix or a layer.
    vectors : array
        A row for every token of a vocabulary, or for every occurrence in a text. All of them decide
        what the components are.
    ids, tokens : array
        The token of every row, and how it is written.
    frequencies : Frequencies
        Of the vocabulary; tokens without one are not correlated.
    seed : int
        Of the points that are drawn.
    """
    cloud = ArrayCloud(vectors)
    # Whitening keeps what is needed of the principal components: the mean, the directions, and
    # which of them have no variance left.
    pca = corrections.Whiten().fit_cloud(cloud)
    directions = pca.components_[:COMPONENTS].T
    projections = np.concatenate(
        [(batch.vectors - pca.mean_) @ directions for batch in cloud.read()]
    )
    logs = frequencies.log10(ids)
    known = np.flatnonzero(~np.isnan(logs))
    protocol = (
        f"components of {len(vectors):,} vectors; correlated over kinds of tokens, by their means; "
        f"frequencies: {frequencies.source}"
    )
    scores = {}
    for k in range(projections.shape[1]):
        kinds, means = kind_means(ids[known], projections[known, k])
        score = pearson(means, frequencies.log10(kinds))
        if k in pca.dropped_:
            score = Score(None, None, None, score.n, "undefined: no variance is left in it")
        scores[f"{EXPLAINED_BY_FREQUENCY}/component_{k + 1}"] = absolute(score)
    scores[NORM] = length_score(vectors, ids, frequencies)
    rows = [
        Row.of(score, "", where, NONE, name, protocol=protocol) for name, score in scores.items()
    ]
    chosen = known[lowest_indices(len(known), min(POINTS, len(known)), seed)]
    points = [
        {
            "first": float(projections[row, 0]),
            "second": float(projections[row, 1]),
            "log10_frequency": float(logs[row]),
            "token": str(tokens[row]),
        }
        for row in chosen
    ]
    drawn = "" if len(points) == len(known) else ", drawn at random"
    about = f"{len(points):,} of {len(known):,} tokens with a frequency{drawn}"
    return Directions(rows, Table("", where, NONE, "frequency_projections", points, about))


def length_score(vectors: NDArray[Any], ids: NDArray[np.int64], frequencies: Frequencies) -> Score:
    """Correlate the ranks of lengths and of frequencies, over all kinds that have a frequency."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    ranked = np.flatnonzero(~np.isnan(frequencies.shares[ids]))
    kinds, means = kind_means(ids[ranked], lengths[ranked])
    return spearman(means, frequencies.shares[kinds])


def kind_means(
    ids: NDArray[np.int64], values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the different tokens, and the mean of a figure over the occurrences of each."""
    kinds, places, counts = np.unique(ids, return_inverse=True, return_counts=True)
    return kinds, np.bincount(places, values) / counts


def absolute(score: Score) -> Score:
    """Return the size of a correlation; an interval around 0 begins at 0."""
    if score.value is None:
        return score
    if score.low is None or score.high is None:
        return replace(score, value=abs(score.value))
    ends = sorted((abs(score.low), abs(score.high)))
    low = 0.0 if score.low <= 0 <= score.high else ends[0]
    return replace(score, value=abs(score.value), low=low, high=ends[1])


# A correlation that is worth a sentence: below it frequency explains less than a tenth of what
# varies.
STRONG = 0.3
# The interval must stay above this: several relations are looked at, and the strongest of them is
# above 0 by chance.
SURELY = 0.1
# Over fewer kinds of tokens a few frequent ones decide.
FEWEST_KINDS = 100

FIRST_WORDS = 100
HALF = 0.5


def explain_frequency(question: Question) -> Explanation:
    """Say whether components, lengths and unused tokens go with frequency, and where."""
    model, texts = question.model, question.some_texts
    cloud = model.embedding_cloud("input")
    counted = {
        "words": word_counts(texts).values(), "tokens": question.token_counts.tolist()
    }  # fmt: skip
    found = [
        coverage_rows(Coverage.of(each), texts.name, (FIRST_WORDS,), (HALF,), what)
        for what, each in counted.items()
    ]
    frequencies = question.token_frequencies
    rows = [row for some, _ in found for row in some]
    tables = [table for _, table in found]
    # No larger than the network that reads the text.
    matrix = np.concatenate([np.asarray(batch.vectors, np.float32) for batch in cloud.read()])
    everything = np.arange(len(matrix))
    tokens = np.array(token_texts(model.tokenizer, len(matrix)), dtype=object)
    sample, layer = question.sample, question.chosen_layer
    rows += band_rows(EMBEDDING_MATRIX, matrix, everything, frequencies)
    rows += band_rows(layer, sample.layers[layer], sample.ids, frequencies, sample.sentences)
    for where, vectors, ids, names in (
        (IN_TEXT, matrix, everything, tokens),
        (layer, sample.layers[layer], sample.ids, sample.tokens),
    ):
        inside = with_frequency(ids, frequencies)
        directions = frequency_directions(
            where, vectors[inside], ids[inside], names[inside], frequencies, question.seed
        )
        rows += [*directions.rows, kinds_row(where, ids[inside], frequencies)]
        tables.append(directions.scatter)
    rows += matrix_rows(matrix, everything, frequencies)
    rows += unused_rows(cloud, frequencies, EMBEDDING_MATRIX)
    strong = any(map(is_strong, relations(rows)))
    return Explanation(strong, sentence_of(rows), rows, tables, *in_brief(rows))


def in_brief(rows: Sequence[Row]) -> tuple[str, tuple[KeyFigure, ...]]:
    """Return the finding as a clause, with the strongest correlations."""
    known = sorted(relations(rows), key=size_of, reverse=True)
    strong = [row for row in known if is_strong(row)]
    figures = tuple(KeyFigure(meaning_of(row), row.value) for row in (strong or known)[:3])
    if not strong:
        return "frequency is related to neither directions nor norms", figures
    kinds = [kind for kind, name in (("norms", NORM), ("unused tokens", WITH_FREQUENCY))
             if any(row.measure == name for row in strong)]  # fmt: skip
    if any(row.measure.startswith(EXPLAINED_BY_FREQUENCY) for row in strong):
        kinds.insert(0, "directions")
    return f"{and_list(kinds)} are related to the frequency of tokens", figures


def meaning_of(row: Row) -> str:
    """Say what a correlation with frequency is, in a line of a table."""
    if row.measure == NORM:
        return f"ρ of norm and frequency, {short_place(row)}"
    if row.measure == WITH_FREQUENCY:
        return "ρ of frequency and nearness of unused tokens"
    number = row.measure.rpartition("_")[2]
    return f"|r| of component {number} and frequency, {short_place(row)}"


def short_place(row: Row) -> str:
    """Return where a correlation is, in a line of a table."""
    return {IN_TEXT: "matrix", EMBEDDING_MATRIX: "whole matrix"}.get(row.part, row.part)


def with_frequency(ids: NDArray[np.int64], frequencies: Frequencies) -> NDArray[np.intp]:
    """Return the rows whose tokens have a frequency above 0; all rows where fewer than two have.

    Figures of the others are undefined either way, and say so.
    """
    inside = np.flatnonzero(frequencies.shares[ids] > 0)
    return inside if len(inside) > 1 else np.arange(len(ids))


def matrix_rows(
    matrix: NDArray[Any], ids: NDArray[np.int64], frequencies: Frequencies
) -> list[Row]:
    """Correlate lengths over all tokens of the vocabulary; those not in the text rank last."""
    protocol = (
        f"all {len(matrix):,} rows; tokens that are not in the text have the last rank; "
        f"frequencies: {frequencies.source}"
    )
    score = length_score(matrix, ids, frequencies)
    return [
        Row.of(score, "", EMBEDDING_MATRIX, NONE, NORM, protocol=protocol),
        kinds_row(EMBEDDING_MATRIX, ids, frequencies),
    ]


def kinds_row(where: str, ids: NDArray[np.int64], frequencies: Frequencies) -> Row:
    """Count the kinds of tokens of a population that have a frequency, be it 0."""
    kinds = np.unique(ids[~np.isnan(frequencies.shares[ids])])
    return Row("", where, NONE, KINDS, float(len(kinds)), n=len(kinds))


def coverage_rows(
    coverage: Coverage,
    text: str,
    firsts: Sequence[int],
    shares: Sequence[float],
    what: str = "",
) -> tuple[list[Row], Table]:
    """Return how much of a text its most frequent words cover, and how steeply they fall.

    Parameters
    ----------
    coverage : Coverage
        Counts of the words.
    text : str
        What the text is called.
    firsts : sequence of int
        Numbers of most frequent words, whose share of the text is given.
    shares : sequence of float
        Shares of the text, for which the number of words that cover it is given.
    what : str
        What was counted, which is also the part that rows are about.
    """
    counted = f"{coverage.total:,} {what} of" if what else f"{coverage.total:,} of"
    how = f"{counted} {len(coverage.counts):,} kinds in {text}, punctuation in"
    values: dict[str, float | None] = {
        f"share_of_first_{first}": coverage.share_of(first) for first in firsts
    }
    values |= {f"needed_for_{share:g}": float(coverage.needed_for(share)) for share in shares}
    values["zipf_exponent"] = coverage.zipf_exponent()
    rows = [
        Row(
            "", what, NONE, measure, value, n=coverage.total, protocol=how,
            note="" if value is not None else "one kind of words only",
        )
        for measure, value in values.items()
    ]  # fmt: skip
    return rows, Table("", what, NONE, "coverage", coverage.curve(), how)


def relations(rows: Sequence[Row]) -> list[Row]:
    """Return the correlations with frequency that the topic judges."""
    return [
        row
        for row in rows
        if row.correction == NONE
        and row.value is not None
        and (
            row.measure in (NORM, WITH_FREQUENCY)
            or row.measure.startswith(f"{EXPLAINED_BY_FREQUENCY}/")
        )
    ]


def is_strong(row: Row) -> bool:
    """Whether a correlation is large, surely not small, and of enough kinds of tokens."""
    assert row.value is not None
    assert row.n is not None
    # Only a perfect correlation of so many has no interval.
    low, high = (row.value if end is None else end for end in (row.low, row.high))
    surely = min(abs(low), abs(high)) >= SURELY and low * high > 0
    return abs(row.value) >= STRONG and surely and row.n >= FEWEST_KINDS


def sentence_of(rows: Sequence[Row]) -> str:
    """Say the strongest relations with their figures, and where unused tokens lie."""
    known = [row for row in relations(rows) if row.measure != WITH_FREQUENCY]
    told = []
    for here in grouped(filter(is_strong, known), lambda row: row.part).values():
        told += sorted((row for row in here if row.measure != NORM), key=size_of)[-1:]
        told += [row for row in here if row.measure == NORM]
    if told:
        main = f"Frequency explains part of it: {'; '.join(map(clause, told))}."
    elif known:
        main = (
            f"Frequency explains neither components nor norms: no correlation is {STRONG:g} or "
            f"more and surely above {SURELY:g} over at least {FEWEST_KINDS} kinds of tokens; the "
            f"strongest: {clause(max(known, key=size_of))}."
        )
    else:
        main = "Frequency explains nothing: too few tokens have one to correlate anything with it."
    return f"{main} {about_unused(rows)}"


def size_of(row: Row) -> float:
    """Return how strong a correlation is."""
    assert row.value is not None
    return abs(row.value)


def clause(row: Row) -> str:
    """Say what one correlation means."""
    assert row.value is not None
    if row.measure == NORM:
        longer = "longer" if row.value > 0 else "shorter"
        return (
            f"in {place_of(row)} frequent tokens are {longer} than rare ones (ρ = {figures(row)})"
        )
    number = row.measure.rpartition("_")[2]
    return (
        f"component {number} of {place_of(row)} is correlated with log frequency (|r| = "
        f"{figures(row)})"
    )


def place_of(row: Row) -> str:
    """Return where a correlation is, as sentences say it: the matrix, block 6."""
    if row.part == IN_TEXT:
        return f"the {EMBEDDING_MATRIX} (tokens in the text)"
    if row.part == EMBEDDING_MATRIX:
        return f"the {EMBEDDING_MATRIX} (all tokens)"
    return row.part if row.part[-1].isdigit() else f"the {row.part}"


def figures(row: Row) -> str:
    """Return a correlation with its interval and number of kinds."""
    between = "" if row.low is None else f", 95 % interval {row.low:.2f} to {row.high:.2f}"
    return f"{row.value:.2f}{between}, {row.n:,} kinds of tokens"


def about_unused(rows: Sequence[Row]) -> str:
    """Say whether unused tokens are closer to rare tokens or to frequent ones."""
    found = [row for row in rows if row.measure == WITH_FREQUENCY and row.correction == NONE]
    if not found:
        return "No unused tokens are known: no token is named as one."
    row = found[0]
    count = f"{row.extra[UNUSED_TOKENS]:,} unused tokens"
    if row.value is None:
        return f"How close {count} are to rare ones is {row.note}."
    if is_strong(row):
        rare = row.value < 0
        closer = "rare tokens than to frequent" if rare else "frequent tokens than to rare"
        said = f"The {count} are closer to {closer} ones"
    else:
        said = f"The {count} are not clearly closer to rare tokens or to frequent ones"
    apart = next(row for row in rows if row.measure == DIFFERENCE and row.correction == NONE)
    bins = "" if apart.value is None else f"; mean cosines, {apart.note}: {apart.value:+.2f}"
    return f"{said} (ρ of their cosine with frequency = {figures(row)}{bins})."


FREQUENCY = Topic(
    "frequency", "Do directions and lengths follow how frequent tokens are?",
    "a text, whose tokens are counted; --frequencies wordfreq takes those of English instead",
    explain_frequency,
)  # fmt: skip
