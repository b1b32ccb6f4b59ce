"""Machina & Mercer (2024): embedding matrices and the last norm of finished models."""

from __future__ import annotations

from dataclasses import replace

from isoscope.errors import UsageError
from isoscope.models.model import Model, provenance_of
from isoscope.models.structure.norm_layers import norm_weights
from isoscope.results.merge import joined_without_verdicts
from isoscope.results.result import Result, Row
from isoscope.verbs.measure.api import measure
from isoscope.verbs.study.inputs import cloud_with_error, correlation_over_models, of_every_model
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.evidence import EXACT
from isoscope.verbs.study.judgement.scope import Scope
from isoscope.verbs.study.papers.pythia2024 import FINAL_NORM, ISOTROPIC, MODELS
from isoscope.verbs.study.registry import Request, add_study
from isoscope.verbs.study.text import WHOLE

TIED = "OPT-6.7B|Falcon-7B"
OTHERS = ("OPT-6.7B", "Falcon-7B", "GPT-NeoX-20B")
EMBEDDING, UNEMBEDDING = "embedding", "unembedding"
OUTLIERS = "outliers_3sd"
CORRELATION = f"correlation({OUTLIERS}, i1)"


def figure_5(request: Request) -> Result:
    """I1 of unembedding matrices, raw and centred."""
    return of_every_model(request, lambda model, name: only_unembedding(model, name, request))


def only_unembedding(model: Model, name: str, request: Request) -> Result:
    """Measure the unembedding; a model without one has nothing that this study could measure."""
    if model.parts.unembedding is None:
        raise UsageError(
            f"P-F5: {name} has no unembedding; name a model with a language model head"
        )
    return matrix_of(model, "output", request)


def figure_6(request: Request) -> Result:
    """I1 of embedding matrices, raw and centred, beside that of the unembedding."""
    return of_every_model(
        request,
        lambda model, _: joined_without_verdicts(
            matrix_of(model, which, request) for which in ("input", "output")
        ),
    )


def matrix_of(model: Model, which: str, request: Request, *, with_error: bool = True) -> Result:
    """Measure one matrix of a model; there are no rows of an unembedding where it has none.

    Its error, over blocks of the vocabulary, takes ten more computations.
    """
    part = EMBEDDING if which == "input" else UNEMBEDDING
    if which == "output" and model.parts.unembedding is None:
        return Result([], extra=provenance_of(model))
    cloud = model.embedding_cloud(which, padding_rows=True)
    names = "i1,i1_scaled,mean_norm"
    if with_error:
        found = cloud_with_error(request, cloud, names, "none,center")
    else:
        found = measure(
            cloud, names, "none,center",
            intervals=False, seed=request.seed, progress=request.progress,
        )  # fmt: skip
    same = "the file holds one matrix twice" if model.stored_twice else "one tensor with the other"
    tied = f"; {same}" if model.tied else ""
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
    # The matrix is there for correlations alone, whose error is not that of a single I1.
    matrix = matrix_of(model, "output", request, with_error=False)
    return joined_without_verdicts([norm_of(model), matrix])


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
    Claim("the unembedding of Pythia models from 410M on has an I1 of 0.73 to 0.82, rounded",
          {**UNEMBEDDED, **LARGE}, NONE, "within", (0.725, 0.825)),
    Claim("the unembedding of Pythia models from 410M on has a larger I1 than the tied matrices of "
          "OPT-6.7B and Falcon-7B",
          {**UNEMBEDDED, **NONE}, LARGE, ">", {"subject": TIED}),
    Claim("centring raises the I1 of the unembedding", UNEMBEDDED, CENTER, ">", NONE,
          scope=Scope(unembedding=True)),
    models=(*MODELS, *OTHERS),
)  # fmt: skip
add_study(
    "P-F6", figure_6,
    Claim("the embedding of Pythia models from 410M on has a larger I1 than the unembedding",
          {"measure": "i1", **NONE, **LARGE}, {"part": EMBEDDING}, ">",
          {"part": UNEMBEDDING}),
    Claim("the embedding of Pythia models from 410M on has an I1 of at least 0.9",
          {"measure": "i1", "part": EMBEDDING, **LARGE}, NONE, ">=", 0.9),
    models=(*MODELS, *OTHERS),
)  # fmt: skip
add_study(
    "P-F8", figure_8,
    Claim("Pythia models from 410M on have a smaller bias in the final norm than all other models",
          {"measure": "bias_avgnorm"}, LARGE, "<", OTHER, min_subjects=2),
    Claim("Pythia models from 410M on have a smaller ratio of bias to gain in the final norm than "
          "all other models",
          {"measure": "bias_over_gain"}, LARGE, "<", OTHER, min_subjects=2),
    Claim("the number of outliers in the final norm (Kovaleva et al.) does not correlate with the "
          "I1 of the unembedding: |r| is at most 0.5",
          {"measure": CORRELATION}, {}, "within", (-0.5, 0.5), min_subjects=5,
          scope=Scope(unembedding=True)),
    models=(*MODELS, *OTHERS), over_models=outliers_and_isotropy,
)  # fmt: skip
