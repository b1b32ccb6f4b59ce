"""Luo (2021): sentence similarity of every layer, before and after clipping or whitening tokens."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.result import Result, Row
from isoscope.results.scored import BEST as MARK
from isoscope.results.scored import CHOSEN_ON
from isoscope.studies.claims import Claim
from isoscope.studies.layers import numbered, numbered_layers
from isoscope.studies.luo2021_outliers import BERT, MODELS, PAPER, ROBERTA, printed_dimensions
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.render import LAYER
from isoscope.studies.scale_tables import LUO
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject
from isoscope.tasks.evaluating import evaluate
from isoscope.tasks.sentence_protocol import SentenceProtocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from isoscope.models.model import Model


SETS = ("sts-b", "sick-r", "sts-12", "sts-13", "sts-14", "sts-15", "sts-16")
NONE, CLIP, WHITEN = "none", "clip", "whiten"
SPEARMAN = "cosine/spearman"
SCORES = (SPEARMAN, f"{SPEARMAN}/mean")
"""Over all pairs of a set, and the mean over its subsets."""

BEST = "best layer"
OVER_GLOVE = "above_printed_glove"
GLOVE = "GloVe-average"
INPUT = "layer 0"
CHOSEN = "no interval: the layer was chosen on the scored pairs"
RULE = "isoscope's rule, as the paper has none"


def table_4_2(request: Request) -> Result:
    """Spearman's ρ of every layer on seven sets, and that of the best layer."""
    results = []
    for subject, found, clips in scored_layers(request, SETS, transductive=True):
        rows = clipped_as_told(found.rows, clips)
        best = [row for one in best_rows(rows) for row in (one, *over_glove(one))]
        everything = [*best, *rows]
        results.append(renamed(replace(found, rows=everything), subject=subject))
    return joined(results)


def scored_layers(
    request: Request, tasks: Sequence[str], *, transductive: bool
) -> Iterator[tuple[str, Result, dict[str, str]]]:
    """Score every layer of every model, its tokens as they are, clipped and whitened.

    Yields the name of the model, the scores, and what was clipped in every layer.
    """
    for subject in request.subjects:
        model = open_subject(subject, request)
        clips = clip_by_layer(model, subject.name)
        found = evaluate(
            model, list(tasks), [NONE, *dict.fromkeys(clips.values()), WHITEN],
            data=request.data, progress=request.progress,
            sentences=SentenceProtocol(
                layers=list(numbered_layers(model.stacks)), special_tokens=True,
                correct_at="token", transductive=transductive, isotropy=(),
                dtype=request.dtype, device=request.device, seed=request.seed,
            ),
        )  # fmt: skip
        found = numbered(model.stacks, found)
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        yield subject.name, found, clips


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
    rows: Iterable[Row], clips: Mapping[str, str], scores: Collection[str] = SCORES
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


def best_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the best layer of every score, the input not counted, as the paper shows it."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.part != INPUT and row.value is not None:
            groups.setdefault((row.measure, row.correction), []).append(row)
    found = []
    for several in groups.values():
        best = max(several, key=lambda row: row.value or 0.0)
        found.append(
            replace(
                best, part=BEST, low=None, high=None,
                note=f"{BEST}: of {len(several)}, without the input, chosen on the scored pairs",
                extra={**best.extra, LAYER: best.part, "no_interval": CHOSEN},
            )
        )  # fmt: skip
    return found


def over_glove(best: Row) -> list[Row]:
    """Return how far a score is above what the paper prints for the mean of GloVe vectors."""
    glove = printed_best().get((GLOVE, BEST, NONE, best.measure))
    if best.value is None or glove is None or best.measure.endswith("/mean"):
        return []
    note = f"{OVER_GLOVE}: less what the paper prints for averaged GloVe vectors"
    return [
        replace(
            best, measure=f"{best.measure}/{OVER_GLOVE}", value=best.value - glove, note=note
        )
    ]  # fmt: skip


def printed_best() -> dict[Key, float]:
    """Return the best layers' scores as printed, as ρ instead of ρ × 100.

    The paper does not say whether a set is scored as a whole or by the mean over its subsets, so
    that its figures stand beside both.
    """
    return {
        (row["model"], BEST, row["method"], f"{row['dataset'].lower()}/{score}"):
        float(row["spearman"]) / 100
        for row in printed_table("luo2021_sts_spearman")
        for score in SCORES
    }  # fmt: skip


def printed_table_4_2() -> dict[Key, float]:
    """Return the scores as printed, and how far they are above GloVe's."""
    printed = printed_best()
    above = {
        (model, part, correction, f"{measure}/{OVER_GLOVE}"):
        value - printed[GLOVE, BEST, NONE, measure]
        for (model, part, correction, measure), value in printed.items()
        if model != GLOVE and measure.endswith(SPEARMAN)
    }  # fmt: skip
    return printed | above


DISTIL_BERT = "BERT-distil|distilbert-base-cased"
NOT_BASE = tuple({"subject": model} for model in MODELS if model not in (BERT, ROBERTA))
OF_BEST = {"part": BEST, "measure": f"*/{SPEARMAN}"}
NO_CORRECTION = {"correction": NONE}

register(
    Study(
        "L-T4.2", "Sentence similarity of every layer, before and after clipping or whitening",
        PAPER + ", tables 4.2, 7.2 and 7.3",
        "models (a hub id, a folder or a .gguf file), and a --data folder with STS-12 to STS-16, "
        "SICK and the STS benchmark",
        table_4_2,
        (
            Claim("clipping makes the best layer better on every set, distilled and large models "
                  "not counted",
                  OF_BEST, {"correction": CLIP}, ">", NO_CORRECTION, excluding=NOT_BASE),
            Claim("whitening makes the best layer better on every set but SICK-R, distilled and "
                  "large models not counted",
                  OF_BEST, {"correction": WHITEN}, ">", NO_CORRECTION,
                  excluding=(*NOT_BASE, {"measure": "sick-r/*"})),
            Claim("whitened it is above the mean of GloVe vectors on every set but STS-12, "
                  "distilled and large models not counted",
                  {"part": BEST, "measure": f"*/{OVER_GLOVE}"}, {"correction": WHITEN}, ">", 0.0,
                  excluding=(*NOT_BASE, {"measure": "sts-12/*"})),
            Claim("clipping makes the best layer of distilled BERT worse on five of seven sets",
                  {**OF_BEST, "subject": DISTIL_BERT}, {"correction": CLIP}, "<", NO_CORRECTION,
                  over="share", share=5 / 7),
        ),
        MODELS, printed_table_4_2, scales=LUO,
    )
)  # fmt: skip
