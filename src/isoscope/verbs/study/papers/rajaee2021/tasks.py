"""Rajaee & Pilehvar (2021): sentence similarity and classification without dominant directions.

Directions are removed from the tokens of the last layer, of all tokens together (global) or of
every cluster of them, before the mean over a text is taken. For similarity (table 2) they are found
on the scored texts. For a small network on frozen features (table 3) they are found on what the
network learns from; the authors found them on train and dev together, padding included, which is
not offered.

Figure 4 shows two curves, and the paper says that its method "can reduce convergence time". Here
that is the number of epochs until the score on dev is at least the best that features as they are
reach.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

import isoscope
from isoscope.models.token_table import LAST, about_layer, last_layer_of
from isoscope.results.fields import DIFFERENCE
from isoscope.results.merge import renamed
from isoscope.results.result import Result, Row, Table
from isoscope.tasks.problems.classification import EPOCHS
from isoscope.tasks.problems.pairs import ScoredPairs
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.tasks.registry import find_task
from isoscope.verbs.study.inputs import less, mean_of, of_every_model, sets_to_score
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.evidence import SD
from isoscope.verbs.study.judgement.replicates import (
    difference_replicates,
    mean_over_seeds,
    mean_replicates,
)
from isoscope.verbs.study.papers import rajaee2021 as paper
from isoscope.verbs.study.papers.rajaee2021 import BERT, CLUSTER, GLOBAL, NONE
from isoscope.verbs.study.papers.rajaee2021.sets import (
    check_sample,
    count_tokens,
    pairs_read,
    similarity_sets,
)
from isoscope.verbs.study.reference import Column, Key, printed_numbers, printed_table
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.tasks.registry import Task


def table_2(request: Request) -> Result:
    """Spearman's ρ on seven sets, of the mean of corrected tokens, fitted on the scored texts."""
    tasks = similarity_sets(request)
    measures = [f"{task.name}/{score}" for task in tasks for score in (paper.SPEARMAN, paper.MEAN)]
    protocol = last_tokens(request, transductive=True)
    which = f"; {pairs_read(request, 'every set')}" if request.sample else ""

    def one(model: Model, name: str) -> Result:
        if request.sample is not None:
            for task in tasks:
                texts = ScoredPairs.of(task.name, task.load(request.data)).texts
                check_sample(request, model, name, count_tokens(model, texts))
        return of_methods(model, name, tasks, measures, protocol, request, which)

    return of_every_model(request, one)


def last_tokens(request: Request, **more: Any) -> SentenceProtocol:
    """Return the paper's vectors of texts: means of the last layer's tokens, corrected."""
    return SentenceProtocol(
        layers="last", special_tokens=False, correct_at="token", isotropy=(),
        dtype=request.dtype, device=request.device, seed=request.seed, **more,
    )  # fmt: skip


def of_methods(
    model: Model,
    name: str,
    tasks: Sequence[str | Task],
    measures: Sequence[str],
    sentences: SentenceProtocol,
    request: Request,
    remark: str = "",
) -> Result:
    """Keep some scores and how far they moved, with one row a method; seeds go into tables.

    A protocol names its set, as every set has its own texts.
    """
    settings = paper.settings_of(name)
    names = settings.cluster_names(request.seed)
    found = isoscope.evaluate(
        model, list(tasks), [NONE, settings.global_name(), *names],
        data=request.data, progress=request.progress, sentences=sentences, replicates=True,
    )  # fmt: skip
    about = f"{about_layer(last_layer_of(model))}; {settings.describe(request.seed)}{remark}"
    rows = []
    for row in found.rows:
        if row.measure.removesuffix(DIFFERENCE) in measures:
            task = row.measure.partition("/")[0]
            protocol = row.protocol.replace(", ".join(names), CLUSTER)
            rows.append(replace(row, protocol=f"{task}: {protocol}; {about}"))
    together, tables = settings.together(rows, request.seed, measures)
    return renamed(replace(found, rows=together, tables=tables), part=LAST)


def printed_table_2() -> dict[Key, float]:
    """Return the table as printed, as ρ instead of ρ × 100.

    The paper does not say whether a set is scored as a whole or by the mean over its subsets, so
    that its figures stand beside both.
    """
    table = "rajaee2021_table2_sts_spearman"
    return paper.printed_by_set(table, paper.SPEARMAN, 100) | paper.printed_by_set(
        table, paper.MEAN, 100
    )


ALL_PAIRS = {"measure": f"*/{paper.SPEARMAN}"}

add_study(
    "R-T2", table_2,
    Claim("removing global directions raises Spearman's correlation on every set",
          ALL_PAIRS, {"correction": GLOBAL}, ">", {"correction": NONE}),
    Claim("removing directions per cluster scores higher than removing global ones on every "
          "set, except for RoBERTa on STS-16",
          ALL_PAIRS, {"correction": CLUSTER}, ">", {"correction": GLOBAL},
          excluding=({"subject": paper.ROBERTA, "measure": "sts-16/*"},)),
    models=paper.LAYER_MODELS, printed=printed_table_2,
)  # fmt: skip


PROBE_SETS = ("rte", "cola", "sst-2", "mrpc", "wic", "boolq")
PROBE = "mlp"
AVERAGE = "average"
OVER_SETS = "no interval: a mean over sets"
NOT_OFFERED = "the paper fitted on train and dev, padding included: not offered"


def table_3(request: Request) -> Result:
    """Accuracy of the network on every set (CoLA: Matthews' correlation), and the average."""
    tasks, absent = sets_to_score(request, PROBE_SETS)
    measures = [deciding(task) for task in tasks]
    network = last_tokens(request, probe=PROBE)

    def one(model: Model, name: str) -> Result:
        kept = of_methods(model, name, tasks, measures, network, request, f"; {NOT_OFFERED}")
        return replace(kept, rows=[*kept.rows, *averages(kept.rows, measures)])

    return replace(of_every_model(request, one), left_out=absent)


def deciding(task: str) -> str:
    """Return the score of a set that the paper prints."""
    return f"{task}/{PROBE}/{find_task(task).metrics[0]}"


def averages(rows: Sequence[Row], measures: Sequence[str]) -> list[Row]:
    """Return the mean over sets of every method, and how far it moved.

    A mean over some of the paper's sets has another name, as the printed one is over all.
    """
    name = AVERAGE if len(measures) == len(PROBE_SETS) else f"{AVERAGE}_of_{len(measures)}"
    over = ", ".join(measure.partition("/")[0] for measure in measures)
    known = {(row.correction, row.measure): row for row in rows}
    means: dict[str, Row] = {}
    found = []
    for correction in dict.fromkeys(row.correction for row in rows):
        each = [known[correction, measure] for measure in measures]
        # Sets are independent of each other: block k of the mean is block k of every set.
        errors = mean_replicates(each, f"blocks of the items of {over}")
        errors |= mean_over_seeds(each) if errors else {}
        no_interval = {} if errors else {"no_interval": OVER_SETS}
        whole = Row(
            "", LAST, correction, name, mean_of(row.value for row in each),
            note=f"over {over}", extra={"unit": "sets", **no_interval, **errors},
        )  # fmt: skip
        means[correction] = whole
        found.append(whole)
        if correction != NONE:
            change = less(whole.value, means[NONE].value)
            about = {key: value for key, value in whole.extra.items() if key not in errors}
            moved = replace(whole, measure=f"{name}{DIFFERENCE}", value=change, extra=about)
            found.append(moved)
    return [*difference_replicates(found), *not_averaged(found, name, over)]


def not_averaged(rows: Sequence[Row], name: str, over: str) -> list[Row]:
    """Say that the paper's average, over all its sets, is unknown where some were not scored."""
    if name == AVERAGE:
        return []
    known = f"{name}{DIFFERENCE}"
    note = f"the average is over {', '.join(PROBE_SETS)}; only {over} scored"
    return [
        Row("", LAST, row.correction, f"{AVERAGE}{DIFFERENCE}", None, note=note)
        for row in rows
        if row.measure == known
    ]


def printed_table_3() -> dict[Key, float]:
    """Return the table as printed, as shares instead of percentages."""
    table = "rajaee2021_table3_classification_bert"
    measures = {AVERAGE: AVERAGE} | {task: deciding(task) for task in PROBE_SETS}
    columns = (
        Column(head, ("BERT", LAST, "{method}", measures[head.lower()]), divided_by=100)
        for head in printed_table(table)[0]
        if head.lower() in measures
    )
    return printed_numbers(table, *columns, names=paper.NAMES)


ON_SETS = {"measure": f"*/{PROBE}/accuracy|*/{PROBE}/matthews"}

add_study(
    "R-T3", table_3,
    Claim("removing directions per cluster scores higher than removing global ones on every set",
          ON_SETS, {"correction": CLUSTER}, ">", {"correction": GLOBAL}, sets=PROBE_SETS),
    Claim("removing global directions raises the score on every set",
          ON_SETS, {"correction": GLOBAL}, ">", {"correction": NONE}, sets=PROBE_SETS),
    Claim("removing directions per cluster adds at least 2.0 points (rounded) to the average",
          {"measure": f"{AVERAGE}{DIFFERENCE}"}, {"correction": CLUSTER}, ">=", 0.0195,
          opposite=0.0),
    models=(BERT,), printed=printed_table_3, tasks=PROBE_SETS,
)  # fmt: skip


EPOCH_SETS = ("boolq", "rte")
NEEDED = f"{EPOCHS}_to_best_of_{NONE}"
EVERY_EPOCH = "but scored after every epoch, with nothing held back and no epoch chosen"
FIRST_FOLD = ", in the first fold alone"

# Networks that are trained on the same features, each from a seed of its own.
NETWORKS = 5

# Epochs are counted in whole numbers. A number that was rounded has a variance of 1/12, and a
# difference of two of them twice that: it is the error where all networks need the same.
ROUNDED = 1 / 6


def figure_4(request: Request) -> Result:
    """Score every epoch of some networks, and count those until the best of none is reached."""
    tasks, absent = sets_to_score(request, EPOCH_SETS)
    network = last_tokens(request, probe=PROBE, epochs=True, epoch_seeds=NETWORKS)

    def one(model: Model, name: str) -> Result:
        settings = paper.settings_of(name)
        cluster = settings.cluster_names(request.seed)[0]
        names = {NONE: NONE, settings.global_name(): GLOBAL, cluster: CLUSTER}
        found = isoscope.evaluate(
            model, tasks, list(names), data=request.data, progress=request.progress,
            sentences=network,
        )  # fmt: skip
        about = (
            f"{about_layer(last_layer_of(model))}; "
            f"{settings.describe(request.seed, 1)}; {NETWORKS} networks, the mean of the epochs "
            f"that they need, errors over networks; {NOT_OFFERED}"
        )
        tables = [replace(table, correction=names[table.correction]) for table in found.tables]
        protocols = {
            row.measure.partition("/")[0]: every_epoch(row.protocol.replace(cluster, CLUSTER))
            for row in found.rows
        }
        rows = [
            row
            for task in tasks
            for row in task_rows(task, tables, f"{task}: {protocols[task]}; {about}")
        ]
        return replace(found, rows=rows, tables=tables)

    return replace(of_every_model(request, one), left_out=absent)


def every_epoch(protocol: str) -> str:
    """Return a protocol that says what is scored, where it tells of folds in which of them."""
    return f"{protocol}; {EVERY_EPOCH}{FIRST_FOLD if ' folds' in protocol else ''}"


def task_rows(task: str, tables: Iterable[Table], protocol: str) -> list[Row]:
    """Return the epochs that every method needs, and its score after each in the first network."""
    metric = find_task(task).metrics[0]
    name = f"{task}/{PROBE}/{EPOCHS}"
    curves: dict[str, list[list[dict[str, Any]]]] = {}
    for table in tables:
        if table.measure == name or table.measure.startswith(f"{name}/seed_"):
            curves.setdefault(table.correction, []).append(table.rows)
    rows = []
    plain: list[float] = []
    for correction, networks in curves.items():
        found = [
            epochs_until([entry[metric] for entry in curve], best_of(other, metric))
            for curve, other in zip(networks, curves[NONE], strict=True)
        ]
        needed = [epochs for epochs, _ in found]
        plain = plain or needed
        about = Row(
            "", LAST, correction, f"{task}/{PROBE}/{NEEDED}", float(np.mean(needed)),
            n=len(needed), protocol=protocol, note=next((note for _, note in found if note), ""),
            extra={"unit": "networks"},
        )  # fmt: skip
        rows.append(about)
        if correction != NONE:
            rows.append(difference_of_epochs(about, np.subtract(needed, plain)))
        rows += [
            Row("", f"epoch {entry['epoch']}", correction, deciding(task), entry[metric],
                low=entry["low"], high=entry["high"], protocol=protocol,
                extra={"unit": find_task(task).unit})
            for entry in networks[0]
        ]  # fmt: skip
    return rows


def best_of(curve: list[dict[str, Any]], metric: str) -> float:
    """Return the best score of all epochs."""
    return max(entry[metric] or 0.0 for entry in curve)


def difference_of_epochs(about: Row, each: NDArray[np.float64]) -> Row:
    """Return how many epochs more a method needs, with the spread over networks."""
    row = replace(about, measure=f"{about.measure}{DIFFERENCE}", value=float(each.mean()))
    n = len(each)
    if n < 2:
        return row
    sd = math.sqrt(float(each.var(ddof=1)) + ROUNDED)
    reach = sd / math.sqrt(n) * float(stats.t.ppf(0.975, n - 1))
    low, high = float(each.mean()) - reach, float(each.mean()) + reach
    return replace(row, low=low, high=high, extra={**row.extra, SD: sd})


def epochs_until(scores: list[float | None], target: float) -> tuple[float, str]:
    """Return the first epoch whose score is not below a target, and what is odd about it.

    One epoch more than there are stands for never: then no other method needs more.
    """
    for epoch, score in enumerate(scores, start=1):
        if score is not None and score >= target:
            return float(epoch), ""
    return float(len(scores) + 1), f"not reached in {len(scores)} epochs: counted as one more"


add_study(
    "R-F4", figure_4,
    Claim("when directions per cluster are removed, a network reaches the best score that it "
          "has without the correction in fewer epochs",
          {"measure": f"*/{NEEDED}"}, {"correction": CLUSTER}, "<", {"correction": NONE}),
    models=(BERT,), tasks=EPOCH_SETS,
)  # fmt: skip
