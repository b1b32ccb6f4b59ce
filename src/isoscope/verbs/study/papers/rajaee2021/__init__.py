"""Rajaee & Pilehvar (2021): the paper, its models, and what its studies share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.models.token_table import LAST
from isoscope.results.result import Row, Table
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.evidence import PLAIN, SEED_VALUES, error_of_seeds, quantile
from isoscope.verbs.study.judgement.replicates import mean_replicates
from isoscope.verbs.study.judgement.scope import is_called
from isoscope.verbs.study.reference import Column, Key, printed_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


GPT_2, BERT, ROBERTA = "GPT-2|gpt2", "BERT|bert-base-uncased", "RoBERTa|roberta-base"
LAYER_MODELS = (GPT_2, BERT, ROBERTA)
INPUT = {"part": "layer 0"}


SIMILARITY_SETS = ("sts-12", "sts-13", "sts-14", "sts-15", "sts-16", "sick-r", "sts-b")
SIMILARITY_SEEDS = 5
NONE, GLOBAL, CLUSTER = "none", "all-but-the-top", "cluster-pc-removal"
SPEARMAN = "cosine/spearman"
# The mean over the subsets of a set, beside the correlation over all its pairs.
MEAN = f"{SPEARMAN}/mean"

# What isoscope calls models and methods of the printed tables.
NAMES = {"BERT-base": "BERT", "RoBERTa-base": "RoBERTa", "global-pc-removal": GLOBAL}

OVER_SEEDS = f"no interval: the mean of {SIMILARITY_SEEDS} seeds of k-means"


@dataclass(frozen=True)
class Settings:
    """What is removed from the tokens of a model: the paper tuned it on STS-B dev."""

    components: int
    """Directions that the global method removes."""
    clusters: int
    components_of_cluster: int
    whose: str = "the paper's settings for this model"

    def global_name(self) -> str:
        """Return the global method as corrections are written."""
        return f"{GLOBAL}:n_components={self.components}"

    def cluster_names(self, first_seed: int) -> list[str]:
        """Return the method by clusters as corrections are written, one name a seed."""
        about = f"n_clusters={self.clusters}:n_components={self.components_of_cluster}"
        return [f"{CLUSTER}:{about}:random_state={first_seed + k}" for k in range(SIMILARITY_SEEDS)]

    def describe(self, first_seed: int, seeds: int = SIMILARITY_SEEDS) -> str:
        """Return what a protocol says of both corrections."""
        return (
            f"{GLOBAL} removes {self.components} components, {CLUSTER} "
            f"{self.components_of_cluster} of each of {self.clusters} clusters ({self.whose}; "
            f"{f'seed {first_seed}' if seeds == 1 else mean_of_seeds(first_seed)})"
        )

    def describe_clusters(self, first_seed: int) -> str:
        """Return what a protocol says of the method by clusters alone."""
        return (
            f"{CLUSTER} removes {self.components_of_cluster} components of each of "
            f"{self.clusters} clusters ({self.whose}; {mean_of_seeds(first_seed)})"
        )

    def together(
        self, rows: Sequence[Row], first_seed: int, measures: Iterable[str] | None = None
    ) -> tuple[list[Row], list[Table]]:
        """Return a row for each method, the mean in place of the seeds, and what each seed gave.

        Parameters
        ----------
        rows : sequence of Row
            Numbers before and after both methods, the one by clusters with every seed.
        first_seed : int
            The first of the seeds.
        measures : iterable of str, optional
            Of which there are tables of seeds; by default all that the method by clusters has.
        """
        names = self.cluster_names(first_seed)
        seeds = grouped((row for row in rows if row.correction in names), lambda row: row.measure)
        found = []
        for row in rows:
            if row.correction == self.global_name():
                found.append(replace(row, correction=GLOBAL))
            elif row.correction == names[0]:  # the mean stands where the first seed stood
                found.append(over_seeds(seeds[row.measure]))
            elif row.correction not in names:
                found.append(row)
        listed = seeds if measures is None else [name for name in measures if name in seeds]
        return found, [seed_table(name, seeds[name]) for name in listed]


def mean_of_seeds(first: int) -> str:
    """Return what a protocol says of figures over the seeds of k-means."""
    return f"mean of the seeds {first} to {first + SIMILARITY_SEEDS - 1}"


PAPERS_SETTINGS = {
    GPT_2: Settings(30, 10, 30),
    BERT: Settings(15, 27, 12),
    ROBERTA: Settings(25, 27, 12),
}


def settings_of(subject: str) -> Settings:
    """Return what the paper removes from a model; other models get BERT's."""
    for names, settings in PAPERS_SETTINGS.items():
        if is_called(names, subject):
            return settings
    whose = "the paper's settings for BERT, as it has none for this model"
    return replace(PAPERS_SETTINGS[BERT], whose=whose)


def over_seeds(rows: Sequence[Row]) -> Row:
    """Return the mean over seeds; of figures with a logarithm from these, as they may be tiny."""
    # What else a row says, such as the range of I1 over signs, is of one seed alone.
    about = {key: rows[0].extra[key] for key in ("unit", "of") if key in rows[0].extra}
    about |= mean_replicates(rows)
    extra = {**about, "no_interval": OVER_SEEDS}
    whole = replace(rows[0], correction=CLUSTER, low=None, high=None, extra=extra)
    undefined = next((row for row in rows if row.value is None), None)
    if undefined is not None:
        return replace(whole, value=None, log10=None, note=undefined.note)
    logs = [row.log10 for row in rows if row.log10 is not None]
    plain = [row.value for row in rows if row.value is not None]
    values = logs if len(logs) == len(rows) else plain
    about |= {SEED_VALUES: values}
    whole = replace(whole, extra={**whole.extra, SEED_VALUES: values})
    if len(logs) < len(rows):
        value = float(np.mean(values))
        whole = replace(whole, value=value, log10=None)
        ends = [(row.low, row.high) for row in rows if row.low is not None and row.high is not None]
        if len(ends) < len(rows):
            return whole
        # The seeds have the same items: the error of their mean is at most the mean of their
        # errors, so that means of ends are ends of an interval of the data. Other seeds would
        # give another mean as well.
        error, freedom = error_of_seeds(whole, PLAIN)
        seeds = error * quantile(freedom)
        low, high = (float(end) for end in np.mean(ends, axis=0))
        return replace(
            whole, low=value - math.hypot(value - low, seeds),
            high=value + math.hypot(high - value, seeds), extra=about,
        )  # fmt: skip
    # The largest is taken out first: 10 to the power of −400 is 0 in double precision.
    log10 = max(logs) + math.log10(np.mean([10 ** (log - max(logs)) for log in logs]))
    return replace(whole, value=10**log10, log10=log10)


def seed_table(measure: str, rows: Iterable[Row]) -> Table:
    """List what every seed gave; I1 with its logarithm, as it may be below the smallest double."""
    runs: list[dict[str, Any]] = []
    for run, row in enumerate(rows):
        log10 = {"log10": row.log10} if measure.endswith("i1") else {}
        runs.append({"run": run, "value": row.value, **log10})
    return Table("", "", CLUSTER, measure, runs)


def in_turn(rows: list[Row]) -> list[Row]:
    """Sort rows by measure, so that the corrections of one stand together."""
    order = list(dict.fromkeys(row.measure for row in rows))
    return sorted(rows, key=lambda row: order.index(row.measure))


def printed_by_set(table: str, measure: str, divided_by: int = 1) -> dict[Key, float]:
    """Return a table with a column for every set, under the names of corrections."""
    columns = (
        Column(name.upper(), ("{model}", LAST, "{method}", f"{name}/{measure}"), 1, divided_by)
        for name in SIMILARITY_SETS
    )
    return printed_numbers(table, *columns, names=NAMES)
