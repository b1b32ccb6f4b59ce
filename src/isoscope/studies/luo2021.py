"""Luo (2021), the anisotropy of BERT and RoBERTa: how alike random tokens of their layers are.

A few outlier neurons make tokens of BERT and RoBERTa look alike; clipping them, or whitening,
takes that away.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import spearman
from isoscope.data.arrays import ArrayCloud
from isoscope.results.measuring import measure
from isoscope.results.result import Result, Row, Table
from isoscope.studies.claims import Claim
from isoscope.studies.layer_reading import ReadLayer, ReadLayers, read_layers
from isoscope.studies.layers import numbered_layers
from isoscope.studies.luo2021_outliers import BERT, MODELS, PAPER, ROBERTA, printed_dimensions
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.scale_tables import LUO
from isoscope.studies.several import joined
from isoscope.studies.subjects import open_subject
from isoscope.studies.texts import SST_2, some_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.studies.registry import Subject


SENTENCES = 2_000
"""One token of each makes a thousand pairs."""
FEWEST_PAIRS = 4
"""Below this a mean over pairs is left undefined."""

COSINE = "random_pair_cosine"
SHARE = "top_variance_share"
FITTED = "no interval: the correction was fitted on the tokens of the same layer"
INPUT = {"part": "layer 0"}
FIRST = {"part": "layer 1"}


def read_subjects(
    request: Request, *, scatter: bool = True, last: bool = False
) -> Iterator[tuple[Subject, ReadLayers]]:
    """Read the layers of every model over 2,000 sentences, special tokens included."""
    assert request.text is not None
    texts = some_texts(request.text, SENTENCES, request.seed)
    for subject in request.subjects:
        model = open_subject(subject, request)
        only = list(numbered_layers(model.stacks).values())[-1:] if last else None
        read = read_layers(
            model, texts, request.seed,
            special=True, scatter=scatter, layers=only, progress=request.progress,
        )  # fmt: skip
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        yield subject, read


def pair_cosine(vectors: np.ndarray, seed: int) -> Row:
    """Take the mean cosine of disjoint pairs of tokens of different sentences (definition 3)."""
    row = measure(ArrayCloud(vectors), COSINE, "none", intervals=True, seed=seed).row(COSINE)
    if len(vectors) >= 2 * FEWEST_PAIRS:
        return row
    note = f"{len(vectors) // 2} pairs of texts, and fewer than {FEWEST_PAIRS} say nothing"
    return replace(row, value=None, low=None, high=None, note=note)


def figure_3_2(request: Request) -> Result:
    """Random-pair cosine of every layer, and whether it rises with depth."""
    results = []
    for subject, read in read_subjects(request, scatter=False):
        own = [
            replace(
                pair_cosine(layer.tokens, request.seed),
                subject=subject.name, part=part, protocol=read.protocol,
            )
            for part, layer in read.layers.items()
        ]  # fmt: skip
        rows = [*own, depth_row(subject.name, own)]
        results.append(Result(rows, extra=read.provenance))
    return joined(results)


def depth_row(subject: str, rows: list[Row]) -> Row:
    """Correlate the number of a layer with its cosine, over all layers but the input."""
    values = [row.value for row in rows[1:] if row.value is not None]
    found = spearman(list(range(len(values))), values)
    return Row(
        subject, "", "none", f"{COSINE}/with_depth", found.value,
        n=found.n, protocol="Spearman's ρ of layer number and cosine, without the input layer",
        note=found.note, extra={"unit": "layers"},
    )  # fmt: skip


def figure_3_11(request: Request) -> Result:
    """Random-pair cosine of every layer before and after clipping outlier dimensions."""
    results = []
    for subject, read in read_subjects(request, scatter=False):
        rows: list[Row] = []
        for part, layer in read.layers.items():
            number = int(part.removeprefix("layer "))
            known = printed_dimensions(subject.name, layer.moments.width, number)
            rows += before_and_after(subject.name, part, layer, read, request, "clip", known)
        results.append(Result(rows, extra=read.provenance))
    return joined(results)


def figure_3_12(request: Request) -> Result:
    """Random-pair cosine of every layer before and after whitening, fitted on all its tokens."""
    results = []
    for subject, read in read_subjects(request):
        rows: list[Row] = []
        for part, layer in read.layers.items():
            rows += before_and_after(subject.name, part, layer, read, request, "whiten")
        results.append(Result(rows, extra=read.provenance))
    return joined(results)


def before_and_after(
    subject: str,
    part: str,
    layer: ReadLayer,
    read: ReadLayers,
    request: Request,
    name: str,
    dimensions: list[int] | None = None,
) -> list[Row]:
    """Return the cosine before and after a correction, and what the paper says of the latter."""
    from isoscope.corrections.registry import make_correction  # imports scikit-learn

    correction: Any = make_correction(name)
    how, extra = "fitted on all tokens of the layer", {}
    if name == "clip":
        how = "by isoscope's rule, as the paper has none"
        if dimensions:
            correction.set_params(dimensions=dimensions)
            how = "the paper's dimensions"
    correction.fit_moments(layer.moments, layer.stored)
    if name == "clip":
        extra = {"dimensions": correction.dimensions_.tolist()}
    before = replace(
        pair_cosine(layer.tokens, request.seed),
        subject=subject, part=part, protocol=read.protocol,
    )  # fmt: skip
    after = replace(
        pair_cosine(np.asarray(correction.transform(layer.tokens)), request.seed),
        subject=subject, part=part, correction=name, protocol=f"{read.protocol}; {name}: {how}",
        low=None, high=None, extra={"no_interval": FITTED},
    )  # fmt: skip
    if before.value is None or after.value is None:
        return [before, after]
    if name == "clip":
        told = replace(after, measure=f"{COSINE}/fall", value=before.value - after.value)
    else:
        told = replace(after, measure=f"{COSINE}/distance_from_zero", value=abs(after.value))
    return [before, replace(after, extra={**after.extra, **extra}), told]


def scatter_1(request: Request) -> Result:
    """Tokens of the last layer on their first two principal components."""
    return scatter(request, ("none",))


def scatter_13(request: Request) -> Result:
    """Tokens of the last layer on the first two components, before and after whitening."""
    return scatter(request, ("none", "whiten"))


def scatter(request: Request, spaces: tuple[str, ...]) -> Result:
    """Project one token of every sentence on the components that all tokens have.

    Whitened coordinates are those on the components, each divided by its deviation; of several
    components with variance 1 no one is the first, and the order is that from before.
    """
    from isoscope.corrections.estimators.whiten import Whiten  # imports scikit-learn

    results = []
    for subject, read in read_subjects(request, last=True):
        rows: list[Row] = []
        tables: list[Table] = []
        ((part, layer),) = read.layers.items()
        whitened = Whiten()
        whitened.fit_moments(layer.moments, layer.stored)
        coordinates = (layer.tokens - whitened.mean_) @ whitened.components_[:2].T
        variances = np.delete(whitened.explained_variance_, whitened.dropped_)
        for space in spaces:
            if space == "whiten":
                coordinates = np.asarray(whitened.transform(layer.tokens))[:, :2]
                variances = np.ones_like(variances)
            share = float(variances[0] / variances.sum()) if len(variances) else None
            note = "" if len(variances) else "all vectors are the same: there is no variance"
            rows.append(
                Row(
                    subject.name, part, space, SHARE, share,
                    n=layer.moments.rows, protocol=read.protocol, note=note,
                )
            )  # fmt: skip
            points = [{"first": float(x), "second": float(y)} for x, y in coordinates]
            tables.append(Table(subject.name, part, space, "projections", points))
        results.append(Result(rows, tables, extra=read.provenance))
    return joined(results)


NONE = {"correction": "none"}
NEED = "models (a hub id, a folder or a .gguf file) and a text, the paper's being SST-2 train"
OF_ROBERTA = {"measure": COSINE, "subject": ROBERTA, "part": "layer *"}

register(
    Study(
        "L-F3.1", "Tokens of the last layer on two principal components",
        PAPER + ", figure 3.1", NEED, scatter_1, (), MODELS, text=SST_2, scales=LUO,
    )
)  # fmt: skip
register(
    Study(
        "L-F3.2", "Cosine of random tokens, layer by layer",
        PAPER + ", figure 3.2", NEED, figure_3_2,
        (
            Claim("RoBERTa's mean cosine is above 0.5 in every layer after the first non-input one",
                  OF_ROBERTA, {}, ">", 0.5, excluding=(INPUT, FIRST)),
            Claim("RoBERTa's mean cosine rises with depth",
                  {"measure": f"{COSINE}/with_depth", "subject": ROBERTA}, {}, ">", 0.0),
        ),
        MODELS, text=SST_2, scales=LUO,
    )
)  # fmt: skip
register(
    Study(
        "L-F3.11", "Cosine of random tokens before and after clipping outlier dimensions",
        PAPER + ", figure 3.11", NEED, figure_3_11,
        (
            Claim("clipping lowers RoBERTa's mean cosine by more than 0.5 after the first "
                  "non-input layer",
                  {**OF_ROBERTA, "measure": f"{COSINE}/fall"}, {"correction": "clip"}, ">", 0.5,
                  excluding=(INPUT, FIRST)),
        ),
        MODELS, text=SST_2, scales=LUO,
    )
)  # fmt: skip
register(
    Study(
        "L-F3.12", "Cosine of random tokens before and after whitening",
        PAPER + ", figure 3.12", NEED, figure_3_12,
        (
            Claim("whitening lowers the mean cosine in every non-input layer",
                  {"measure": COSINE, "part": "layer *"}, {"correction": "whiten"}, "<", NONE,
                  excluding=(INPUT,)),
            Claim("BERT's mean cosine is within 0.05 of 0 after whitening in every non-input layer",
                  {"measure": f"{COSINE}/distance_from_zero", "subject": BERT},
                  {"correction": "whiten"}, "<=", 0.05, excluding=(INPUT,)),
        ),
        MODELS, text=SST_2, scales=LUO,
    )
)  # fmt: skip
register(
    Study(
        "L-F3.13", "Tokens of the last layer on two components, before and after whitening",
        PAPER + ", figures 3.13 and 3.14", NEED, scatter_13,
        (
            Claim("the first component's share of the variance falls with whitening",
                  {"measure": SHARE}, {"correction": "whiten"}, "<", NONE),
        ),
        MODELS, text=SST_2, scales=LUO,
    )
)  # fmt: skip
