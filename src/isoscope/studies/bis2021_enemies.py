"""Biś et al. (2021): the common enemies effect, for single positions, batches, and AdamW."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import UsageError
from isoscope.results.pretrained import DRIFT, ENEMIES
from isoscope.results.result import Result, Row, Table
from isoscope.studies.bis2021 import PAPER
from isoscope.studies.claims import Claim
from isoscope.studies.from_nothing import NEED, PREFIX, SCALES, model_name, plan_of
from isoscope.studies.registry import Request, Study, Subject, register
from isoscope.studies.scales import MINI
from isoscope.studies.several import joined
from isoscope.studies.texts import WIKIPEDIA

if TYPE_CHECKING:
    from isoscope.training.pretraining.learning import Learner


SINGLE = "single positions"
OTHERS, TRUE = "lowest_cosine_of_others", "highest_cosine_of_target"
POSITIONS = 20
"""Positions of a batch of validation that a step of SGD is taken for, each by itself."""

EXACT = 1 - 1e-6
"""What counts as 1: rows that hardly move are known to six digits in double precision."""

RECORDED = {MINI: 20}
"""Steps between two records; 50 where a training is long."""

SHARES = ("share_against_h", "share_of_non_targets", "pair_cosine_of_non_targets")


def common_enemies(request: Request) -> Result:
    """Train with records, then take single steps of SGD on the trained model."""
    return joined(of_subject(request, subject) for subject in request.subjects)


def of_subject(request: Request, subject: Subject) -> Result:
    """Look at one training, which is done here or was recorded before."""
    source = Path(str(subject.source)).expanduser()
    if not str(subject.source).startswith(PREFIX):
        if not (source / "result.json").is_file():
            raise UsageError(
                f"{subject.source} is no folder of isoscope train pretrain --record; name one, or "
                f"{PREFIX}tiny"
            )
        return recorded(subject.name, Result.load(source / "result.json"), [])
    from isoscope.training.pretraining.corpus import make_corpus  # imports torch
    from isoscope.training.pretraining.learning import Learner
    from isoscope.training.pretraining.pretraining import pretrain

    assert request.text is not None
    plan = replace(plan_of(request, subject), checkpoints=1)
    corpus = make_corpus(request.text, plan.shape)
    with tempfile.TemporaryDirectory(prefix="isoscope-") as temporary:
        record = RECORDED.get(request.scale, 50)
        name = model_name(plan, request.text, record=record)
        folder = (request.folder or Path(temporary)) / "models" / name
        result = pretrain(
            None, plan, folder, corpus=corpus, device=request.device, resume=True,
            record=record, progress=request.progress,
        )  # fmt: skip
        learner = Learner(plan, corpus)
        load_last(learner, folder / f"step{plan.length}")
    return recorded(subject.name, result, single_rows(subject.name, learner))


def load_last(learner: Learner, folder: Path) -> None:
    """Give a learner the weights of a checkpoint."""
    from isoscope.models.runtime import quietly

    kind: Any = type(learner.network)
    with quietly():
        trained = kind.from_pretrained(folder)
    learner.network.load_state_dict(trained.state_dict())


def single_rows(name: str, learner: Learner) -> list[Row]:
    """Take a step of plain SGD for some positions, each by itself, from the trained weights."""
    import torch

    from isoscope.training.pretraining.common_enemies import single_position
    from isoscope.training.pretraining.objectives import ask

    plan, corpus = learner.plan, learner.corpus
    some = corpus.validation[: plan.shape.batch_size].astype(np.int64)
    question = ask(plan.objective, some, corpus.tokenizer, (0,))
    reader = learner.reader
    learner.network.eval()
    with torch.no_grad():
        read = reader.read(reader.hidden(question.tokens)[question.where])
    places = np.random.default_rng(0).choice(len(read), min(POSITIONS, len(read)), replace=False)
    found = [
        single_position(read[k], reader.output.weight, int(question.answers[k]), reader.output.bias)
        for k in places.tolist()
    ]
    others = min(float(np.nanmin(one.others)) for one in found)
    true = max(one.true for one in found)
    how = f"{len(found)} positions, one step of SGD on the output matrix each, double precision"
    return [
        Row(name, SINGLE, "none", OTHERS, others, n=len(found), protocol=how),
        Row(name, SINGLE, "none", TRUE, true, n=len(found), protocol=how),
    ]


def recorded(name: str, result: Result, single: list[Row]) -> Result:
    """Return the shares of the last recorded step, by kind of update and band, and all tables."""
    tables = {table.measure: table for table in result.tables}
    if ENEMIES not in tables:
        raise UsageError(f"{name} was trained without --record: there is nothing to look at")
    last = max(row["step"] for row in tables[ENEMIES].rows)
    rows = [
        Row(
            name, row["band"], row["update"], measure, row[measure],
            n=row["rows"] if measure == SHARES[0] else row["non_targets"],
            protocol=f"step {last}; {result.rows[0].protocol}",
            note="" if row[measure] is not None else "no such rows, or too few",
        )
        for row in tables[ENEMIES].rows
        if row["step"] == last
        for measure in SHARES
    ]  # fmt: skip
    kept = [
        Table(name, table.part, table.correction, table.measure, table.rows, table.note)
        for measure, table in tables.items()
        if measure in (ENEMIES, DRIFT)
    ]
    return Result([*single, *rows], kept)


register(
    Study(
        "B-E", "The common enemies effect: do output embeddings move together?",
        PAPER + ", section 3.3, equation 6",
        NEED + "; a folder of isoscope train pretrain --record as a source shows what was recorded",
        common_enemies,
        (
            Claim("one position, SGD: every row but the true token's moves along −h",
                  {"part": SINGLE}, {"measure": OTHERS}, ">=", EXACT),
            Claim("one position, SGD: the true token's row moves along h",
                  {"part": SINGLE}, {"measure": TRUE}, "<=", -EXACT),
        ),
        text=WIKIPEDIA, scales=SCALES,
    )
)  # fmt: skip
