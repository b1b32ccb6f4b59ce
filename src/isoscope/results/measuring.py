"""The main job: read a cloud twice, evaluate the measures, return a result."""

from __future__ import annotations

import platform
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.compute.execution import LOCAL
from isoscope.compute.journal import journal_while, refuse_unfinished
from isoscope.compute.map_reduce import Plan, without_skipped
from isoscope.data.blocks import DOCUMENT, Dealer
from isoscope.data.combine import LabelledCloud
from isoscope.data.identity import identity_of
from isoscope.data.open import open_cloud
from isoscope.data.sampling import draw
from isoscope.data.selection import RowSelection
from isoscope.errors import UsageError
from isoscope.measures.diagnosis import judge
from isoscope.measures.intervals import IntervalEstimator
from isoscope.measures.registry import (
    TableValue,
    Value,
    all_measures,
    default_measures,
    find_measure,
)
from isoscope.measures.views import DEFAULT_CORRECTIONS, NONE, check_width
from isoscope.results.asked import parse_corrections
from isoscope.results.fitted import corrected_spaces, with_clusters
from isoscope.results.provisional import Provisional
from isoscope.results.request import Request
from isoscope.results.result import Result, Row, Table
from isoscope.results.scaled import check_scale, readers, skipped_count, skipped_shards
from isoscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isoscope.compute.stage import OnError, Progress
    from isoscope.measures.registry import Measure
    from isoscope.measures.space import Space


Precision = Literal["data", "double"]
WORTH_KEEPING = 10.0
"""Seconds of reading after which a run that failed is kept, to go on from."""

ALL = "all"
"""Stands for every measure, in place of names."""


def measure(
    cloud: Any,
    measures: Iterable[str] | str | None = None,
    corrections: Iterable[str] | str | None = None,
    *,
    column: str | None = None,
    precision: Precision = "data",
    drop_invalid: bool = False,
    documents: Any = None,
    intervals: bool | None = None,
    sample: int | None = None,
    seed: int = 0,
    engine: str = LOCAL,
    workers: int | None = None,
    on_error: OnError = "stop",
    shard_rows: int | None = None,
    journal: str | Path | None = None,
    resume: bool = False,
    before_removal: Callable[[Result], None] | None = None,
    progress: Progress | None = None,
    provisional: Callable[[Result], None] | None = None,
    command: str = "",
) -> Result:
    """Measure how evenly a cloud of vectors fills its space.

    The cloud is read at most twice, batch by batch; corrected clouds are measured without being
    made.

    Parameters
    ----------
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes.
    measures : iterable of str, optional
        Names from ``isoscope list measures``, with options as in ``local_i1:n_clusters=9``, or
        ``all``; by default those that two reads give.
    corrections : iterable of str, optional
        Spaces to measure: ``none`` (the cloud as it is) and any correction that
        ``isoscope list corrections`` shows, with its options. By default ``none``, ``center``,
        ``all-but-the-top`` and ``whiten``, which two reads measure together; others are fitted
        first and take two more reads each.
    column : str, optional
        Which array of a file that holds several.
    precision : {"data", "double"}
        ``data`` projects in the precision of the vectors (half precision in single); means and
        covariances are summed in double either way. ``double`` does everything in double.
    drop_invalid : bool
        Leave out rows with NaN or infinities, and count them, instead of stopping.
    documents : str or array-like, optional
        Which rows belong together: the name of a label, such as a column of a Parquet file, or
        the document of every row. Rows of one document are not independent, and the intervals
        then allow for it. By default the label ``document`` where there is one.
    intervals : bool, optional
        Whether to give 95 % intervals, for a larger population of which the rows are a sample.
        By default for all sources but whole vocabularies, which are their own population. False
        also leaves out the ranges over random bases of clouds whose eigenvalues repeat.
    sample : int, optional
        Measure a random sample of this many rows instead of all; the source is read once to draw
        it, and every row has the same chance.
    seed : int
        Seed of that sample, and of the one that shows how much a choice of basis matters.
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster. The two reads go there; corrections
        that are fitted, and measures within clusters, are read by this process.
    workers : int, optional
        Threads of the local engine, by default one per core; actors of Ray, by default one per
        core of the cluster. The numbers are the same with any of them.
    on_error : {"stop", "skip"}
        Whether a file or shard that cannot be read ends the run, or is left out and counted.
    shard_rows : int, optional
        Rows that are read by one worker at a time.
    journal : path, optional
        Folder that keeps the sums of shards, so that a killed run can go on; it is removed when
        the run is done.
    resume : bool
        Go on where a journal ends.
    before_removal : callable, optional
        Called with the result, before the journal goes where there is one, to write it to a file.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    provisional : callable, optional
        Called with a result from a random sample when the full one takes longer than ten seconds.
    command : str
        Kept in the result, so that it can be made again.

    Returns
    -------
    Result
        Rows, tables and a verdict per cloud.

    Examples
    --------
    >>> import numpy as np, isoscope
    >>> offset = np.random.default_rng(0).normal(size=(1000, 16)) + 2
    >>> result = isoscope.measure(offset)
    >>> round(result.value("mean_cosine"), 2)
    0.81
    >>> abs(result.value("mean_cosine", "center")) < 0.01
    True
    >>> result.verdicts[0]["cause"]
    'common offset'
    """
    if precision not in ("data", "double"):
        raise UsageError(f"precision is data or double, not {precision!r}")
    check_scale(engine, workers, on_error, shard_rows)
    if seed < 0:
        raise UsageError(f"seed is at least 0, not {seed}")
    chosen = choose_measures(measures)
    names = parse_corrections(listed(corrections, DEFAULT_CORRECTIONS))
    if journal is not None and not resume:
        refuse_unfinished(Path(journal))
    source = open_cloud(cloud, column=column, on_error=on_error)
    bad = dict(getattr(source, "bad", {}))
    if documents is not None and not isinstance(documents, str):
        source, documents = LabelledCloud(source, DOCUMENT, documents), DOCUMENT
    whole, caveat = source.rows, getattr(source, "caveat", "")
    if sample is not None and sample < 2:
        raise UsageError(f"sample is at least 2, not {sample}")
    if sample is not None and whole is not None and sample >= whole:
        sample = None  # all rows are no sample
    # A sample of a population is a sample, and has an error.
    population = sample is None and bool(getattr(source, "population", False))
    dealer = Dealer(documents) if (not population if intervals is None else intervals) else None
    request = Request(
        chosen, names, precision == "double", dealer, seed, progress,
        ranges=intervals is not False,
    )  # fmt: skip
    if provisional is not None and sample is None:
        ask = partial(
            measure, measures=measures, corrections=corrections, precision=precision,
            drop_invalid=drop_invalid, intervals=intervals is not False, seed=seed,
            workers=workers, command=command,
        )  # fmt: skip
        watch = Provisional(source, ask, provisional, progress, seed)
        request = replace(request, progress=watch.report, watch=watch)
    notes = f"; {caveat}" if caveat else ""
    if sample is not None:
        of = "" if whole is None else f" of {whole:,} rows"
        notes += f"; a random sample{of}, seed {seed}"
        source = draw(source, sample, seed)
    for correction in names:
        check_width(correction, min(source.widths))
    selection = RowSelection(source, drop_invalid=drop_invalid)
    configuration = {
        "source": None if journal is None else identity_of(source),
        "measures": [item.text for item in chosen],
        "corrections": [correction.text for correction in names],
        "precision": precision,
        "drop_invalid": drop_invalid,
        "documents": None if dealer is None else dealer.label,
        "intervals": dealer is not None,
        "sample": sample,
        "seed": seed,
        "shard_rows": shard_rows,
    }
    with (
        journal_while(journal, configuration, resume=resume, worth=WORTH_KEEPING) as kept,
        readers(engine, workers) as pool,
    ):
        plan = Plan(workers, pool, kept, on_error, shard_rows, bad)
        rows, tables, verdicts = evaluated(
            replace(request, reading=plan), selection, notes, intervals is not False
        )
        result = Result(
            rows,
            tables,
            verdicts,
            left_out={**selection.left_out, **skipped_count(plan.skipped)},
            seeds={"seed": seed},
            versions=versions(),
            command=command,
            extra=skipped_shards(plan.skipped),
        )
        if before_removal is not None:
            before_removal(result)
    return result


def evaluated(
    request: Request, selection: RowSelection, notes: str, ranges: bool
) -> tuple[list[Row], list[Table], list[dict[str, Any]]]:
    """Read a group, and evaluate every measure on every space of it."""
    rows: list[Row] = []
    tables: list[Table] = []
    verdicts: list[dict[str, Any]] = []
    dealer = request.dealer
    found_spaces = request.spaces(selection)
    rest = without_skipped(selection, request.reading)
    for name, found, protocol in found_spaces:
        subject, part = (name, "") if len(selection.names) == 1 else ("", name)
        if dealer is not None and dealer.used:
            protocol += f"; rows of one {dealer.used} counted together"
        protocol += notes
        estimator = IntervalEstimator(found.reads, dealer is not None, given=ranges)
        spaces = with_clusters(request, found.spaces, rest, name)
        measured = {space.correction: space for space in spaces}
        for space in corrected_spaces(request, rest, name):
            measured[space.correction] = space
        for correction in request.corrections:
            space = measured[correction.text]
            for item in request.measures:
                add(item, space, estimator, (subject, part), protocol, rows, tables)
        for space in found.spaces:
            if space.correction == NONE and space.spectrum and space.dimensions:
                verdict = judge(space)
                verdicts.append({"subject": subject, "part": part, **verdict.to_dict()})
    return rows, tables, verdicts


def listed(given: Iterable[str] | str | None, default: Sequence[str]) -> list[str]:
    """Turn a comma-separated string or an iterable into a list of names."""
    if given is None:
        return list(default)
    names = given.split(",") if isinstance(given, str) else list(given)
    stripped = [name.strip() if isinstance(name, str) else name for name in names]
    return [name for name in stripped if name != ""]


def choose_measures(given: Iterable[str] | str | None) -> tuple[Measure, ...]:
    """Look the names up, without repeats, in the order of the registry."""
    everything = all_measures()
    names = listed(given, [item.name for item in default_measures()])
    if ALL in names:
        return everything
    wanted = {item.text: item for item in map(find_measure, names)}
    if not wanted:
        raise UsageError("name at least one measure; isoscope list measures shows them")
    order = [item.name for item in everything]
    return tuple(sorted(wanted.values(), key=lambda item: order.index(item.name)))


def versions() -> dict[str, str]:
    """Return the versions that numbers could depend on."""
    return {
        "isoscope": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def add(
    item: Measure,
    space: Space,
    estimator: IntervalEstimator,
    where: tuple[str, str],
    protocol: str,
    rows: list[Row],
    tables: list[Table],
) -> None:
    """Evaluate one measure on one space and file what it gave."""
    subject, part = where
    found = item.of(space)
    if isinstance(found, TableValue):
        tables.append(Table(subject, part, space.correction, item.name, found.rows, found.note))
        return
    several = {"": found} if isinstance(found, Value) else found
    for key, value in several.items():
        interval = estimator.interval(item, space, value)
        rows.append(
            Row(
                subject,
                part,
                space.correction,
                f"{item.text}/{key}" if key else item.text,
                value.value,
                log10=value.log10,
                low=interval.low,
                high=interval.high,
                n=space.rows if value.rows is None else value.rows,
                protocol=protocol,
                note=value.note,
                extra={**value.extra, **interval.reasons()},
            )
        )
