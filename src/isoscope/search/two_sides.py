"""What is read of two clouds: sums over all rows, and a random sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.map_reduce import merged, run
from isoscope.data.blocks import Dealer
from isoscope.data.combine import SingleCloud
from isoscope.data.sampling import SampleTaker, lowest, on_host
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError
from isoscope.measures.kernels import MomentsKernel, moments_kernel_for
from isoscope.measures.reads.passes import check, first_read
from isoscope.search.cka import CrossSums
from isoscope.search.in_step import A, B, InStep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Batches
    from isoscope.compute.stage import Progress
    from isoscope.data.base import CloudGroup
    from isoscope.data.sampling import Sample
    from isoscope.measures.reads.moments import MomentParts, Moments


FEWEST_ROWS = 50
"""Rows of each cloud below which shares of a twentieth and permutations of rows say little."""


@dataclass(frozen=True)
class Side:
    """One of the two clouds."""

    name: str
    cloud: CloudGroup
    """To be read again, with the same rows left out."""
    moments: Moments
    sample: Sample
    caveat: str = ""
    """What must be known of the source."""

    @property
    def stored(self) -> str:
        """Type in which the vectors are stored."""
        return self.cloud.dtypes[0]

    @property
    def scatter(self) -> NDArray[np.float64]:
        """Σ (x_i − mean)(x_i − mean)ᵀ, which is always read."""
        assert self.moments.scatter is not None
        return self.moments.scatter

    def first(self, size: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return at most so many sampled rows, a random part of them, and their documents."""
        kept = lowest([self.sample], size)
        return kept.vectors, kept.groups


@dataclass(frozen=True)
class TwoSides:
    """Both clouds, and what only reading in step gives."""

    a: Side
    b: Side
    paired: bool
    """Row i of A's sample and row i of B's are of one thing."""
    documents: str
    """The label by which rows belong to documents; empty where each stands alone."""
    cross: CrossSums | None
    left_out: dict[str, int]

    @property
    def same_width(self) -> bool:
        """Whether vectors of one can stand beside those of the other."""
        return self.a.moments.width == self.b.moments.width


class InStepTaker:
    """Accumulates moments, sample and cross sums of two clouds in step, on one thread."""

    def __init__(
        self, group: InStep, parts: MomentParts, size: int, seed: int, dealer: Dealer,
        shifts: list[NDArray[np.float64]],
    ) -> None:  # fmt: skip
        self._parts, self._dealer = parts, dealer
        self.cross = CrossSums(*shifts)
        self.kernels: dict[str, MomentsKernel] = {}
        self.samples = {
            name: SampleTaker(width, size, seed)
            for name, width in zip(group.names, group.widths, strict=True)
        }

    def add(self, batches: Batches, /) -> None:
        """Take one batch of both."""
        # Documents of either cloud serve both: the rows are the same.
        labels = {**batches[B].labels, **batches[A].labels}
        dealt = self._dealer.deal(batches[A]._replace(labels=labels))
        for name, batch in batches.items():
            if name not in self.kernels:
                self.kernels[name] = moments_kernel_for(batch.vectors, self._parts, double=False)
            self.kernels[name].add(batch.vectors)
            self.samples[name].add(batch, dealt)
        self.cross.add(*(on_host(batches[name].vectors, slice(None)) for name in (A, B)))


def read_in_step(
    a: CloudGroup,
    b: CloudGroup,
    parts: MomentParts,
    *,
    sample: int,
    seed: int,
    documents: str | None = None,
    drop_invalid: bool = False,
    progress: Progress | None = None,
) -> TwoSides:
    """Read two clouds of the same rows once, in step."""
    pair = InStep(a, b)
    group = RowSelection(pair, drop_invalid=drop_invalid)
    first = next(iter(group.batches()), None)
    if first is None:
        raise DataError(f"{a.names[0]}: no row is left to compare")
    shifts = [on_host(first[name].vectors, slice(None)).mean(axis=0) for name in (A, B)]
    dealer = Dealer(documents)
    takers: list[InStepTaker] = []

    def new() -> InStepTaker:
        takers.append(InStepTaker(pair, parts, sample, seed, dealer, shifts))
        return takers[-1]

    run(group, new, None, progress, "compare")
    left_out = dict(group.left_out)
    sides = []
    for name, source in ((A, a), (B, b)):
        states = [taker.kernels[name].result() for taker in takers if name in taker.kernels]
        moments = merged([state for state in states if state is not None])
        assert moments is not None
        check_rows(source.names[0], moments)
        drawn = lowest([taker.samples[name].result() for taker in takers], sample)
        again = SingleCloud(RowSelection(pair, drop_invalid=drop_invalid), name)
        sides.append(Side(source.names[0], again, moments, drawn, caveat_of(source)))
    cross = takers[0].cross
    for taker in takers[1:]:
        cross = cross.merge(taker.cross)
    return TwoSides(sides[0], sides[1], True, dealer.used, cross, left_out)


def read_apart(
    a: CloudGroup,
    b: CloudGroup,
    parts: MomentParts,
    *,
    sample: int,
    seed: int,
    documents: str | None = None,
    drop_invalid: bool = False,
    progress: Progress | None = None,
) -> TwoSides:
    """Read two clouds of other rows, once each."""
    sides: list[Side] = []
    left_out: dict[str, int] = {}
    used: set[str] = set()
    for place, (letter, source) in enumerate(((A, a), (B, b))):
        group = RowSelection(source, drop_invalid=drop_invalid)
        dealer = Dealer(documents)
        # Another seed for B: of the same file it draws other rows, not the same ones again.
        read = first_read(
            group, parts, sample_size=sample, seed=2 * seed + place, dealer=dealer,
            progress=progress,
        )[source.names[0]]  # fmt: skip
        check_rows(source.names[0], read.moments)
        left_out |= {f"{why} (of {letter})": n for why, n in group.left_out.items() if n}
        used.add(dealer.used)
        sides.append(Side(source.names[0], group, read.moments, read.sample, caveat_of(source)))
    documents_of = used.pop() if len(used) == 1 else ""
    return TwoSides(sides[0], sides[1], False, documents_of, None, left_out)


def caveat_of(source: CloudGroup) -> str:
    """Return what must be known of a source, such as that its codes are lossy."""
    return str(getattr(source, "caveat", ""))


def check_rows(name: str, moments: Moments) -> None:
    """Refuse clouds that are too small to be compared."""
    check(name, moments)
    if moments.rows < FEWEST_ROWS:
        raise DataError(
            f"{name} has {moments.rows:,} rows; two clouds are compared from {FEWEST_ROWS} rows on"
        )
