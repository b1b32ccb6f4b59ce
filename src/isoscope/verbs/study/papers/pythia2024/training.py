"""Machina & Mercer (2024): isotropy and accuracy through training, and an ablation.

- Figures 3, 4, 7 and 9: a model that ends anisotropic does not drift there steadily.
- Appendix A: what classifiers read off a model at every checkpoint.
- Section 6 asks for an ablation: the same small model is trained with tied and with untied
  matrices, and with and without positions.

For appendix A the paper takes nine sets of sentences and three of tokens from SentEval, and finds
that the accuracy of the 70M model goes down with its isotropy. It does not name the sets: the nine
are taken to be SentEval's sentence classification, and one set of words stands for the three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import isoscope
from isoscope.results.merge import joined_without_verdicts
from isoscope.results.result import Result, Row
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.profile.api import profile
from isoscope.verbs.study.claims import Claim
from isoscope.verbs.study.inputs import (
    OWN,
    WIKIPEDIA,
    correlation_over_training,
    mean_of,
    sets_to_score,
)
from isoscope.verbs.study.papers.pythia2024 import INTER, INTRA, ISOTROPIC, printed
from isoscope.verbs.study.papers.pythia2024.weights import matrix_of, norm_and_matrix
from isoscope.verbs.study.registry import Request, add_study
from isoscope.verbs.study.scope import ANYTHING
from isoscope.verbs.study.training_runs import FEWEST, Curve, ablated, followed, last_step
from isoscope.verbs.train.names import EMBEDDING as EMBEDDING_MATRIX
from isoscope.verbs.train.names import (
    EXTREME,
    LAST_LAYER,
    MEAN_COSINE,
    NON_INPUT,
    PERPLEXITY,
    UNEMBEDDING,
    VALIDATION,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.models.model import Model

    Sayings = dict[str, Callable[[Curve], float]]


# A bias is flat while it changes by at most this share of itself; the paper gives no number.
FLAT = 0.25

BIAS, GAIN = "bias_avgnorm", "gain_avgnorm"
PLATEAU = printed("Pythia-6.9B unembedding over training", "isotropy plateau")


def of_every_training(
    request: Request,
    one: Callable[[Model], Result],
    rows_of: Callable[[str, Result, Callable[[str], Curve]], list[Row]],
) -> Result:
    """Follow every model through its training, and say something of its curves.

    Parameters
    ----------
    request : Request
        Models, and which of their checkpoints are looked at.
    one : callable
        Gives the numbers of one checkpoint.
    rows_of : callable
        Gets the name of a model, the numbers of all its checkpoints, and what gives the curve of a
        measure; returns the rows of the study.
    """
    results = []
    for subject in request.subjects:
        found, curve = followed(request, subject, one)
        results.append(replace(found, rows=rows_of(subject.name, found, curve)))
    return joined_without_verdicts(results)


def told(subject: str, measure: str, curve: Curve, sayings: Sayings) -> list[Row]:
    """Return what is said of a curve, undefined where there are too few checkpoints."""
    few = f"thirds of a training need at least {FEWEST} checkpoints, and there are {len(curve)}"
    return [
        Row(
            subject, "", "none", f"{measure}/{name}",
            saying(curve) if len(curve) >= FEWEST else None,
            n=len(curve), note="" if len(curve) >= FEWEST else few, extra={"unit": "checkpoints"},
        )
        for name, saying in sayings.items()
    ]  # fmt: skip


def over_text(request: Request, measure: str) -> Result:
    """Follow a measure of the last layer over a text."""
    sayings: Sayings = {
        "change_in_middle_third": lambda line: line.change(1 / 3, 2 / 3),
        "change_over_first_two_thirds": lambda line: line.change(0, 2 / 3),
        "turning": lambda line: line.turning,
    }

    def one(model: Model) -> Result:
        return profile(
            model, request.text, measures=measure, corrections="none", intervals=False,
            layers=model.stacks[-1].layers[-1:], seed=request.seed, progress=request.progress,
            **request.readers(),
        )  # fmt: skip

    return of_every_training(
        request,
        one,
        lambda name, found, curve: [*found.rows, *told(name, measure, curve(measure), sayings)],
    )


def figure_3(request: Request) -> Result:
    """InterSim of the last layer over training."""
    return over_text(request, INTER)


def figure_4(request: Request) -> Result:
    """Mean IntraSim of the last layer over training."""
    return over_text(request, INTRA)


def figure_7(request: Request) -> Result:
    """I1 of the unembedding over training, raw and centred."""
    sayings: Sayings = {
        "early_drop": lambda line: line.early_drop,
        "rise_after_drop": lambda line: line.rise_after_drop,
        "change_after_first_third": lambda line: line.change(1 / 3, 1),
        "end_above_lowest_before": lambda line: float(line.values[-1] - line.values[:-1].min()),
        "distance_from_plateau": lambda line: float(abs(line.between(2 / 3, 1) - PLATEAU).max()),
    }
    return of_every_training(
        request,
        lambda model: matrix_of(model, "output", request),
        lambda name, found, curve: [*found.rows, *told(name, "i1", curve("i1"), sayings)],
    )


def figure_9(request: Request) -> Result:
    """Gain and bias of the last norm over training, and how they go with I1."""
    return of_every_training(
        request,
        lambda model: norm_and_matrix(model, request),
        lambda name, found, curve: [
            *found.rows,
            *told(name, BIAS, curve(BIAS), {"relative_change": relative_change}),
            *told(name, GAIN, curve(GAIN), {"change": lambda line: line.change(0, 1)}),
            *(with_isotropy(name, measure, found) for measure in (BIAS, GAIN)),
        ],
    )


def relative_change(curve: Curve) -> float:
    """Return how much a curve changes after the first third of training, as a share of itself."""
    start = curve.at(1 / 3)
    return abs(curve.change(1 / 3, 1)) / start if start > 0 else float("inf")


def with_isotropy(subject: str, measure: str, found: Result, isotropy: str = "i1") -> Row:
    """Correlate a measure with I1 over checkpoints.

    Step 0 is no point of it: before training a norm is constant, and a model knows nothing.
    """
    values: dict[str, dict[int, float]] = {measure: {}, isotropy: {}}
    for row in found.rows:
        step = row.extra.get("step")
        if row.measure in values and row.correction == "none" and row.value is not None and step:
            values[row.measure][int(step)] = row.value
    steps = sorted(set(values[measure]) & set(values[isotropy]))
    first, second = ([values[name][step] for step in steps] for name in (measure, isotropy))
    return correlation_over_training(
        subject, (measure, isotropy), (first, second), ", step 0 apart"
    )


SMALLEST, MIDDLE, BIG = "Pythia-70M", "Pythia-410M", "Pythia-6.9B"
BOTH = f"{SMALLEST}|{MIDDLE}"


def of(subject: str, measure: str) -> dict[str, str]:
    """Return what is said of the curve of one of the paper's models."""
    return {"subject": subject, "measure": measure}


add_study(
    "P-F3", figure_3,
    Claim("InterSim of the 70M model rises in the middle third of training",
          of(SMALLEST, f"{INTER}/change_in_middle_third"), {}, ">", 0.0),
    Claim("InterSim of the 410M model falls over the first two thirds",
          of(MIDDLE, f"{INTER}/change_over_first_two_thirds"), {}, "<", 0.0),
    Claim("neither is monotone", of(BOTH, f"{INTER}/turning"), {}, ">", 0.0),
    models=(SMALLEST, MIDDLE), text=replace(OWN, usual="The Pile's Enron Emails"), training=True,
)  # fmt: skip
add_study(
    "P-F4", figure_4,
    Claim("mean IntraSim is not monotone either",
          of(BOTH, f"{INTRA}/turning"), {}, ">", 0.0),
    models=(SMALLEST, MIDDLE), text=replace(OWN, usual="The Pile's Enron Emails"), training=True,
)  # fmt: skip
add_study(
    "P-F7", figure_7,
    Claim("I1 of the 70M and 410M models drops from step 0",
          of(BOTH, "i1/early_drop"), {}, "<", 0.0),
    Claim("then it rises", of(BOTH, "i1/rise_after_drop"), {}, ">", 0.0),
    Claim("that of the 70M model falls after about a third of training",
          of(SMALLEST, "i1/change_after_first_third"), {}, "<", 0.0),
    Claim("and ends lowest", of(SMALLEST, "i1/end_above_lowest_before"), {}, "<=", 0.0),
    Claim("that of the 6.9B model settles at 0.77: within 0.03 over the last third",
          of(BIG, "i1/distance_from_plateau"), {}, "<=", 0.03),
    models=(SMALLEST, MIDDLE, BIG), training=True,
)  # fmt: skip
add_study(
    "P-F9", figure_9,
    Claim(f"in isotropic models the bias is flat: it changes by at most {FLAT:.0%} after "
          "the first third",
          of(ISOTROPIC, f"{BIAS}/relative_change"), {}, "<=", FLAT),
    Claim("in isotropic models the gain grows", of(ISOTROPIC, f"{GAIN}/change"), {},
          ">", 0.0),
    Claim("in the 70M model the bias grows as I1 falls",
          of(SMALLEST, f"correlation({BIAS}, i1)"), {}, "<", 0.0),
    Claim("in the 70M model the gain grows as I1 falls",
          of(SMALLEST, f"correlation({GAIN}, i1)"), {}, "<", 0.0),
    models=(SMALLEST, MIDDLE, BIG), training=True,
)  # fmt: skip


SETS = ("mr", "cr", "subj", "mpqa", "sst-2", "sst-5", "trec", "mrpc", "sick-e", "semcor-pos")
ACCURACY, I1 = "logistic/accuracy", "i1"
MEAN_ACCURACY, MEAN_I1 = f"average/{ACCURACY}", f"average/{I1}"
LAST_LAYER_AS_IT_IS = "last layer, vectors as they are"
NOT_THERE = (
    "the paper's three sets of tokens, which it does not name, are not among them: semcor-pos "
    "stands for them; SST-2 is GLUE's"
)


def appendix_a(request: Request) -> Result:
    """Accuracy of every checkpoint beside I1 of its unembedding and of its last layer."""
    tasks, absent = sets_to_score(request, SETS)
    result = of_every_training(
        request,
        lambda model: scored_checkpoint(model, tasks, request),
        lambda name, found, _: [
            *(with_isotropy(name, MEAN_ACCURACY, found, measure) for measure in (I1, MEAN_I1)),
            *found.rows,
        ],
    )
    return replace(result, left_out=absent)


def scored_checkpoint(model: Model, tasks: list[str], request: Request) -> Result:
    """Score one checkpoint, and measure the vectors that were scored and the unembedding."""
    # Vectors are not kept: those of many checkpoints would fill a disk.
    scores = isoscope.evaluate(
        model, tasks, ["none"], data=request.data, progress=request.progress,
        sentences=SentenceProtocol(
            layers="last", special_tokens=False, isotropy=(I1,), probe="logistic", cache=False,
            seed=request.seed,
        ),
    )  # fmt: skip
    wanted = {f"{task}/{name}" for task in tasks for name in (ACCURACY, I1)}
    rows = [
        replace(
            row, protocol=f"{row.measure.partition('/')[0]}: {row.protocol}; {LAST_LAYER_AS_IT_IS}"
        )
        for row in scores.rows
        if row.measure in wanted
    ]
    means = [mean_row(rows, tasks, name) for name in (ACCURACY, I1)]
    matrix = matrix_of(model, "output", request)
    unembedding = [
        replace(row, protocol=f"{I1} is the unembedding's: {row.protocol}")
        for row in matrix.rows
        if (row.measure, row.correction) == (I1, "none")
    ]
    return replace(scores, rows=[*unembedding, *means, *rows], extra=matrix.extra)


def mean_row(rows: list[Row], tasks: list[str], name: str) -> Row:
    """Return the mean of a score or a measure over sets; undefined where one of them is."""
    several = [row for row in rows if row.measure in {f"{task}/{name}" for task in tasks}]
    mean = mean_of(row.value for row in several) if len(several) == len(tasks) else None
    return Row(
        several[0].subject, several[0].part, "none", f"average/{name}", mean,
        protocol=f"mean over {', '.join(tasks)}; {NOT_THERE}",
        note="" if mean is not None else "a set has none", extra={"unit": "sets"},
    )  # fmt: skip


add_study(
    "P-A", appendix_a,
    Claim("the accuracy of the 70M model goes with I1 of its unembedding: their "
          "correlation over checkpoints is above 0",
          of(SMALLEST, f"correlation({MEAN_ACCURACY}, {I1})"), {}, ">", 0.0),
    Claim("and with I1 of its last layer",
          of(SMALLEST, f"correlation({MEAN_ACCURACY}, {MEAN_I1})"), {}, ">", 0.0),
    models=(SMALLEST, MIDDLE), training=True, tasks=SETS,
)  # fmt: skip


GRID = "tie,positions"
FACTOR = "tie"
UNTYING = "untied instead of tied"

SHOWN = {
    (VALIDATION, PERPLEXITY),
    (EMBEDDING_MATRIX, "i1"), (EMBEDDING_MATRIX, "i1_scaled"),
    (UNEMBEDDING, "i1"), (UNEMBEDDING, "i1_scaled"),
    (LAST_LAYER, MEAN_COSINE), (NON_INPUT, EXTREME),
}  # fmt: skip


def ablation(request: Request) -> Result:
    """Every cell at the end of its training, and what untying changes."""
    found = ablated(request, GRID, "clm", FACTOR)
    effects = [row for row in found.rows if row.extra.get("factor") is not None]
    kept = [row for row in (*last_step(found), *effects) if (row.part, row.measure) in SHOWN]
    return replace(found, rows=kept)


add_study(
    "P-X", ablation,
    Claim("untied matrices have a larger I1 of the unembedding",
          {"measure": "i1", "part": UNEMBEDDING}, {"correction": UNTYING}, ">", 0.0,
          scope=ANYTHING),
    Claim("so they have at the same norm (i1_scaled), which the paper does not look at",
          {"measure": "i1_scaled", "part": UNEMBEDDING}, {"correction": UNTYING}, ">", 0.0,
          scope=ANYTHING),
    text=WIKIPEDIA, trains=True,
)  # fmt: skip
