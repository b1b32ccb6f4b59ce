"""The main job: read a cloud twice, evaluate the measures, return a result."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.clouds.dealing import DOCUMENT, Dealer
from isoscope.clouds.labelled import LabelledCloud
from isoscope.clouds.opening import open_cloud
from isoscope.clouds.sample import DEFAULT_SIZE, LARGE_SIZE, draw
from isoscope.clouds.selection import RowSelection
from isoscope.clouds.single import SingleCloud
from isoscope.errors import DataError, UsageError
from isoscope.measures.corrections import (
    DEFAULT_CORRECTIONS,
    NONE,
    CorrectionName,
    build_view,
)
from isoscope.measures.geometry import geometry_of
from isoscope.measures.intervals import IntervalEstimator
from isoscope.measures.moments import MomentParts
from isoscope.measures.partition import log_i1
from isoscope.measures.reading import first_read, second_read
from isoscope.measures.registry import (
    TableValue,
    Value,
    all_measures,
    default_measures,
    find_measure,
)
from isoscope.measures.second_read import Wanted, plan_second_read
from isoscope.measures.spaces import Reads, raw_space, view_space
from isoscope.results.asked import check_width, is_view, parse_corrections
from isoscope.results.provisional import Provisional
from isoscope.results.result import Result, Row, Table
from isoscope.results.verdict import judge
from isoscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isoscope.measures.corrections import View
    from isoscope.measures.geometry import Geometry
    from isoscope.measures.projections import Projections
    from isoscope.measures.reading import FirstRead, Progress
    from isoscope.measures.registry import Measure, Need
    from isoscope.measures.second_read import SecondRead
    from isoscope.measures.space import Space

Precision = Literal["data", "double"]
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
    workers: int | None = None,
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
        By default for all sources but whole vocabularies, which are their own population.
    sample : int, optional
        Measure a random sample of this many rows instead of all; the source is read once to draw
        it, and every row has the same chance.
    seed : int
        Seed of that sample, and of the one that shows how much a choice of basis matters.
    workers : int, optional
        Threads; by default one per core.
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
    if workers is not None and workers < 1:
        raise UsageError(f"workers is at least 1, not {workers}")
    if seed < 0:
        raise UsageError(f"seed is at least 0, not {seed}")
    chosen = choose_measures(measures)
    names = parse_corrections(listed(corrections, DEFAULT_CORRECTIONS))
    source = open_cloud(cloud, column=column)
    if documents is not None and not isinstance(documents, str):
        source, documents = LabelledCloud(source, DOCUMENT, documents), DOCUMENT
    # A sample of a population is a sample, and has an error.
    population = sample is None and bool(getattr(source, "population", False))
    dealer = Dealer(documents) if (not population if intervals is None else intervals) else None
    request = Request(chosen, names, precision == "double", dealer, seed, workers, progress)
    if provisional is not None and sample is None:
        ask = partial(
            measure, measures=measures, corrections=corrections, precision=precision,
            drop_invalid=drop_invalid, intervals=intervals is not False, seed=seed,
            workers=workers, command=command,
        )  # fmt: skip
        watch = Provisional(source, ask, provisional, progress, seed)
        request = replace(request, progress=watch.report, watch=watch)
    if sample is not None:
        if sample < 2:
            raise UsageError(f"sample is at least 2, not {sample}")
        source = draw(source, sample, seed)
    for correction in names:
        check_width(correction, min(source.widths))
    selection = RowSelection(source, drop_invalid=drop_invalid)
    rows: list[Row] = []
    tables: list[Table] = []
    verdicts: list[dict[str, Any]] = []
    for name, found, protocol in request.spaces(selection):
        subject, part = (name, "") if len(source.names) == 1 else ("", name)
        protocol += f"; a random sample, seed {seed}" if sample is not None else ""
        estimator = IntervalEstimator(found.reads, dealer is not None, given=intervals is not False)
        spaces = request.with_clusters(found.spaces, selection, name)
        measured = {space.correction: space for space in spaces}
        for space in request.corrected(selection, name):
            measured[space.correction] = space
        for correction in names:
            space = measured[correction.text]
            for item in chosen:
                add(item, space, estimator, (subject, part), protocol, rows, tables)
        for space in found.spaces:
            if space.correction == NONE and space.spectrum and space.dimensions:
                verdict = judge(space)
                verdicts.append({"subject": subject, "part": part, **verdict.to_dict()})
    return Result(
        rows,
        tables,
        verdicts,
        left_out=dict(selection.left_out),
        seeds={"seed": seed},
        versions=versions(),
        command=command,
    )


def listed(given: Iterable[str] | str | None, default: Sequence[str]) -> list[str]:
    """Turn a comma-separated string or an iterable into a list of names."""
    if given is None:
        return list(default)
    names = given.split(",") if isinstance(given, str) else list(given)
    return [name.strip() for name in names if name.strip()]


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


@dataclass(frozen=True)
class Request:
    """What is asked for, and which reads that takes."""

    measures: tuple[Measure, ...]
    corrections: tuple[CorrectionName, ...]
    double: bool
    dealer: Dealer | None
    seed: int
    workers: int | None
    progress: Progress | None
    watch: Provisional | None = None

    @property
    def needs(self) -> frozenset[Need]:
        """Everything that any of the measures needs."""
        return frozenset().union(*(item.needs for item in self.measures))

    @property
    def raw(self) -> bool:
        """Whether the cloud as it is is measured."""
        return any(correction.name == NONE for correction in self.corrections)

    @property
    def view_names(self) -> tuple[CorrectionName, ...]:
        """The corrections that the two reads measure as well."""
        return tuple(item for item in self.corrections if item.name != NONE and is_view(item.text))

    @property
    def fitted_names(self) -> tuple[CorrectionName, ...]:
        """The corrections that are fitted, and measured on what they make of the cloud."""
        return tuple(item for item in self.corrections if not is_view(item.text))

    def of_corrected(self) -> Request:
        """Return the request for a corrected cloud."""
        plain = (CorrectionName(NONE, NONE, {}),)
        return replace(self, corrections=plain, dealer=None, watch=None)

    @property
    def needs_scatter(self) -> bool:
        """Whether eigenvectors are needed at all."""
        return "scatter" in self.needs or bool(self.view_names)

    @property
    def deals_variances(self) -> bool:
        """Whether an interval needs the variances along eigenvectors by block."""
        return self.dealer is not None and any(
            item.interval == "spectrum" for item in self.measures
        )

    @property
    def needs_second_read(self) -> bool:
        """Whether anything must be projected."""
        return (
            bool(self.view_names)
            or bool(self.needs & {"partition", "scaled"})
            or self.deals_variances
        )

    @property
    def sample_size(self) -> int:
        """Rows that are drawn."""
        if "large sample" in self.needs:
            return LARGE_SIZE
        return DEFAULT_SIZE if self.needs_second_read or "sample" in self.needs else 0

    def spaces(self, group: RowSelection) -> list[tuple[str, Described, str]]:
        """Read the group and describe every space of every cloud, with its protocol."""
        dimensions = "dimensions" in self.needs
        parts = MomentParts(self.needs_scatter, dimensions, mean="mean" in self.needs)
        first = first_read(
            group, parts, sample_size=self.sample_size, seed=self.seed, double=self.double,
            dealer=self.dealer, workers=self.workers, progress=self.progress,
        )  # fmt: skip
        if self.watch is not None:
            self.watch.after_first_read(first, dict(zip(group.names, group.dtypes, strict=True)))
        plans = {
            name: self.plan(first[name], stored)
            for name, stored in zip(group.names, group.dtypes, strict=True)
        }
        second: dict[str, Projections] = {}
        if self.needs_second_read:
            second = second_read(
                group,
                {name: plan.second.plan for name, plan in plans.items() if plan.second},
                dealer=self.dealer if self.deals_variances else None,
                workers=self.workers,
                progress=self.progress,
            )
        return [
            (name, self.describe(name, first[name], plans[name], second), plan.protocol)
            for name, plan in plans.items()
        ]

    def plan(self, first: FirstRead, stored: str) -> Plan:
        """Decompose the moments of one cloud and plan its second read."""
        moments = first.moments
        what = f"{moments.width:,} dimensions, {stored}"
        if not self.needs_scatter:
            return Plan(None, (), None, f"{what}; one read")
        geometry = geometry_of(moments, stored)
        views = tuple(build_view(name, geometry, moments.mean) for name in self.view_names)
        if not self.needs_second_read:
            return Plan(geometry, views, None, f"{what}; one read, sums in float64")
        wanted = Wanted(
            "partition" in self.needs, "scaled" in self.needs, "dimensions" in self.needs
        )
        second = plan_second_read(
            moments, geometry, views, wanted,
            raw=self.raw, dealt=self.deals_variances, double=self.double,
        )  # fmt: skip
        in_double = second.plan.double or stored == "float64"
        return Plan(
            geometry,
            views,
            second,
            f"{what}; two reads, sums in float64, "
            f"projections in {'float64' if in_double else 'float32'}",
        )

    def describe(
        self, name: str, first: FirstRead, plan: Plan, second: dict[str, Projections]
    ) -> Described:
        """Build the spaces of one cloud in the order in which corrections were given."""
        projections = second.get(name)
        if projections is not None and projections.rows != first.moments.rows:
            raise DataError(
                f"{name} changed while it was read: {first.moments.rows:,} rows at first, "
                f"then {projections.rows:,}"
            )
        reads = Reads(
            first.moments,
            first.sample,
            plan.geometry,
            plan.second,
            projections,
            self.seed,
            sampled=bool(self.needs & {"sample", "large sample"}),
        )
        views = {view.correction: row for row, view in enumerate(plan.views)}
        spaces = [
            raw_space(reads)
            if correction.name == NONE
            else view_space(reads, plan.views[views[correction.text]], views[correction.text])
            for correction in self.corrections
            if is_view(correction.text)
        ]
        return Described(reads, spaces)

    def with_clusters(self, spaces: list[Space], group: RowSelection, name: str) -> list[Space]:
        """Let the cloud as it is be measured within clusters, where a measure asks for it."""
        if "clusters" not in self.needs:
            return spaces
        local = LocalIsotropy(SingleCloud(group, name), self)
        return [
            replace(space, local_log_i1=local.log_i1) if space.correction == NONE else space
            for space in spaces
        ]

    def corrected(self, group: RowSelection, name: str) -> list[Space]:
        """Fit each correction that is not a view on one cloud, and describe what it makes of it."""
        if not self.fitted_names:
            return []
        from isoscope.corrections import CorrectedCloud, make_correction  # imports scikit-learn

        cloud = SingleCloud(group, name)
        spaces = []
        for correction in self.fitted_names:
            fitted = make_correction(correction.text).fit_cloud(cloud, progress=self.progress)
            made = RowSelection(CorrectedCloud(cloud, fitted))
            ((_, found, _),) = self.of_corrected().spaces(made)
            spaces += [replace(space, correction=correction.text) for space in found.spaces]
        return spaces


@dataclass(frozen=True)
class LocalIsotropy:
    """I1 of a cloud whose clusters are centred each on its own mean."""

    cloud: SingleCloud
    request: Request

    def log_i1(self, n_clusters: int, seed: int) -> float:
        """Cluster with a seed, centre, and take ln I1 of the result."""
        from isoscope.corrections import ClusterRemoval, CorrectedCloud  # imports scikit-learn

        progress = self.request.progress
        centring = ClusterRemoval(n_clusters, n_components=0, random_state=seed)
        made = CorrectedCloud(self.cloud, centring.fit_cloud(self.cloud, progress=progress))
        asked = replace(self.request.of_corrected(), measures=(find_measure("i1"),))
        ((_, found, _),) = asked.spaces(RowSelection(made))
        partition = found.spaces[0].partition
        assert partition is not None
        return log_i1(partition)


@dataclass(frozen=True)
class Described:
    """The spaces of one cloud, and what was read of it."""

    reads: Reads
    spaces: list[Space]


@dataclass(frozen=True)
class Plan:
    """What the first read of one cloud led to."""

    geometry: Geometry | None
    views: tuple[View, ...]
    second: SecondRead | None
    protocol: str


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
