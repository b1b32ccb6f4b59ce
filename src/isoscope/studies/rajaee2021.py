"""Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy in contextual spaces.

Contextual spaces are clustered: centring every cluster on its own mean does more than centring all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.data.arrays import ArrayCloud
from isoscope.data.open import open_cloud
from isoscope.errors import UsageError
from isoscope.results.measuring import measure, versions
from isoscope.results.result import Result, Row, Table
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import read_last_layer
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, Subject, register
from isoscope.studies.render import MODELS
from isoscope.studies.scale_tables import MINILM, SMOLLM2, TOKENS
from isoscope.studies.subjects import names_a_model, open_subject
from isoscope.studies.texts import STS_B

if TYPE_CHECKING:
    from isoscope.data.base import CloudGroup


PACKAGED = (MINILM, SMOLLM2)
"""Packages that hold models; as vectors they would be embedding matrices, which have no text."""

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
    known: dict[str, Any] = {}
    for subject in request.subjects:
        group, protocol, provenance = tokens_of(request, subject)
        if len(group.names) != 1:
            raise UsageError(f"{subject.name} holds {len(group.names)} clouds; R-T1 looks at one")
        known |= provenance
        found = measure(
            group, ["i1", *names.values()], "none",
            intervals=False, seed=request.seed, progress=request.progress,
        )  # fmt: skip
        parts = {RAW: found.row("i1")} | {f"k={k}": found.row(name) for k, name in names.items()}
        rows += [
            replace(
                row, subject=subject.name, part=part, measure=MEASURE,
                protocol="; ".join(filter(None, (protocol, row.protocol))),
            )
            for part, row in parts.items()
        ]  # fmt: skip
        runs = [
            {"clusters": k, "seed": int(key.split("_")[1]), "log10_i1": value}
            for k, name in names.items()
            for key, value in found.row(name).extra.items()
            if key.startswith("seed_")
        ]
        tables.append(Table(subject.name, "", "none", MEASURE, runs))
    return Result(rows, tables, versions=versions(), extra={MODELS: known} if known else {})


def tokens_of(request: Request, subject: Subject) -> tuple[CloudGroup, str, dict[str, Any]]:
    """Open vectors that a user has, or read the last layer of a model over the text."""
    packaged = isinstance(subject.source, str) and subject.source in PACKAGED
    if not (packaged or names_a_model(subject.source)):
        return open_cloud(subject.source, column=request.column), "", {}
    if request.text is None:
        raise UsageError("R-T1 reads a text with a model; name one with --text, or STS-B in --data")
    model = open_subject(subject, request)
    texts = [text.text for text in request.text.texts()]
    read = read_last_layer(model, texts, request.text.name, progress=request.progress)
    cloud = ArrayCloud(read.tokens, subject.name)
    return cloud, read.protocol, {model.name: model.provenance}


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
        "models and a text (the paper: STS-B dev), or files with token vectors of a last layer",
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
        text=replace(STS_B, required=False), scales=TOKENS,
    )
)  # fmt: skip
