"""Two clouds read once: sums over all rows, and a random sample of each.

Clouds of the same rows are read in step, as a group of two whose batches end together; clouds of
other rows are read one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from isoscope.compute.map_reduce import Batches, summed
from isoscope.compute.memory import COMPARED, COPIES, check_bytes
from isoscope.corrections.fit import fingerprint_of
from isoscope.data.arrays import on_host
from isoscope.data.base import Batch, Cloud, CloudGroup, LazyLabels, WrappedGroup
from isoscope.data.blocks import Dealer
from isoscope.data.combine import SingleCloud
from isoscope.data.sampling import Sample, SampleTaker, lowest
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError
from isoscope.measures.kernels import MomentsKernel, moments_kernel_for
from isoscope.measures.reads.moments import MomentParts, Moments
from isoscope.measures.reads.passes import check, first_read
from isoscope.progress import Progress
from isoscope.typing import Ids, Matrix, Vector
from isoscope.verbs.diff.paired.cka import CrossSums

# What the two clouds are called while they are compared.
A, B = "A", "B"

# Rows of each cloud below which shares of a twentieth and permutations of rows say little.
FEWEST_ROWS = 50


class InStep:
    """Two groups of one cloud each as one group.

    Rows with the same number are the same thing seen twice, so that a row that does not count in
    one cloud counts in neither, as everywhere in a group.

    Parameters
    ----------
    a, b : CloudGroup
        Groups of one cloud with as many rows; their widths may differ.
    """

    def __init__(self, a: CloudGroup, b: CloudGroup) -> None:
        self._groups = (a, b)
        self.names = (A, B)
        self.widths = (a.widths[0], b.widths[0])
        self.dtypes = (a.dtypes[0], b.dtypes[0])

    @property
    def rows(self) -> int | None:
        """Number of rows, where one of the two knows it."""
        first, second = self._groups
        return second.rows if first.rows is None else first.rows

    @property
    def fault(self) -> str:
        """What is wrong with rows that are not finite, as the cloud says it that has such rows."""
        return self._said("fault", Cloud.fault)

    @property
    def invalid(self) -> str:
        """Why such rows are left out."""
        return self._said("invalid", Cloud.invalid)

    def _said(self, what: str, usual: str) -> str:
        said = [str(getattr(group, what, usual)) for group in self._groups]
        return next((one for one in said if one != usual), usual)

    def place(self, name: str, row: int) -> str:
        """Say where a row is, for messages."""
        group = self._groups[name == B]
        return f"{name}, {WrappedGroup(group).place(group.names[0], row)}"

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read both from the start, in pieces that hold the same rows."""
        streams = [filled_batches(group) for group in self._groups]
        rest = [next(stream, None) for stream in streams]
        taken = 0
        while all(rest):
            present = [batch for batch in rest if batch is not None]
            count = min(len(batch.vectors) for batch in present)
            yield {name: piece(b, 0, count) for name, b in zip(self.names, present, strict=True)}
            taken += count
            # What the longer batch has left over comes first in the next piece.
            rest = [
                piece(batch, count) if len(batch.vectors) > count else next(stream, None)
                for batch, stream in zip(present, streams, strict=True)
            ]
        if any(rest):
            left = [
                sum(len(batch.vectors) for batch in chain([batch] if batch else [], stream))
                for batch, stream in zip(rest, streams, strict=True)
            ]
            raise UsageError(unequal(self._groups, [taken + rows for rows in left]))


def filled_batches(group: CloudGroup) -> Iterator[Batch]:
    """Go through the batches of a group of one cloud that have any rows."""
    for batches in group.batches():
        batch = batches[group.names[0]]
        if len(batch.vectors):
            yield batch


def piece(batch: Batch, start: int, end: int | None = None) -> Batch:
    """Return consecutive rows of a batch, from one place to another or to its end, with labels."""
    if not start and end == len(batch.vectors):
        return batch
    rows = slice(start, end)
    makers: dict[str, Any] = {
        key: (lambda key=key: batch.labels[key][rows]) for key in batch.labels
    }
    nulls = None if batch.nulls is None else batch.nulls[rows]
    return Batch(batch.vectors[rows], batch.first_row + start, LazyLabels(makers), nulls)


def unequal(groups: tuple[CloudGroup, CloudGroup], rows: list[int]) -> str:
    """Say that two clouds cannot have the same rows."""
    return (
        f"{groups[0].names[0]} has {rows[0]:,} rows and {groups[1].names[0]} {rows[1]:,}: they are "
        "not the same ones; --other-rows compares them as two clouds, and ids (--ids) tell which "
        "rows belong together"
    )


@dataclass(frozen=True)
class Side:
    """One of the two clouds.

    Attributes
    ----------
    name : str
        Of its source.
    cloud : CloudGroup
        To be read again, with the same rows left out.
    moments, sample : Moments, Sample
        Sums over all rows, and some of the rows.
    caveat : str
        What must be known of the source, such as that its codes are lossy.
    """

    name: str
    cloud: CloudGroup
    moments: Moments
    sample: Sample
    caveat: str = ""

    @classmethod
    def of(cls, source: CloudGroup, cloud: CloudGroup, moments: Moments, sample: Sample) -> Side:
        """Name a side after its source, and refuse one that is too small to be compared."""
        name = source.names[0]
        check(name, moments)
        if moments.rows < FEWEST_ROWS:
            raise DataError(
                f"{name} has {moments.rows:,} rows; two clouds are compared from {FEWEST_ROWS} "
                "rows on"
            )
        return cls(name, cloud, moments, sample, str(getattr(source, "caveat", "")))

    @property
    def stored(self) -> str:
        """Type in which the vectors are stored."""
        return self.cloud.dtypes[0]

    @property
    def scatter(self) -> Matrix:
        """Σ (x_i − mean)(x_i − mean)ᵀ, which is always read."""
        assert self.moments.scatter is not None
        return self.moments.scatter

    def first(self, size: int) -> tuple[Matrix, Ids]:
        """Return at most so many sampled rows, a random part of them, and their documents."""
        kept = lowest([self.sample], size)
        return kept.vectors, kept.groups


@dataclass(frozen=True)
class TwoSides:
    """Both clouds, and what only reading in step gives.

    Attributes
    ----------
    a, b : Side
        The clouds.
    paired : bool
        Row i of A's sample and row i of B's are of one thing.
    cross : CrossSums or None
        Sums of products of both; None where they are not paired.
    left_out : dict
        Rows that did not count, by reason.
    equal : bool
        Both hold the same vectors: in every row where they are paired, else by all their sums.
    """

    a: Side
    b: Side
    paired: bool
    cross: CrossSums | None
    left_out: dict[str, int]
    equal: bool = False

    @property
    def same_width(self) -> bool:
        """Whether vectors of one can stand beside those of the other."""
        return self.a.moments.width == self.b.moments.width


@dataclass(frozen=True)
class InStepSums:
    """Moments, sample and cross sums of some rows of two clouds in step."""

    moments: Mapping[str, Moments]
    samples: Mapping[str, Sample]
    cross: CrossSums
    size: int
    """Most rows of a sample."""
    equal: bool
    """Whether both clouds have the same numbers in every row."""

    def merge(self, other: InStepSums) -> InStepSums:
        """Add the sums of other rows, and keep the sample of both."""
        return InStepSums(
            {name: one.merge(other.moments[name]) for name, one in self.moments.items()},
            {
                name: lowest([one, other.samples[name]], self.size)
                for name, one in self.samples.items()
            },
            self.cross.merge(other.cross),
            self.size,
            self.equal and other.equal,
        )


class InStepTaker:
    """Accumulates the sums of two clouds in step, chunk by chunk, on one thread."""

    def __init__(self, group: InStep, reading: Reading, shifts: list[Vector]) -> None:
        self._widths = dict(zip(group.names, group.widths, strict=True))
        self._reading, self._shifts = reading, shifts
        # Every thread has a dealer of its own: it remembers the labels that it met last.
        self._dealer = Dealer(reading.documents)
        self._kernels: dict[str, MomentsKernel] = {}
        self._begin()

    def _begin(self) -> None:
        size, seed = self._reading.sample, self._reading.seed
        self._cross = CrossSums(*self._shifts)
        self._equal = len(set(self._widths.values())) == 1
        self._samples = {name: SampleTaker(n, size, seed) for name, n in self._widths.items()}

    def add(self, batches: Batches, /) -> None:
        """Take one batch of both."""
        # Documents of either cloud serve both: the rows are the same.
        labels = {**batches[B].labels, **batches[A].labels}
        dealt = self._dealer.deal(batches[A]._replace(labels=labels))
        for name, batch in batches.items():
            if name not in self._kernels:
                parts = self._reading.parts
                self._kernels[name] = moments_kernel_for(batch.vectors, parts, double=False)
            self._kernels[name].add(batch.vectors)
            self._samples[name].add(batch, dealt)
        a, b = (on_host(batches[name].vectors, slice(None)) for name in (A, B))
        self._equal = self._equal and np.array_equal(a, b)
        self._cross.add(a, b)

    def take(self) -> InStepSums:
        """Return the sums since the last call, and begin anew."""
        moments = {}
        for name, kernel in self._kernels.items():
            found = kernel.result()
            assert found is not None
            moments[name] = found
            kernel.restart()
        samples = {name: taker.result() for name, taker in self._samples.items()}
        cross, equal = self._cross, self._equal
        self._begin()
        return InStepSums(moments, samples, cross, self._reading.sample, equal)


# Rows of each cloud that are dealt anew: products of all with all are held in memory.
TESTED = 2_000

# Matrices of such products that are held at a time, of the rows of both clouds.
POOLED = 2


@dataclass(frozen=True)
class Reading:
    """How two clouds are read: what is summed, and how many rows of each are sampled.

    ``documents`` is the label by which rows belong to documents. With ``drop_invalid``, rows that
    are not finite are left out instead of stopping the run. ``progress`` is called with the name
    of the read, rows done, and rows in all.
    """

    parts: MomentParts
    sample: int
    seed: int
    documents: str | None = None
    drop_invalid: bool = False
    progress: Progress | None = None

    def both(self, a: CloudGroup, b: CloudGroup, *, paired: bool) -> TwoSides:
        """Read both once: in step where row i of each is one thing, else one after the other."""
        # Matrices, and the sampled rows of both: as they were read, together, and corrected.
        width = max(a.widths[0], b.widths[0])
        rows = sum(min(self.sample, group.rows or self.sample) for group in (a, b))
        check_bytes(
            8 * (width * (COMPARED * width + COPIES * rows) + POOLED * min(rows, 2 * TESTED) ** 2),
            f"comparing {a.names[0]} and {b.names[0]}",
            f"{rows:,} sampled rows and matrices of {width:,} × {width:,}",
            "reduce the dimensions first, or take a smaller --sample",
        )
        return self.in_step(a, b) if paired else self.apart(a, b)

    def in_step(self, a: CloudGroup, b: CloudGroup) -> TwoSides:
        """Read two clouds of the same rows."""
        pair = InStep(a, b)
        group = RowSelection(pair, drop_invalid=self.drop_invalid)
        first = next(iter(group.batches()), None)
        if first is None:
            raise DataError(f"{a.names[0]}: all rows were excluded")
        # Products about a point near the means lose no digits to what all rows have in common.
        shifts = [on_host(first[name].vectors, slice(None)).mean(axis=0) for name in (A, B)]
        found = summed(group, lambda: InStepTaker(pair, self, shifts), "compare", self.progress)
        assert found is not None
        left_out = dict(group.left_out)
        sides = []
        for name, source in ((A, a), (B, b)):
            # A row that is left out of one cloud is left out of the other when it is read again.
            again = SingleCloud(RowSelection(pair, drop_invalid=self.drop_invalid), name)
            sides.append(Side.of(source, again, found.moments[name], found.samples[name]))
        return TwoSides(sides[0], sides[1], True, found.cross, left_out, found.equal)

    def apart(self, a: CloudGroup, b: CloudGroup) -> TwoSides:
        """Read two clouds of other rows."""
        sides: list[Side] = []
        left_out: dict[str, int] = {}
        for place, (letter, source) in enumerate(((A, a), (B, b))):
            group = RowSelection(source, drop_invalid=self.drop_invalid)
            # Another seed for B: of the same file it draws other rows, not the same ones again.
            read = first_read(
                group, self.parts, sample_size=self.sample, seed=2 * self.seed + place,
                dealer=Dealer(self.documents), progress=self.progress,
            )[source.names[0]]  # fmt: skip
            sides.append(Side.of(source, group, read.moments, read.sample))
            left_out |= {f"{why} (of {letter})": n for why, n in group.left_out.items() if n}
        # Sums are rounded in a fingerprint, and do not depend on the order of the rows.
        prints = [fingerprint_of(side.moments) for side in sides]
        equal = sides[0].moments.width == sides[1].moments.width and prints[0] == prints[1]
        return TwoSides(sides[0], sides[1], False, None, left_out, equal)
