"""Luo (2021): sentence similarity and word senses, before and after clipping or whitening tokens.

Sentence similarity (table 4.2) is scored in every layer. For one word in two sentences (table 4.1),
told apart by the cosine of its vectors, the paper chooses layer and threshold on the pairs that it
scores, out of nine thresholds and a dozen layers, and fits its corrections on them. That is what is
printed; how the same layer and threshold do on pairs that nothing was chosen on stands beside it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scipy import stats

import isoscope
from isoscope.models.layer_names import numbered_layers
from isoscope.results.fields import BEST as MARK
from isoscope.results.fields import CHOSEN_ON, DIFFERENCE
from isoscope.results.result import Result, Row
from isoscope.results.tables import grouped
from isoscope.tasks.problems.word_senses import THRESHOLDS_USED, threshold_note
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.study.inputs import less, numbered, of_every_model
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.scope import MASKED, Scope
from isoscope.verbs.study.judgement.verdicts import CHOSEN
from isoscope.verbs.study.papers.luo2021 import MODELS, printed_dimensions
from isoscope.verbs.study.reference import Column, Key, printed_numbers
from isoscope.verbs.study.registry import Request, add_study
from isoscope.verbs.study.text import ABOVE, LAYER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from isoscope.models.model import Model


SETS = ("sts-b", "sick-r", "sts-12", "sts-13", "sts-14", "sts-15", "sts-16")
NONE, CLIP, WHITEN = "none", "clip", "whiten"
SPEARMAN = "cosine/spearman"
# Over all pairs of a set, and the mean over its subsets.
SIMILARITY_SCORES = (SPEARMAN, f"{SPEARMAN}/mean")
WITH_DIFFERENCES = (*SIMILARITY_SCORES, *(score + DIFFERENCE for score in SIMILARITY_SCORES))

BEST = "best layer"
OVER_GLOVE = "above_printed_glove"
GLOVE = "GloVe-average"
INPUT = "layer 0"
RULE = "isoscope's rule, as the paper has none"


def table_4_2(request: Request) -> Result:
    """Spearman's ρ of every layer on seven sets, and that of the best layer."""

    def rows_of(rows: Iterable[Row], clips: Mapping[str, str]) -> list[Row]:
        kept = clipped_as_told(rows, clips, WITH_DIFFERENCES)
        best = [row for one in best_similarity_rows(kept) for row in (one, *over_glove(one))]
        scores = [row for row in kept if not row.measure.endswith(DIFFERENCE)]
        return [*best, *scores]

    return scored_layers(request, SETS, rows_of, transductive=True)


def scored_layers(
    request: Request,
    tasks: Sequence[str],
    rows_of: Callable[[Iterable[Row], Mapping[str, str]], list[Row]],
    *,
    transductive: bool,
) -> Result:
    """Score every layer of every model, its tokens as they are, clipped and whitened.

    ``rows_of`` gets the scores and what was clipped in every layer, and gives what is shown.
    """

    def one(model: Model, name: str) -> Result:
        clips = clip_by_layer(model, name)
        found = isoscope.evaluate(
            model, list(tasks), [NONE, *dict.fromkeys(clips.values()), WHITEN],
            data=request.data, progress=request.progress,
            sentences=SentenceProtocol(
                layers=list(numbered_layers(model.stacks)), special_tokens=True,
                correct_at="token", transductive=transductive, isotropy=(),
                dtype=request.dtype, device=request.device, seed=request.seed,
            ),
        )  # fmt: skip
        found = numbered(model.stacks, found)
        return replace(found, rows=rows_of(found.rows, clips))

    return of_every_model(request, one)


def clip_by_layer(model: Model, subject: str) -> dict[str, str]:
    """Return what is clipped in every layer: the dimensions that the paper names, else a rule.

    Those of the large models differ by layer.
    """
    width = int(model.config.get_text_config().hidden_size)
    clips = {}
    for part in numbered_layers(model.stacks).values():
        known = printed_dimensions(subject, width, int(part.removeprefix("layer ")))
        named = f":dimensions={'+'.join(map(str, known))}" if known else ""
        clips[part] = CLIP + named
    return clips


def clipped_as_told(
    rows: Iterable[Row], clips: Mapping[str, str], scores: Collection[str] = SIMILARITY_SCORES
) -> list[Row]:
    """Keep some scores of whole sets, and of all ways to clip that of the layer.

    The mark of the best layer goes: here the input is no candidate.
    """
    kept = []
    for row in rows:
        task, _, score = row.measure.partition("/")
        if score not in scores:
            continue
        told = clips[row.part]
        if row.correction.startswith(CLIP) and row.correction != told:
            continue
        clipped = row.correction == told
        named = told.partition("=")[2].replace("+", ", ")
        how = f"the paper's dimensions {named}" if named else RULE
        kept.append(
            replace(
                row,
                correction=CLIP if clipped else row.correction,
                protocol=f"{task}: {row.protocol}; clip: {how}",
                note=row.note.partition(BEST)[0].removesuffix("; "),
                extra={k: value for k, value in row.extra.items() if k not in (MARK, CHOSEN_ON)},
            )
        )
    return kept


def best_similarity_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the best layer of every score, the input not counted, as the paper shows it.

    The layer is chosen on the scored pairs. What it costs is that the intervals of all layers must
    hold together (Bonferroni): the best score of all pairs is then between the largest lower and
    the largest upper end.
    """
    known = [row for row in rows if row.part != INPUT and row.value is not None]
    found = []
    scores = [row for row in known if not row.measure.endswith(DIFFERENCE)]
    for (measure, correction), several in grouped(
        scores, lambda row: (row.measure, row.correction)
    ).items():
        best = max(several, key=lambda row: row.value or 0.0)
        low, high = of_the_best(several)
        found.append(
            replace(
                best, part=BEST, low=low, high=high,
                note=f"{BEST}: of {len(several)}, without the input, chosen on the scored pairs",
                extra={**best.extra, LAYER: best.part, CHOSEN: True},
            )
        )  # fmt: skip
        changes = [
            row for row in known
            if (row.measure, row.correction) == (measure + DIFFERENCE, correction)
        ]  # fmt: skip
        plain = [row for row in scores if (row.measure, row.correction) == (measure, NONE)]
        if changes and plain and correction != NONE:
            found.append(change_of_best(found[-1], several, plain, changes))
    return found


def of_the_best(rows: Sequence[Row]) -> tuple[float | None, float | None]:
    """Return an interval of the best of several scores, each of which may be it."""
    bands = [widened(row, len(rows)) for row in rows]
    if any(band is None for band in bands):
        return None, None
    ends = [band for band in bands if band is not None]
    return max(low for low, _ in ends), max(high for _, high in ends)


def widened(row: Row, count: int) -> tuple[float, float] | None:
    """Return the interval of one of several scores, so wide that all of them hold together."""
    if row.value is None or row.low is None or row.high is None:
        return None
    factor = float(stats.norm.isf(0.025 / count) / stats.norm.isf(0.025))
    return row.value - factor * (row.value - row.low), row.value + factor * (row.high - row.value)


def change_of_best(
    best: Row, several: Sequence[Row], plain: Sequence[Row], changes: Sequence[Row]
) -> Row:
    """Return the difference of the best layers with and without a correction, with an interval.

    With l and l₀ the layers that are best over all pairs, with and without it, the difference is at
    least that of the two in layer l₀, and at most that in layer l. Both layers are not known: l may
    be any whose interval reaches the largest lower end. Intervals hold together for all layers.
    """
    worst = max(plain, key=lambda row: row.value or 0.0)
    row = replace(
        best, measure=best.measure + DIFFERENCE, value=less(best.value, worst.value), low=None,
        high=None, extra={CHOSEN: True, LAYER: best.extra[LAYER]},
        note=f"best layer less best layer without it ({worst.part})",
    )  # fmt: skip
    count = len(several) + len(plain) + len(changes)
    bands = {one.part: widened(one, count) for one in changes}
    with_it, without = may_be_best(several, count), may_be_best(plain, count)
    lows = [band[0] for part in without if (band := bands.get(part)) is not None]
    highs = [band[1] for part in with_it if (band := bands.get(part)) is not None]
    if (
        row.value is None
        or not lows
        or not highs
        or len(lows) < len(without)
        or len(highs) < len(with_it)
    ):
        return row
    return replace(row, low=min(*lows, row.value), high=max(*highs, row.value))


def may_be_best(rows: Sequence[Row], count: int) -> list[str]:
    """Return the layers of which any may be the best one over all pairs."""
    bands = {row.part: widened(row, count) for row in rows}
    if any(band is None for band in bands.values()):
        return list(bands)
    least = max(band[0] for band in bands.values() if band is not None)
    return [part for part, band in bands.items() if band is not None and band[1] >= least]


def over_glove(best: Row) -> list[Row]:
    """Return how far a score is above what the paper prints for the mean of GloVe vectors."""
    glove = PRINTED_BEST().get((GLOVE, BEST, NONE, best.measure))
    if best.value is None or glove is None or not best.measure.endswith(SPEARMAN):
        return []
    note = f"{OVER_GLOVE}: less what the paper prints for averaged GloVe vectors"
    measure = f"{best.measure}/{OVER_GLOVE}"
    low, high = less(best.low, glove), less(best.high, glove)
    return [replace(best, measure=measure, value=best.value - glove, low=low, high=high, note=note)]


# The best layers' scores as printed, as ρ instead of ρ × 100.
#
# The paper does not say whether a set is scored as a whole or by the mean over its subsets, so that
# its figures stand beside both.
PRINTED_BEST = partial(
    printed_numbers, "luo2021_sts_spearman",
    *(Column("spearman", ("{model}", BEST, "{method}", f"{{dataset}}/{score}"), divided_by=100)
      for score in SIMILARITY_SCORES),
    names={name.upper(): name for name in SETS},
)  # fmt: skip


def printed_table_4_2() -> dict[Key, float]:
    """Return the scores as printed, and how far they are above GloVe's."""
    printed = PRINTED_BEST()
    above = {
        (model, part, correction, f"{measure}/{OVER_GLOVE}"):
        value - printed[GLOVE, BEST, NONE, measure]
        for (model, part, correction, measure), value in printed.items()
        if model != GLOVE and measure.endswith(SPEARMAN)
    }  # fmt: skip
    return printed | above


DISTIL_BERT = "BERT-distil|distilbert-base-cased"
# The paper's base models are encoders of this many parameters; its distilled ones have fewer, its
# large ones more, and none was trained for sentences.
BASE = Scope(
    objectives=(MASKED,), smallest=100_000_000, largest=300_000_000, sentence_encoder=False
)
OF_BEST_LAYER = {"part": BEST, "measure": f"*/{SPEARMAN}"}
NO_CORRECTION = {"correction": NONE}

add_study(
    "L-T4.2", table_4_2,
    Claim("clipping raises Spearman's ρ of the best layer of base models on every set",
          OF_BEST_LAYER, {"correction": CLIP}, ">", NO_CORRECTION, scope=BASE),
    Claim("whitening raises Spearman's ρ of the best layer of base models on every set but SICK-R",
          OF_BEST_LAYER, {"correction": WHITEN}, ">", NO_CORRECTION,
          excluding=({"measure": "sick-r/*"},), scope=BASE),
    Claim("the best whitened layer of base models is above averaged GloVe vectors on every set but "
          "STS-12",
          {"part": BEST, "measure": f"*/{OVER_GLOVE}"}, {"correction": WHITEN}, ">", 0.0,
          excluding=({"measure": "sts-12/*"},), scope=BASE),
    Claim("clipping lowers Spearman's ρ of the best layer of distilled BERT on five of seven sets",
          {**OF_BEST_LAYER, "subject": DISTIL_BERT}, {"correction": CLIP}, "<",
          NO_CORRECTION, over="share", share=5 / 7),
    models=MODELS, printed=printed_table_4_2,
)  # fmt: skip


WIC = "wic"
ON_TRAIN, APART = f"{WIC}/accuracy/learned", f"{WIC}/accuracy"
SCORES = ("accuracy/learned", "accuracy", "accuracy/difference")
LEARNED_ON = "no interval: threshold and layer were chosen on the scored pairs"
PROTOCOL = (
    f"{ON_TRAIN} is what the paper prints, on the train pairs: the threshold, and for the {BEST} "
    "the layer, are chosen on them, and corrections fitted on all tokens of their sentences, "
    f"special ones too; {APART} is the same threshold on the other pairs"
)


def table_4_1(request: Request) -> Result:
    """Accuracy of every layer on WiC, and that of the best layer, with what it does elsewhere."""

    def rows_of(rows: Iterable[Row], clips: Mapping[str, str]) -> list[Row]:
        kept = told(clipped_as_told(rows, clips, SCORES))
        best = best_sense_rows(kept)
        return [*best, *same_layer_differences(best, kept), *kept]

    return scored_layers(request, [WIC], rows_of, transductive=False)


def told(rows: Iterable[Row]) -> list[Row]:
    """Give every accuracy its threshold, which the one on other pairs has."""
    rows = list(rows)
    thresholds = {
        (row.part, row.correction): row.extra[THRESHOLDS_USED][0]
        for row in rows
        if row.measure == APART and row.value is not None
    }
    return [with_threshold(row, thresholds.get((row.part, row.correction))) for row in rows]


def with_threshold(row: Row, threshold: float | None) -> Row:
    """Say how a row was made."""
    protocol = f"{row.protocol}; {PROTOCOL}"
    if row.measure not in (ON_TRAIN, APART) or threshold is None:
        return replace(row, protocol=protocol)
    if row.measure == ON_TRAIN:
        # the counts are those of the other pairs
        return replace(
            row, n=None, protocol=protocol, note="",
            extra={ABOVE: threshold, "no_interval": LEARNED_ON, CHOSEN: True},
        )  # fmt: skip
    note = row.note.removeprefix(threshold_note([threshold])).strip("; ")
    return replace(row, protocol=protocol, note=note, extra={**row.extra, ABOVE: threshold})


def best_sense_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the best layer on the train pairs, the input not counted, and how it does on others.

    The interval on the other pairs is one: nothing was chosen on them.
    """
    known = (row for row in rows if row.part != INPUT and row.value is not None)
    found = []
    for several in grouped(known, lambda row: row.correction).values():
        layers = {row.part: row.value or 0.0 for row in several if row.measure == ON_TRAIN}
        if not layers:
            continue
        best = max(layers, key=lambda part: layers[part])
        note = f"{BEST}: of {len(layers)}, without the input, chosen on the train pairs"
        accuracies = {row.measure: row for row in several if row.part == best}
        found += [
            replace(row, part=BEST, note=note, extra={**row.extra, LAYER: best})
            for row in map(accuracies.get, (ON_TRAIN, APART))
            if row is not None
        ]
    return found


def same_layer_differences(best: Sequence[Row], rows: Iterable[Row]) -> list[Row]:
    """Return the difference on the held-out pairs where the best layer is that without correction.

    Scores of the same layer are compared pair by pair.
    """
    layers = {row.correction: row.extra[LAYER] for row in best if row.measure == APART}
    return [
        replace(row, part=BEST, extra={**row.extra, LAYER: row.part})
        for row in rows
        if row.measure == APART + DIFFERENCE
        and layers.get(row.correction) == layers.get(NONE) == row.part
    ]


def printed_table_4_1() -> dict[Key, float]:
    """Return the best layers' accuracies as printed, as shares."""
    printed = printed_numbers(
        "luo2021_wic_accuracy",
        Column("accuracy", ("{model}", "{layer}", "{method}", ON_TRAIN), divided_by=100),
    )
    return {
        (model, BEST, method, measure): value
        for (model, layer, method, measure), value in printed.items()
        if layer
    }


BERT_LARGE = "BERT-large|bert-large-cased"
# The claims are about the pairs that nothing was chosen on. The paper's score, for which layer and
# threshold are the best of 108 tries on the scored pairs, stands beside it and has no interval.
OF_BEST = {"part": BEST, "measure": APART}

add_study(
    "L-T4.1", table_4_1,
    Claim("clipping raises the held-out accuracy of the best layer of base models",
          OF_BEST, {"correction": CLIP}, ">", NO_CORRECTION, scope=BASE),
    Claim("whitening raises the held-out accuracy of the best layer of base models more than "
          "clipping",
          OF_BEST, {"correction": WHITEN}, ">", {"correction": CLIP}, scope=BASE),
    Claim("whitening lowers the held-out accuracy of the best layer of large BERT",
          {**OF_BEST, "subject": BERT_LARGE}, {"correction": WHITEN}, "<", NO_CORRECTION),
    models=MODELS, printed=printed_table_4_1,
)  # fmt: skip
