"""Rajaee & Pilehvar (2021): a space whose mean cosine is about 0 and which is not isotropic.

Centring every cluster of GPT-2's tokens on its own mean leaves them along one line: random tokens
have a cosine of about 0, and I1 is tiny all the same.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import lowest_indices
from isoscope.results.measuring import measure
from isoscope.results.result import Result, Row, Table
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST, read_last_layer
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_layers import GPT_2, MODELS
from isoscope.studies.rajaee2021_layers import NEED as MODELS_AND_TEXT
from isoscope.studies.rajaee2021_sts import CLUSTER, NONE, SEEDS, over_seeds, settings_of
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.scale_tables import TOKENS
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject, provenance_of
from isoscope.studies.texts import STS_B

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.data.base import Cloud


CENTRED = f"{CLUSTER}:n_components=0"
"""Removing no direction of a cluster but its mean."""

COSINE, I1 = "mean_cosine", "i1"
MEASURES = (COSINE, I1, "top_variance_share")
FROM_ZERO = f"{COSINE}/distance_from_zero"
POINTS = 2_000
"""Tokens of the scatter plots."""


def figure_2(request: Request) -> Result:
    """Mean cosine, I1 and two components of the last layer, before and after local centring."""
    assert request.text is not None
    texts = [text.text for text in request.text.texts()]
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        read = read_last_layer(model, texts, request.text.name, progress=request.progress)
        provenance = provenance_of(model)
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        clusters = settings_of(subject.name)[0].clusters
        found = measured(read.tokens, clusters, request.seed)
        how = (
            f"{read.protocol}; {CENTRED}: {clusters} clusters, as many as for table 2 (the figure "
            f"gives no number); mean of the seeds {request.seed} to {request.seed + SEEDS - 1}, "
            "points of the first"
        )
        rows = [replace(row, protocol=how) for row in found.rows]
        named = renamed(replace(found, rows=rows), subject=subject.name, part=LAST)
        results.append(replace(named, extra=provenance))
    return joined(results)


def measured(tokens: NDArray[Any], clusters: int, seed: int) -> Result:
    """Measure and draw tokens as they are, and with every cluster on its own mean."""
    from isoscope.corrections.apply import CorrectedCloud  # imports scikit-learn
    from isoscope.corrections.estimators.cluster_pc_removal import ClusterRemoval

    cloud = ArrayCloud(tokens)
    names = [
        f"{CLUSTER}:n_clusters={clusters}:n_components=0:random_state={seed + k}"
        for k in range(SEEDS)
    ]
    found = measure(cloud, MEASURES, [NONE, *names], intervals=False, seed=seed)
    rows: list[Row] = []
    for name in MEASURES:
        after = over_seeds([found.row(name, correction) for correction in names])
        rows += [found.row(name), replace(after, correction=CENTRED)]
    rows += [
        replace(row, measure=FROM_ZERO, value=None if row.value is None else abs(row.value))
        for row in rows
        if row.measure == COSINE
    ]
    first = ClusterRemoval(clusters, 0, random_state=seed).fit_cloud(cloud)
    some = tokens[lowest_indices(len(tokens), min(POINTS, len(tokens)), seed)]
    labels = first.assign(some)
    tables = [
        scatter(cloud, some, labels, NONE),
        scatter(CorrectedCloud(cloud, first), first.transform(some), labels, CENTRED),
    ]
    return replace(found, rows=rows, tables=tables, verdicts=[])


def scatter(cloud: Cloud, points: NDArray[Any], labels: NDArray[Any], space: str) -> Table:
    """Project some tokens on the first two principal components that all of them have."""
    from isoscope.corrections.estimators.whiten import Whiten  # imports scikit-learn

    whole = Whiten().fit_cloud(cloud)
    coordinates = (points - whole.mean_) @ whole.components_[:2].T
    return Table(
        "", "", space, "projections",
        [
            {"first": float(x), "second": float(y), "cluster": int(label)}
            for (x, y), label in zip(coordinates, labels, strict=True)
        ],
        f"{len(points):,} tokens, drawn at random",
    )  # fmt: skip


OF_GPT_2 = {"subject": GPT_2}
AFTER = {"correction": CENTRED}

register(
    Study(
        "R-F2", "Tokens of the last layer on two components, before and after local centring",
        PAPER + ", figure 2", MODELS_AND_TEXT, figure_2,
        (
            Claim("after local centring GPT-2's mean cosine is about 0 (within 0.05)",
                  {**OF_GPT_2, "measure": FROM_ZERO}, AFTER, "<=", 0.05),
            Claim("while its I1 stays below 1e-40", {**OF_GPT_2, "measure": I1}, AFTER, "<", 1e-40),
        ),
        MODELS, text=STS_B, scales=TOKENS,
    )
)  # fmt: skip
