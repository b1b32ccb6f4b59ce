"""Machina & Mercer (2024): embedding matrices and the last norm of finished models."""

from __future__ import annotations

from dataclasses import replace

from isoscope.models.model import Model, provenance_of
from isoscope.models.structure.norm_layers import norm_weights
from isoscope.results.merge import joined_without_verdicts
from isoscope.results.result import Result, Row
from isoscope.verbs.study.claims import Claim
from isoscope.verbs.study.evidence import EXACT
from isoscope.verbs.study.inputs import cloud_with_error, correlation_over_models, of_every_model
from isoscope.verbs.study.papers.pythia2024 import FINAL_NORM, ISOTROPIC, MODELS
from isoscope.verbs.study.registry import Request, add_study
from isoscope.verbs.study.scope import Scope
from isoscope.verbs.study.text import WHOLE

TIED = "OPT-6.7B|Falcon-7B"
OTHERS = ("OPT-6.7B", "Falcon-7B", "GPT-NeoX-20B")
EMBEDDING, UNEMBEDDING = "embedding", "unembedding"
OUTLIERS = "outliers_3sd"
CORRELATION = f"correlation({OUTLIERS}, i1)"


def figure_5(request: Request) -> Result:
    """I1 of unembedding matrices, raw and centred."""
    return of_every_model(request, lambda model, _: matrix_of(model, "output", request))


def figure_6(request: Request) -> Result:
    """I1 of embedding matrices, raw and centred, beside that of the unembedding."""
    return of_every_model(
        request,
        lambda model, _: joined_without_verdicts(
            matrix_of(model, which, request) for which in ("input", "output")
        ),
    )


def matrix_of(model: Model, which: str, request: Request) -> Result:
    """Measure one matrix of a model; undefined where it was saved without an unembedding."""
    part = EMBEDDING if which == "input" else UNEMBEDDING
    if which == "output" and model.parts.unembedding is None:
        note = "the model was saved without an unembedding"
        rows = [Row(model.name, part, name, "i1", None, note=note) for name in ("none", "center")]
        return Result(rows, extra=provenance_of(model))
    cloud = model.embedding_cloud(which, padding_rows=True)
    found = cloud_with_error(request, cloud, "i1,i1_scaled,mean_norm", "none,center")
    tied = "; one tensor with the other" if model.tied else ""
    rows = [
        replace(
            row, subject=model.name, part=part,
            protocol=f"{cloud.rows:,} rows, {cloud.padding_rows:,} of them padding{tied}",
        )
        for row in found.rows
    ]  # fmt: skip
    return Result(rows, extra=provenance_of(model))


def figure_8(request: Request) -> Result:
    """Gain and bias of the norm before the unembedding, and outliers of it against I1."""
    return of_every_model(request, lambda model, _: norm_and_matrix(model, request))


def norm_and_matrix(model: Model, request: Request) -> Result:
    """Measure the last norm of a model, and its unembedding."""
    return joined_without_verdicts([norm_of(model), matrix_of(model, "output", request)])


def norm_of(model: Model) -> Result:
    """Measure gain and bias of the last norm, and count its outliers (Kovaleva et al. 2021).

    The last norm is the one before the unembedding: BERT-like models have one in their head.
    """
    norms = [norm for norm in model.parts.norms if norm.gain is not None]
    norm = norms[-1] if norms else None
    weights = None if norm is None else norm_weights(model, norm)
    if norm is None or weights is None:
        note = "no norm of this model has weights"
        return Result([Row(model.name, FINAL_NORM, "none", "gain_avgnorm", None, note=note)])
    values = {name: (value.value, value.note) for name, value in weights.values().items()}
    values[OUTLIERS] = float(len(weights.outliers())), ""
    # A norm without a bias has no small one: it is in no comparison of biases.
    return Result(
        [
            Row(
                model.name, FINAL_NORM, "none", name, value,
                n=len(weights.gain), protocol=f"{norm.kind} {norm.path}", note=note,
                extra={EXACT: True, **({WHOLE: True} if name == OUTLIERS else {})},
            )
            for name, (value, note) in values.items()
            if value is not None or weights.bias is not None
        ]
    )  # fmt: skip


def outliers_and_isotropy(result: Result) -> list[Row]:
    """Correlate the outliers of the last norm with I1 over models."""
    return [correlation_over_models(result, OUTLIERS, "i1")]


UNEMBEDDED = {"measure": "i1", "part": UNEMBEDDING}
NONE, CENTER = {"correction": "none"}, {"correction": "center"}
LARGE, OTHER = {"subject": ISOTROPIC}, {"subject": f"!{ISOTROPIC}"}

add_study(
    "P-F5", figure_5,
    Claim("from 410M on, I1 is 0.73 to 0.82, rounded",
          {**UNEMBEDDED, **LARGE}, NONE, "within", (0.725, 0.825)),
    Claim("from 410M on, I1 is above that of OPT-6.7B and Falcon-7B, which are tied",
          {**UNEMBEDDED, **NONE}, LARGE, ">", {"subject": TIED}),
    Claim("centring always raises it", UNEMBEDDED, CENTER, ">", NONE,
          scope=Scope(unembedding=True)),
    models=(*MODELS, *OTHERS),
)  # fmt: skip
add_study(
    "P-F6", figure_6,
    Claim("from 410M on, the embedding's I1 is above the unembedding's",
          {"measure": "i1", **NONE, **LARGE}, {"part": EMBEDDING}, ">",
          {"part": UNEMBEDDING}),
    Claim("from 410M on, the embedding's I1 is at least 0.9",
          {"measure": "i1", "part": EMBEDDING, **LARGE}, NONE, ">=", 0.9),
    models=(*MODELS, *OTHERS),
)  # fmt: skip
add_study(
    "P-F8", figure_8,
    Claim("from 410M on, models have the smallest bias of all",
          {"measure": "bias_avgnorm"}, LARGE, "<", OTHER, min_subjects=2),
    Claim("from 410M on, models have the smallest ratio of bias to gain of all",
          {"measure": "bias_over_gain"}, LARGE, "<", OTHER, min_subjects=2),
    Claim("outliers of the norm (Kovaleva et al.) do not correlate with I1: |r| is at most 0.5",
          {"measure": CORRELATION}, {}, "within", (-0.5, 0.5), min_subjects=5,
          scope=Scope(unembedding=True)),
    models=(*MODELS, *OTHERS), over_models=outliers_and_isotropy,
)  # fmt: skip
