"""Luo (2021): how well each layer tells positions, and what outlier dimensions contribute to it.

The paper trains on SST-2's training set and tests on its test set; here a fifth of the texts, drawn
at random, are held out. Its lowest three layers are taken to be layers 1 to 3, as it counts the
input apart; its high layers to be the last third.

For figure 3.10 the same model is pre-trained with and without positional embeddings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.estimates import bounded_score, difference, wilson
from isoscope.compute.stats.jackknife import BLOCKS, FEWEST_IN_BLOCK, deal
from isoscope.models.layer_names import numbered_layers
from isoscope.models.structure.parts import LEARNED
from isoscope.models.token_table import TokenSample, read_tokens
from isoscope.results.result import Result, Row
from isoscope.verbs.explain import api as explain
from isoscope.verbs.explain.names import ACCURACY, NO_OUTLIER, RANK
from isoscope.verbs.study.inputs import SST_2, WIKIPEDIA, per_model
from isoscope.verbs.study.judgement.claims import Claim, Floor
from isoscope.verbs.study.judgement.evidence import SD
from isoscope.verbs.study.judgement.replicates import with_replicates
from isoscope.verbs.study.judgement.scope import OWN as MADE_HERE
from isoscope.verbs.study.judgement.scope import Scope
from isoscope.verbs.study.papers import luo2021
from isoscope.verbs.study.papers.luo2021 import BERT, INPUT, MODELS, ROBERTA
from isoscope.verbs.study.reference import Key, printed_table
from isoscope.verbs.study.registry import Request, add_study
from isoscope.verbs.study.runs.trainings import ablated, last_step
from isoscope.verbs.train.names import EXTREME, NON_INPUT, PERPLEXITY, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.models.model import Model
    from isoscope.typing import Vector


LEVEL = 0.95
# Tokens of whole texts that are read, at most.
TOKENS = 60_000

LOWEST = "layer 1|layer 2|layer 3"
THIRD = "layer 3"
CHANGE = f"{ACCURACY}/change_above_layer_3"
HIGH = f"{ACCURACY}/high_layers"
LEAD = "lead_of_outliers"


def read_numbered(request: Request, model: Model) -> TokenSample:
    """Read all layers of a model as the paper numbers them, special tokens included."""
    assert request.text is not None
    names = numbered_layers(model.stacks)
    sample = read_tokens(
        model, request.text, TOKENS, request.seed,
        special=True, layers=names, progress=request.progress,
    )  # fmt: skip
    return replace(
        sample,
        layers={names[layer]: vectors for layer, vectors in sample.layers.items()},
        protocol=f"{sample.protocol}, at most {TOKENS:,} tokens",
    )


@per_model
def figure_3_7(request: Request, model: Model, _: str) -> Result:
    """Accuracy of every layer's probe, with what one gets without vectors."""
    found = explain.position_probes(read_numbered(request, model), request.seed, request.progress)
    without = "the commonest position in training, of all tokens or of the same token"
    accuracies = [found.accuracy_row(layer) for layer in found.probes]
    return Result(
        [*accuracies, *found.baseline_rows("", without), change_row(found), high_row(found)]
    )


def change_row(found: explain.PositionProbes) -> Row:
    """Compare the last layer with layer 3, on the same texts."""
    probes = found.probes
    last = list(probes)[-1]
    change, note = None, f"there is no layer above {THIRD}"
    if THIRD in probes and last != THIRD:
        change = difference(probes[last].accuracy, probes[THIRD].accuracy, level=LEVEL)
        note = change.note
    how = f"{last} less {THIRD}, on the same tokens"
    return Row.of(
        change, "", "", "none", CHANGE, n=found.task.tokens, protocol=how, note=note
    )  # fmt: skip


def high_row(found: explain.PositionProbes) -> Row:
    """Take the mean accuracy of the last third of the layers, the input not counted."""
    behind = [probe for layer, probe in found.probes.items() if layer != "layer 0"]
    late = [probe.accuracy for probe in behind[-max(1, len(behind) // 3) :]]
    value = float(np.mean([score.value for score in late]))
    # The error of a mean of scores of the same texts is the mean of their errors.
    known = [score.influences for score in late if score.influences is not None]
    influences = np.asarray(np.mean(known, axis=0))
    mean = bounded_score(value, influences, LEVEL)
    if mean.low is None and len(influences) >= FEWEST_IN_BLOCK * BLOCKS:
        # As of one layer: texts that do not differ, as where all tokens are right, are still few.
        low, high = wilson(value, len(influences), LEVEL)
        mean = replace(mean, low=low, high=high)
    how = f"mean of the last {len(late)} of {len(behind)} layers"
    return Row.of(mean, "", "", "none", HIGH, n=found.task.tokens, protocol=how)


@per_model
def figure_3_8(request: Request, model: Model, name: str) -> Result:
    """Rank outlier dimensions by what they contribute to every layer's probe."""
    sample = read_numbered(request, model)
    found = explain.position_probes(sample, request.seed, request.progress)
    dimension = next(iter(sample.layers.values())).shape[1]
    outliers, chosen = luo2021.printed_dimensions(name, dimension), "those that the paper names"
    if not outliers:
        outliers = explain.often_extreme(v for k, v in sample.layers.items() if k != "layer 0")
        chosen = "minimum or maximum in at least 10 % of the vectors of all non-input layers"
    protocol = f"{found.protocol}; outlier dimensions: {chosen}"
    rows = [
        row
        for layer, probe in found.probes.items()
        for row in outlier_rows(layer, probe, outliers, protocol)
    ]
    return Result(rows, [explain.contribution_table(found.probes)])


def outlier_rows(
    layer: str, probe: explain.PositionProbe, outliers: list[int], protocol: str
) -> list[Row]:
    """Return the best rank of an outlier dimension in a layer, that of each, and their leads."""
    if not outliers:
        width = len(probe.contributions)
        none = Row("", layer, "none", RANK, None, n=width, protocol=protocol, note=NO_OUTLIER)
        return [none, replace(none, measure=LEAD)]
    best = min(outliers, key=lambda k: explain.rank_of(k, probe.contributions))
    return [
        explain.rank_row(layer, probe, best, RANK, protocol),
        *(explain.rank_row(layer, probe, k, f"{RANK}/{k}", protocol) for k in outliers),
        lead_row(layer, probe, outliers, LEAD),
        *(lead_row(layer, probe, [k], f"{LEAD}/{k}") for k in outliers),
    ]


def lead_row(layer: str, probe: explain.PositionProbe, dimensions: list[int], measure: str) -> Row:
    """Return how far the largest contribution of some dimensions is above that of all others.

    It is a share of the larger of the two, and its error is that over blocks of the held-out texts:
    a rank has none.
    """
    row = Row("", layer, "none", measure, lead(probe.contributions, dimensions))
    texts = probe.contributions_of_texts
    if texts is None or len(texts) < FEWEST_IN_BLOCK * BLOCKS:
        return row
    blocks = deal(len(texts), seed=0)
    sums = [texts[blocks != block].sum(axis=0) for block in range(BLOCKS)]
    without = [[replace(row, value=lead(one[:-1] / max(one[-1], 1.0), dimensions))] for one in sums]
    of = f"{BLOCKS} blocks of {len(texts):,} held-out texts"
    return with_replicates([row], without, of)[0]


def lead(contributions: Vector, dimensions: list[int]) -> float | None:
    """Return (a − b) / max(a, b) of the largest contributions of some dimensions and of the rest.

    Examples
    --------
    >>> lead(np.array([1.0, 4.0, 3.0]), [1])
    0.25
    """
    others = np.delete(contributions, dimensions)
    if not len(others):
        return None
    own, rest = float(contributions[dimensions].max()), float(others.max())
    largest = max(own, rest)
    return (own - rest) / largest if largest > 0 else None


# The thesis is about models whose positions are learned embeddings, which a layer can hold.
POSITIONED = Scope(positions=(LEARNED,))

# The input holds the positional embeddings themselves: a probe that does not read them there has
# learned from too few tokens to say anything about the layers behind it.
READS = Floor(">=", 0.95, part="layer 0")

add_study(
    "L-F3.7", figure_3_7,
    Claim("a linear probe reads positions with an accuracy of at least 0.95 in layers 1 to 3",
          {"measure": ACCURACY, "part": LOWEST}, {}, ">=", 0.95, scope=POSITIONED, floor=READS),
    Claim("the accuracy of the last layer is below that of layer 3",
          {"measure": CHANGE}, {}, "<", 0.0, scope=POSITIONED),
    Claim("RoBERTa's accuracy is above BERT's in high layers (mean of the last third)",
          {"measure": HIGH}, {"subject": ROBERTA}, ">", {"subject": BERT},
          min_subjects=2),
    models=MODELS[:2], text=SST_2,
)  # fmt: skip
add_study(
    "L-F3.8", figure_3_8,
    Claim("an outlier dimension contributes most to the probe in all non-input layers",
          {"measure": LEAD, "part": "layer *"}, {}, ">", 0.0, excluding=(INPUT,),
          scope=POSITIONED),
    Claim("RoBERTa's 588 contributes most to the probe in all non-input layers",
          {"measure": f"{LEAD}/588", "subject": ROBERTA}, {}, ">", 0.0, excluding=(INPUT,)),
    models=MODELS[:2], text=SST_2,
)  # fmt: skip


POSITIONS = "positions"
WITH, WITHOUT = "learned", "none"
RATIO = f"{PERPLEXITY}/ratio"
# The share from which on a dimension is called an outlier: the paper's is 0.8256.
FROM = 0.8

PAPERS_MODEL = "RoBERTa-base|paper"


def figure_3_10(request: Request) -> Result:
    """Outlier dimensions and perplexity with and without positions, at the end of training."""
    found = ablated(request, POSITIONS, "mlm", POSITIONS)
    rows = [
        row
        for row in last_step(found)
        if (row.part, row.measure) in ((NON_INPUT, EXTREME), (VALIDATION, PERPLEXITY))
    ]
    return replace(found, rows=[*rows, *ratios(rows)])


def ratios(rows: Sequence[Row]) -> list[Row]:
    """Return how many times the perplexity with positions that without is; other factors alike."""
    cells: dict[tuple[str, tuple[str, ...]], dict[str, Row]] = {}
    for row in rows:
        levels = dict(row.extra.get("factors", {}))
        if row.measure == PERPLEXITY and levels.get(POSITIONS) in (WITH, WITHOUT):
            others = tuple(v for name, v in levels.items() if name != POSITIONS)
            cells.setdefault((row.subject, others), {})[levels[POSITIONS]] = row
    found = []
    for (subject, others), both in cells.items():
        if set(both) == {WITH, WITHOUT} and both[WITH].value and both[WITHOUT].value:
            cell = ", ".join(others) or "none instead of learned"
            row = ratio_of(both[WITHOUT], both[WITH], cell)
            found.append(replace(row, subject=subject))
    return found


def ratio_of(one: Row, other: Row, cell: str) -> Row:
    """Return the ratio of two perplexities, with the deviation of the ratios of single seeds.

    Runs of one seed read the same texts in the same order, and are compared with each other.
    """
    assert one.value is not None
    assert other.value is not None
    pairs = zip(one.extra.get("runs", ()), other.extra.get("runs", ()), strict=False)
    each = [above / below for above, below in pairs if above and below]
    deviation = float(np.std(each, ddof=1)) if len(each) > 1 else None
    return Row(
        "", VALIDATION, cell, RATIO, one.value / other.value, n=len(each) or other.n,
        protocol=other.protocol, extra={"unit": "runs", "runs": each, SD: deviation},
    )  # fmt: skip


def printed_figures() -> dict[Key, float]:
    """Return what the thesis prints of its two models."""
    table = {row["hyper_parameter"]: row["value"] for row in printed_table(TABLE)}
    name = PAPERS_MODEL.split("|")[0]
    share = "share_of_vectors_with_dimension_81_as_maximum_with_positions"
    return {
        (name, VALIDATION, WITH, PERPLEXITY): float(table["validation_perplexity_with_positions"]),
        (name, VALIDATION, WITHOUT, PERPLEXITY):
        float(table["validation_perplexity_without_positions"]),
        (name, NON_INPUT, WITH, EXTREME): float(table[share]),
    }  # fmt: skip


TABLE = "luo2021_table3.1_pretraining"
SHARE = {"measure": EXTREME, "part": NON_INPUT}

# A model that guesses has the size of its vocabulary as perplexity, at least 4,000 here: from more
# than a tenth of that none can become ten times as high. Above it a model has hardly learned
# anything, with or without positions, and what positions do to it is not seen. The thesis has 4.3.
HAS_LEARNED = Floor(
    "<=", 400.0, of={"measure": PERPLEXITY, "part": VALIDATION, "correction": f"*{WITH}*"}
)

add_study(
    "L-F3.10", figure_3_10,
    Claim("trained with positional embeddings, one dimension is the minimum or the maximum of at "
          "least 80 % of the vectors",
          SHARE, {"correction": f"*{WITH}*"}, ">=", FROM, scope=MADE_HERE, floor=HAS_LEARNED),
    Claim("trained without positional embeddings, no dimension is the minimum or the maximum of "
          "80 % of the vectors",
          SHARE, {"correction": f"{WITHOUT}|*, {WITHOUT}, *|*, {WITHOUT}|{WITHOUT}, *"},
          "<", FROM, scope=MADE_HERE, floor=HAS_LEARNED),
    Claim("the perplexity without positional embeddings is at least ten times as high as with them",
          {"measure": RATIO}, {}, ">=", 10.0, opposite=1.0, scope=MADE_HERE,
          floor=HAS_LEARNED),
    models=(PAPERS_MODEL,), printed=printed_figures, text=WIKIPEDIA, trains=True,
)  # fmt: skip
