"""Biś et al. (2021): what training does to tokens, and how many of them are rare.

The common enemies effect is looked at for single positions, batches, and AdamW; what a shift does
to singular values (figure 2), for a toy and for a real training. Unused tokens only ever moved away
from what a model predicted, so that their direction is the common one; the rarer a token is, the
closer it stays to it (figure 3). Few words cover much of a text (figure 4).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.jackknife import BLOCKS, FEWEST_IN_BLOCK, deal
from isoscope.data.arrays import ArrayCloud
from isoscope.data.combine import SingleCloud
from isoscope.data.texts.readers import MadeTexts
from isoscope.errors import UsageError
from isoscope.models.frequencies import Coverage, token_counts, word_counts
from isoscope.results.fields import BLOCKS as BLOCKS_OF
from isoscope.results.fields import REPLICATES
from isoscope.results.merge import joined_without_verdicts, renamed
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain.api import coverage_rows, unused_cosines
from isoscope.verbs.explain.names import COSINE_WITH_UNUSED, DIFFERENCE, FREQUENT, RARE, bin_name
from isoscope.verbs.measure.api import measure
from isoscope.verbs.study.inputs import (
    CNN_DM,
    WIKIPEDIA,
    check_single,
    correlation_over_training,
    open_subject,
    open_vectors,
)
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.evidence import EXACT as EXACTLY
from isoscope.verbs.study.judgement.replicates import replicated, with_replicates
from isoscope.verbs.study.judgement.scope import ANY_NETWORK, ANYTHING, Scope
from isoscope.verbs.study.papers.bis2021 import singular_ratios
from isoscope.verbs.study.registry import MINI, PRETRAIN, Request, Subject, add_study
from isoscope.verbs.study.runs.trainings import followed, model_name, plan_of
from isoscope.verbs.train.names import DRIFT, ENEMIES, OTHERS, SINGLE, TRUE

if TYPE_CHECKING:
    from isoscope.models.model import Model
    from isoscope.typing import Matrix
    from isoscope.verbs.study.reference import Key


# What counts as 1: rows that hardly move are known to six digits in double precision.
EXACT = 1 - 1e-6

# Steps between two records; 50 where a training is long.
RECORDED = {MINI: 20}

SHARES = ("share_against_h", "share_of_non_targets", "pair_cosine_of_non_targets")


def common_enemies(request: Request) -> Result:
    """Train with records, then take single steps of SGD on the trained model."""
    return joined_without_verdicts(of_subject(request, subject) for subject in request.subjects)


def of_subject(request: Request, subject: Subject) -> Result:
    """Look at one training, which is done here or was recorded before."""
    source = Path(str(subject.source)).expanduser()
    if not str(subject.source).startswith(PRETRAIN):
        if not (source / "result.json").is_file():
            raise UsageError(
                f"{subject.source} is no folder of isoscope train pretrain --record; name one, or "
                f"{PRETRAIN}tiny"
            )
        return recorded(subject.name, Result.load(source / "result.json"), [])
    # Here and not above, because it imports torch, which a list of studies does not need.
    from isoscope.verbs.train.api import Learner, load_last, make_corpus, pretrain, single_rows

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
    # Gradients of single positions are computed, not sampled.
    single = [replace(row, extra={**row.extra, EXACTLY: True})
              for row in single_rows(subject.name, learner)]  # fmt: skip
    return recorded(subject.name, result, single)


def recorded(name: str, result: Result, single: list[Row]) -> Result:
    """Return the shares of the last recorded step, by kind of update and band, and all tables."""
    tables = {table.measure: table for table in result.tables}
    if ENEMIES not in tables:
        raise UsageError(f"{name} was trained without --record: there is nothing to look at")
    # Shares are of the last record: the first ones are of a model that has learned nothing yet.
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


add_study(
    "B-E", common_enemies,
    Claim("one position, SGD: every row but the true token's moves along −h",
          {"part": SINGLE}, {"measure": OTHERS}, ">=", EXACT, scope=ANY_NETWORK),
    Claim("one position, SGD: the true token's row moves along h",
          {"part": SINGLE}, {"measure": TRUE}, "<=", -EXACT, scope=ANY_NETWORK),
    text=WIKIPEDIA,
)  # fmt: skip


SHIFTS = (0.0, 1.0, 2.0, 4.0)
SPHERE_POINTS = 1_000
MEASURES = "mean_norm,norm_of_mean,spectrum"
RATIO, SHIFT = "singular_ratio", "shift"
TOGETHER = f"correlation({SHIFT}, {RATIO})"
TOY = "toy"


def figure_2(request: Request) -> Result:
    """A sphere that is shifted, and the output matrices of trainings that the user names."""
    return joined_without_verdicts(
        [toy(request), *(trained(request, subject) for subject in request.subjects)]
    )


def toy(request: Request) -> Result:
    """Points on a unit sphere in three dimensions, shifted further and further away."""
    rng = np.random.default_rng(request.seed)
    normal = rng.standard_normal((SPHERE_POINTS, 3))
    sphere = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    whole = shifted_spheres(sphere, request.seed)
    rows = replicated(
        lambda kept: shifted_spheres(sphere[kept], request.seed).rows,
        len(sphere), request.seed, "points",
    )  # fmt: skip
    return replace(whole, rows=rows)


def shifted_spheres(sphere: Matrix, seed: int) -> Result:
    """Measure points at every shift, and the smallest growth of σ₁/σ₂."""
    direction = np.ones(3) / np.sqrt(3)
    results = []
    for shift in SHIFTS:
        cloud = ArrayCloud(sphere + shift * direction, f"shift {shift:g}")
        found = measure(cloud, MEASURES, "none", intervals=False, seed=seed)
        results.append(renamed(found, subject=TOY, part=cloud.name))
    result = joined_without_verdicts(results)
    ratios = singular_ratios(result)
    values = [row.value for row in ratios if row.value is not None]
    step = min(after - before for before, after in pairwise(values))
    smallest = Row(
        TOY, "", "none", f"{RATIO}/smallest_step", step,
        note="smallest_step is the smallest growth of σ₁/σ₂ from one shift to the next",
    )  # fmt: skip
    return replace(result, rows=[*result.rows, *ratios, smallest])


def trained(request: Request, subject: Subject) -> Result:
    """Follow the shift of the mean and σ₁/σ₂ of an output matrix over a training.

    The shift is the length of the mean in mean lengths of rows: 0 for a centred matrix, 1 where all
    rows are the same.
    """

    def one(model: Model) -> Result:
        cloud = model.embedding_cloud("input" if model.parts.unembedding is None else "output")
        found = renamed(
            measure(cloud, MEASURES, "none", intervals=False, seed=request.seed),
            subject=model.name, part="",
        )  # fmt: skip
        values = {row.measure: row.value or 0.0 for row in found.rows}
        length = values["mean_norm"]
        shift = Row(
            model.name, "", "none", SHIFT, values["norm_of_mean"] / length if length else None,
            note="" if length else "all rows are zero",
        )  # fmt: skip
        return replace(found, rows=[*found.rows, *singular_ratios(found), shift])

    found, curve = followed(request, subject, one)
    pairs = (curve(SHIFT).values.tolist(), curve(RATIO).values.tolist())
    together = correlation_over_training(subject.name, (SHIFT, RATIO), pairs)
    return replace(found, rows=[*found.rows, together])


add_study(
    "B-F2", figure_2,
    Claim("of points around the origin the first two singular values are about the same: their "
          "ratio is at most 1.1",
          {"measure": RATIO, "subject": TOY}, {"part": "shift 0"}, "<=", 1.1),
    Claim("the ratio of the first two singular values grows with every shift",
          {"measure": f"{RATIO}/smallest_step", "subject": TOY}, {}, ">", 0.0),
    Claim("over a training the ratio of the first two singular values rises with the shift of the "
          "mean",
          {"measure": TOGETHER}, {}, ">", 0.0, scope=ANY_NETWORK),
    models=(TOY,), sources=False, may_have_sources=True, training=True,
)  # fmt: skip


def figure_3(request: Request) -> Result:
    """Mean cosine of unused tokens with the tokens of each bin, raw and centred."""
    rows: list[Row] = []
    for subject in request.subjects:
        group = open_vectors(subject, request.column)
        check_single(subject, group, "B-F3")
        found = unused_cosines(SingleCloud(group, group.names[0]), request.last_unused)
        rows += [replace(row, subject=subject.name) for row in found]
    return joined_without_verdicts([Result(rows)])


def printed_figure_3() -> dict[Key, float]:
    """Return the two means that the text prints."""
    bert = "BERT-base-uncased"
    return {
        (bert, bin_name(FREQUENT), "none", COSINE_WITH_UNUSED): 0.27,
        (bert, bin_name(RARE), "none", COSINE_WITH_UNUSED): 0.63,
        (bert, "", "none", DIFFERENCE): 0.36,
    }


add_study(
    "B-F3", figure_3,
    Claim("unused tokens are closer to rare tokens than to frequent ones, by at least 0.2",
          {"measure": DIFFERENCE}, {"correction": "none"}, ">=", 0.2, opposite=0.0,
          counts_tokens=True, scope=Scope(unused_tokens=True)),
    models=("BERT-base-uncased|BERT", "RoBERTa-base|RoBERTa"), printed=printed_figure_3,
)  # fmt: skip


WORDS = "words"
FEW, SOME = 13, 85
COVERED = (0.3, 0.5, 0.98)


def figure_4(request: Request) -> Result:
    """Coverage of a text by its words, and by the tokens of every model."""
    assert request.text is not None
    texts = [text.text for text in request.text.texts()]
    # Of a few texts nothing is left out: one of them would be all that a block says.
    count = BLOCKS if len(texts) >= FEWEST_IN_BLOCK * BLOCKS else 1
    blocks = deal(len(texts), request.seed, count)
    dealt = [[text for text, k in zip(texts, blocks, strict=True) if k == b] for b in range(count)]
    parts = [MadeTexts(partial(iter, some), request.text.name) for some in dealt]
    found = [covered(WORDS, [Counter(word_counts(part)) for part in parts], request)]
    for subject in request.subjects:
        tokenizer = open_subject(subject, request).tokenizer
        counts = [Counter(dict(enumerate(token_counts(tokenizer, part)))) for part in parts]
        found.append(covered(subject.name, counts, request))
    return joined_without_verdicts(found)


def covered(subject: str, parts: Sequence[Counter[Any]], request: Request) -> Result:
    """Return shares, numbers of words and the exponent, also without each block of texts."""
    assert request.text is not None
    name = request.text.name

    def rows_of(kept: Sequence[Counter[Any]]) -> tuple[list[Row], Table]:
        total: Counter[Any] = Counter()
        for counts in kept:
            total.update(counts)
        coverage = Coverage.of(count for count in total.values() if count)
        rows, table = coverage_rows(coverage, name, (FEW, SOME), COVERED)
        about = [replace(row, subject=subject, extra={"unit": "words"}) for row in rows]
        return about, replace(table, subject=subject)

    whole, table = rows_of(parts)
    if len(parts) == 1 or any(not part for part in parts):
        return Result(whole, [table])
    without = [rows_of([*parts[:k], *parts[k + 1 :]])[0] for k in range(len(parts))]
    half = rows_of(parts[: len(parts) // 2])[0]
    rows = with_replicates(whole, without, f"{BLOCKS} blocks of texts")
    return Result([of_this_length(row, other) for row, other in zip(rows, half, strict=True)],
                  [table])  # fmt: skip


# A number of words that grows by more than this share when the text doubles is that of its length.
GROWS = 0.05


def of_this_length(row: Row, half: Row) -> Row:
    """Take the interval from a number of words that grows with the text.

    A longer text has more different words, and needs more of them. Other texts of the same length
    say nothing about the paper's, which is far longer.
    """
    if not row.measure.startswith("needed_for_") or not row.value or not half.value:
        return row
    if row.value <= (1 + GROWS) * half.value:
        return row
    why = (
        f"no interval: half of the text needs {half.value:,.0f}, so that this is the number of a "
        "text of this length"
    )
    extra = {key: value for key, value in row.extra.items() if key not in (REPLICATES, BLOCKS_OF)}
    return replace(row, low=None, high=None, extra={**extra, "no_interval": why})


# The claims are about words and subwords of an English text, whoever's tokenizer makes them.
TEXTS: dict[str, Any] = {"scope": ANYTHING, "counts_tokens": True, "takes_weights": False}

add_study(
    "B-F4", figure_4,
    Claim("the 13 most frequent words or tokens cover at least 30 % of the text",
          {"measure": f"share_of_first_{FEW}"}, {}, ">=", 0.3, **TEXTS),
    Claim("the 85 most frequent words or tokens cover at least half of the text",
          {"measure": f"share_of_first_{SOME}"}, {}, ">=", 0.5, **TEXTS),
    Claim("98 % of the text takes about 15,000 words or tokens: between 10,000 and 20,000",
          {"measure": "needed_for_0.98"}, {}, "within", (10_000.0, 20_000.0), **TEXTS),
    models=("BERT|bert-base-cased|bert-base-uncased", "words"), sources=False,
    may_have_sources=True, text=CNN_DM,
)  # fmt: skip
