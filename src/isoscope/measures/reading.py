"""Running the two reads over a cloud group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from isoscope.clouds.arrays import is_tensor
from isoscope.clouds.contract import Batch, CloudGroup, rows_per_batch
from isoscope.clouds.sample import Sample, SampleTaker, lowest
from isoscope.engines.local import Accumulator, accumulate, cores
from isoscope.errors import DataError
from isoscope.measures.kernels import MomentsKernel, Projector, moments_kernel_for, projector_for

if TYPE_CHECKING:
    from isoscope.clouds.dealing import Dealer
    from isoscope.measures.moments import MomentParts, Moments
    from isoscope.measures.projections import ProjectionPlan, Projections

Progress = Callable[[str, int, int | None], None]
"""Called with the name of the read, the rows done and the rows in all (None: unknown)."""

Batches = Mapping[str, Batch]

SHORTEST = 1e-140
"""Clouds whose longest vector is shorter than this cannot be squared in float64."""

MATRICES_PER_LANE = 4
LANE_BYTES = 2**30
"""Memory that the d × d matrices of all threads together may take."""


class Mergeable(Protocol):
    """A state that combines with another of its kind."""

    def merge(self, other: Self) -> Self:
        """Combine two states."""


State = TypeVar("State", bound=Mergeable)


@dataclass(frozen=True)
class FirstRead:
    """What the first read of one cloud gave."""

    moments: Moments
    sample: Sample


class MomentsTaker:
    """Accumulates the first read of a group on one thread."""

    def __init__(
        self,
        group: CloudGroup,
        parts: MomentParts,
        sample_size: int,
        seed: int,
        double: bool,
        dealer: Dealer | None,
    ) -> None:
        self._parts, self._double, self._dealer = parts, double, dealer
        self.kernels: dict[str, MomentsKernel] = {}
        rows = getattr(group, "certain_rows", None) if len(group.names) == 1 else None
        self.samples = {
            name: SampleTaker(width, sample_size, seed, rows)
            for name, width in zip(group.names, group.widths, strict=True)
        }

    def add(self, batches: Batches, /) -> None:
        """Take one batch of every cloud."""
        for name, batch in batches.items():
            if name not in self.kernels:
                self.kernels[name] = moments_kernel_for(
                    batch.vectors, self._parts, double=self._double
                )
            dealt = None if self._dealer is None else self._dealer.deal(batch)
            self.kernels[name].add(batch.vectors, dealt=dealt)
            self.samples[name].add(batch, dealt)


class ProjectionsTaker:
    """Accumulates the second read of a group on one thread."""

    def __init__(self, plans: Mapping[str, ProjectionPlan], dealer: Dealer | None) -> None:
        self._plans, self._dealer = plans, dealer
        self._projectors: dict[str, Projector] = {}
        self.projections: dict[str, Projections] = {}

    def add(self, batches: Batches, /) -> None:
        """Take one batch of every cloud."""
        for name, batch in batches.items():
            if name not in self._projectors:
                self._projectors[name] = projector_for(batch.vectors, self._plans[name])
            dealt = None if self._dealer is None else self._dealer.deal(batch)
            found = self._projectors[name](batch.vectors, dealt)
            known = self.projections.get(name)
            self.projections[name] = found if known is None else known.merge(found)


def first_read(
    group: CloudGroup,
    parts: MomentParts,
    *,
    sample_size: int = 0,
    seed: int = 0,
    double: bool = False,
    dealer: Dealer | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, FirstRead]:
    """Take moments and a sample of every cloud of a group; a dealer adds the sums by block."""
    takers: list[MomentsTaker] = []

    def new() -> MomentsTaker:
        takers.append(MomentsTaker(group, parts, sample_size, seed, double, dealer))
        return takers[-1]

    run(group, new, workers, progress, "first read")
    result = {}
    for name in group.names:
        states = [taker.kernels[name].result() for taker in takers if name in taker.kernels]
        moments = merged([state for state in states if state is not None])
        if moments is None:
            raise DataError(f"{name}: no row is left to measure")
        sample = lowest([taker.samples[name].result() for taker in takers], sample_size)
        check(name, moments)
        result[name] = FirstRead(moments, sample)
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
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Projections]:
    """Project every cloud of a group."""
    takers: list[ProjectionsTaker] = []

    def new() -> ProjectionsTaker:
        takers.append(ProjectionsTaker(plans, dealer))
        return takers[-1]

    run(group, new, workers, progress, "second read")
    result = {}
    for name in group.names:
        states = [taker.projections[name] for taker in takers if name in taker.projections]
        projections = merged(states)
        if projections is None:
            raise DataError(f"{name}: no row is left in the second read")
        result[name] = projections
    return result


def merged(states: Sequence[State]) -> State | None:
    """Merge states in their order; None when there are none."""
    if not states:
        return None
    total = states[0]
    for state in states[1:]:
        total = total.merge(state)
    return total


def run(
    group: CloudGroup,
    new_taker: Callable[[], Accumulator[Batches]],
    workers: int | None,
    progress: Progress | None,
    stage: str,
) -> None:
    """Feed a group's batches to as many takers as are worth their thread.

    Tensors are left to torch's own threads; a cloud of one batch needs no second thread.
    """
    stream = with_progress(group, progress, stage)
    first = next(stream, None)
    if first is None:
        return
    lanes = cores() if workers is None else workers
    if any(is_tensor(batch.vectors) for batch in first.values()):
        lanes = 1
    widest = max(group.widths)
    lanes = min(lanes, max(1, LANE_BYTES // (MATRICES_PER_LANE * 8 * widest * widest)))
    if group.rows is not None:
        lanes = min(lanes, max(1, -(-group.rows // rows_per_batch(widest))))
    accumulate(chain_first(first, stream), [new_taker() for _ in range(lanes)])


def chain_first(first: Batches, rest: Iterator[Batches]) -> Iterator[Batches]:
    """Put the first item back in front."""
    yield first
    yield from rest


def with_progress(group: CloudGroup, progress: Progress | None, stage: str) -> Iterator[Batches]:
    """Yield the batches of a group and report the rows handed out."""
    done = 0
    for batches in group.batches():
        yield batches
        done += len(next(iter(batches.values())).vectors)
        if progress is not None:
            progress(stage, done, group.rows)
