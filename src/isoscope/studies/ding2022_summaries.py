"""Ding et al. (2022): calibration of the vocabulary's matrix while a model learns to summarise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.finetuned import MATRIX, SECONDS
from isoscope.results.finetuned_words import DIFFERENCE, RATIO
from isoscope.studies.claims import Claim
from isoscope.studies.ding2022 import CALIBRATIONS, PUBLISHED, SPECTRUM, WITHOUT_FLOW
from isoscope.studies.ding2022_translation import OF_VOCABULARY, SECONDS_A_MINUTE, VOCABULARY
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scales import MINI, PAPER, Scale
from isoscope.studies.trainings import Training, trained

if TYPE_CHECKING:
    from isoscope.results.result import Result

TASK = "summarize"
ROUGES = ("rouge1", "rouge2", "rougeL")
SMALL = (20_000, "-20k")
"""Articles that the paper tries the flow on, and what it calls the model then."""

MODELS = ("BART|facebook/bart-base|bart-base", "BART-20k")
SCALES = {MINI: Scale(("made:bart",)), PAPER: Scale(("BART=facebook/bart-base",))}


def summary_trainings(request: Request) -> list[Training]:
    """Return what is trained: the flow takes the paper's smaller set, beside none."""
    if request.scale == MINI:
        return [Training((TASK,), CALIBRATIONS, epochs=3)]
    limit, suffix = SMALL
    return [
        Training((TASK,), WITHOUT_FLOW),
        Training((TASK,), ("none", "flow"), limit=limit, suffix=suffix),
    ]


def table_3(request: Request) -> Result:
    """ROUGE-1, 2 and L, evenness of the vocabulary's matrix, and seconds of an epoch."""
    return trained(request, lambda _: summary_trainings(request), TASK.__eq__, SMALL)


def printed_table_3() -> dict[Key, float]:
    """Return tables 3 and 5 as printed, scores as shares; I2 is left out, as in table 2."""
    found: dict[Key, float] = {}
    for row in printed_table("ding2022_table5_summarization"):
        model, method = row["model"], row["method"]
        for name in ROUGES:
            found[model, TASK, method, f"{TASK}/{name}"] = float(row[f"{name}_mean"]) / 100
        found[model, f"{TASK}{MATRIX}{VOCABULARY}", method, "i1"] = float(row["i1_mean"])
        minutes = float(row["minutes_per_epoch_mean"])
        found[model, TASK, method, SECONDS] = minutes * SECONDS_A_MINUTE
    return found


ROUGE_1 = f"{TASK}/rouge1"

register(
    Study(
        "D-T3", "Summaries, fine-tuned with and without calibration",
        f"{PUBLISHED}, tables 3 and 5",
        "a --data folder with CNN/DailyMail, and encoder-decoder models; without any, --scale mini "
        "takes made:bart, a small one with random weights, --scale paper facebook/bart-base (the "
        "paper does not say which BART); --from takes results of isoscope train finetune instead",
        table_3,
        (
            Claim("no calibration is above none in ROUGE-1",
                  {"measure": ROUGE_1}, {"correction": "!none"}, "<=", {"correction": "none"}),
            Claim("spectrum control costs 0.8 points of ROUGE-1, rounded",
                  {"measure": ROUGE_1 + DIFFERENCE}, SPECTRUM, "<=", -0.0075),
            Claim("with it the I1 of the vocabulary's matrix is 0.99, rounded",
                  OF_VOCABULARY, SPECTRUM, ">=", 0.985),
            Claim("the flow takes five times as long (5.5 in the paper)",
                  {"measure": SECONDS + RATIO}, {"correction": "flow*"}, ">=", 5.0),
        ),
        MODELS, printed_table_3, scales=SCALES, trains=True,
    )
)  # fmt: skip
