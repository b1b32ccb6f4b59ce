"""What moves a verb further in its space: another tense, or another sense?

For every occurrence of a verb the mean Euclidean distance to the other occurrences of that verb
with the same tense and sense, the same tense and another sense, and another tense and the same
sense (Rajaee & Pilehvar 2021, table 4). Averages are over the occurrences that have such partners.

Whether tense moves a verb further is the mean over occurrences that have both kinds of partners of
c_i − b_i: the distance to another tense less that to another sense. As distances shrink with what a
correction removes, it is also given relative to d_i, the mean distance of the same occurrences to
all others of their verb: Σ (c_i − b_i) / Σ d_i.

Occurrences of one verb are not independent of each other; verbs are the units. Every figure is a
ratio R = Σ y / Σ x of sums over verbs (x counts occurrences, or sums d_i), and its error is
linearised: Var R ≈ V/(V − 1) Σ_v (y_v − R x_v)² / (Σ x)² with V verbs (Cochran 1977, Sampling
techniques, 3rd edition, chapter 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import (
    FEWEST,
    Estimate,
    Score,
    difference,
    quantile,
    standard_error,
)
from isoscope.compute.stats.jackknife import BLOCKS as FEW_BLOCKS
from isoscope.compute.stats.jackknife import FEWEST_IN_BLOCK, ITEM_BLOCKS, deal
from isoscope.corrections.named import NONE
from isoscope.data.arrays import ArrayCloud
from isoscope.errors import MissingError
from isoscope.results.fields import BLOCKS, REPLICATES
from isoscope.results.result import Row, Table
from isoscope.tasks.registry import find_task
from isoscope.verbs.explain.names import ALL, CONTRAST, I1, OTHER_SENSE, OTHER_TENSE, RELATIVE, SAME
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic
from isoscope.verbs.explain.topics.verb_occurrences import (
    OCCURRENCES_OF_A_SENSE,
    OCCURRENCES_OF_A_VERB,
    SEMCOR,
    SENSES_OF_A_VERB,
    Verbs,
    semcor_verbs,
    verb_spaces,
)
from isoscope.verbs.measure.api import measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.progress import Progress
    from isoscope.typing import Matrix, Vector

    Labels = NDArray[np.int64]


LEVEL = 0.95
# A contrast of less than this share of the distance between a verb's occurrences is no matter of
# note, however sure: the paper's figures are 4 to 9 % before its correction, −0.4 to −2 % after.
MARGIN = 0.01


def partner_distances(
    vectors: Matrix, verbs: Labels, senses: Labels, tenses: Labels
) -> dict[str, Vector]:
    """Return the mean distance of every occurrence to its partners of each kind.

    Parameters
    ----------
    vectors : array of shape (n, d)
        A row for every occurrence.
    verbs, senses, tenses : array of shape (n,)
        What it is an occurrence of. Only occurrences of the same verb are partners.

    Returns
    -------
    dict
        For each kind a figure for every occurrence, NaN where it has no such partner.
    """
    from scipy.spatial.distance import cdist

    found = {name: np.full(len(vectors), np.nan) for name in (SAME, OTHER_SENSE, OTHER_TENSE, ALL)}
    for verb in np.unique(verbs):
        own = np.flatnonzero(verbs == verb)
        rows = np.asarray(vectors[own], np.float64)
        apart = cdist(rows, rows)
        sense = senses[own][:, None] == senses[own]
        tense = tenses[own][:, None] == tenses[own]
        # An occurrence is no partner of itself, which only the same tense and sense could make it.
        others = ~np.eye(len(own), dtype=bool)
        for name, partners in (
            (SAME, sense & tense & others),
            (OTHER_SENSE, ~sense & tense),
            (OTHER_TENSE, sense & ~tense),
            (ALL, others),
        ):
            counts = partners.sum(axis=1)
            has = counts > 0
            found[name][own[has]] = (apart * partners).sum(axis=1)[has] / counts[has]
    return found


def contrasted(vectors: Matrix, verbs: Labels, senses: Labels, tenses: Labels) -> dict[str, Score]:
    """Return distances and contrasts with intervals; items of the scores are verbs."""
    each = partner_distances(vectors, verbs, senses, tenses)
    one = np.ones(len(vectors))
    further = each[OTHER_TENSE] - each[OTHER_SENSE]
    return {
        **{name: ratio_over_verbs(each[name], one, verbs) for name in each},
        CONTRAST: ratio_over_verbs(further, one, verbs),
        RELATIVE: ratio_over_verbs(further, each[ALL], verbs),
    }


def ratio_over_verbs(top: Vector, bottom: Vector, verbs: Labels) -> Score:
    """Return Σ top / Σ bottom over occurrences that have both, with an interval over verbs.

    The influence of a verb is V (y_v − R x_v) / Σ x, so that the error of the ratio is that of the
    influences' mean.
    """
    known = np.isfinite(top) & np.isfinite(bottom)
    about = {"occurrences": int(known.sum())}
    if not known.any():
        return Score(None, None, None, 0, "undefined: no occurrence has such partners", extra=about)
    _, place = np.unique(verbs[known], return_inverse=True)
    y, x = np.bincount(place, top[known]), np.bincount(place, bottom[known])
    total, n = float(x.sum()), len(x)
    if not total > 0:
        note = "undefined: all vectors of a verb are the same"
        return Score(None, None, None, n, note, extra=about)
    value = float(y.sum()) / total
    if n < FEWEST:
        note = f"no interval from fewer than {FEWEST} verbs"
        return Score(value, None, None, n, note, extra=about)
    influences = n * (y - value * x) / total
    half = quantile(LEVEL, n) * standard_error(influences)
    return Score(value, value - half, value + half, n, influences=influences, extra=about)


def replicates_over_verbs(
    vectors: Matrix, verbs: Labels, senses: Labels, tenses: Labels
) -> dict[str, dict[str, Any]]:
    """Return the mean distances without each block of the verbs, as fields of their rows.

    Another verb changes nothing about the distances of one, so that nothing is computed again. All
    figures have the same blocks; there are none with too few verbs.
    """
    each = partner_distances(vectors, verbs, senses, tenses)
    names, places = np.unique(verbs, return_inverse=True)
    count = next((k for k in (ITEM_BLOCKS, FEW_BLOCKS) if len(names) >= FEWEST_IN_BLOCK * k), 0)
    if not count:
        return {}
    blocks = deal(len(names), 0, count)[places]
    found = {}
    for name, distances in each.items():
        known = np.isfinite(distances)
        if all(known[blocks != k].any() for k in range(count)):
            means = [float(distances[known & (blocks != k)].mean()) for k in range(count)]
            found[name] = {REPLICATES: means, BLOCKS: f"{count} blocks of {len(names):,} verbs"}
    return found


@dataclass(frozen=True)
class VerbDistances:
    """How far occurrences of verbs are from each other, before and after corrections.

    Attributes
    ----------
    rows : list of Row
        Of every space, and of the changes after corrections.
    left_out : Table
        Why occurrences did not count, and how many.
    scores : dict
        The scores of every space.
    """

    rows: list[Row]
    left_out: Table
    scores: dict[str, dict[str, Score]]


def verb_distances(
    model: Model,
    found: Verbs,
    layer: str,
    corrections: Sequence[str],
    *,
    most: int | None = None,
    special: bool = False,
    seed: int = 0,
    replicates: bool = False,
    progress: Progress | None = None,
) -> VerbDistances:
    """Compare the occurrences of verbs in a layer, as they are and after corrections.

    Parameters
    ----------
    model, layer
        Whose vectors.
    found : Verbs
        What `semcor_verbs` gives.
    corrections : sequence of str
        Beside none; see `verb_spaces`.
    most : int, optional
        How many occurrences were drawn at most, for the protocol.
    special : bool
        Whether tokens that the tokenizer adds count where corrections are fitted.
    seed : int
        Of the draw, and of the tokens that corrections are fitted on.
    replicates : bool
        Whether distances also have their values without each block of the verbs.
    progress : callable, optional
        Called with ``texts``, texts done, and texts in all.
    """
    verbs, spaces = verb_spaces(
        model, found, layer, corrections, special=special, seed=seed, progress=progress
    )
    protocol = about(verbs, layer, seed, most)
    rows, scores = rows_of(spaces, verbs, layer, protocol, replicates=replicates)
    left_out = [{"reason": why, "occurrences": count} for why, count in verbs.left_out.items()]
    return VerbDistances(rows, Table("", layer, NONE, "left_out", left_out), scores)


def rows_of(
    spaces: Mapping[str, Matrix],
    verbs: Verbs,
    part: str,
    protocol: str,
    *,
    replicates: bool = False,
) -> tuple[list[Row], dict[str, dict[str, Score]]]:
    """Return the rows of every space, of the changes after corrections, and their scores."""
    labels = [verbs.labels(which) for which in ("lemma", "sense", "tense")]
    scores = {name: contrasted(vectors, *labels) for name, vectors in spaces.items()}
    rows = []
    for name, vectors in spaces.items():
        found: dict[str, Estimate] = {**scores[name]}
        again = replicates_over_verbs(vectors, *labels) if replicates else {}
        if name != NONE:
            for item in (CONTRAST, RELATIVE):
                change = difference(scores[name][item], scores[NONE][item], level=LEVEL)
                found[f"{item}/difference"] = change
        for item, score in found.items():
            # n counts occurrences; the units of the interval are verbs.
            occurrences = scores[name][item.removesuffix("/difference")].extra["occurrences"]
            rows.append(
                Row.of(
                    score, "", part, name, item,
                    n=occurrences, protocol=protocol,
                    extra={"verbs": score.n, **again.get(item, {})},
                )
            )  # fmt: skip
        i1 = measure(ArrayCloud(vectors), I1, NONE, intervals=False).row(I1)
        rows.append(replace(i1, subject="", part=part, correction=name, protocol=protocol))
    return rows, scores


def about(verbs: Verbs, layer: str, seed: int, most: int | None = None) -> str:
    """Return what a protocol says of the verbs; ``most`` is how many occurrences were drawn."""
    from isoscope.tasks.fits import MOST_TOKENS  # imports scikit-learn

    whole = "" if most is None else f"whole verbs up to {most:,} occurrences and "
    return (
        f"{len(verbs.occurrences):,} occurrences of {verbs.lemmas:,} verbs of SemCor with at least "
        f"{SENSES_OF_A_VERB} senses of {OCCURRENCES_OF_A_SENSE} occurrences, {whole}at most "
        f"{OCCURRENCES_OF_A_VERB} of a verb drawn at random (seed {seed}); tense from the form; "
        f"mean of a verb's tokens in {layer}; corrections fitted on all tokens of the "
        f"{len(verbs.texts):,} sentences, those by clusters on at most {MOST_TOKENS:,} drawn at "
        "random; intervals over verbs"
    )


def explain_senses(question: Question) -> Explanation:
    """Ask whether tense moves verbs further than sense, before and after a correction."""
    task = find_task(SEMCOR)
    if question.data is None or task.absent(question.data):
        raise MissingError(f"needs SemCor ({task.file}): --data FOLDER")
    layer = question.chosen_layer
    found = verb_distances(
        question.model, semcor_verbs(question.data, question.tokens, question.seed), layer,
        [question.correction], most=question.tokens, special=question.special_tokens,
        seed=question.seed, progress=question.progress,
    )  # fmt: skip
    scores = found.scores
    relative = scores[NONE][RELATIVE].value
    figure = KeyFigure(
        "tense moves verbs further than sense by", relative, 0.0,
        "if equally", "+.1%",
    )  # fmt: skip
    return Explanation(
        further(scores[NONE]) > 0, sentence_of(scores, layer), found.rows, [found.left_out],
        f"in {layer} {said(scores[NONE])}", (figure,),
    )  # fmt: skip


def further(scores: Mapping[str, Score]) -> int:
    """Return 1 where tense surely moves verbs further than sense, −1 where sense does, else 0."""
    contrast, relative = scores[CONTRAST], scores[RELATIVE]
    if contrast.low is None or contrast.high is None or relative.value is None:
        return 0
    if contrast.low > 0 and relative.value > MARGIN:
        return 1
    return -1 if contrast.high < 0 and relative.value < -MARGIN else 0


def said(scores: Mapping[str, Score]) -> str:
    """Return in words what moves verbs further."""
    if scores[CONTRAST].low is None:
        return "it is not known whether tense moves a verb further than its sense"
    return {
        1: "tense moves a verb further than its sense",
        -1: "sense moves a verb further than its tense",
        0: "tense moves a verb no further than its sense",
    }[further(scores)]


def figures(scores: Mapping[str, Score]) -> str:
    """Return the figures that carry a sentence, or why there are none."""
    tense, sense, relative = (scores[name] for name in (OTHER_TENSE, OTHER_SENSE, RELATIVE))
    if tense.value is None or sense.value is None or relative.value is None:
        return next(one.note for one in (tense, sense, relative) if one.value is None)
    error = relative.note
    if relative.low is not None and relative.high is not None:
        error = f"95 % interval {percent(relative.low)} to {percent(relative.high)}"
    return (
        f"its occurrences in another tense with the same sense are {tense.value:.4g} away, those "
        f"in the same tense with another sense {sense.value:.4g}; of occurrences that have both, "
        f"the first are further by {percent(relative.value)} of the distance between all of a verb "
        f"({error}; {relative.n:,} verbs)"
    )


def percent(share: float) -> str:
    """Write a share with its sign."""
    return f"{100 * share:+.1f} %"


def sentence_of(scores: Mapping[str, Mapping[str, Score]], layer: str) -> str:
    """Say what moves verbs further as they are, and after each correction."""
    said_of = [
        f"{f'In {layer}' if name == NONE else f'After {name}'} {said(score)}: {figures(score)}."
        for name, score in scores.items()
    ]
    return " ".join(said_of)


SENSES = Topic(
    "senses", "does tense move a verb further than its sense?", "a --data folder with SemCor",
    explain_senses,
)  # fmt: skip
