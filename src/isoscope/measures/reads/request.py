"""What is asked for, and the reads that it takes.

Directions are needed before anything can be projected on them, and they follow from sums over all
rows: so there are two reads, and neither can be merged into the other. What needs no direction
(lengths, mean cosine) is done after the first, and nobody pays for a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isoscope.compute.map_reduce import Run
from isoscope.compute.memory import FACTORED, MEASURED, SUMMED, check_matrices
from isoscope.data.blocks import BLOCKS
from isoscope.data.sampling import DEFAULT_SIZE, LARGE_SIZE
from isoscope.errors import DataError
from isoscope.measures.intervals import FEWEST_ROWS
from isoscope.measures.reads.build_spaces import Reads, raw_space, view_space
from isoscope.measures.reads.geometry import dead_variance, geometry_of
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import first_read, second_read
from isoscope.measures.reads.projections import plan_second_read
from isoscope.measures.views import NONE, CorrectionName, build_view, is_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.data.base import CloudGroup
    from isoscope.data.blocks import Dealer
    from isoscope.data.selection import RowSelection
    from isoscope.measures.reads.geometry import Geometry
    from isoscope.measures.reads.passes import FirstRead
    from isoscope.measures.reads.projections import Projections, SecondRead
    from isoscope.measures.registry import Measure, Need
    from isoscope.measures.space import Space
    from isoscope.measures.views import View
    from isoscope.progress import Progress


# From so many dimensions on, clouds of half as many rows or fewer are kept by their rows. Below,
# d × d matrices take some megabytes and less than seconds.
WIDE = 2_048


# A sample of all rows there are, and how many copies of one in float64 are held for each space.
EVERYTHING, HELD = 2**62, 2


def is_wide(group: CloudGroup) -> bool:
    """Whether all clouds have far fewer rows than dimensions, as far as is known before a read."""
    return group.rows is not None and all(
        width >= WIDE and 2 * group.rows <= width for width in group.widths
    )


def check_blocks(group: CloudGroup) -> None:
    """Refuse clouds so wide that the sums of their blocks would not fit into memory."""
    widest = max(group.widths)
    check_matrices(
        widest, SUMMED, f"measuring {group.names[group.widths.index(widest)]} with intervals",
        "leave out intervals with --no-intervals (intervals=False)", rows=BLOCKS,
    )  # fmt: skip


def check_memory(group: CloudGroup, *, factored: bool) -> None:
    """Refuse clouds whose matrices would not fit into memory."""
    widest = max(group.widths)
    # Of few rows no such matrix is needed, but a file of text does not say how many it has.
    known = group.rows is not None
    unknown = (
        "" if known else "; if there are fewer rows than dimensions, write them to a .npy file"
    )
    check_matrices(
        widest, FACTORED if factored else MEASURED,
        f"measuring {group.names[group.widths.index(widest)]}",
        "reduce the dimensions first, or choose measures without directions, such as --measures "
        f"mean_cosine,mean_norm --corrections none{unknown}",
        rows=group.rows if factored else None,
    )  # fmt: skip


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
    dead_variance: float
    """A variance up to this is rounding of the stored vectors."""


@dataclass(frozen=True)
class Request:
    """What is asked for, and which reads that takes."""

    measures: tuple[Measure, ...]
    corrections: tuple[CorrectionName, ...]
    double: bool
    dealer: Dealer | None
    seed: int
    progress: Progress | None
    watch: Callable[[Mapping[str, FirstRead], Mapping[str, str]], None] | None = None
    """Takes what the first read of every cloud gave, and the types, before the second begins."""
    ranges: bool = True
    """Whether ranges over random bases are wanted; see ``Reads``."""
    exact: bool = False
    """Whether measures of neighbours look at all rows instead of a sample."""
    reading: Run = field(default_factory=Run)
    """Who reads, and what of it is kept."""

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
        # The corrected cloud exists in this process only, so no other worker can read it, and it is
        # not what the journal's configuration describes.
        within = self.reading.within()
        return replace(self, corrections=plain, dealer=None, watch=None, reading=within)

    @property
    def needs_scatter(self) -> bool:
        """Whether eigenvalues are needed at all."""
        return bool(self.needs & {"spectrum", "scatter"}) or bool(self.view_names)

    @property
    def parts(self) -> MomentParts:
        """What the first read sums."""
        return MomentParts(
            scatter=self.needs_scatter,
            dimensions="dimensions" in self.needs,
            units=bool(self.needs & {"units", "dimensions"}),
            mean="mean" in self.needs,
            variances="variances" in self.needs,
        )

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
            return EVERYTHING if self.exact else LARGE_SIZE
        # The range over random bases is taken of a sample, and whether eigenvalues repeat is known
        # only after the read that draws it.
        return DEFAULT_SIZE if self.needs_second_read or "sample" in self.needs else 0

    def spaces(self, group: RowSelection) -> list[tuple[str, Described, str]]:
        """Read the group and describe every space of every cloud, with its protocol."""
        few = group.rows is not None and group.rows < FEWEST_ROWS
        if self.dealer is not None and self.dealer.label is None and few:
            # Rows too few for an interval: the sums of 31 blocks would take more than the rows.
            return replace(self, dealer=None).spaces(group)
        if self.dealer is not None:
            check_blocks(group)
        parts = replace(self.parts, factored=self.needs_scatter and is_wide(group))
        if self.needs_scatter:
            check_memory(group, factored=parts.factored)
        if self.sample_size == EVERYTHING and group.rows is not None:
            check_matrices(
                max(group.widths), HELD * (1 + len(self.corrections)),
                "looking for the neighbours of all rows", "leave out --exact", rows=group.rows,
            )  # fmt: skip
        first = first_read(
            group, parts, sample_size=self.sample_size, seed=self.seed, double=self.double,
            dealer=self.dealer, plan=self.reading, progress=self.progress,
        )  # fmt: skip
        # Most of a result is known by now, and the second read takes about as long as the first.
        if self.watch is not None:
            self.watch(first, dict(zip(group.names, group.dtypes, strict=True)))
        plans = {
            name: self.plan(first[name], stored)
            for name, stored in zip(group.names, group.dtypes, strict=True)
        }
        second: dict[str, Projections] = {}
        if self.needs_second_read:
            second = second_read(
                group,
                {name: plan.second.plan for name, plan in plans.items() if plan.second},
                # Dealing rows costs time, and only variances by block need it in this read.
                dealer=self.dealer if self.deals_variances else None,
                plan=self.reading,
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
        dead = dead_variance(moments, stored)
        if not self.needs_scatter:
            return Plan(None, (), None, f"{what}; one read", dead)
        # I1 of the cloud as it is needs the eigenvectors of XᵀX, not those of the covariance.
        along_centred = bool(self.view_names) or self.deals_variances
        raw = self.raw and "scatter" in self.needs
        geometry = geometry_of(
            moments, stored, spectrum=along_centred or not raw or "spectrum" in self.needs,
            centred_vectors=along_centred, raw=raw,
        )  # fmt: skip
        views = tuple(build_view(name, geometry, moments.mean) for name in self.view_names)
        if not self.needs_second_read:
            return Plan(geometry, views, None, f"{what}; one read, sums in float64", dead)
        second = plan_second_read(
            moments, geometry, views, self.needs,
            raw=self.raw, dealt=self.deals_variances, double=self.double,
        )  # fmt: skip
        in_double = second.plan.double or stored == "float64"
        return Plan(
            geometry,
            views,
            second,
            f"{what}; two reads, sums in float64, "
            f"projections in {'float64' if in_double else 'float32'}",
            dead,
        )

    def describe(
        self, name: str, first: FirstRead, plan: Plan, second: dict[str, Projections]
    ) -> Described:
        """Build the spaces of one cloud in the order in which corrections were given."""
        projections = second.get(name)
        # Projected on directions that belong to other rows, numbers would look right and be wrong.
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
            dead_variance=plan.dead_variance,
            rounding=math.sqrt(plan.dead_variance * first.moments.width),
            ranges=self.ranges,
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
