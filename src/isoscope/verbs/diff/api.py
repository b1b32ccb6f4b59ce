"""Two clouds: how alike, where they differ, and what of A still serves for B."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isoscope.corrections.base import Correction
from isoscope.corrections.closed_form import ClosedForm, check_width
from isoscope.corrections.estimators.center import Center
from isoscope.corrections.estimators.whiten import Whiten
from isoscope.corrections.fit import fit_summary_together
from isoscope.corrections.registry import text_of
from isoscope.corrections.storage import load_correction
from isoscope.data.base import CloudGroup
from isoscope.errors import DataError, UsageError
from isoscope.measures.reads.moments import MomentParts
from isoscope.progress import Progress
from isoscope.results.fields import KIND
from isoscope.results.result import Result, versions
from isoscope.results.sentences import Sentence, as_remarks
from isoscope.tasks.encoding import open_source
from isoscope.tasks.prompts import refuse_prompts
from isoscope.tasks.protocol import SentenceProtocol, protocol_of
from isoscope.verbs.diff import effects, names, permutation, reuse, support
from isoscope.verbs.diff import text as telling
from isoscope.verbs.diff.names import COVARIANCES, DIFFERENCE, LENGTHS, MEANS
from isoscope.verbs.diff.paired.row_match import Matching, match_rows
from isoscope.verbs.diff.paired.same_rows import compare_same_rows, equal_spaces
from isoscope.verbs.diff.permutation import EqualityTest
from isoscope.verbs.diff.rows import ComparisonRows
from isoscope.verbs.diff.two_clouds import TESTED, Reading, TwoSides

# Rows of each cloud whose neighbours are looked for.
SAMPLE = 10_000


NEIGHBOURS = 10

SAME_TEXTS = "The same rows: both models read the same texts."


def diff(
    a: Any,
    b: Any,
    *,
    text: Any = None,
    layer: str = "last",
    layer_b: str | None = None,
    sentences: SentenceProtocol | None = None,
    column: str | None = None,
    column_b: str | None = None,
    same_rows: bool | None = None,
    ids: str | None = None,
    documents: str | None = None,
    k: int = NEIGHBOURS,
    correction: str | Path | Correction | None = None,
    threshold: float | None = None,
    sample: int = SAMPLE,
    drop_invalid: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    command: str = "",
    **protocol: Any,
) -> Result:
    """Compare two clouds.

    Clouds of the same rows (two models, two versions of one) are compared row by row. Where both
    have as many dimensions, differences of means, covariances and norms are tested, shares outside
    each other's support are given, and it is said whether A's correction and threshold serve for B.

    Parameters
    ----------
    a, b : str, Path, array, CloudGroup or Model
        Anything that ``open_cloud`` takes; with ``text``, anything that ``open_model`` takes.
    text : str, Path or list of str, optional
        Texts that both models read.
    layer, layer_b : str
        Layer of the models; that of B is that of A unless given.
    sentences : SentenceProtocol, optional
        Pooling, cache and so on of the texts.
    column, column_b : str, optional
        Array, column or field, if the file has several; that of B is that of A unless given.
    same_rows : bool, optional
        Whether row i of A and row i of B are of one thing. By default the same ids say so; where
        there are none and both have as many rows, the vectors of a sample decide.
    ids : str, optional
        Label that names rows. By default ``id`` or ``word``, or the only label.
    documents : str, optional
        Label that names documents, whose rows are not independent; ``document`` by default.
    k : int
        Neighbours of each row, for clouds with the same rows.
    correction : str, Path or Correction, optional
        Fitted on A. By default centring and whitening are fitted.
    threshold : float, optional
        Cosine from which on two rows count as related: after ``correction`` where that is given,
        of vectors as they are otherwise. By default the one that 1 % of A's random pairs exceed.
    sample : int
        Most rows of each cloud that are compared with each other.
    drop_invalid : bool
        Leave out rows that are not finite instead of stopping.
    seed : int
        Of all that is drawn at random.
    progress, command, **protocol
        As in ``isoscope.advise``.

    Returns
    -------
    Result
        Rows with the parts ``same rows``, ``difference``, ``support`` and ``keeping``; sentences
        under ``remarks``. Rows of ``keeping`` have a field ``keep``: True, False, or None where the
        rows are too few to tell, with the reason under ``no_statement``. Rows that were tested have
        ``p_holm``, ``effect_size``, and the ``limit`` below which it is ``negligible``. Clouds that
        hold the same vectors (``equal_vectors``) have the first two parts only, with exact figures.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).standard_normal((500, 8))
    >>> found = diff(rows[:250], rows[250:] + 1, same_rows=False)
    >>> found.row("mean_shift").extra["p_holm"]
    0.003
    """
    check_call(k, threshold, sample)
    if text is None and (layer_b is not None or layer != "last"):
        raise UsageError("layers are those of models that read texts; name the texts with --text")
    sentences = protocol_of(sentences, protocol)
    if text is None:
        refuse_prompts(sentences)
    if sentences.query_prompt is not None:
        raise UsageError("both models read the same texts, none of which is a query; name prompt=")
    opened: list[CloudGroup] = [
        open_source(
            source, text=text, layer=at, sentences=sentences, column=which, progress=progress
        )
        for source, at, which in ((a, layer, column), (b, layer_b or layer, column_b or column))
    ]
    fitted = load_correction(correction) if isinstance(correction, str | Path) else correction
    # Rows that models make of the same texts need no ids to be the same.
    if text is not None and same_rows is None:
        matching = Matching(True, SAME_TEXTS, (opened[0], opened[1]))
    else:
        matching = match_rows(*opened, same_rows=same_rows, ids=ids, documents=documents, seed=seed)
    if not matching.same:
        check_dimensions(*matching.clouds)
    # Differences need the sums of products; some corrections those of each dimension as well.
    dimensions = isinstance(fitted, ClosedForm) and fitted._parts().dimensions
    parts = MomentParts(scatter=True, dimensions=dimensions, mean=True)
    reading = Reading(parts, sample, seed, documents, drop_invalid, progress)
    two = reading.both(*matching.clouds, paired=matching.same)
    found_rows = ComparisonRows(f"{two.a.name} (A) and {two.b.name} (B)")
    remarks = [Sentence(telling.COMPARED, matching.sentence), *telling.about_sources(two)]
    if fitted is not None and two.same_width:
        check_width(fitted, two.b.moments.width)
    if two.equal:
        add_equal(two, k, found_rows)
        remarks.append(telling.about_equal(two))
    elif two.paired:
        same = compare_same_rows(two, k, seed)
        found_rows.add_same_rows(same)
        remarks += telling.about_same_rows(same)
    if two.same_width and not two.equal:
        found, tests = effects.effects(two), tested(two, seed)
        found_rows.add_differences(found, tests, two.a.moments.rows + two.b.moments.rows)
        remarks += telling.about_differences(found, tests)
        out = outsiders(two, seed)
        found_rows.add_support(out)
        remarks += telling.about_support(out)
        apart = significant_distance(found, tests)
        for kept in judge_reuse(two, fitted, threshold, seed, progress, apart):
            found_rows.add_reuse(kept)
            remarks += telling.about_keeping(kept)
        if fitted is not None and not reuse.was_fitted_on(fitted, two.a.moments):
            rows = f"{fitted.fitted_on_.rows:,} vectors"
            remarks.append(
                Sentence(
                    telling.SOURCE,
                    f"The correction was fitted on {rows} that are not those of A; if rows of A "
                    "are among them, too few of A's pairs score above the threshold.",
                )
            )
    if not two.same_width and (fitted is not None or threshold is not None):
        raise DataError(
            f"A has {two.a.moments.width} dimensions and B {two.b.moments.width}: a correction or "
            "a threshold of one has no meaning in the other"
        )
    return Result(
        rows=found_rows.rows,
        left_out=two.left_out,
        seeds={"seed": seed},
        versions=versions(),
        command=command,
        extra={
            KIND: DIFFERENCE,
            **as_remarks(remarks),
            "same_rows": two.paired,
            "equal_vectors": two.equal,
        },
    )


def check_call(k: int, threshold: float | None, sample: int) -> None:
    """Refuse what cannot be compared."""
    if k < 1:
        raise UsageError(f"k, the number of neighbours, must be at least 1, got {k}")
    if threshold is not None and not -1 <= threshold <= 1:
        raise UsageError(f"a threshold must be a cosine, from −1 to 1, got {threshold:g}")
    if sample < support.SAMPLE // 80:
        raise UsageError(f"sample must be at least {support.SAMPLE // 80} rows, got {sample}")


def check_dimensions(a: CloudGroup, b: CloudGroup) -> None:
    """Refuse clouds of other rows whose vectors cannot stand beside each other."""
    if a.widths[0] != b.widths[0]:
        raise DataError(
            f"{a.names[0]} has {a.widths[0]} dimensions and {b.names[0]} has {b.widths[0]}; clouds "
            "with different rows must have the same number of dimensions (with the same rows, "
            "--same-rows compares them row by row)"
        )


def add_equal(two: TwoSides, k: int, rows: ComparisonRows) -> None:
    """Add the figures of two clouds that hold the same vectors: exact ones, with no tests."""
    if two.paired:
        rows.add_same_rows(equal_spaces(two, k))
    no_test = EqualityTest(0.0, None, note="A and B hold the same vectors")
    tests = dict.fromkeys((MEANS, COVARIANCES, LENGTHS), no_test)
    count = two.a.moments.rows + two.b.moments.rows
    rows.add_differences(effects.equal_effects(two), tests, count)


def tested(two: TwoSides, seed: int) -> dict[str, EqualityTest] | None:
    """Test for differences on as many sampled rows of both; None from too few documents."""
    size = min(TESTED, len(two.a.sample.keys), len(two.b.sample.keys))
    (a, units_a), (b, units_b) = two.a.first(size), two.b.first(size)
    if min(len(set(units_a.tolist())), len(set(units_b.tolist()))) < permutation.FEWEST_UNITS:
        return None
    return permutation.equality_tests(
        a, b, units_a=units_a, units_b=units_b, paired=two.paired,
        permutations=names.PERMUTATIONS, seed=seed,
    )  # fmt: skip


def significant_distance(
    found: effects.Effects | None, tests: dict[str, EqualityTest] | None
) -> float:
    """Return how far the covariances lie apart where that is significant, 0 otherwise."""
    if found is None or tests is None or not telling.is_significant(tests[COVARIANCES]):
        return 0.0
    return found.covariance_distance


def outsiders(two: TwoSides, seed: int) -> dict[str, list[support.Outside]]:
    """Return the share of each cloud outside the other's support."""
    (a, units_a), (b, units_b) = two.a.first(support.SAMPLE), two.b.first(support.SAMPLE)
    return {
        "B outside A": support.outside(a, units_a, b, units_b, paired=two.paired, seed=seed),
        "A outside B": support.outside(b, units_b, a, units_a, paired=two.paired, seed=seed),
    }


def judge_reuse(
    two: TwoSides,
    given: Correction | None,
    threshold: float | None,
    seed: int,
    progress: Progress | None,
    apart: float,
) -> list[reuse.SpaceReuse]:
    """Judge the threshold as it is, and each correction of A."""

    def judged(one: Correction, limit: float | None) -> reuse.SpaceReuse:
        return reuse.corrected_space(
            two, text_of(one), one, limit, seed, progress, covariance_distance=apart
        )

    if given is not None:
        return reuse.adjusted([judged(given, threshold)])
    closed: list[ClosedForm] = [Center(), Whiten()]
    fit_summary_together(closed, two.a.moments, two.a.stored)
    # A threshold that is given belongs to the vectors as they are: corrected ones have others.
    as_they_are = reuse.space_as_it_is(two, threshold, seed)
    return reuse.adjusted([as_they_are, *(judged(one, None) for one in closed)])
