"""Luo (2021): one word in two sentences, told apart by the cosine of its vectors in every layer.

The paper chooses layer and threshold on the pairs that it scores, out of nine thresholds and a
dozen layers, and fits its corrections on them. That is what is printed; how the same layer and
threshold do on pairs that nothing was chosen on stands beside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.result import Result, Row
from isoscope.studies.claims import Claim
from isoscope.studies.luo2021_outliers import MODELS, PAPER
from isoscope.studies.luo2021_sts import (
    BEST,
    CLIP,
    INPUT,
    NO_CORRECTION,
    NOT_BASE,
    WHITEN,
    clipped_as_told,
    scored_layers,
)
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.render import ABOVE, LAYER
from isoscope.studies.scale_tables import LUO
from isoscope.studies.several import joined, renamed
from isoscope.tasks.word_senses import THRESHOLDS_USED, threshold_note

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    results = []
    for subject, found, clips in scored_layers(request, [WIC], transductive=False):
        rows = told(clipped_as_told(found.rows, clips, SCORES))
        everything = [*best_rows(rows), *rows]
        results.append(renamed(replace(found, rows=everything), subject=subject))
    return joined(results)


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


def best_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the best layer on the train pairs, the input not counted, and how it does on others.

    The interval on the other pairs is one: nothing was chosen on them.
    """
    accuracies = {
        (row.correction, row.part, row.measure): row
        for row in rows
        if row.part != INPUT and row.measure in (ON_TRAIN, APART) and row.value is not None
    }
    found = []
    for correction in dict.fromkeys(correction for correction, *_ in accuracies):
        layers = {
            part: row.value or 0.0
            for (name, part, measure), row in accuracies.items()
            if (name, measure) == (correction, ON_TRAIN)
        }
        if not layers:
            continue
        best = max(layers, key=lambda part: layers[part])
        note = f"{BEST}: of {len(layers)}, without the input, chosen on the train pairs"
        for measure in (ON_TRAIN, APART):
            row = accuracies.get((correction, best, measure))
            if row is not None:
                about = {**row.extra, LAYER: best}
                found.append(replace(row, part=BEST, note=note, extra=about))
    return found


def printed_table_4_1() -> dict[Key, float]:
    """Return the best layers' accuracies as printed, as shares."""
    return {
        (row["model"], BEST, row["method"], ON_TRAIN): float(row["accuracy"]) / 100
        for row in printed_table("luo2021_wic_accuracy")
        if row["layer"]
    }


BERT_LARGE = "BERT-large|bert-large-cased"
OF_BEST = {"part": BEST, "measure": ON_TRAIN}

register(
    Study(
        "L-T4.1", "One word in two sentences, before and after clipping or whitening",
        PAPER + ", tables 4.1 and 7.1",
        "models (a hub id, a folder or a .gguf file), and a --data folder with WiC",
        table_4_1,
        (
            Claim("clipping makes the best layer better, distilled and large models not counted",
                  OF_BEST, {"correction": CLIP}, ">", NO_CORRECTION, excluding=NOT_BASE),
            Claim("whitening makes it better than clipping, distilled and large models not counted",
                  OF_BEST, {"correction": WHITEN}, ">", {"correction": CLIP}, excluding=NOT_BASE),
            Claim("whitening makes the best layer of large BERT worse",
                  {**OF_BEST, "subject": BERT_LARGE}, {"correction": WHITEN}, "<", NO_CORRECTION),
        ),
        MODELS, printed_table_4_1, scales=LUO,
    )
)  # fmt: skip
