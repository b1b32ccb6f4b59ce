"""Ding et al. (2022): calibration of the vocabulary's matrix while a model learns to translate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.finetuned import MATRIX, SECONDS
from isoscope.results.finetuned_words import DIFFERENCE, RATIO
from isoscope.studies.claims import Claim
from isoscope.studies.ding2022 import CALIBRATIONS, PUBLISHED, SPECTRUM, WITHOUT_FLOW
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scales import MINI, PAPER, Scale
from isoscope.studies.trainings import MOVED, Training, moved, trained

if TYPE_CHECKING:
    from isoscope.results.result import Result

TRANSLATE, BLEU = "translate:", "/bleu"
TASKS = ("translate:en-ro", "translate:de-en")
MINI_TASKS = TASKS[1:]
SMALL = (50_000, "-50k")
"""Pairs that the paper tries the flow on, and what it calls the model then."""

MODELS = ("M-BART|facebook/mbart-large-cc25|mbart-large-cc25", "M-BART-50k")
SCALES = {MINI: Scale(("made:bart",)), PAPER: Scale(("M-BART=facebook/mbart-large-cc25",))}
VOCABULARY = "vocabulary"
SECONDS_A_MINUTE = 60


def translation_trainings(request: Request) -> list[Training]:
    """Return what is trained: the flow takes the paper's smaller set, beside none."""
    if request.scale == MINI:
        tasks = request.tasks or MINI_TASKS
        # a made model has the vocabulary of one task
        return [Training((task,), CALIBRATIONS, epochs=3, limit=4_000) for task in tasks]
    tasks, (limit, suffix) = request.tasks or TASKS, SMALL
    return [
        Training(tasks, WITHOUT_FLOW),
        Training(tasks, ("none", "flow"), limit=limit, suffix=suffix),
    ]


def table_2(request: Request) -> Result:
    """BLEU, evenness of the vocabulary's matrix, and seconds of an epoch."""
    found = trained(
        request,
        lambda _: translation_trainings(request),
        lambda task: task.startswith(TRANSLATE),
        SMALL,
    )
    scores = [row for row in found.rows if row.measure.endswith(BLEU)]
    return replace(found, rows=[*found.rows, *moved(scores)])


def printed_table_2() -> dict[Key, float]:
    """Return BLEU, I1 and time as printed; I2 is left out, as it is not of the same matrix."""
    found: dict[Key, float] = {}
    for row in printed_table("ding2022_table2_translation"):
        task = TRANSLATE + row["pair"]
        model, method = row["model"], row["method"]
        minutes = float(row["minutes_per_epoch_mean"])
        found[model, task, method, task + BLEU] = float(row["bleu_mean"])
        found[model, f"{task}{MATRIX}{VOCABULARY}", method, "i1"] = float(row["i1_mean"])
        found[model, task, method, SECONDS] = minutes * SECONDS_A_MINUTE
    return found


OF_VOCABULARY = {"part": f"*{MATRIX}{VOCABULARY}", "measure": "i1"}

register(
    Study(
        "D-T2", "Translation, fine-tuned with and without calibration",
        f"{PUBLISHED}, table 2",
        "a --data folder with line-aligned files (the paper: WMT16 en-ro and de-en), and "
        "encoder-decoder models; without any, --scale mini takes made:bart, a small one with "
        "random weights, on 4,000 pairs de-en, --scale paper M-BART and both pairs of languages; "
        "--from takes results of isoscope train finetune instead",
        table_2,
        (
            Claim("spectrum control brings the I1 of the vocabulary's matrix to 0.99",
                  OF_VOCABULARY, SPECTRUM, ">=", 0.99),
            Claim("it costs 3 BLEU from English to Romanian",
                  {"measure": f"translate:en-ro{BLEU}{DIFFERENCE}"}, SPECTRUM, "<=", -3.0),
            Claim("it costs 6 BLEU from German to English",
                  {"measure": f"translate:de-en{BLEU}{DIFFERENCE}"}, SPECTRUM, "<=", -6.0),
            Claim("cosine regularisation moves BLEU by at most 0.3",
                  {"measure": f"*{BLEU}{MOVED}"}, {"correction": "cosreg*"}, "<=", 0.3),
            Claim("the flow takes ten times as long",
                  {"measure": SECONDS + RATIO}, {"correction": "flow*"}, ">=", 10.0),
        ),
        MODELS, printed_table_2, tasks=TASKS, scales=SCALES, trains=True,
    )
)  # fmt: skip
