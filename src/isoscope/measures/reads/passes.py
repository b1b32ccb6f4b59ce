"""The two reads over a cloud group, and the states that they come to, which merge and are kept.

The first read gives the moments Σ w_i x_i, Σ w_i (x_i − μ)(x_i − μ)ᵀ and others that are sums over
rows (``reads.moments``); the second projects every row on the eigenvectors that follow from them,
z_i = Vᵀ(x_i − μ), and sums there (``reads.projections``). A cloud is never held in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.map_reduce import Batches, ReadWork, Run, read
from isoscope.data.arrays import on_host
from isoscope.data.base import Batch, CloudGroup
from isoscope.data.blocks import Dealer, Dealt
from isoscope.data.sampling import Sample, SampleTaker, lowest
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError
from isoscope.measures.kernels import MomentsKernel, Projector, moments_kernel_for, projector_for
from isoscope.measures.kernels.base import SHORTEST, UNDERFLOW
from isoscope.measures.reads.moments import Moments
from isoscope.measures.reads.projections import Projections
from isoscope.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.stage import Entry
    from isoscope.measures.reads.moments import MomentParts
    from isoscope.measures.reads.projections import ProjectionPlan
    from isoscope.typing import Arrays, Matrix


MOMENTS, SAMPLE = "moments", "sample"


@dataclass(frozen=True)
class FirstState:
    """The first read of some rows of every cloud of a group."""

    moments: Mapping[str, Moments]
    samples: Mapping[str, Sample]
    sample_size: int
    dealt_by: str = ""
    """The label that told documents apart."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows that did not count, by reason."""

    def merge(self, other: FirstState) -> FirstState:
        """Combine two reads of disjoint rows."""
        size = self.sample_size
        return FirstState(
            merged_by_name(self.moments, other.moments, Moments.merge),
            merged_by_name(self.samples, other.samples, lambda one, two: lowest([one, two], size)),
            size,
            self.dealt_by or other.dealt_by,
            added(self.left_out, other.left_out),
        )

    def to_entry(self) -> Entry:
        """Return arrays and facts."""
        parts = {(name, MOMENTS): part for name, part in self.moments.items()}
        samples = {(name, SAMPLE): part for name, part in self.samples.items()}
        names = "sample_size", "dealt_by", "left_out"
        return named_arrays({**parts, **samples}), {name: getattr(self, name) for name in names}

    @classmethod
    def from_entry(cls, arrays: Arrays, facts: Mapping[str, Any]) -> FirstState:
        """Rebuild what ``to_entry`` took apart."""
        parts = by_kind_and_name(arrays)
        moments, samples = parts.get(MOMENTS, {}), parts.get(SAMPLE, {})
        return cls(
            {name: Moments.from_arrays(fields) for name, fields in moments.items()},
            {name: Sample(**fields) for name, fields in samples.items()},
            **facts,
        )


# Which rows of a cloud a second read is of, where it is of all.
PROJECTIONS = "projections"


@dataclass(frozen=True)
class SecondState:
    """The second read of some rows, by cloud and by which of its rows they are."""

    found: Mapping[tuple[str, str], Projections]

    @property
    def projections(self) -> dict[str, Projections]:
        """What was found by cloud, where all rows of each were read."""
        return {name: found for (name, _), found in self.found.items()}

    def merge(self, other: SecondState) -> SecondState:
        """Combine two reads of disjoint rows."""
        return SecondState(merged_by_name(self.found, other.found, Projections.merge))

    def to_entry(self) -> Entry:
        """Return arrays and facts."""
        return named_arrays(self.found), {}

    @classmethod
    def from_entry(cls, arrays: Arrays, facts: Mapping[str, Any]) -> SecondState:
        """Rebuild what ``to_entry`` took apart."""
        del facts
        return cls(
            {
                (name, which): Projections.from_arrays(fields)
                for which, by_name in by_kind_and_name(arrays).items()
                for name, fields in by_name.items()
            }
        )


def named_arrays(parts: Mapping[tuple[str, str], Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays of all parts, which are known by name and kind, as ``kind|key|name``."""
    return {
        f"{kind}|{key}|{name}": array
        for (name, kind), part in parts.items()
        for key, array in part.to_arrays().items()
    }


def by_kind_and_name(arrays: Arrays) -> dict[str, dict[str, dict[str, NDArray[Any]]]]:
    """Sort arrays called ``kind|key|name`` by kind and name; a name may hold any sign."""
    found: dict[str, dict[str, dict[str, NDArray[Any]]]] = {}
    for text, array in arrays.items():
        # The name comes last, since it is the only one of the three that may contain the sign
        # itself.
        kind, key, name = text.split("|", 2)
        found.setdefault(kind, {}).setdefault(name, {})[key] = array
    return found


def merged_by_name(one: Mapping[Any, Any], other: Mapping[Any, Any], merge: Any) -> dict[Any, Any]:
    """Merge what is under the same name; the rest stays as it is."""
    found = dict(one)
    for name, value in other.items():
        found[name] = merge(found[name], value) if name in found else value
    return found


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Add counts by name."""
    return {key: one.get(key, 0) + other.get(key, 0) for key in dict.fromkeys([*one, *other])}


FIRST, SECOND = "first read", "second read"


@dataclass(frozen=True)
class FirstRead:
    """What the first read of one cloud gave."""

    moments: Moments
    sample: Sample


@dataclass
class FirstWork(ReadWork[FirstState]):
    """Moments and a sample of the rows of a shard."""

    parts: MomentParts
    widths: Mapping[str, int]
    sample_size: int = 0
    seed: int = 0
    double: bool = False
    deals: bool = False
    """Whether rows are dealt to blocks."""
    label: str | None = None
    """The label by which they are."""
    rows: int | None = None
    """Rows of the whole cloud, where it is one and they are certain."""
    kind: type[FirstState] = field(default=FirstState, init=False)

    @property
    def light(self) -> bool:
        """Whether norms, units and means are all that is summed."""
        return not (self.parts.scatter or self.parts.dimensions or self.deals)

    def taker(self) -> MomentsTaker:
        """Make what sums over the batches of one thread."""
        return MomentsTaker(self)

    def finished(self, state: FirstState | None, group: CloudGroup) -> FirstState:
        """Add what the selection of rows left out."""
        found = FirstState({}, {}, self.sample_size) if state is None else state
        # A selection counts what it leaves out while it is read, so the number is there only now,
        # and on a distant worker it would be lost unless it went into the state.
        left_out = group.left_out if isinstance(group, RowSelection) else {}
        return replace(found, left_out=dict(left_out))


class DealtTaker(ABC):
    """Takes a read on one thread, with the rows dealt to blocks where the work asks for that."""

    def __init__(self, work: FirstWork | SecondWork) -> None:
        # Every thread has a dealer of its own: it remembers the labels that it met last.
        self._dealer = Dealer(work.label) if work.deals else None

    def add(self, batches: Batches, /) -> None:
        """Take one batch of every cloud."""
        for name, batch in batches.items():
            self._add(name, batch, None if self._dealer is None else self._dealer.deal(batch))

    @abstractmethod
    def _add(self, name: str, batch: Batch, dealt: Dealt | None) -> None:
        """Take one batch of one cloud."""


class MomentsTaker(DealtTaker):
    """Takes the first read on one thread."""

    def __init__(self, work: FirstWork) -> None:
        super().__init__(work)
        self._work = work
        self._kernels: dict[str, MomentsKernel] = {}
        self._samples: dict[str, SampleTaker] = {}
        self._rows: dict[str, list[Matrix]] = {}
        """The rows of this chunk, where the scatter is kept as a factor."""

    def _add(self, name: str, batch: Batch, dealt: Dealt | None) -> None:
        work = self._work
        if name not in self._kernels:
            parts = work.parts
            if parts.factored:  # the kernel takes the mean, and the rows themselves are kept here
                parts = replace(parts, scatter=False, mean=True)
            self._kernels[name] = moments_kernel_for(batch.vectors, parts, double=work.double)
        if work.parts.factored:
            self._rows.setdefault(name, []).append(on_host(batch.vectors, slice(None)))
        if name not in self._samples:
            width = work.widths[name]
            self._samples[name] = SampleTaker(width, work.sample_size, work.seed, work.rows)
        self._kernels[name].add(batch.vectors, dealt=dealt, squares=batch.squares)
        self._samples[name].add(batch, dealt)

    def take(self) -> FirstState:
        """Return the sums since the last call, and begin anew."""
        results = {name: kernel.result() for name, kernel in self._kernels.items()}
        moments = {name: found for name, found in results.items() if found is not None}
        for name, rows in self._rows.items():
            moments[name] = with_factor(moments[name], np.concatenate(rows))
        self._rows = {}
        for kernel in self._kernels.values():
            kernel.restart()
        # Kernels go on with their working memory, which took page faults to get; takers of samples
        # are made anew, so that a chunk's sample depends on its own rows alone.
        samples = {name: taker.result() for name, taker in self._samples.items()}
        self._samples = {}
        used = "" if self._dealer is None else self._dealer.used
        return FirstState(moments, samples, self._work.sample_size, used)


def with_factor(moments: Moments, rows: Matrix) -> Moments:
    """Add the factor of the scatter, the centred rows, to moments without a scatter."""
    centred = rows - moments.mean
    # What the mean lacked: a constant has no variance, as in the kernels.
    rest = centred.mean(axis=0)
    return replace(moments, mean=moments.mean + rest, factor=centred - rest)


@dataclass
class SecondWork(ReadWork[SecondState]):
    """Projections of the rows of a shard."""

    plans: Mapping[str, ProjectionPlan]
    deals: bool = False
    label: str | None = None
    kind: type[SecondState] = field(default=SecondState, init=False)

    def taker(self) -> ProjectionsTaker:
        """Make what sums over the batches of one thread."""
        return ProjectionsTaker(self)

    def finished(self, state: SecondState | None, group: CloudGroup) -> SecondState:
        """Return the state as it is."""
        del group
        return SecondState({}) if state is None else state


class ProjectionsTaker(DealtTaker):
    """Takes the second read on one thread."""

    def __init__(self, work: SecondWork) -> None:
        super().__init__(work)
        self._plans = work.plans
        self._projectors: dict[str, Projector] = {}
        self._found: dict[tuple[str, str], Projections] = {}

    def _add(self, name: str, batch: Batch, dealt: Dealt | None) -> None:
        if name not in self._projectors:
            self._projectors[name] = projector_for(batch.vectors, self._plans[name])
        found = {(name, PROJECTIONS): self._projectors[name](batch.vectors, dealt)}
        self._found = merged_by_name(self._found, found, Projections.merge)

    def take(self) -> SecondState:
        """Return the sums since the last call, and begin anew."""
        found, self._found = SecondState(self._found), {}
        return found


def first_read(
    group: CloudGroup,
    parts: MomentParts,
    *,
    sample_size: int = 0,
    seed: int = 0,
    double: bool = False,
    dealer: Dealer | None = None,
    plan: Run | None = None,
    progress: Progress | None = None,
) -> dict[str, FirstRead]:
    """Take moments and a sample of every cloud of a group; a dealer adds the sums by block."""
    work = FirstWork(
        parts,
        dict(zip(group.names, group.widths, strict=True)),
        sample_size,
        seed,
        double,
        deals=dealer is not None,
        label=None if dealer is None else dealer.label,
        # Where rows may still be left out, their number before that is no help: a sample drawn from
        # the lowest part of the keys could then come out too small.
        rows=getattr(group, "certain_rows", None) if len(group.names) == 1 else None,
    )
    state = read(group, work, FIRST, plan or Run(), progress).state
    if dealer is not None:
        # The dealer of the caller dealt nothing itself: those of the threads did.
        dealer.used = state.dealt_by
    if isinstance(group, RowSelection):
        group.left_out = dict(state.left_out)
    result = {}
    for name, width in zip(group.names, group.widths, strict=True):
        if name not in state.moments:
            raise DataError(f"{name}: all rows were excluded")
        check(name, state.moments[name])
        sample = state.samples.get(name) or SampleTaker(width, 0, seed).result()
        result[name] = FirstRead(state.moments[name], sample)
    return result


def check(name: str, moments: Moments) -> None:
    """Refuse what cannot be measured."""
    if moments.rows < 2:
        raise DataError(f"{name}: a single row is left; a cloud needs at least two")
    if 0 < moments.norm_max < SHORTEST:
        raise DataError(f"{name}: {UNDERFLOW}")


def second_read(
    group: CloudGroup,
    plans: Mapping[str, ProjectionPlan],
    *,
    dealer: Dealer | None = None,
    plan: Run | None = None,
    progress: Progress | None = None,
) -> dict[str, Projections]:
    """Project every cloud of a group."""
    label = None if dealer is None else dealer.label
    work = SecondWork(plans, deals=dealer is not None, label=label)
    found = read(group, work, SECOND, plan or Run(), progress).state.projections
    for name in group.names:
        if name not in found:
            raise DataError(f"{name}: all rows were excluded in the second read")
    return {name: found[name] for name in group.names}
