"""Rajaee & Pilehvar (2021): sentence similarity after removing dominant directions of tokens.

Directions are removed from the tokens of the last layer, of all tokens together (global) or of
every cluster of them, before the mean over a sentence is taken.
"""

from __future__ import annotations

import gc
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.results.result import Result, Row, Table
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST, about_layer, last_layer_of
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_layers import BERT, GPT_2, MODELS, ROBERTA
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scale_tables import TOKENS
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject
from isoscope.tasks import SentenceProtocol, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SETS = ("sts-12", "sts-13", "sts-14", "sts-15", "sts-16", "sick-r", "sts-b")
SEEDS = 5
NONE, GLOBAL, CLUSTER = "none", "all-but-the-top", "cluster-pc-removal"
SPEARMAN = "cosine/spearman"
MEAN = f"{SPEARMAN}/mean"
"""The mean over the subsets of a set, beside the correlation over all its pairs."""

OVER_SEEDS = f"no interval: the mean of {SEEDS} seeds of k-means"


@dataclass(frozen=True)
class Settings:
    """What is removed from the tokens of a model: the paper tuned it on STS-B dev."""

    components: int
    """Directions that the global method removes."""
    clusters: int
    components_of_cluster: int

    def global_name(self) -> str:
        """Return the global method as corrections are written."""
        return f"{GLOBAL}:n_components={self.components}"

    def cluster_names(self, first_seed: int) -> list[str]:
        """Return the method by clusters as corrections are written, one name a seed."""
        about = f"n_clusters={self.clusters}:n_components={self.components_of_cluster}"
        return [f"{CLUSTER}:{about}:random_state={first_seed + k}" for k in range(SEEDS)]

    def describe(self, whose: str, first_seed: int, seeds: int = SEEDS) -> str:
        """Return what a protocol says of the corrections."""
        several = f"mean of the seeds {first_seed} to {first_seed + seeds - 1}"
        return (
            f"{GLOBAL} removes {self.components} components, {CLUSTER} "
            f"{self.components_of_cluster} of each of {self.clusters} clusters ({whose}; "
            f"{several if seeds > 1 else f'seed {first_seed}'})"
        )


PAPERS_SETTINGS = {
    GPT_2: Settings(30, 10, 30),
    BERT: Settings(15, 27, 12),
    ROBERTA: Settings(25, 27, 12),
}


def settings_of(subject: str) -> tuple[Settings, str]:
    """Return what the paper removes from a model, and whose settings these are.

    Other models get BERT's.
    """
    for names, settings in PAPERS_SETTINGS.items():
        if subject.casefold() in names.casefold().split("|"):
            return settings, "the paper's settings for this model"
    return PAPERS_SETTINGS[BERT], "the paper's settings for BERT, as it has none for this model"


def table_2(request: Request) -> Result:
    """Spearman's ρ on seven sets, of the mean of corrected tokens, fitted on the scored texts."""
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        settings, whose = settings_of(subject.name)
        names = settings.cluster_names(request.seed)
        found = evaluate(
            model, list(SETS), [NONE, settings.global_name(), *names],
            data=request.data, progress=request.progress,
            sentences=SentenceProtocol(
                layers="last", special_tokens=False, correct_at="token", transductive=True,
                isotropy=(), dtype=request.dtype, device=request.device, seed=request.seed,
            ),
        )  # fmt: skip
        about = f"{about_layer(last_layer_of(model))}; {settings.describe(whose, request.seed)}"
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        measures = [f"{task}/{score}" for task in SETS for score in (SPEARMAN, MEAN)]
        kept = of_methods(found, measures, settings.global_name(), names, about)
        results.append(renamed(kept, subject=subject.name, part=LAST))
    return joined(results)


def of_methods(
    found: Result, measures: Sequence[str], global_name: str, names: Sequence[str], about: str
) -> Result:
    """Keep some scores and how far they moved, with one row a method; seeds go into tables.

    A protocol names its set, as every set has its own texts.
    """
    rows = []
    for row in found.rows:
        if row.measure.removesuffix("/difference") in measures:
            task = row.measure.partition("/")[0]
            protocol = row.protocol.replace(", ".join(names), CLUSTER)
            rows.append(replace(row, protocol=f"{task}: {protocol}; {about}"))
    runs = [row for row in rows if row.correction in names]
    tables = [seed_table(measure, runs) for measure in measures]
    return replace(
        found,
        rows=methods_together(rows, global_name, names),
        tables=[table for table in tables if table.rows],
    )


def methods_together(rows: Sequence[Row], global_name: str, names: Sequence[str]) -> list[Row]:
    """Call methods by their names alone, and put the mean in the place of the seeds."""
    seeds: dict[str, list[Row]] = {}
    for row in rows:
        if row.correction in names:
            seeds.setdefault(row.measure, []).append(row)
    found = []
    for row in rows:
        if row.correction == global_name:
            found.append(replace(row, correction=GLOBAL))
        elif row.correction == names[0]:
            found.append(over_seeds(seeds[row.measure]))
        elif row.correction not in names:
            found.append(row)
    return found


def over_seeds(rows: Sequence[Row]) -> Row:
    """Return the mean over seeds; of figures with a logarithm from these, as they may be tiny."""
    # What else a row says, such as the range of I1 over signs, is of one seed alone.
    about = {key: rows[0].extra[key] for key in ("unit", "of") if key in rows[0].extra}
    extra = {**about, "no_interval": OVER_SEEDS}
    whole = replace(rows[0], correction=CLUSTER, low=None, high=None, extra=extra)
    undefined = next((row for row in rows if row.value is None), None)
    if undefined is not None:
        return replace(whole, value=None, log10=None, note=undefined.note)
    logs = [row.log10 for row in rows if row.log10 is not None]
    if len(logs) < len(rows):
        return replace(whole, value=float(np.mean([row.value for row in rows])), log10=None)
    log10 = max(logs) + math.log10(np.mean([10 ** (log - max(logs)) for log in logs]))
    return replace(whole, value=10**log10, log10=log10)


def seed_table(measure: str, rows: Iterable[Row]) -> Table:
    """List what every seed gave."""
    values = [row.value for row in rows if row.measure == measure]
    runs = [{"run": run, "value": value} for run, value in enumerate(values)]
    return Table("", "", CLUSTER, measure, runs)


def printed_table_2() -> dict[Key, float]:
    """Return the table as printed, as ρ instead of ρ × 100.

    The paper does not say whether a set is scored as a whole or by the mean over its subsets, so
    that its figures stand beside both.
    """
    return {
        key: value / 100
        for score in (SPEARMAN, MEAN)
        for key, value in printed_by_set("rajaee2021_table2_sts_spearman", score).items()
    }


def printed_by_set(table: str, measure: str) -> dict[Key, float]:
    """Return a table with a column for every set, under the names of corrections."""
    corrections = {NONE: NONE, "global-pc-removal": GLOBAL, CLUSTER: CLUSTER}
    return {
        (row["model"].removesuffix("-base"), LAST, corrections[row["method"]], f"{name}/{measure}"):
        float(row[name.upper()])
        for row in printed_table(table)
        for name in SETS
    }  # fmt: skip


NEED = (
    "models (a hub id, a folder or a .gguf file), and a --data folder with STS-12 to STS-16, SICK "
    "and the STS benchmark"
)
ALL_PAIRS = {"measure": f"*/{SPEARMAN}"}

register(
    Study(
        "R-T2", "Sentence similarity after removing dominant directions, global and by cluster",
        PAPER + ", table 2", NEED, table_2,
        (
            Claim("removing global directions is better than none on every set",
                  ALL_PAIRS, {"correction": GLOBAL}, ">", {"correction": NONE}),
            Claim("removing those of clusters is better than global ones on every set, except for "
                  "RoBERTa on STS-16",
                  ALL_PAIRS, {"correction": CLUSTER}, ">", {"correction": GLOBAL},
                  excluding=({"subject": ROBERTA, "measure": "sts-16/*"},)),
        ),
        MODELS, printed_table_2, scales=TOKENS,
    )
)  # fmt: skip
