"""Luo (2021), the anisotropy of BERT and RoBERTa: how alike random tokens of their layers are.

A few outlier neurons make tokens of BERT and RoBERTa look alike; clipping them, or whitening,
takes that away.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope import corrections
from isoscope.compute.stats.estimates import spearman
from isoscope.data.arrays import ArrayCloud
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.measure.api import measure
from isoscope.verbs.study.claims import Claim
from isoscope.verbs.study.inputs import SST_2, per_model
from isoscope.verbs.study.papers import luo2021
from isoscope.verbs.study.papers.luo2021 import BERT, INPUT, MODELS, ROBERTA, read_some
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from isoscope.models.model import Model
    from isoscope.models.token_table import ReadLayer


# One token of each makes a thousand pairs.
SENTENCES = 2_000
# Below this a mean over pairs is left undefined.
FEWEST_PAIRS = 4

COSINE = "random_pair_cosine"
SHARE = "top_variance_share"
FITTED = "no interval: the correction was fitted on the tokens of the same layer"
FIRST = {"part": "layer 1"}


def pair_cosine(vectors: np.ndarray, seed: int) -> Row:
    """Take the mean cosine of disjoint pairs of tokens of different sentences (definition 3)."""
    row = measure(ArrayCloud(vectors), COSINE, "none", intervals=True, seed=seed).row(COSINE)
    if len(vectors) >= 2 * FEWEST_PAIRS:
        return row
    note = f"{len(vectors) // 2} pairs of texts, and fewer than {FEWEST_PAIRS} say nothing"
    return replace(row, value=None, low=None, high=None, note=note)


@per_model
def figure_3_2(request: Request, model: Model, _: str) -> Result:
    """Random-pair cosine of every layer, and whether it rises with depth."""
    read = read_some(request, model, SENTENCES)
    rows = [
        replace(pair_cosine(layer.tokens, request.seed), part=part, protocol=read.protocol)
        for part, layer in read.layers.items()
    ]
    return Result([*rows, depth_row(rows)])


def depth_row(rows: list[Row]) -> Row:
    """Correlate the number of a layer with its cosine, over all layers but the input."""
    values = [row.value for row in rows[1:] if row.value is not None]
    found = spearman(list(range(len(values))), values)
    return Row(
        "", "", "none", f"{COSINE}/with_depth", found.value,
        n=found.n, protocol="Spearman's ρ of layer number and cosine, without the input layer",
        note=found.note, extra={"unit": "layers"},
    )  # fmt: skip


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
    read = read_some(request, model, SENTENCES, scatter=name == "whiten")
    rows: list[Row] = []
    for part, layer in read.layers.items():
        number = int(part.removeprefix("layer "))
        known = luo2021.printed_dimensions(subject, layer.moments.width, number)
        rows += [
            replace(row, part=part, protocol=f"{read.protocol}{row.protocol}")
            for row in before_and_after(layer, request.seed, name, known)
        ]
    return Result(rows)


def before_and_after(layer: ReadLayer, seed: int, name: str, dimensions: list[int]) -> list[Row]:
    """Return the cosine before and after a correction, and what the paper says of the latter.

    Where dimensions are clipped, it says by how much the cosine falls; of whitening, how far from
    zero it is then.
    """
    correction: Any = corrections.make_correction(name)
    how, extra = "fitted on all tokens of the layer", {}
    if name == "clip":
        how = "by isoscope's rule, as the paper has none"
        if dimensions:
            correction.set_params(dimensions=dimensions)
            how = "the paper's dimensions"
    correction.fit_moments(layer.moments, layer.stored)
    if name == "clip":
        extra = {"dimensions": correction.dimensions_.tolist()}
    # The same seed draws the same pairs, so that before and after differ by the correction alone.
    before = replace(pair_cosine(layer.tokens, seed), protocol="")
    after = replace(
        pair_cosine(np.asarray(correction.transform(layer.tokens)), seed),
        correction=name, protocol=f"; {name}: {how}",
        low=None, high=None, extra={"no_interval": FITTED},
    )  # fmt: skip
    if before.value is None or after.value is None:
        return [before, after]
    if name == "clip":
        told = replace(after, measure=f"{COSINE}/fall", value=before.value - after.value)
    else:
        told = replace(after, measure=f"{COSINE}/distance_from_zero", value=abs(after.value))
    return [before, replace(after, extra={**after.extra, **extra}), told]


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
    read = read_some(request, model, SENTENCES, scatter=True, last=True)
    ((part, layer),) = read.layers.items()
    whitened = corrections.Whiten()
    whitened.fit_moments(layer.moments, layer.stored)
    coordinates = (layer.tokens - whitened.mean_) @ whitened.components_[:2].T
    variances = np.delete(whitened.explained_variance_, whitened.dropped_)
    rows, tables = [], []
    for space in spaces:
        if space == "whiten":
            coordinates = np.asarray(whitened.transform(layer.tokens))[:, :2]
            variances = np.ones_like(variances)
        share = float(variances[0] / variances.sum()) if len(variances) else None
        note = "" if len(variances) else "all vectors are the same: there is no variance"
        count, how = layer.moments.rows, read.protocol
        rows.append(Row("", part, space, SHARE, share, n=count, protocol=how, note=note))
        points = [{"first": float(x), "second": float(y)} for x, y in coordinates]
        tables.append(Table("", part, space, "projections", points))
    return Result(rows, tables)


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
          {"measure": f"{COSINE}/with_depth", "subject": ROBERTA}, {}, ">", 0.0),
    models=MODELS, text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.11", figure_3_11,
    Claim("clipping lowers RoBERTa's mean cosine by more than 0.5 after the first "
          "non-input layer",
          {**OF_ROBERTA, "measure": f"{COSINE}/fall"}, {"correction": "clip"}, ">", 0.5,
          excluding=(INPUT, FIRST)),
    models=MODELS, text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.12", figure_3_12,
    Claim("whitening lowers the mean cosine in every non-input layer",
          {"measure": COSINE, "part": "layer *"}, {"correction": "whiten"}, "<", NONE,
          excluding=(INPUT,)),
    Claim("BERT's mean cosine is within 0.05 of 0 after whitening in every non-input layer",
          {"measure": f"{COSINE}/distance_from_zero", "subject": BERT},
          {"correction": "whiten"}, "<=", 0.05, excluding=(INPUT,)),
    models=MODELS, text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.13", scatter_13,
    Claim("the first component's share of the variance falls with whitening",
          {"measure": SHARE}, {"correction": "whiten"}, "<", NONE),
    models=MODELS, text=SST_2,
)  # fmt: skip
