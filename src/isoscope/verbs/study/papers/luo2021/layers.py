"""Luo (2021), the anisotropy of BERT and RoBERTa: how alike random tokens of their layers are.

A few outlier neurons make tokens of BERT and RoBERTa look alike; clipping them, or whitening,
takes that away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from isoscope import corrections
from isoscope.compute.stats.jackknife import BLOCKS, FEWEST_IN_BLOCK
from isoscope.compute.stats.trends import trend
from isoscope.results.fields import FREEDOM
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.study.inputs import SST_2, per_model
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.evidence import P_VALUE
from isoscope.verbs.study.judgement.replicates import with_replicates
from isoscope.verbs.study.papers import luo2021
from isoscope.verbs.study.papers.luo2021 import (
    BERT,
    INPUT,
    MODELS,
    ROBERTA,
    SentencePairs,
    read_some,
)
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.models.token_table import ReadLayer


# One token of each makes a thousand pairs.
SENTENCES = 2_000
# Below this a mean over pairs is left undefined.
FEWEST_PAIRS = 4

COSINE = "random_pair_cosine"
SHARE = "top_variance_share"
WITH_DEPTH = f"{COSINE}/with_depth"
FIRST = {"part": "layer 1"}


@dataclass(frozen=True)
class TokenPairs:
    """Random pairs of tokens of one layer, each token of another sentence (definition 3)."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    blocks: NDArray[np.intp]
    label: str
    are_enough: bool

    @classmethod
    def of(cls, layer: ReadLayer, sentences: int, seed: int) -> TokenPairs:
        """Pair the tokens that were drawn; a sentence without any token has no pair."""
        places = np.full(sentences, -1)
        places[layer.texts] = np.arange(len(layer.texts))
        pairs = SentencePairs.of(sentences, seed)
        first, second = places[pairs.first], places[pairs.second]
        there = (first >= 0) & (second >= 0)
        return cls(
            layer.tokens[first[there]], layer.tokens[second[there]], pairs.of_pairs[there],
            pairs.label, pairs.are_enough,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.first)

    def cosines(self, change: Callable[[Any], Any] | None = None) -> NDArray[np.float64]:
        """Return the cosine of every pair, of changed vectors where a change is given."""
        sides = [side if change is None else np.asarray(change(side))
                 for side in (self.first, self.second)]  # fmt: skip
        norms = np.linalg.norm(sides[0], axis=1) * np.linalg.norm(sides[1], axis=1)
        products = np.einsum("ij,ij->i", *sides)
        cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
        return np.asarray(cosines, np.float64)

    def row(self, cosines: NDArray[np.float64]) -> Row:
        """Return the mean cosine, with the interval of independent pairs."""
        count, note = len(cosines), f"from {len(cosines):,} pairs"
        row = Row("", "", "none", COSINE, None, n=2 * count, note=note)
        if count < FEWEST_PAIRS:
            few = f"{count} pairs of texts, and fewer than {FEWEST_PAIRS} say nothing"
            return replace(row, note=few)
        mean = float(np.clip(cosines.mean(), -1, 1))
        error = float(cosines.std(ddof=1)) / math.sqrt(count)
        reach = float(stats.t.ppf(0.975, count - 1)) * error
        extra = {**row.extra, FREEDOM: count - 1}
        return replace(row, value=mean, low=mean - reach, high=mean + reach, extra=extra)


@per_model
def figure_3_2(request: Request, model: Model, _: str) -> Result:
    """Random-pair cosine of every layer, and whether it rises with depth."""
    read = read_some(request, model, SENTENCES)
    rows = []
    for part, layer in read.layers.items():
        pairs = TokenPairs.of(layer, read.texts, request.seed)
        rows.append(replace(pairs.row(pairs.cosines()), part=part, protocol=read.protocol))
    return Result([*rows, depth_row(rows)])


def depth_row(rows: list[Row]) -> Row:
    """Correlate the number of a layer with its cosine, over all layers but the input.

    Neighbouring layers are alike, so that such a correlation is large by chance: it is tested by
    the steps from layer to layer.
    """
    values = [row.value for row in rows[1:] if row.value is not None]
    found = trend(values)
    row = Row(
        "", "", "none", WITH_DEPTH, None if found is None else found.rho, n=len(values),
        protocol="Spearman's ρ of layer number and cosine, without the input layer",
        note="" if found is not None else "there are fewer than three layers",
        extra={"unit": "layers"},
    )  # fmt: skip
    if found is None:
        return row
    how = {P_VALUE: found.p, "test": "random signs of the steps between layers"}
    return replace(row, extra={**row.extra, **how})


@per_model
def figure_3_11(request: Request, model: Model, subject: str) -> Result:
    """Random-pair cosine of every layer before and after clipping outlier dimensions."""
    return corrected(request, model, subject, "clip")


@per_model
def figure_3_12(request: Request, model: Model, subject: str) -> Result:
    """Random-pair cosine of every layer before and after whitening, fitted on all its tokens."""
    return corrected(request, model, subject, "whiten")


def corrected(request: Request, model: Model, subject: str, name: str) -> Result:
    """Return the cosine of every layer before and after a correction."""
    read = read_some(request, model, SENTENCES, scatter=name == "whiten", blocks=True)
    rows: list[Row] = []
    for part, layer in read.layers.items():
        number = int(part.removeprefix("layer "))
        known = luo2021.printed_dimensions(subject, layer.moments.width, number)
        rows += [
            replace(row, part=part, protocol=f"{read.protocol}{row.protocol}")
            for row in before_and_after(
                TokenPairs.of(layer, read.texts, request.seed), layer, name, known
            )
        ]
    return Result(rows)


def before_and_after(
    pairs: TokenPairs, layer: ReadLayer, name: str, dimensions: list[int]
) -> list[Row]:
    """Return the cosine before and after a correction, and by how much it falls.

    Their errors are those over blocks of pairs of sentences: without a block the correction is
    fitted anew on the tokens of all other sentences.
    """
    whole = compared(pairs, layer, name, dimensions)
    if whole[0].value is None or not pairs.are_enough or len(layer.parts) < BLOCKS:
        return whole
    without = [compared(pairs, layer, name, dimensions, block) for block in range(BLOCKS)]
    return with_replicates(whole, without, pairs.label)


def compared(
    pairs: TokenPairs,
    layer: ReadLayer,
    name: str,
    dimensions: list[int],
    without: int | None = None,
) -> list[Row]:
    """Correct a layer, of all its sentences or without a block of them."""
    moments, kept = layer.moments, np.ones(len(pairs), dtype=bool)
    if without is not None:
        moments, kept = moments.without(layer.parts[without]), pairs.blocks != without
    correction: Any = corrections.make_correction(name)
    how, extra = "fitted on all tokens of the layer", {}
    if name == "clip":
        how = "by isoscope's rule, as the paper has none"
        if dimensions:
            correction.set_params(dimensions=dimensions)
            how = "the paper's dimensions"
    correction.fit_moments(moments, layer.stored)
    if name == "clip":
        extra = {"dimensions": correction.dimensions_.tolist()}
    # The same pairs before and after, which so differ by the correction alone.
    before = replace(pairs.row(pairs.cosines()[kept]), low=None, high=None)
    after = replace(
        pairs.row(pairs.cosines(correction.transform)[kept]),
        correction=name, protocol=f"; {name}: {how}", low=None, high=None,
    )  # fmt: skip
    if before.value is None or after.value is None:
        return [before, after]
    fall = replace(after, measure=f"{COSINE}/fall", value=before.value - after.value)
    return [before, replace(after, extra=extra), fall]


@per_model
def scatter_1(request: Request, model: Model, _: str) -> Result:
    """Tokens of the last layer on their first two principal components."""
    return scatter(request, model, "none")


@per_model
def scatter_13(request: Request, model: Model, _: str) -> Result:
    """Tokens of the last layer on the first two components, before and after whitening."""
    return scatter(request, model, "none", "whiten")


def scatter(request: Request, model: Model, *spaces: str) -> Result:
    """Project one token of every sentence on the components that all tokens have.

    Whitened coordinates are those on the components, each divided by its deviation; of several
    components with variance 1 no one is the first, and the order is that from before.
    """
    read = read_some(request, model, SENTENCES, scatter=True, last=True, blocks=True)
    ((part, layer),) = read.layers.items()
    whitened = fitted(layer)
    coordinates = (layer.tokens - whitened.mean_) @ whitened.components_[:2].T
    tables = []
    for space in spaces:
        if space == "whiten":
            coordinates = np.asarray(whitened.transform(layer.tokens))[:, :2]
        points = [{"first": float(x), "second": float(y)} for x, y in coordinates]
        tables.append(Table("", part, space, "projections", points))
    rows = top_shares(whitened, spaces)
    if len(layer.texts) >= FEWEST_IN_BLOCK * BLOCKS and len(layer.parts) == BLOCKS:
        without = [top_shares(fitted(layer, block), spaces) for block in range(BLOCKS)]
        rows = with_replicates(rows, without, f"{BLOCKS} blocks of {len(layer.texts):,} sentences")
    count, how = layer.moments.rows, read.protocol
    return Result([replace(row, part=part, n=count, protocol=how) for row in rows], tables)


def fitted(layer: ReadLayer, without: int | None = None) -> corrections.Whiten:
    """Fit whitening on the tokens of all sentences, or without a block of them."""
    moments = layer.moments
    if without is not None:
        moments = moments.without(layer.parts[without])
    whitened = corrections.Whiten()
    whitened.fit_moments(moments, layer.stored)
    return whitened


def top_shares(whitened: corrections.Whiten, spaces: Sequence[str]) -> list[Row]:
    """Return the first component's share of the variance, before and after whitening."""
    variances = np.delete(whitened.explained_variance_, whitened.dropped_)
    note = "" if len(variances) else "all vectors are the same: there is no variance"
    rows = []
    for space in spaces:
        if space == "whiten":
            variances = np.ones_like(variances)
        share = float(variances[0] / variances.sum()) if len(variances) else None
        rows.append(Row("", "", space, SHARE, share, note=note))
    return rows


NONE = {"correction": "none"}
OF_ROBERTA = {"measure": COSINE, "subject": ROBERTA, "part": "layer *"}

add_study(
    "L-F3.1", scatter_1,
    models=MODELS, text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.2", figure_3_2,
    Claim("RoBERTa's mean cosine is above 0.5 in every layer after the first non-input one",
          OF_ROBERTA, {}, ">", 0.5, excluding=(INPUT, FIRST)),
    Claim("RoBERTa's mean cosine rises with depth",
          {"measure": WITH_DEPTH, "subject": ROBERTA}, {}, ">", 0.0),
    models=MODELS, text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.11", figure_3_11,
    Claim("clipping lowers RoBERTa's mean cosine by more than 0.5 after the first "
          "non-input layer",
          {**OF_ROBERTA, "measure": f"{COSINE}/fall"}, {"correction": "clip"}, ">", 0.5,
          excluding=(INPUT, FIRST), opposite=0.0),
    models=MODELS, text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.12", figure_3_12,
    Claim("whitening lowers the mean cosine of random tokens in every non-input layer",
          {"measure": COSINE, "part": "layer *"}, {"correction": "whiten"}, "<", NONE,
          excluding=(INPUT,)),
    Claim("BERT's mean cosine is 0 ± 0.05 after whitening in every non-input layer",
          {"measure": COSINE, "subject": BERT},
          {"correction": "whiten"}, "within", (-0.05, 0.05), excluding=(INPUT,)),
    models=MODELS, text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.13", scatter_13,
    Claim("whitening lowers the first component's share of the variance of the last layer",
          {"measure": SHARE}, {"correction": "whiten"}, "<", NONE),
    models=MODELS, text=SST_2,
)  # fmt: skip
