"""Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy in contextual spaces.

Contextual spaces are clustered: centring every cluster on its own mean does more than centring all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.clouds.arrays import ArrayCloud
from isoscope.clouds.opening import open_cloud
from isoscope.clouds.selection import RowSelection
from isoscope.errors import DataError, UsageError
from isoscope.results.measuring import measure, versions
from isoscope.results.result import Result, Row, Table
from isoscope.studies.claims import Claim
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.tasks.corrected import in_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.studies.registry import Subject

PAPER = (
    "Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy in contextual "
    "embedding space, ACL"
)
CLUSTERS = (1, 3, 6, 9, 20)
SEEDS = 5
MEASURE = "local_i1"
RAW = "raw"


def table_1(request: Request) -> Result:
    """I1 after centring every cluster of k-means on its own mean, against their number."""
    rows: list[Row] = []
    tables: list[Table] = []
    for subject in request.subjects:
        vectors = load(subject, request.column)
        rows.append(as_row(subject.name, RAW, [log10_i1(vectors)], len(vectors)))
        runs = []
        for clusters in CLUSTERS:
            # One cluster is the same for every seed.
            seeds = range(request.seed, request.seed + (1 if clusters == 1 else SEEDS))
            logs = [local_log10_i1(vectors, clusters, seed) for seed in seeds]
            rows.append(as_row(subject.name, f"k={clusters}", logs, len(vectors)))
            runs += [
                {"clusters": clusters, "seed": seed, "log10_i1": log}
                for seed, log in zip(seeds, logs, strict=True)
            ]
            if request.progress is not None:
                request.progress(f"{subject.name}: k up to {CLUSTERS[-1]}", clusters, CLUSTERS[-1])
        tables.append(Table(subject.name, "", "none", MEASURE, runs))
    return Result(rows, tables, versions=versions())


def load(subject: Subject, column: str | None) -> NDArray[np.floating]:
    """Load the one cloud of a subject: k-means goes over it many times."""
    group = open_cloud(subject.source, column=column)
    if len(group.names) != 1:
        raise UsageError(f"{subject.name} holds {len(group.names)} clouds; R-T1 looks at one")
    vectors = in_memory(RowSelection(group))
    if len(vectors) < max(CLUSTERS):
        raise DataError(
            f"{subject.name} has {len(vectors)} rows, too few for {max(CLUSTERS)} clusters"
        )
    return vectors


def local_log10_i1(vectors: NDArray[np.floating], clusters: int, seed: int) -> float:
    """Return log10 of I1 after every cluster was centred on its own mean."""
    from sklearn.cluster import KMeans

    labels = KMeans(clusters, n_init=1, random_state=seed).fit_predict(vectors)
    centred = np.array(vectors, dtype=np.float64)
    for label in np.unique(labels):
        members = labels == label
        centred[members] -= centred[members].mean(axis=0)
    return log10_i1(centred.astype(vectors.dtype))


def log10_i1(vectors: NDArray[np.floating]) -> float:
    """Return log10 of I1, which may be below the smallest double."""
    value = measure(ArrayCloud(vectors), "i1", "none").row("i1").log10
    if value is None:
        raise DataError("I1 is undefined for these vectors")
    return value


def as_row(subject: str, part: str, logs: list[float], count: int) -> Row:
    """Return the mean of I1 over seeds, summed without leaving logarithms."""
    top = max(logs)
    log10 = top + math.log10(sum(10 ** (log - top) for log in logs) / len(logs))
    seeds = f"mean of {len(logs)} seeds" if len(logs) > 1 else "one run"
    protocol = "" if part == RAW else f"k-means, one start each; {seeds}"
    return Row(subject, part, "none", MEASURE, 10**log10, log10=log10, n=count, protocol=protocol)


def printed_table_1() -> dict[Key, float]:
    """Return the table as printed."""
    return {
        (
            model,
            RAW if row["clusters"] == "none" else f"k={row['clusters']}",
            "none",
            MEASURE,
        ): float(row[model])
        for row in printed_table("rajaee2021_table1_cluster_isotropy")
        for model in ("GPT-2", "BERT", "RoBERTa")
    }


register(
    Study(
        "R-T1", "Local isotropy against the number of clusters",
        PAPER + ", table 1",
        "token vectors of a model's last layer over a text (the paper: STS-B dev), one cloud each",
        table_1,
        (
            Claim("I1 with 20 clusters is above I1 with one",
                  {"measure": MEASURE}, {"part": "k=20"}, ">", {"part": "k=1"}),
            Claim("BERT reaches 0.2 with 20 clusters",
                  {"measure": MEASURE, "subject": "BERT"}, {"part": "k=20"}, ">=", 0.2),
            Claim("RoBERTa reaches 0.5 with 20 clusters",
                  {"measure": MEASURE, "subject": "RoBERTa"}, {"part": "k=20"}, ">=", 0.5),
            Claim("GPT-2 stays below 1e-40 with any number of clusters",
                  {"measure": MEASURE, "subject": "GPT-2", "part": "k=*"}, {}, "<", 1e-40),
            Claim("GPT-2 with one cluster is below its raw value",
                  {"measure": MEASURE, "subject": "GPT-2"}, {"part": "k=1"}, "<", {"part": RAW}),
        ),
        ("GPT-2", "BERT", "RoBERTa"), printed_table_1,
    )
)  # fmt: skip
