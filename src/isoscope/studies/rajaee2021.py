"""Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy in contextual spaces.

Contextual spaces are clustered: centring every cluster on its own mean does more than centring all.
"""

from __future__ import annotations

from dataclasses import replace

from isoscope.clouds.opening import open_cloud
from isoscope.errors import UsageError
from isoscope.results.measuring import measure, versions
from isoscope.results.result import Result, Row, Table
from isoscope.studies.claims import Claim
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register

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
    # One cluster is the same for every seed.
    names = {k: f"{MEASURE}:n_clusters={k}:seeds={1 if k == 1 else SEEDS}" for k in CLUSTERS}
    rows: list[Row] = []
    tables: list[Table] = []
    for subject in request.subjects:
        group = open_cloud(subject.source, column=request.column)
        if len(group.names) != 1:
            raise UsageError(f"{subject.name} holds {len(group.names)} clouds; R-T1 looks at one")
        found = measure(
            group, ["i1", *names.values()], "none",
            intervals=False, seed=request.seed, progress=request.progress,
        )  # fmt: skip
        parts = {RAW: found.row("i1")} | {f"k={k}": found.row(name) for k, name in names.items()}
        rows += [
            replace(row, subject=subject.name, part=part, measure=MEASURE)
            for part, row in parts.items()
        ]
        runs = [
            {"clusters": k, "seed": int(key.split("_")[1]), "log10_i1": value}
            for k, name in names.items()
            for key, value in found.row(name).extra.items()
            if key.startswith("seed_")
        ]
        tables.append(Table(subject.name, "", "none", MEASURE, runs))
    return Result(rows, tables, versions=versions())


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
