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

import isoscope
from isoscope.models.layer_names import numbered_layers
from isoscope.results.fields import BEST as MARK
from isoscope.results.fields import CHOSEN_ON
from isoscope.results.result import Result, Row
from isoscope.results.tables import grouped
from isoscope.tasks.problems.word_senses import THRESHOLDS_USED, threshold_note
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.study.claims import Claim
from isoscope.verbs.study.inputs import numbered, of_every_model
from isoscope.verbs.study.papers.luo2021 import BERT, MODELS, ROBERTA, printed_dimensions
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

BEST = "best layer"
OVER_GLOVE = "above_printed_glove"
GLOVE = "GloVe-average"
INPUT = "layer 0"
CHOSEN_LAYER = "no interval: the layer was chosen on the scored pairs"
RULE = "isoscope's rule, as the paper has none"


def table_4_2(request: Request) -> Result:
    """Spearman's ρ of every layer on seven sets, and that of the best layer."""

    def rows_of(rows: Iterable[Row], clips: Mapping[str, str]) -> list[Row]:
        kept = clipped_as_told(rows, clips)
        best = [row for one in best_similarity_rows(kept) for row in (one, *over_glove(one))]
        return [*best, *kept]

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
    """Return the best layer of every score, the input not counted, as the paper shows it."""
    known = (row for row in rows if row.part != INPUT and row.value is not None)
    found = []
    for several in grouped(known, lambda row: (row.measure, row.correction)).values():
        best = max(several, key=lambda row: row.value or 0.0)
        found.append(
            replace(
                best, part=BEST, low=None, high=None,
                note=f"{BEST}: of {len(several)}, without the input, chosen on the scored pairs",
                extra={**best.extra, LAYER: best.part, "no_interval": CHOSEN_LAYER},
            )
        )  # fmt: skip
    return found


def over_glove(best: Row) -> list[Row]:
    """Return how far a score is above what the paper prints for the mean of GloVe vectors."""
    glove = PRINTED_BEST().get((GLOVE, BEST, NONE, best.measure))
    if best.value is None or glove is None or best.measure.endswith("/mean"):
        return []
    note = f"{OVER_GLOVE}: less what the paper prints for averaged GloVe vectors"
    measure = f"{best.measure}/{OVER_GLOVE}"
    return [replace(best, measure=measure, value=best.value - glove, note=note)]


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
NOT_BASE = tuple({"subject": model} for model in MODELS if model not in (BERT, ROBERTA))
OF_BEST_LAYER = {"part": BEST, "measure": f"*/{SPEARMAN}"}
NO_CORRECTION = {"correction": NONE}

add_study(
    "L-T4.2", table_4_2,
    Claim("clipping makes the best layer better on every set, distilled and large models "
          "not counted",
          OF_BEST_LAYER, {"correction": CLIP}, ">", NO_CORRECTION, excluding=NOT_BASE),
    Claim("whitening makes the best layer better on every set but SICK-R, distilled and "
          "large models not counted",
          OF_BEST_LAYER, {"correction": WHITEN}, ">", NO_CORRECTION,
          excluding=(*NOT_BASE, {"measure": "sick-r/*"})),
    Claim("whitened it is above the mean of GloVe vectors on every set but STS-12, "
          "distilled and large models not counted",
          {"part": BEST, "measure": f"*/{OVER_GLOVE}"}, {"correction": WHITEN}, ">", 0.0,
          excluding=(*NOT_BASE, {"measure": "sts-12/*"})),
    Claim("clipping makes the best layer of distilled BERT worse on five of seven sets",
          {**OF_BEST_LAYER, "subject": DISTIL_BERT}, {"correction": CLIP}, "<",
          NO_CORRECTION, over="share", share=5 / 7),
    models=MODELS, printed=printed_table_4_2,
)  # fmt: skip


WIC = "wic"
ON_TRAIN, APART = f"{WIC}/accuracy/learned", f"{WIC}/accuracy"
SCORES = ("accuracy/learned", "accuracy", "accuracy/difference")
PROTOCOL = (
    f"{ON_TRAIN} is what the paper prints, on the train pairs: the threshold, and for the {BEST} "
    "the layer, are chosen on them, and corrections fitted on all tokens of their sentences, "
    f"special ones too; {APART} is the same threshold on the other pairs"
)
CHOSEN = "no interval: threshold and layer were chosen on the scored pairs"


def table_4_1(request: Request) -> Result:
    """Accuracy of every layer on WiC, and that of the best layer, with what it does elsewhere."""

    def rows_of(rows: Iterable[Row], clips: Mapping[str, str]) -> list[Row]:
        kept = told(clipped_as_told(rows, clips, SCORES))
        return [*best_sense_rows(kept), *kept]

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
            extra={ABOVE: threshold, "no_interval": CHOSEN},
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
OF_BEST = {"part": BEST, "measure": ON_TRAIN}

add_study(
    "L-T4.1", table_4_1,
    Claim("clipping makes the best layer better, distilled and large models not counted",
          OF_BEST, {"correction": CLIP}, ">", NO_CORRECTION, excluding=NOT_BASE),
    Claim("whitening makes it better than clipping, distilled and large models not counted",
          OF_BEST, {"correction": WHITEN}, ">", {"correction": CLIP}, excluding=NOT_BASE),
    Claim("whitening makes the best layer of large BERT worse",
          {**OF_BEST, "subject": BERT_LARGE}, {"correction": WHITEN}, "<", NO_CORRECTION),
    models=MODELS, printed=printed_table_4_1,
)  # fmt: skip
