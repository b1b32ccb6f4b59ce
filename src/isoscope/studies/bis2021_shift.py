"""Biś et al. (2021): what a shift does to singular values, of a toy and of a real training."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.estimates import pearson
from isoscope.data.arrays import ArrayCloud
from isoscope.results.measuring import measure
from isoscope.results.result import Row
from isoscope.studies.bis2021 import PAPER, singular_ratios
from isoscope.studies.claims import Claim
from isoscope.studies.pythia2024_training import followed
from isoscope.studies.registry import Request, Study, Subject, register
from isoscope.studies.scale_tables import SHIFTED
from isoscope.studies.several import joined, renamed

if TYPE_CHECKING:
    from isoscope.models.model import Model
    from isoscope.results.result import Result


SHIFTS = (0.0, 1.0, 2.0, 4.0)
SPHERE_POINTS = 1_000
MEASURES = "mean_norm,norm_of_mean,spectrum"
RATIO, SHIFT = "singular_ratio", "shift"
TOGETHER = f"correlation({SHIFT}, {RATIO})"
TOY = "toy"


def figure_2(request: Request) -> Result:
    """A sphere that is shifted, and the output matrices of trainings that the user names."""
    return joined([toy(request), *(trained(request, subject) for subject in request.subjects)])


def toy(request: Request) -> Result:
    """Points on a unit sphere in three dimensions, shifted further and further away."""
    rng = np.random.default_rng(request.seed)
    normal = rng.standard_normal((SPHERE_POINTS, 3))
    sphere = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    direction = np.ones(3) / np.sqrt(3)
    results = []
    for shift in SHIFTS:
        cloud = ArrayCloud(sphere + shift * direction, f"shift {shift:g}")
        found = measure(cloud, MEASURES, "none", seed=request.seed)
        results.append(renamed(found, subject=TOY, part=cloud.name))
    result = joined(results)
    ratios = singular_ratios(result)
    values = [row.value for row in ratios if row.value is not None]
    step = min(after - before for before, after in pairwise(values))
    smallest = Row(
        TOY, "", "none", f"{RATIO}/smallest_step", step,
        note="smallest_step is the smallest growth of σ₁/σ₂ from one shift to the next",
    )  # fmt: skip
    return replace(result, rows=[*result.rows, *ratios, smallest])


def trained(request: Request, subject: Subject) -> Result:
    """Follow the shift of the mean and σ₁/σ₂ of an output matrix over a training.

    The shift is the length of the mean in mean lengths of rows: 0 for a centred matrix, 1 where all
    rows are the same.
    """

    def one(model: Model) -> Result:
        cloud = model.embedding_cloud("input" if model.parts.unembedding is None else "output")
        found = renamed(
            measure(cloud, MEASURES, "none", intervals=False, seed=request.seed),
            subject=model.name, part="",
        )  # fmt: skip
        values = {row.measure: row.value or 0.0 for row in found.rows}
        length = values["mean_norm"]
        shift = Row(
            model.name, "", "none", SHIFT, values["norm_of_mean"] / length if length else None,
            note="" if length else "all rows are zero",
        )  # fmt: skip
        return replace(found, rows=[*found.rows, *singular_ratios(found), shift])

    found, curve = followed(request, subject, one)
    pairs = pearson(curve(SHIFT).values.tolist(), curve(RATIO).values.tolist())
    together = Row(
        subject.name, "", "none", TOGETHER, pairs.value, low=pairs.low, high=pairs.high,
        n=pairs.n, protocol="over checkpoints", note=pairs.note, extra={"unit": "checkpoints"},
    )  # fmt: skip
    return replace(found, rows=[*found.rows, together])


register(
    Study(
        "B-F2", "Singular values of a sphere that moves away from the origin, and of a training",
        PAPER + ", figure 2",
        "nothing for the toy; folders of checkpoints, such as isoscope train pretrain makes, for "
        "its real counterpart",
        figure_2,
        (
            Claim("at the origin the first two singular values are about the same",
                  {"measure": RATIO, "subject": TOY}, {"part": "shift 0"}, "<=", 1.1),
            Claim("their ratio grows with every shift",
                  {"measure": f"{RATIO}/smallest_step"}, {}, ">", 0.0),
            Claim("in a real training it goes with the shift of the mean",
                  {"measure": TOGETHER}, {}, ">", 0.0),
        ),
        (TOY,), sources=False, may_have_sources=True, training=True, scales=SHIFTED,
    )
)  # fmt: skip
