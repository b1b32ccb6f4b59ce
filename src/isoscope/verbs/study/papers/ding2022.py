"""Ding et al. (2022): calibration while fine-tuning, on GLUE, for translation and for summaries.

On GLUE the paper's matrix W is the head, labels × dimensions: its I1 depends on the number of
labels, and the flow, which acts on hidden states, leaves it as it is. The vocabulary's matrix and
hidden states are measured beside it. The runs of tables 1 and 4 are the same: one result of
``isoscope train finetune`` serves both studies. For translation and summaries the calibrated matrix
is the vocabulary's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from isoscope.compute.stats.estimates import LEVEL, wilson
from isoscope.results.fields import DIFFERENCE, RATIO
from isoscope.results.fields import UNCORRECTED as NONE
from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.claims import Claim, Floor
from isoscope.verbs.study.judgement.evidence import EXACT, TRIALS
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.scope import MASKED, SEQ2SEQ, Scope, is_called
from isoscope.verbs.study.reference import Column, Key, printed_numbers
from isoscope.verbs.study.registry import MINI, Request, Subject, add_study
from isoscope.verbs.study.runs.trainings import (
    RUNS,
    Training,
    differences,
    task_of,
    trained,
    with_time_error,
)
from isoscope.verbs.train.names import MATRIX, MEASURED, SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence


# Fine-tuned encoders, and models that write; those that a study makes itself are such models.
FINETUNED = Scope(kinds=("transformer", "made"), objectives=(MASKED,))
GENERATING = Scope(kinds=("transformer", "made"), objectives=(SEQ2SEQ,))

BERT = "BERT|bert-base-uncased"
ROBERTA = "RoBERTa|roberta-base"
DISTILBERT = "DistilBERT|distilbert-base-uncased"
GLUE_MODELS = (BERT, ROBERTA, DISTILBERT)
CALIBRATIONS = ("none", "cosreg", "spectrum-pol", "spectrum-exp", "flow")
WITHOUT_FLOW = CALIBRATIONS[:-1]
# Measures by the paper's columns.
CELLS = {
    "SST-2": "sst-2/accuracy",
    "MRPC": "mrpc/f1",
    "CoLA": "cola/matthews",
    "RTE": "rte/accuracy",
    "WNLI": "wnli/accuracy",
    "STS-B": "sts-b/pearson",
    "QNLI": "qnli/accuracy",
    "MNLI-m": "mnli/accuracy-matched",
    "MNLI-mm": "mnli/accuracy-mismatched",
    "QQP": "qqp/accuracy",
}

# A sample of MNLI has one part that is scored.
OF_A_SAMPLE = "mnli/accuracy"

GLUE_TASKS = tuple(dict.fromkeys(measure.partition("/")[0] for measure in CELLS.values()))
GLUE_MINI_TASKS = ("rte", "mrpc")
CONSTANT = "constant_predictions"
# Of the runs without calibration, at most this share may predict the same for everything, or else
# nothing can be lost.
MOST_CONSTANT = 0.5
BETTER, WORSE = "better_cells", "worse_or_undefined_cells"
ANY = "any calibration"


def glue_trainings(request: Request, subject: Subject) -> list[Training]:
    """Return what is trained; the paper's flow is for BERT alone, as it takes so long."""
    if request.scale == MINI:
        return [Training(request.tasks or GLUE_MINI_TASKS, CALIBRATIONS, epochs=1)]
    other = any(is_called(model, subject.name) for model in (ROBERTA, DISTILBERT))
    chosen = WITHOUT_FLOW if other else CALIBRATIONS
    return [Training(request.tasks or GLUE_TASKS, chosen)]


def glue_runs(request: Request) -> Result:
    """Train, or take what is finished."""
    return trained(
        request, lambda subject: glue_trainings(request, subject), GLUE_TASKS.__contains__
    )


def table_1(request: Request) -> Result:
    """Mean scores of three runs, differences to none, and how many of them are significant."""
    found = glue_runs(request)
    scores = (*CELLS.values(), OF_A_SAMPLE)
    shown = {*scores, *(score + DIFFERENCE for score in scores), SECONDS, SECONDS + RATIO}
    rows = [row for row in found.rows if row.measure in shown and row.part == task_of(row)]
    return replace(found, rows=[*rows, *constant_rows(rows)])


def constant_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the share of runs that predict the same for everything."""
    return [
        Row(
            row.subject, row.part, row.correction, CONSTANT, row.extra["constant"] / row.n,
            n=row.n, protocol=row.protocol, extra={"unit": RUNS, EXACT: True},
        )
        for row in rows
        if row.extra.get("main_score") and row.n
    ]  # fmt: skip


def cell_rows(result: Result) -> list[Row]:
    """Return the shares of the table's cells that are better, and worse or undefined.

    A model that predicts the same for everything without calibration has nothing to lose: its cells
    can be better, and do not count among those that might be worse.
    """
    rows = [row for row in result.rows if row.measure != CONSTANT]
    scores = {(row.subject, row.correction, row.measure): row for row in rows}
    better, worse, cells, weak = [], [], 0, 0
    for row in rows:
        if not row.measure.endswith(DIFFERENCE):
            continue
        measure = row.measure.removesuffix(DIFFERENCE)
        own = scores[row.subject, row.correction, measure]
        name = f"{row.subject} {measure} with {row.correction}"
        is_undefined = own.value is None
        if row.extra.get("p") is None and not is_undefined:
            continue
        cells += 1
        better += [name] if row.extra["star"] else []
        if has_nothing_to_lose(scores.get((row.subject, NONE, measure))):
            weak += 1
        elif row.extra["worse"] or is_undefined:
            worse.append(name)
    if not any(row.extra.get("p") is not None for row in rows):
        cells = weak = 0
    left_out = f"{weak} left out, whose predictions are all the same without calibration"
    return [
        cell_row(BETTER, better, cells),
        cell_row(WORSE, worse, cells - weak, left_out if weak else ""),
    ]


def has_nothing_to_lose(plain: Row | None) -> bool:
    """Whether most runs without calibration predict the same for everything."""
    if plain is None or not plain.n:
        return False
    return bool(plain.extra.get("constant", 0) / plain.n > MOST_CONSTANT)


def cell_row(measure: str, names: Sequence[str], cells: int, left_out: str = "") -> Row:
    """Return a share of cells, with their names."""
    if not cells:
        note = left_out or "no calibration was tested against none with two runs or more"
        return Row(ALL_MODELS, "", ANY, measure, None, note=note)
    listed = f": {', '.join(names)}" if names else ""
    note = f"{len(names)} of {cells}{listed}" + (f"; {left_out}" if left_out else "")
    extra = {"unit": "cells", "cells": list(names), TRIALS: cells}
    share = len(names) / cells
    low, high = wilson(share, cells, LEVEL)
    return Row(
        ALL_MODELS, "", ANY, measure, share, low=low, high=high, n=cells, note=note, extra=extra
    )


def printed_table_1() -> dict[Key, float]:
    """Return the table as printed, as shares instead of percentages, without what is NaN."""
    printed = printed_numbers(
        "ding2022_table1_glue",
        Column("mean", ("{model}", "", "{method}", "{task}"), divided_by=100),
        names=CELLS,
    )
    return {
        (model, measure.partition("/")[0], method, measure): value
        for (model, _, method, measure), value in printed.items()
    }


SPECTRUM = {"correction": "spectrum-*"}
# Where spectrum control predicts the same for everything, in the paper.
COLLAPSING = ("cola", "mrpc", "sts-b")

add_study(
    "D-T1", table_1,
    Claim("calibration is significantly better than none in at most 2 of 100 cells",
          {"subject": ALL_MODELS}, {"measure": BETTER}, "<=", 0.02, scope=FINETUNED),
    Claim("calibration is significantly worse than none, or its score undefined, in at least 26 of "
          "100 cells",
          {"subject": ALL_MODELS}, {"measure": WORSE}, ">=", 0.26, scope=FINETUNED),
    Claim("with both kinds of spectrum control, all predictions on CoLA, MRPC and STS-B are the "
          "same",
          {"measure": CONSTANT, "part": "|".join(COLLAPSING)}, SPECTRUM, ">=", 1.0,
          scope=FINETUNED, floor=Floor("<=", MOST_CONSTANT), sets=COLLAPSING),
    models=GLUE_MODELS, printed=printed_table_1, tasks=GLUE_TASKS, trains=True,
    over_models=cell_rows,
)  # fmt: skip


HEAD = "head"
# Model, method and task of figures that cannot be meant; see the misprints.
MISPRINTED = (("RoBERTa", "cosreg", "QQP"), ("DistilBERT", "cosreg", "QQP"))


def table_4(request: Request) -> Result:
    """I1, I2 and norms of head, vocabulary and hidden states, and how far the head's I1 moved."""
    found = glue_runs(request)
    rows = [row for row in found.rows if row.measure in MEASURED and MATRIX in row.part]
    heads = [row for row in rows if row.measure == "i1" and row.part.endswith(MATRIX + HEAD)]
    return replace(found, rows=[*rows, *differences(heads)])


def printed_table_4() -> dict[Key, float]:
    """Return I1 as printed, without misprints; I2 is left out, as it is not of the same matrix."""
    printed = printed_numbers(
        "ding2022_table4_glue_isotropy", Column("i1_mean", ("{model}", "{task}", "{method}", "i1"))
    )
    return {
        (model, f"{task.lower()}{MATRIX}{HEAD}", method, measure): value
        for (model, task, method, measure), value in printed.items()
        if (model, method, task) not in MISPRINTED
    }


OF_HEAD = {"part": f"*{MATRIX}{HEAD}"}

add_study(
    "D-T4", table_4,
    Claim("cosine regularisation and flow change the I1 of the head by at most 0.02, rounded",
          {**OF_HEAD, "measure": f"i1{DIFFERENCE}"}, {"correction": "cosreg*|flow*"}, "within",
          (-0.025, 0.025), scope=FINETUNED),
    Claim("with spectrum control the I1 of the head is at least that without calibration",
          {**OF_HEAD, "measure": "i1"}, SPECTRUM, ">=", {"correction": "none"},
          scope=FINETUNED),
    models=GLUE_MODELS, printed=printed_table_4, tasks=GLUE_TASKS, trains=True,
)  # fmt: skip


TRANSLATE, BLEU = "translate:", "/bleu"
TRANSLATION_TASKS = ("translate:en-ro", "translate:de-en")
TRANSLATION_MINI_TASKS = TRANSLATION_TASKS[1:]
# Pairs that the paper tries the flow on, and what it calls the model then.
SMALL_TRANSLATION = (50_000, "-50k")

TRANSLATION_MODELS = ("M-BART|facebook/mbart-large-cc25|mbart-large-cc25", "M-BART-50k")
VOCABULARY = "vocabulary"
SECONDS_A_MINUTE = 60
# BLEU of a model that has learned something: fewer points do not move by more than 0.3 anyway.
LEARNED = 3.0


def translation_trainings(request: Request) -> list[Training]:
    """Return what is trained: the flow takes the paper's smaller set, beside none."""
    if request.scale == MINI:
        tasks = request.tasks or TRANSLATION_MINI_TASKS
        # a made model has the vocabulary of one task
        return [Training((task,), CALIBRATIONS, epochs=3, limit=4_000) for task in tasks]
    return whole_and_small(request.tasks or TRANSLATION_TASKS, SMALL_TRANSLATION)


def whole_and_small(tasks: tuple[str, ...], small: tuple[int, str]) -> list[Training]:
    """Train on the paper's whole set without the flow, and on its smaller one with it."""
    limit, suffix = small
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
        SMALL_TRANSLATION,
    )
    return replace(found, rows=with_time_error(with_evenness_differences(found.rows)))


def with_evenness_differences(rows: Sequence[Row]) -> list[Row]:
    """Add how far the I1 of the vocabulary's matrix is from that without calibration."""
    matrices = [
        row for row in rows if row.measure == "i1" and row.part.endswith(MATRIX + VOCABULARY)
    ]
    return [*rows, *differences(matrices)]


def evenness_and_time(task: str) -> tuple[Column, Column]:
    """Return the columns beside scores; I2 is left out, as it is not of the same matrix."""
    part = f"{task}{MATRIX}{VOCABULARY}"
    time = ("{model}", task, "{method}", SECONDS)
    return (
        Column("i1_mean", ("{model}", part, "{method}", "i1")),
        Column("minutes_per_epoch_mean", time, times=SECONDS_A_MINUTE),
    )


PAIR = f"{TRANSLATE}{{pair}}"
# BLEU, I1 and time as printed.
PRINTED_2 = partial(
    printed_numbers, "ding2022_table2_translation",
    Column("bleu_mean", ("{model}", PAIR, "{method}", PAIR + BLEU)), *evenness_and_time(PAIR),
)  # fmt: skip

OF_VOCABULARY = {"part": f"*{MATRIX}{VOCABULARY}", "measure": "i1"}

add_study(
    "D-T2", table_2,
    Claim("with spectrum control the I1 of the vocabulary's matrix is at least 0.99",
          OF_VOCABULARY, SPECTRUM, ">=", 0.99,
          scope=GENERATING),
    Claim("spectrum control costs at least 3 BLEU from English to Romanian",
          {"measure": f"translate:en-ro{BLEU}{DIFFERENCE}"}, SPECTRUM, "<=", -3.0, opposite=0.0,
          scope=GENERATING, floor=Floor(">=", 3.0)),
    Claim("spectrum control costs at least 6 BLEU from German to English",
          {"measure": f"translate:de-en{BLEU}{DIFFERENCE}"}, SPECTRUM, "<=", -6.0, opposite=0.0,
          scope=GENERATING, floor=Floor(">=", 6.0)),
    Claim("cosine regularisation changes BLEU by at most 0.3",
          {"measure": f"*{BLEU}{DIFFERENCE}"}, {"correction": "cosreg*"}, "within", (-0.3, 0.3),
          scope=GENERATING, floor=Floor(">=", LEARNED)),
    Claim("an epoch with the flow takes at least ten times as long as without calibration",
          {"measure": SECONDS + RATIO}, {"correction": "flow*"}, ">=", 10.0,
          scope=GENERATING),
    models=TRANSLATION_MODELS, printed=PRINTED_2, tasks=TRANSLATION_TASKS, trains=True,
)  # fmt: skip


TASK = "summarize"
ROUGES = ("rouge1", "rouge2", "rougeL")
# Articles that the paper tries the flow on, and what it calls the model then.
SMALL_SUMMARIES = (20_000, "-20k")

SUMMARY_MODELS = ("BART|facebook/bart-base|bart-base", "BART-20k")


def summary_trainings(request: Request) -> list[Training]:
    """Return what is trained: the flow takes the paper's smaller set, beside none."""
    if request.scale == MINI:
        return [Training((TASK,), CALIBRATIONS, epochs=3)]
    return whole_and_small((TASK,), SMALL_SUMMARIES)


def table_3(request: Request) -> Result:
    """ROUGE-1, 2 and L, evenness of the vocabulary's matrix, and seconds of an epoch."""
    found = trained(request, lambda _: summary_trainings(request), TASK.__eq__, SMALL_SUMMARIES)
    return replace(found, rows=with_time_error(with_evenness_differences(found.rows)))


# Tables 3 and 5 as printed, scores as shares.
PRINTED_3 = partial(
    printed_numbers, "ding2022_table5_summarization",
    *(Column(f"{name}_mean", ("{model}", TASK, "{method}", f"{TASK}/{name}"), divided_by=100)
      for name in ROUGES),
    *evenness_and_time(TASK),
)  # fmt: skip

ROUGE_1 = f"{TASK}/rouge1"
# ROUGE-1 that no text of the commonest words reaches. A model below it does not write summaries.
SUMMARIZES = 0.2

add_study(
    "D-T3", table_3,
    Claim("no calibration has a higher ROUGE-1 than none",
          {"measure": ROUGE_1}, {"correction": "!none"}, "<=", {"correction": "none"},
          scope=GENERATING, floor=Floor(">=", SUMMARIZES)),
    Claim("spectrum control costs at least 0.8 points of ROUGE-1, rounded",
          {"measure": ROUGE_1 + DIFFERENCE}, SPECTRUM, "<=", -0.0075, opposite=0.0,
          scope=GENERATING, floor=Floor(">=", SUMMARIZES)),
    Claim("with spectrum control the I1 of the vocabulary's matrix is at least 0.99, rounded",
          OF_VOCABULARY, SPECTRUM, ">=", 0.985,
          scope=GENERATING),
    Claim("an epoch with the flow takes at least five times as long as without calibration (5.5 in "
          "the paper)",
          {"measure": SECONDS + RATIO}, {"correction": "flow*"}, ">=", 5.0,
          scope=GENERATING),
    models=SUMMARY_MODELS, printed=PRINTED_3, trains=True,
)  # fmt: skip
