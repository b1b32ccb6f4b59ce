"""Running the two reads over a cloud group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.compute.map_reduce import Batches, Plan, ReadWork, read
from isoscope.compute.stage import Progress
from isoscope.data.base import CloudGroup
from isoscope.data.blocks import Dealer
from isoscope.data.sampling import Sample, SampleTaker
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError
from isoscope.measures.kernels import MomentsKernel, Projector, moments_kernel_for, projector_for
from isoscope.measures.read_states import FirstState, SecondState

if TYPE_CHECKING:
    from isoscope.measures.moments import MomentParts, Moments
    from isoscope.measures.projections import ProjectionPlan, Projections


__all__ = ["Batches", "FirstRead", "Plan", "Progress", "first_read", "second_read"]

FIRST, SECOND = "first read", "second read"

SHORTEST = 1e-140
"""Clouds whose longest vector is shorter than this cannot be squared in float64."""


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

    def taker(self) -> MomentsTaker:
        """Make what sums over the batches of one thread."""
        return MomentsTaker(self)

    def finished(self, state: FirstState | None, group: CloudGroup) -> FirstState:
        """Add what the selection of rows left out."""
        found = FirstState({}, {}, self.sample_size) if state is None else state
        left_out = group.left_out if isinstance(group, RowSelection) else {}
        return FirstState(
            found.moments, found.samples, found.sample_size, found.dealt_by, dict(left_out)
        )


class MomentsTaker:
    """Takes the first read on one thread."""

    def __init__(self, work: FirstWork) -> None:
        self._work = work
        self._dealer = Dealer(work.label) if work.deals else None
        self._kernels: dict[str, MomentsKernel] = {}
        self._samples: dict[str, SampleTaker] = {}

    def add(self, batches: Batches, /) -> None:
        """Take one batch of every cloud."""
        work = self._work
        for name, batch in batches.items():
            if name not in self._kernels:
                self._kernels[name] = moments_kernel_for(
                    batch.vectors, work.parts, double=work.double
                )
            if name not in self._samples:
                width = work.widths[name]
                self._samples[name] = SampleTaker(width, work.sample_size, work.seed, work.rows)
            dealt = None if self._dealer is None else self._dealer.deal(batch)
            self._kernels[name].add(batch.vectors, dealt=dealt)
            self._samples[name].add(batch, dealt)

    def take(self) -> FirstState:
        """Return the sums since the last call, and begin anew."""
        moments = {}
        for name, kernel in self._kernels.items():
            found = kernel.result()
            if found is not None:
                moments[name] = found
            kernel.restart()
        samples = {name: taker.result() for name, taker in self._samples.items()}
        self._samples = {}
        used = "" if self._dealer is None else self._dealer.used
        return FirstState(moments, samples, self._work.sample_size, used)


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


class ProjectionsTaker:
    """Takes the second read on one thread."""

    def __init__(self, work: SecondWork) -> None:
        self._plans = work.plans
        self._dealer = Dealer(work.label) if work.deals else None
        self._projectors: dict[str, Projector] = {}
        self._found: dict[str, Projections] = {}

    def add(self, batches: Batches, /) -> None:
        """Take one batch of every cloud."""
        for name, batch in batches.items():
            if name not in self._projectors:
                self._projectors[name] = projector_for(batch.vectors, self._plans[name])
            dealt = None if self._dealer is None else self._dealer.deal(batch)
            found = self._projectors[name](batch.vectors, dealt)
            known = self._found.get(name)
            self._found[name] = found if known is None else known.merge(found)

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
    plan: Plan | None = None,
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
        rows=getattr(group, "certain_rows", None) if len(group.names) == 1 else None,
    )
    state = read(group, work, FIRST, plan or Plan(), progress).state
    if dealer is not None:
        dealer.used = state.dealt_by
    if isinstance(group, RowSelection):
        group.left_out = dict(state.left_out)
    result = {}
    for name, width in zip(group.names, group.widths, strict=True):
        if name not in state.moments:
            raise DataError(f"{name}: no row is left to measure")
        check(name, state.moments[name])
        sample = state.samples.get(name) or SampleTaker(width, 0, seed).result()
        result[name] = FirstRead(state.moments[name], sample)
    return result


def check(name: str, moments: Moments) -> None:
    """Refuse what cannot be measured."""
    if moments.rows < 2:
        raise DataError(f"{name}: a single row is left; a cloud needs at least two")
    if 0 < moments.norm_max < SHORTEST:
        raise DataError(
            f"{name}: squared lengths underflow: all vectors are shorter than {SHORTEST:.0e}; "
            "multiply them by a constant"
        )


def second_read(
    group: CloudGroup,
    plans: Mapping[str, ProjectionPlan],
    *,
    dealer: Dealer | None = None,
    plan: Plan | None = None,
    progress: Progress | None = None,
) -> dict[str, Projections]:
    """Project every cloud of a group."""
    label = None if dealer is None else dealer.label
    work = SecondWork(plans, deals=dealer is not None, label=label)
    found = read(group, work, SECOND, plan or Plan(), progress).state.projections
    for name in group.names:
        if name not in found:
            raise DataError(f"{name}: no row is left in the second read")
    return {name: found[name] for name in group.names}
