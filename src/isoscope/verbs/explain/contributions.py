"""How much each cause contributes to the unevenness of a layer, in one unit for all causes.

**The unit.** Scale all vectors to norm 1. The mean squared cosine of two tokens, E cos²(u, u′), is
‖M‖² with M = E[u uᵀ]: it is 1/d where all directions are filled alike, and more with an offset of
all vectors as well as with a few directions that hold most of the variance. What it has beyond 1/d
is the unevenness. A cause is taken out of the vectors, and the share by which the unevenness falls
is its contribution:

    contribution = 1 − (‖M_c‖² / (tr M_c)² − 1/d_c) / (‖M‖² − 1/d)

**What is taken out.** Of *outliers*, the dimensions that stand out. Of *layernorm*, gain g and bias
b of the norm that ends the layer: z = (x − b) / g. Of *frequency*, what is linear in log frequency,
with a slope over kinds of tokens that all have the same weight, and for each kind that of all
others. Of *position*, the effects of bands of positions beside those of the kinds of tokens:
u_i = a_band(i) + m_kind(i) + e_i, fitted by least squares, so that a word that begins texts does
not pass for a position.

**By chance** something is always taken out. So positions are dealt anew among the tokens of each
kind, and vectors of kinds among the frequencies: the mean of that is subtracted from the
contribution, where it is above 0. Some dimensions always have the largest entries of a direction:
what they contribute where they are as large as in one of a hundred random directions is what chance
makes. A cause must be above the largest of these. An interval takes the influence function of every
token, summed over the tokens of a text.

Contributions overlap, where two causes make the same directions, and do not add up to 1.

References
----------
Frisch & Waugh (1933), Partial time regressions as compared with individual trends, for the effects
of bands beside those of kinds. Hampel (1974), The influence curve and its role in robust
estimation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import (
    LEVEL,
    Score,
    difference,
    quantile,
    standard_error,
)
from isoscope.verbs.explain.topics.outliers import share_by_chance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.typing import Vector

    Matrix = NDArray[np.float64]
    Numbers = NDArray[np.int64]

FREQUENCY, POSITION, NORMS, OUTLIERS = "frequency", "position", "layernorm", "outliers"

# Being above all of so many deals happens by chance once in forty times.
DEALS = 39
# Texts below which the spread between texts says too little.
FEWEST_TEXTS = 20
# Kinds of tokens below which a few frequent ones decide on the slope.
FEWEST_KINDS = 100
# Bands of positions: at most so many, each with so many tokens.
MOST_BANDS, FEWEST_IN_BAND = 32, 50
# Share of the tokens whose kind must occur again, for positions to be told from kinds.
LEAST_REPEATED = 0.5
# Contributions below this are not worth naming.
LEAST = 0.05
# Unevenness below this, in units of 1/d, leaves nothing to explain.
LEAST_UNEVEN = 0.1


@dataclass(frozen=True)
class LayerTokens:
    """The tokens of one layer, and what is known of them.

    Attributes
    ----------
    vectors : array
        A row for every token.
    kinds, positions, texts : array
        The row of the vocabulary, the place in the text, and the number of the text.
    log_frequencies : array, optional
        Of every token; NaN where there is none.
    outliers : sequence of int
        The dimensions that stand out.
    without_norm : array, optional
        The vectors without gain and bias of the norm that ends the layer.
    """

    vectors: NDArray[Any]
    kinds: Numbers
    positions: Numbers
    texts: Numbers
    log_frequencies: Vector | None = None
    outliers: Sequence[int] = ()
    without_norm: NDArray[Any] | None = None


@dataclass(frozen=True)
class Contribution:
    """What a cause contributes to the unevenness.

    Attributes
    ----------
    cause : str
        The topic that it belongs to.
    score : Score
        The share of the unevenness; its items are texts. Without a value, its note says why.
    by_chance : float, optional
        What chance makes at most, less what was subtracted.
    """

    cause: str
    score: Score
    by_chance: float | None = None

    @property
    def found(self) -> bool:
        """Whether the cause contributes, by more than chance makes it."""
        value, low = self.score.value, self.score.low
        if value is None or low is None or not self.large or low <= 0:
            return False
        return self.by_chance is None or value > self.by_chance

    @property
    def large(self) -> bool:
        """Whether its share is worth naming, whatever chance makes."""
        return self.score.value is not None and self.score.value >= LEAST

    @property
    def evens_out(self) -> bool:
        """Whether the vectors would be less even without it, as where a norm damps outliers."""
        return self.score.high is not None and self.score.high < -LEAST


@dataclass(frozen=True)
class Comparison:
    """The contributions to the unevenness of a layer.

    Attributes
    ----------
    mean_squared_cosine, even : float
        Of two tokens, as it is and in a space that is filled evenly.
    unevenness : Score
        The difference of both.
    contributions : tuple of Contribution
        The largest first; those that could not be measured at the end.
    """

    mean_squared_cosine: float
    even: float
    unevenness: Score
    contributions: tuple[Contribution, ...]

    @property
    def uneven(self) -> bool:
        """Whether there is anything to explain."""
        low = self.unevenness.low
        return low is not None and low > LEAST_UNEVEN * self.even

    @property
    def measured(self) -> list[Contribution]:
        """The causes whose contribution is known, the largest first."""
        return [one for one in self.contributions if one.score.value is not None]

    @property
    def found(self) -> list[Contribution]:
        """The causes that contribute, the largest first."""
        return [one for one in self.measured if one.found] if self.uneven else []

    @property
    def undecided(self) -> list[Contribution]:
        """The causes that may contribute, or not: chance could make as much."""
        return [one for one in self.measured if not one.found and one.large] if self.uneven else []

    @property
    def largest(self) -> list[Contribution]:
        """The cause that contributes most, with those that do not contribute significantly less.

        None where another one may contribute more.
        """
        found = self.found
        if not found or any(one in self.undecided for one in self.before(found[0])):
            return []
        return [one for one in found if one is found[0] or not self.apart(found[0], one)]

    def before(self, cause: Contribution) -> list[Contribution]:
        """Return the causes with a larger share than one of them."""
        return self.measured[: self.measured.index(cause)]

    def apart(self, more: Contribution, less: Contribution) -> bool:
        """Whether one cause contributes significantly more than another."""
        apart = difference(more.score, less.score, level=LEVEL)
        if apart.value is None or apart.low is None:
            # No text tells the two apart: they differ by as much in each, or not at all.
            return bool(apart.value)
        return apart.low > 0


@dataclass(frozen=True)
class Unevenness:
    """The mean squared cosine of rows less that of an even space, with the influence of each row.

    Attributes
    ----------
    value : float
        ‖M‖² / (tr M)² − 1/d, over pairs of different rows.
    influences : array
        To first order the error of the value is their mean.
    """

    value: float
    influences: Vector


def unevenness(rows: Matrix, dimension: int) -> Unevenness:
    """Measure rows that span at most so many dimensions."""
    n = len(rows)
    moment = rows.T @ rows / n
    squares = np.einsum("ij,ij->i", rows, rows)
    products = np.einsum("ij,ij->i", rows @ moment, rows)
    trace, total = float(squares.mean()), float(products.mean())
    pairs = different_pairs(total, squares)
    influences = 2 * (products - total) / trace**2 - 2 * pairs / trace**3 * (squares - trace)
    return Unevenness(pairs / trace**2 - 1 / dimension, influences)


def different_pairs(total: float, squares: Vector) -> float:
    """Take the pairs of a row with itself out of the mean of (r_i · r_j)² over all pairs."""
    n = len(squares)
    return (n * total - float(np.mean(squares**2))) / (n - 1)


def of_moment(moment: Matrix, dimension: int, n: int) -> float:
    """Return the unevenness of n rows of nearly one norm from their second moments."""
    trace = float(np.trace(moment))
    total = float(np.vdot(moment, moment)) / trace**2
    return different_pairs(total, np.ones(n)) - 1 / dimension


def compare_causes(tokens: LayerTokens, causes: Iterable[str], seed: int = 0) -> Comparison:
    """Take every cause out of the vectors of a layer, and see how much evener they are.

    Parameters
    ----------
    tokens : LayerTokens
        The vectors; those that are zero have no direction and are left out.
    causes : iterable of str
        Which of `FREQUENCY`, `POSITION`, `NORMS` and `OUTLIERS` are compared.
    seed : int
        Of what is dealt at random.
    """
    tokens = with_direction(tokens)
    units = unit(tokens.vectors)
    dimension = units.shape[1]
    texts = np.unique(tokens.texts, return_inverse=True)[1]
    whole = unevenness(units, dimension)
    around = clustered(whole.value, whole.influences, texts)
    if whole.value <= 0:
        return Comparison(whole.value + 1 / dimension, 1 / dimension, around, ())
    found = []
    for cause in causes:
        taken = TAKEN_OUT[cause](tokens, units, np.random.default_rng(seed))
        if isinstance(taken, str):
            found.append(Contribution(cause, Score(None, None, None, int(texts.max()) + 1, taken)))
            continue
        left = unevenness(taken.rows, taken.dimension)
        # What is fitted takes some noise with it; where that makes a space less even, nothing is
        # to be subtracted.
        mean = max(0.0, float(np.mean(taken.dealt))) if taken.fitted else 0.0
        share = 1 - left.value / whole.value
        slope = (left.value * whole.influences / whole.value - left.influences) / whole.value
        score = clustered(share - mean, slope, texts)
        found.append(Contribution(cause, score, max(taken.dealt) - mean if taken.dealt else None))
    found.sort(key=lambda one: (one.score.value is None, -(one.score.value or 0.0)))
    return Comparison(whole.value + 1 / dimension, 1 / dimension, around, tuple(found))


def with_direction(tokens: LayerTokens) -> LayerTokens:
    """Leave out the vectors that are zero, with or without the norm."""
    kept = np.asarray(tokens.vectors).any(axis=1)
    if tokens.without_norm is not None:
        kept &= np.asarray(tokens.without_norm).any(axis=1)
    if kept.all():
        return tokens
    known, bare = tokens.log_frequencies, tokens.without_norm
    return LayerTokens(
        tokens.vectors[kept], tokens.kinds[kept], tokens.positions[kept], tokens.texts[kept],
        None if known is None else known[kept], tokens.outliers,
        None if bare is None else bare[kept],
    )  # fmt: skip


def unit(vectors: NDArray[Any]) -> Matrix:
    """Return vectors, none of them zero, with norm 1."""
    rows = np.asarray(vectors, np.float64)
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)  # so that no square overflows
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def clustered(value: float, influences: Vector, texts: NDArray[np.intp]) -> Score:
    """Put an interval around a number, the texts being what is drawn."""
    number = int(texts.max()) + 1
    if number < FEWEST_TEXTS:
        why = f"no interval from fewer than {FEWEST_TEXTS} texts"
        return Score(value, None, None, number, why)
    totals = np.bincount(texts, influences) * number / len(influences)
    half = quantile(LEVEL, number) * standard_error(totals)
    return Score(value, value - half, value + half, number, influences=totals)


@dataclass(frozen=True)
class TakenOut:
    """Vectors without a cause.

    Attributes
    ----------
    rows : array
        What is left of every vector.
    dimension : int
        How many dimensions they span at most.
    dealt : sequence of float
        Contributions that chance makes.
    fitted : bool
        Whether what is taken out was fitted to the vectors.
    """

    rows: Matrix
    dimension: int
    dealt: Sequence[float] = ()
    fitted: bool = False


def without_outliers(
    tokens: LayerTokens, units: Matrix, random: np.random.Generator
) -> TakenOut | str:
    """Leave out the dimensions that stand out."""
    del random
    dimension, number = units.shape[1], len(tokens.outliers)
    if dimension - number < 2:
        return "fewer than two dimensions are left without the outliers"
    if not number:
        return TakenOut(units, dimension)
    rows = np.delete(units, np.asarray(tokens.outliers, np.intp), axis=1)
    return TakenOut(rows, dimension - number, [at_most_by_chance(number, dimension)])


def at_most_by_chance(number: int, dimension: int) -> float:
    """Return what the largest entries contribute at most where no dimension really stands out.

    Where all unevenness is along one direction at random, its largest entries hold a share s of it,
    and the second moment along it falls from 1 to (1 − s)².
    """
    return 1 - (1 - share_by_chance(number, dimension)) ** 2


def without_norm(tokens: LayerTokens, units: Matrix, random: np.random.Generator) -> TakenOut | str:
    """Undo gain and bias; nothing about them is drawn."""
    del units, random
    if tokens.without_norm is None:
        return "no norm with gains that can be undone ends this layer"
    return TakenOut(unit(tokens.without_norm), tokens.without_norm.shape[1])


@dataclass(frozen=True)
class Shifts:
    """What takes known amounts off rows, and what is left of their unevenness: u_i − (Z B)_i.

    Only products of Z with the rows are needed for a deal, not the rows that are left.
    """

    units: Matrix
    moment: Matrix

    def left(self, design: Any, effects: Matrix) -> float:
        """Return the unevenness of what is left."""
        n, dimension = len(self.units), int(self.units.shape[1])
        crossed = effects.T @ (design.T @ self.units) / n
        moment = self.moment - crossed - crossed.T + effects.T @ (design.T @ (design @ effects)) / n
        taken = design @ effects
        squares = 1 - 2 * np.einsum("ij,ij->i", self.units, taken)
        squares += np.einsum("ij,ij->i", taken, taken)
        total = float(np.vdot(moment, moment))
        return different_pairs(total, squares) / float(squares.mean()) ** 2 - 1 / dimension


def without_frequency(
    tokens: LayerTokens, units: Matrix, random: np.random.Generator
) -> TakenOut | str:
    """Take off what is linear in log frequency."""
    if tokens.log_frequencies is None:
        return "frequencies are not known"
    known = np.isfinite(tokens.log_frequencies)
    kinds, first, place = np.unique(tokens.kinds[known], return_index=True, return_inverse=True)
    if len(kinds) < FEWEST_KINDS:
        return f"fewer than {FEWEST_KINDS} kinds of tokens have a frequency"
    frequencies = tokens.log_frequencies[known][first]
    if np.ptp(frequencies) == 0:
        return "all tokens have the same frequency"
    means = group_sums(place, len(kinds)) @ units[known] / np.bincount(place)[:, None]
    counts = np.bincount(place)
    middle = float(frequencies[place].mean())
    effects = np.zeros_like(units)
    effects[known] = frequency_effects(frequencies, means, middle)[place]
    # The vectors of kinds are dealt, not the frequencies: the commonest kinds, which are a large
    # part of all tokens, then keep their weight on both sides.
    inside = means.T @ (counts[:, None] * means)
    rest = units.T @ units - inside
    dealt = []
    for _ in range(DEALS):
        drawn = random.permutation(means)
        left = drawn - frequency_effects(frequencies, drawn, middle)
        before, after = (
            of_moment(
                (rest + one.T @ (counts[:, None] * one)) / len(units), units.shape[1], len(units)
            )
            for one in (drawn, left)
        )
        dealt.append(1 - after / before)
    return TakenOut(units - effects, units.shape[1], dealt, fitted=True)


def frequency_effects(frequencies: Vector, means: Matrix, middle: float) -> Matrix:
    """Return what log frequency adds to the vectors of every kind, beside that at the middle.

    The slope of a kind is that of all others: with residuals e and leverages h it is
    b − (f_k − f̄) e_k / ((1 − h_k) Σ (f − f̄)²). A word that is in every text is a large part of the
    tokens, and its own vector must not pass for the effect of its frequency.
    """
    about = frequencies - frequencies.mean()
    spread = float(about @ about)
    centred = means - means.mean(axis=0)
    slope = about @ centred / spread
    leverages = 1 / len(about) + about**2 / spread
    residuals = centred - np.outer(about, slope)
    own = (about / ((1 - leverages) * spread))[:, None] * residuals
    return np.asarray((frequencies - middle)[:, None] * (slope - own))


def without_position(
    tokens: LayerTokens, units: Matrix, random: np.random.Generator
) -> TakenOut | str:
    """Take off the effects of bands of positions, beside those of the kinds of tokens."""
    bands = position_bands(tokens.positions, tokens.texts)
    number = int(bands.max()) + 1
    if number < 2:
        return "too few tokens, or too short texts, to compare positions"
    inside = np.flatnonzero(bands >= 0)
    kinds = np.unique(tokens.kinds[inside], return_inverse=True)[1]
    counts = np.bincount(kinds)
    if np.mean(counts[kinds] > 1) < LEAST_REPEATED:
        return "too few tokens occur more than once to separate positions from them"
    own, rows = bands[inside], units[inside]
    means = group_sums(kinds, len(counts)) @ rows / counts[:, None]

    def fit(of: Numbers) -> tuple[Any, Matrix]:
        design = membership_of(inside, of, (len(units), number))
        return design, band_effects(of, number, kinds, counts, rows, means)

    shifts = Shifts(units, units.T @ units / len(units))
    whole = of_moment(shifts.moment, units.shape[1], len(units))
    design, effects = fit(own)
    dealt = [1 - shifts.left(*fit(dealt_within(own, kinds, random))) / whole for _ in range(DEALS)]
    return TakenOut(units - design @ effects, units.shape[1], dealt, fitted=True)


def position_bands(positions: Numbers, texts: Numbers) -> Numbers:
    """Number bands of neighbouring positions; −1 for the last, where too few texts are as long."""
    least = max(FEWEST_IN_BAND, len(positions) // MOST_BANDS)
    band_of = np.full(int(positions.max()) + 1, -1)
    band, waiting, tokens = 0, 0, 0
    order = np.argsort(positions, kind="stable")
    places, starts = np.unique(positions[order], return_index=True)
    met: set[int] = set()
    for place, some in zip(places, np.split(order, starts[1:]), strict=True):
        tokens += len(some)
        met.update(texts[some].tolist())
        if tokens >= least and len(met) >= FEWEST_TEXTS:
            band_of[waiting : place + 1] = band
            band, waiting, tokens = band + 1, int(place) + 1, 0
            met = set()
    return np.asarray(band_of[positions])


def band_effects(
    bands: Numbers,
    number: int,
    kinds: NDArray[np.intp],
    counts: NDArray[np.intp],
    rows: Matrix,
    means: Matrix,
) -> Matrix:
    """Return the effect of every band beside those of kinds, by least squares, with mean 0.

    The bands less their share in every kind, D, solve (Dᵀ D) a = Dᵀ U. With N the tokens of every
    kind in every band, Dᵀ D = diag(N's sums over kinds) − Nᵀ diag(1 / counts) N.
    """
    from scipy.sparse import csr_array

    ones = np.ones(len(rows))
    crossed = csr_array((ones, (kinds, bands)), shape=(len(counts), number))
    sizes = np.bincount(bands, minlength=number).astype(np.float64)
    normal = np.diag(sizes) - (crossed.T @ crossed.multiply(1 / counts[:, None])).toarray()
    sums = group_sums(bands, number) @ rows - crossed.T @ means
    # A constant for all bands is no effect of theirs: the matrix has no inverse.
    effects = np.linalg.lstsq(normal, sums, rcond=1e-9)[0]
    return np.asarray(effects - sizes @ effects / sizes.sum())


def group_sums(groups: NDArray[Any], number: int) -> Any:
    """Return the matrix that adds up the rows of every group."""
    rows = np.arange(len(groups))
    return membership_of(rows, groups, (len(groups), number)).T.tocsr()


def membership_of(rows: NDArray[Any], groups: NDArray[Any], shape: tuple[int, int]) -> Any:
    """Return the matrix with a row for every token and a column for every group."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(rows)), (rows, groups)), shape=shape)


def dealt_within(values: Numbers, kinds: NDArray[np.intp], random: np.random.Generator) -> Numbers:
    """Deal values anew among the tokens of each kind."""
    found = np.empty_like(values)
    drawn = np.lexsort((random.random(len(values)), kinds))
    found[np.argsort(kinds, kind="stable")] = values[drawn]
    return found


TAKEN_OUT: Mapping[str, Any] = {
    FREQUENCY: without_frequency,
    POSITION: without_position,
    NORMS: without_norm,
    OUTLIERS: without_outliers,
}
