"""What does a score mean here? The main call behind ``isoscope threshold``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from isoscope.compute.stats.estimates import Estimate, check_level
from isoscope.corrections.named import NONE, named
from isoscope.corrections.query_centre import Centres, sampled_rows, two_sided_spaces
from isoscope.corrections.registry import parse_corrections
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import CloudGroup
from isoscope.data.selection import RowSelection, count_rows
from isoscope.errors import UsageError
from isoscope.measures.views import DEFAULT_CORRECTIONS, check_width
from isoscope.models.sentences.prompts import Role
from isoscope.progress import Progress
from isoscope.results.fields import KIND
from isoscope.results.result import Result, Row, versions
from isoscope.results.sentences import Sentence, as_remarks, remarks_of, with_role
from isoscope.tasks.datasets.own_pairs import left_out_sentences, own_pair_task
from isoscope.tasks.encoding import open_source, with_caveats
from isoscope.tasks.fits import parts_of
from isoscope.tasks.folds import FOLDS
from isoscope.tasks.prompts import refuse_prompts
from isoscope.tasks.protocol import SentenceProtocol, protocol_of
from isoscope.tasks.vectors import Ground, ground_of
from isoscope.verbs.threshold.base_rate import (
    BaseRate,
    RarePrecision,
    base_rate_of,
    read_rate,
    reweighted_precision,
    search_precision,
)
from isoscope.verbs.threshold.chance import meaning_of, norm_remarks
from isoscope.verbs.threshold.goals import BestF1, Precision, Recall
from isoscope.verbs.threshold.labelled_pairs import (
    LabelledPairs,
    SpaceScores,
    with_labels,
    without_identical,
)
from isoscope.verbs.threshold.names import LEVEL, THRESHOLDS
from isoscope.verbs.threshold.score_map import ScoreMap, check_map_file, percentile_map, save_maps
from isoscope.verbs.threshold.text import (
    EXCLUDED,
    NORMS,
    background_sentences,
    change_sentences,
    rate_sentences,
    relation_sentences,
)
from isoscope.wording import listed

# All pairs of so many rows take two gigabytes.
MOST_ROWS = 20_000

# Rows whose pairs are compared: 12 million of them, so that one in a million is still seen.
SAMPLE = 5_000


@dataclass(frozen=True)
class Thresholds:
    """What scores mean.

    Attributes
    ----------
    result : Result
        Percentiles of random pairs and, with labels, thresholds and how well they do.
    maps : list of ScoreMap
        From cosine to percentile, and with labels to probability, for every correction.
    """

    result: Result
    maps: list[ScoreMap]

    def __repr__(self) -> str:
        return repr(self.result)

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    def save(self, path: str | Path) -> None:
        """Write the result as JSON or Markdown."""
        self.result.save(path)

    def save_maps(self, path: str | Path) -> None:
        """Write the maps as JSON; ``isoscope.verbs.threshold.score_map.load_maps`` reads them."""
        about = {"command": self.result.command, "subject": self.result.rows[0].subject}
        save_maps(self.maps, path, about)


def threshold(
    source: Any,
    *,
    pairs: str | Path | None = None,
    positive: str | None = None,
    precision: float | None = None,
    recall: float | None = None,
    confidence: float | None = None,
    base_rate: float | str | None = None,
    corrections: Iterable[str] | str | None = None,
    queries: Any = None,
    centres: Centres = "both",
    text: Any = None,
    at: Sequence[float] | float = (),
    store_size: int | None = None,
    sample: int = SAMPLE,
    folds: int = FOLDS,
    layer: str = "last",
    sentences: SentenceProtocol | None = None,
    second: Any = None,
    column: str | None = None,
    ids: str | None = None,
    drop_invalid: bool = False,
    level: float = 0.95,
    seed: int = 0,
    map_file: str | Path | None = None,
    progress: Progress | None = None,
    command: str = "",
    **protocol: Any,
) -> Thresholds:
    """Say what a score means: among random pairs and, with labels, for matches.

    Parameters
    ----------
    source : str, Path, array, CloudGroup or Model
        Vectors; a model where pairs are texts or ``text`` is given.
    pairs : str or Path, optional
        Labelled pairs of two texts, two rows of the source, a row of ``queries`` and one of the
        source, or row k of the source and of ``second``.
    positive : str, optional
        Scores that are a match, such as ``>=4``; not needed if pairs are labelled yes and no.
    precision, recall : float, optional
        What a threshold should reach. The one with the best F1 is given in any case.
    confidence : float, optional
        How sure it should be to reach that on other pairs; on average, if not given.
    base_rate : float or str, optional
        The share of pairs that are a match where the threshold is used, such as 0.001 or
        ``"1/1000"``: precision is also given for it. By default what the labelled queries and the
        store imply (labelled matches per query over the number of vectors), else 1 in 1,000.
    corrections : iterable of str, optional
        Spaces; by default those of ``measure``. They are fitted without the pairs that they are
        judged on.
    queries : str, Path or array, optional
        Queries, where the source holds documents: vectors, or with ``text`` further texts.
    centres : {"both", "shared", "own"}
        Whether queries are centred on the documents' mean, on their own, or both.
    text : str, Path or list of str, optional
        Texts that a model turns into the vectors.
    at : float or sequence of float
        Scores whose percentile is wanted.
    store_size : int, optional
        How many vectors a query is compared with, where the source is a part of them.
    sample : int
        Rows whose pairs are compared.
    folds : int
        Folds of the cross-validation.
    layer, sentences
        Layer of a model, and how texts become vectors.
    second : str, Path or array, optional
        The second file of vectors, where the pairs are scores alone.
    column, ids : str, optional
        Array, column or field, if the file has several; which label names its rows.
    drop_invalid : bool
        Exclude rows with NaN or infinity.
    level : float
        Coverage of the intervals.
    seed : int
        Of the sample and the folds.
    map_file : path, optional
        File that the maps from score to percentile, and with labels to probability, are written
        to, as ``.json``.
    progress, command, **protocol
        As in ``isoscope.advise``.

    Returns
    -------
    Thresholds

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).normal(size=(1000, 16)) + 1
    >>> found = threshold(vectors, corrections="none,center")
    >>> round(found.result.value("random-pairs/99%"), 2)
    0.82
    >>> round(found.result.value("random-pairs/99%", "center"), 2)
    0.56
    """
    check_level(level)
    if map_file is not None:
        check_map_file(Path(map_file))
    at = [float(score) for score in np.atleast_1d(np.asarray(at, np.float64))]
    check_background(sample, store_size, at)
    rate_given = read_rate(base_rate)
    wanted = {
        "positive": positive, "precision": precision, "recall": recall, "base-rate": base_rate
    }  # fmt: skip
    check_labels(pairs, text, wanted, confidence)
    # The user's own goals come first: what is said about thresholds is said about the first one.
    shares = ((Precision, precision), (Recall, recall))
    goals = [goal(share, confidence) for goal, share in shares if share is not None]
    asked = parse_corrections(listed(corrections, DEFAULT_CORRECTIONS))
    names = list(dict.fromkeys([NONE, *(one.text for one in asked)]))
    how = protocol_of(sentences, protocol, layers=layer, seed=seed)
    if pairs is None:
        check_prompts(how, text, queries)
    labelled: LabelledPairs | None = None
    scored: list[SpaceScores] = []
    documents: CloudGroup | None = None
    asking: CloudGroup | None = None
    if pairs is not None:
        parts = parts_of([one for one in named(names) if one.transformer is not None])
        ground = ground_of(
            source, own_pair_task(str(pairs)), parts, None, how, second=second,
            queries=queries, column=column, ids=ids, drop_invalid=drop_invalid, progress=progress,
        )  # fmt: skip
        ground = replace(ground, problem=with_labels(ground.problem, positive))
        labelled = LabelledPairs(without_identical(ground), folds, seed, level)
        spaces = labelled.cosines(named(names), centres, progress)
        scored = labelled.judge(spaces, [*goals, BestF1()])
        if ground.problem.texts:  # random pairs are then pairs of these texts
            documents, asking = clouds_of(ground)
    opened = partial(open_source, layer=layer, sentences=how, progress=progress)
    if documents is None:
        role: Role = "text" if queries is None else "document"
        documents = opened(source, text=text, column=column, role=role)
    if queries is not None and text is None:
        asking = opened(queries, column=column, role="query")
    elif queries is not None:
        asking = opened(source, text=queries, role="query")
    for one in asked:
        check_width(one, documents.widths[0])
    found = background(
        names, documents, asking, centres, store_size, sample, seed, drop_invalid, progress,
        at=at, level=level, cuts=cuts_of(scored),
    )  # fmt: skip
    rows: list[Row] = []
    remarks: list[Sentence] = []
    if labelled is not None:
        rows, remarks = about_labels(
            labelled, scored, rate_given, found, no_store(labelled, second)
        )
    result = replace(
        found.result,
        rows=[*rows, *found.result.rows],
        seeds={"seed": seed},
        versions=versions(),
        command=command,
        extra={
            KIND: THRESHOLDS,
            LEVEL: level,
            **as_remarks([*remarks, *remarks_of(found.result)]),
        },
    )
    thresholds = Thresholds(result, [*(one.map for one in scored), *found.maps])
    if map_file is not None:
        thresholds.save_maps(map_file)
    return thresholds


def check_prompts(how: SentenceProtocol, text: Any, queries: Any) -> None:
    """Refuse prompts where no text is read, and those of queries where there are none."""
    if text is None:
        refuse_prompts(how)
    elif queries is None and how.query_prompt is not None:
        raise UsageError("--query-prompt is about queries; name them with --queries")


def about_labels(
    labelled: LabelledPairs,
    scored: Sequence[SpaceScores],
    rate_given: float | None,
    found: Background,
    missing: str,
) -> tuple[list[Row], list[Sentence]]:
    """Return rows and sentences about labelled pairs; ``missing`` says why there is no store."""
    rate = base_rate_of(rate_given, labelled.matches_per_query(), found.vectors, found.others)
    rare = rare_precisions(scored, rate, found.pairs, missing)
    remarks = [
        *with_role(EXCLUDED, left_out_sentences(labelled.problem.left_out)),
        *relation_sentences(scored[0]),
        *change_sentences(scored),
        *rate_sentences(scored[0], rate, rare),
    ]
    return labelled.rows(labelled.ground.name, scored, rate, rare), remarks


def clouds_of(ground: Ground) -> tuple[ArrayCloud, ArrayCloud | None]:
    """Return the vectors that pairs of texts stand on: documents, and queries where some are."""
    finite = np.isfinite(ground.vectors).all(axis=1)
    if ground.query_rows is None:
        return ArrayCloud(ground.vectors[finite], ground.name), None
    asked = np.zeros(len(finite), np.bool_)
    asked[ground.query_rows] = True
    return (
        ArrayCloud(ground.vectors[finite & ~asked], ground.name),
        ArrayCloud(ground.vectors[finite & asked], "the first texts of pairs"),
    )


@dataclass(frozen=True)
class Background:
    """Random pairs in every space.

    Attributes
    ----------
    result : Result
        Their percentiles, and sentences about them.
    maps : list of ScoreMap
        From cosine to percentile.
    pairs : dict
        The share of random pairs above every threshold that was asked for, by space and threshold.
    vectors, others : int
        How many vectors the source has, and how many a query is compared with.
    """

    result: Result
    maps: list[ScoreMap]
    pairs: dict[tuple[str, float], Estimate]
    vectors: int
    others: int


def cuts_of(scored: Sequence[SpaceScores]) -> dict[str, list[float]]:
    """Return the thresholds of every space."""
    return {
        one.name: [
            cut.chosen.threshold for cut in one.thresholds if cut.chosen.threshold is not None
        ]
        for one in scored
    }


def no_store(labelled: LabelledPairs, second: Any) -> str:
    """Say why random pairs are not those of a search over a store; nothing where they are."""
    if labelled.problem.texts:
        return "pairs of texts come without a store; give its vectors, and pairs of their rows"
    if second is not None:
        return "two files of pairs are not a store; give its vectors, and those of --queries"
    return ""


def rare_precisions(
    scored: Sequence[SpaceScores],
    rate: BaseRate,
    above: Mapping[tuple[str, float], Estimate],
    missing: str,
) -> dict[tuple[str, str], RarePrecision]:
    """Return the precision of every threshold at a base rate, by space and goal.

    ``above`` has the share of random pairs above a threshold, by space and threshold; ``missing``
    says why there is no store to take them from.
    """
    found = {}
    for one in scored:
        for cut in one.thresholds:
            reweighted = reweighted_precision(cut.recall, cut.false_share, rate)
            chosen = cut.chosen.threshold
            share = None if missing or chosen is None else above[one.name, chosen]
            if share is None:
                why = missing or cut.chosen.note
                in_search = Estimate(None, None, None, 0, f"undefined: {why}")
            else:
                in_search = search_precision(cut.recall, share, rate)
            found[one.name, cut.goal.name] = RarePrecision(reweighted, in_search, share)
    return found


def background(
    names: Sequence[str],
    documents: CloudGroup,
    queries: CloudGroup | None,
    centres: Centres,
    store_size: int | None,
    sample: int,
    seed: int,
    drop_invalid: bool,
    progress: Progress | None,
    *,
    at: Sequence[float],
    level: float,
    cuts: Mapping[str, Sequence[float]],
) -> Background:
    """Compare random pairs in every space, one space in memory at a time.

    ``cuts`` has further thresholds of each space, whose share of random pairs is returned.
    """
    kept = RowSelection(documents, drop_invalid=drop_invalid)
    asked = None if queries is None else RowSelection(queries, drop_invalid=drop_invalid)
    spaces = two_sided_spaces(names, kept, asked, centres, progress)
    drawn = partial(sampled_rows, size=sample, seed=seed, drop_invalid=drop_invalid)
    rows, asking = drawn(documents), None if queries is None else drawn(queries)
    if drop_invalid:  # only reading tells how many rows are finite
        total = sum(len(batches[kept.names[0]].vectors) for batches in kept.batches())
    else:
        total = count_rows(documents)
    if store_size is None:
        store_size = total - (queries is None)  # a row is not compared with itself
    elif store_size < total:
        raise UsageError(f"--store-size {store_size:,}: the source alone has {total:,} vectors")
    subject = documents.names[0]
    if queries is not None:
        subject += f" with queries {queries.names[0]}"
    found: list[Row] = []
    maps: list[ScoreMap] = []
    remarks: list[Sentence] = []
    above: dict[tuple[str, float], Estimate] = {}
    for number, space in enumerate(spaces, start=1):
        meaning = meaning_of(space, rows, asking, store_size)
        m, n = meaning.pairs.cosines.shape
        what = f"{m:,} sampled rows" if queries is None else f"{m:,} queries × {n:,} rows"
        how = f"all pairs of {what}, seed {seed}; {store_size:,} others a query"
        found += meaning.rows(subject, with_caveats(how, documents, queries), at, level)
        maps.append(percentile_map(meaning.pairs, meaning.space))
        for cut in cuts.get(space.name, ()):
            above[space.name, cut] = meaning.pairs.share_above(cut, level)
        if number == 1:
            remarks += background_sentences(meaning)
            density = meaning.density(subject)
        if progress is not None:
            progress("compare random pairs", number, len(spaces))
    left_out = {why: n for why, n in kept.left_out.items() if n}
    remarks += with_role(NORMS, norm_remarks(rows))
    result = Result(found, [density], left_out=left_out, extra=as_remarks(remarks))
    return Background(result, maps, above, total, store_size)


def check_background(sample: int, store_size: int | None, at: Sequence[float]) -> None:
    """Refuse random pairs that cannot be meant, before anything is read."""
    if not 2 <= sample <= MOST_ROWS:
        raise UsageError(
            f"a sample must have 2 to {MOST_ROWS:,}, as all pairs of it are held in memory, not "
            f"{sample:,}"
        )
    if store_size is not None and store_size < 2:
        raise UsageError(f"a store must have at least two vectors, got {store_size}")
    for score in at:
        if not -1 <= score <= 1:
            raise UsageError(f"a cosine must lie between -1 and 1, got {score:g}")


def check_labels(
    pairs: str | Path | None, text: Any, wanted: dict[str, Any], confidence: float | None
) -> None:
    """Refuse what is about labelled pairs where there are none, and texts where there are."""
    for option, value in wanted.items():
        if value is not None and pairs is None:
            raise UsageError(f"--{option} is about labelled pairs; name them with --pairs")
    if confidence is not None and wanted["precision"] is None and wanted["recall"] is None:
        raise UsageError("--confidence is that of a --precision or --recall; name one")
    if pairs is not None and text is not None:
        raise UsageError(
            "--text is for scores without labels; pairs of texts bring their own, and pairs of "
            "rows name vectors"
        )
