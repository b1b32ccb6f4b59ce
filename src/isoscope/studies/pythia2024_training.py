"""Machina & Mercer (2024): isotropy through the training of Pythia models.

A model that ends anisotropic does not drift there steadily.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.compute.stats.estimates import pearson
from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.studies.claims import Claim
from isoscope.studies.from_nothing import checkpoints_of
from isoscope.studies.pythia2024 import INTER, INTRA, ISOTROPIC, PAPER, printed
from isoscope.studies.pythia2024_weights import matrix_of, norm_of
from isoscope.studies.registry import Request, Study, Subject, register
from isoscope.studies.scale_tables import ALL_TRAININGS, SMALL_TRAININGS
from isoscope.studies.several import joined
from isoscope.studies.texts import OWN
from isoscope.studies.training_curves import FEWEST, Curve

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.models.model import Model


FLAT = 0.25
"""A bias is flat while it changes by at most this share of itself; the paper gives no number."""

BIAS, GAIN = "bias_avgnorm", "gain_avgnorm"
PLATEAU = printed("Pythia-6.9B unembedding over training", "isotropy plateau")


def followed(
    request: Request, subject: Subject, one: Callable[[Model], Result]
) -> tuple[Result, Callable[[str], Curve]]:
    """Take numbers of every checkpoint of a model; the parts are then the steps."""
    from isoscope.models.checkpoint_cache import CheckpointCache
    from isoscope.models.checkpoints import find_training
    from isoscope.profiles.over_training import profile_over_training

    asked = request.checkpoints
    if not isinstance(subject.source, str | Path):
        raise UsageError(f"{subject.name} is one model; name a hub id or a folder of checkpoints")
    with (
        checkpoints_of(request, subject) as source,
        CheckpointCache(asked.cache, asked.keep) as cache,
    ):
        training = find_training(source, asked.revisions, asked.every)
        open_one = partial(cache.open, dtype=request.dtype, device=request.device)
        found = profile_over_training(training, one, open_one, progress=request.progress)
    rows = [
        replace(row, subject=subject.name, part=str(row.extra["revision"]))
        for row in found.rows
        if not row.part.endswith(", ordinary tokens")
    ]
    tables = [replace(table, subject=subject.name) for table in found.tables]

    def curve(measure: str) -> Curve:
        return Curve.of(row for row in rows if (row.measure, row.correction) == (measure, "none"))

    return replace(found, rows=rows, tables=tables), curve


def told(
    subject: str, measure: str, curve: Curve, sayings: dict[str, Callable[[Curve], float]]
) -> list[Row]:
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
    from isoscope.profiles.profiling import profile

    def one(model: Model) -> Result:
        return profile(
            model, request.text, measures=measure, corrections="none", intervals=False,
            layers=model.stacks[-1].layers[-1:], seed=request.seed, progress=request.progress,
            **request.readers(),
        )  # fmt: skip

    results = []
    for subject in request.subjects:
        found, curve = followed(request, subject, one)
        sayings: dict[str, Callable[[Curve], float]] = {
            "change_in_middle_third": lambda line: line.change(1 / 3, 2 / 3),
            "change_over_first_two_thirds": lambda line: line.change(0, 2 / 3),
            "turning": lambda line: line.turning,
        }
        more = told(subject.name, measure, curve(measure), sayings)
        results.append(replace(found, rows=[*found.rows, *more]))
    return joined(results)


def figure_3(request: Request) -> Result:
    """InterSim of the last layer over training."""
    return over_text(request, INTER)


def figure_4(request: Request) -> Result:
    """Mean IntraSim of the last layer over training."""
    return over_text(request, INTRA)


def figure_7(request: Request) -> Result:
    """I1 of the unembedding over training, raw and centred."""
    results = []
    for subject in request.subjects:
        found, curve = followed(request, subject, lambda model: matrix_of(model, "output", request))
        sayings: dict[str, Callable[[Curve], float]] = {
            "early_drop": lambda line: line.early_drop,
            "rise_after_drop": lambda line: line.rise_after_drop,
            "change_after_first_third": lambda line: line.change(1 / 3, 1),
            "end_above_lowest_before": lambda line: float(line.values[-1] - line.values[:-1].min()),
            "distance_from_plateau": lambda line: float(
                abs(line.between(2 / 3, 1) - PLATEAU).max()
            ),
        }
        more = told(subject.name, "i1", curve("i1"), sayings)
        results.append(replace(found, rows=[*found.rows, *more]))
    return joined(results)


def figure_9(request: Request) -> Result:
    """Gain and bias of the last norm over training, and how they go with I1."""

    def one(model: Model) -> Result:
        return joined([norm_of(model), matrix_of(model, "output", request)])

    results = []
    for subject in request.subjects:
        found, curve = followed(request, subject, one)
        name = subject.name
        more = [
            *told(name, BIAS, curve(BIAS), {"relative_change": relative_change}),
            *told(name, GAIN, curve(GAIN), {"change": lambda line: line.change(0, 1)}),
            *(with_isotropy(name, measure, found) for measure in (BIAS, GAIN)),
        ]
        results.append(replace(found, rows=[*found.rows, *more]))
    return joined(results)


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
    together = pearson(*([values[name][step] for step in steps] for name in (measure, isotropy)))
    return Row(
        subject, "", "none", f"correlation({measure}, {isotropy})", together.value,
        low=together.low, high=together.high, n=together.n,
        protocol="over checkpoints, step 0 apart", note=together.note,
        extra={"unit": "checkpoints"},
    )  # fmt: skip


TRAINING = "checkpoints of models: hub ids with --revisions, or folders of checkpoints"
WITH_TEXT = f"{TRAINING}; and a text, the paper's being Enron Emails"
SMALLEST, MIDDLE, BIG = "Pythia-70M", "Pythia-410M", "Pythia-6.9B"
BOTH = f"{SMALLEST}|{MIDDLE}"


def of(subject: str, measure: str) -> dict[str, str]:
    """Return what is said of the curve of one of the paper's models."""
    return {"subject": subject, "measure": measure}


register(
    Study(
        "P-F3", "Mean cosine of the last layer over training",
        PAPER + ", figure 3", WITH_TEXT, figure_3,
        (
            Claim("InterSim of the 70M model rises in the middle third of training",
                  of(SMALLEST, f"{INTER}/change_in_middle_third"), {}, ">", 0.0),
            Claim("InterSim of the 410M model falls over the first two thirds",
                  of(MIDDLE, f"{INTER}/change_over_first_two_thirds"), {}, "<", 0.0),
            Claim("neither is monotone", of(BOTH, f"{INTER}/turning"), {}, ">", 0.0),
        ),
        (SMALLEST, MIDDLE), text=replace(OWN, usual="The Pile's Enron Emails"), training=True,
        scales=SMALL_TRAININGS,
    )
)  # fmt: skip
register(
    Study(
        "P-F4", "How alike the vectors of one token type are in the last layer, over training",
        PAPER + ", figure 4", WITH_TEXT, figure_4,
        (
            Claim("mean IntraSim is not monotone either",
                  of(BOTH, f"{INTRA}/turning"), {}, ">", 0.0),
        ),
        (SMALLEST, MIDDLE), text=replace(OWN, usual="The Pile's Enron Emails"), training=True,
        scales=SMALL_TRAININGS,
    )
)  # fmt: skip
register(
    Study(
        "P-F7", "Isotropy of the unembedding over training",
        PAPER + ", figure 7", TRAINING, figure_7,
        (
            Claim("I1 of the 70M and 410M models drops from step 0",
                  of(BOTH, "i1/early_drop"), {}, "<", 0.0),
            Claim("then it rises", of(BOTH, "i1/rise_after_drop"), {}, ">", 0.0),
            Claim("that of the 70M model falls after about a third of training",
                  of(SMALLEST, "i1/change_after_first_third"), {}, "<", 0.0),
            Claim("and ends lowest", of(SMALLEST, "i1/end_above_lowest_before"), {}, "<=", 0.0),
            Claim("that of the 6.9B model settles at 0.77: within 0.03 over the last third",
                  of(BIG, "i1/distance_from_plateau"), {}, "<=", 0.03),
        ),
        (SMALLEST, MIDDLE, BIG), training=True, scales=ALL_TRAININGS,
    )
)  # fmt: skip
register(
    Study(
        "P-F9", "Gain and bias of the last norm over training",
        PAPER + ", figure 9", TRAINING, figure_9,
        (
            Claim(f"in isotropic models the bias is flat: it changes by at most {FLAT:.0%} after "
                  "the first third",
                  of(ISOTROPIC, f"{BIAS}/relative_change"), {}, "<=", FLAT),
            Claim("in isotropic models the gain grows", of(ISOTROPIC, f"{GAIN}/change"), {},
                  ">", 0.0),
            Claim("in the 70M model the bias grows as I1 falls",
                  of(SMALLEST, f"correlation({BIAS}, i1)"), {}, "<", 0.0),
            Claim("in the 70M model the gain grows as I1 falls",
                  of(SMALLEST, f"correlation({GAIN}, i1)"), {}, "<", 0.0),
        ),
        (SMALLEST, MIDDLE, BIG), training=True, scales=ALL_TRAININGS,
    )
)  # fmt: skip
