"""A fitted flow as a map between vectors and a standard normal distribution, on any device.

A flow learns from all rows of a small cloud, and from a random sample of a large one. Training goes
over the rows many times in an order that changes, which no file serves well, and the files of word
vectors are sorted by frequency: consecutive batches would drag the network along. A sample in
memory has neither problem, and its size bounds the time as well.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from isoscope.compute.memory import check_held
from isoscope.corrections.apply import Placed
from isoscope.corrections.fit import only_cloud
from isoscope.corrections.flow.gaussian import Prewhitening
from isoscope.corrections.flow.network import Glow
from isoscope.data.arrays import at_least_single, is_tensor
from isoscope.data.base import rows_per_batch
from isoscope.data.sampling import lowest_indices
from isoscope.data.selection import picked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from isoscope.data.base import Array, CloudGroup
    from isoscope.progress import Progress


def sampled_rows(group: CloudGroup, size: int, seed: int, progress: Progress | None) -> Tensor:
    """Read at most ``size`` random rows of a group of one cloud, in the order of the cloud.

    They are the rows with the smallest keys of index and seed, so neither batches nor threads
    matter. A cloud that does not know its number of rows is read once more, to count them.
    """
    rows: int | None = getattr(group, "certain_rows", group.rows)
    if rows is None:
        rows = sum(len(batch.vectors) for batch in only_cloud(group, progress, "count"))
    held = min(rows, size)
    check_held(held, group.widths[0], "fitting a flow", "set its option max_samples to fewer")
    wanted = lowest_indices(rows, size, seed)
    parts = [
        wide_tensor(batch.vectors[picked(wanted, batch)])
        for batch in only_cloud(group, progress, "read")
    ]
    return torch.cat(parts) if parts else torch.empty(0, group.widths[0])


def wide_tensor(vectors: Array) -> Tensor:
    """Return vectors as a tensor where they are, in float32 at least."""
    if is_tensor(vectors):
        tensor: Tensor = at_least_single(vectors)
        return tensor
    # A copy, as arrays that must not be written to, or run backwards, make no tensor.
    single = vectors.dtype.itemsize <= 4
    return torch.from_numpy(np.array(vectors, dtype=np.float32 if single else np.float64))


# Stand before the names of the arrays of the two parts.
LINEAR, NETWORK = "linear.", "network."


class LinearStep(NamedTuple):
    """A prewhitening on the device of some rows.

    Computed in double precision where the device has it: whitening stretches rounding, too.
    """

    mean: Tensor
    forward: Tensor
    backward: Tensor
    frame: Tensor

    @classmethod
    def at(cls, device: torch.device, linear: Prewhitening) -> LinearStep:
        """Bring the arrays to a device; Apple's has no float64."""
        wide = torch.float32 if device.type == "mps" else torch.float64
        parts = linear.mean, linear.forward, linear.backward, linear.frame
        return cls(*(torch.tensor(part, device=device, dtype=wide) for part in parts))

    def whiten(self, rows: Tensor) -> Tensor:
        """(x − mean) · forward"""
        return ((rows.to(self.mean.dtype) - self.mean) @ self.forward).to(rows.dtype)

    def colour(self, whitened: Tensor) -> Tensor:
        """mean + w · backward"""
        return (self.mean + whitened.to(self.mean.dtype) @ self.backward).to(whitened.dtype)

    def turn(self, z: Tensor) -> Tensor:
        """z · frame"""
        return (z.to(self.frame.dtype) @ self.frame).to(z.dtype)

    def turn_back(self, y: Tensor) -> Tensor:
        """y · frameᵀ"""
        return (y.to(self.frame.dtype) @ self.frame.mT).to(y.dtype)


class FlowMap(Placed[tuple[LinearStep, Glow]]):
    """y = f((x − mean) · forward) · frame with the network f, its inverse and its likelihood.

    The network computes in the precision of the rows. All maps take arrays and tensors.
    """

    def __init__(self, linear: Prewhitening, network: Glow) -> None:
        self.linear = linear
        self.network = network.requires_grad_(False).cpu()

    def correct(self, rows: Array) -> Array:
        """Map rows to where they should be normal."""
        return self._applied(rows, lambda step, network, x: step.turn(network(step.whiten(x))[0]))

    def undo(self, rows: Array) -> Array:
        """Map corrected rows back."""
        return self._applied(
            rows, lambda step, network, y: step.colour(network.inverse(step.turn_back(y)))
        )

    def log_likelihood(self, rows: Array) -> Array:
        """Return ln N(f(x); 0, I) + ln |det ∂f/∂x| of each row, the linear step included."""

        def total(step: LinearStep, network: Glow, x: Tensor) -> Tensor:
            found = network.log_likelihood(step.whiten(x))
            return found.to(step.mean.dtype) + self.linear.log_det

        return self._applied(rows, total)

    def _applied(self, rows: Array, change: Callable[[LinearStep, Glow, Tensor], Tensor]) -> Array:
        return in_blocks(lambda x: change(*self.parts_like(x), x), rows)

    def _parts_for(self, rows: Array) -> tuple[LinearStep, Glow]:
        network = copy.deepcopy(self.network).to(rows.device, rows.dtype)
        return LinearStep.at(rows.device, self.linear), network

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return both parts as named arrays."""
        linear = {LINEAR + name: value for name, value in self.linear.to_arrays().items()}
        state = self.network.state_dict()
        network = {NETWORK + name: value.numpy().copy() for name, value in state.items()}
        shape = [self.network.width, self.network.n_steps, *self.network.hidden_features]
        return {**linear, **network, "network_shape": np.array(shape, np.int64)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> FlowMap:
        """Rebuild the map that ``to_arrays`` took apart; other arrays are left alone."""
        linear = Prewhitening.from_arrays(without_prefix(arrays, LINEAR))
        width, n_steps, *hidden = arrays["network_shape"].tolist()
        network = Glow(width, n_steps, hidden)
        state = without_prefix(arrays, NETWORK)
        network.load_state_dict({name: torch.tensor(value) for name, value in state.items()})
        return cls(linear, network)


def without_prefix(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with the prefix, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def in_blocks(apply: Callable[[Tensor], Tensor], rows: Array) -> Array:
    """Apply a map of tensors to some rows at a time: hidden layers of all would need much memory.

    Half precision is computed, and returned, in single.
    """
    step = rows_per_batch(rows.shape[1])
    firsts = range(0, max(len(rows), 1), step)
    result = torch.cat([apply(wide_tensor(rows[first : first + step])) for first in firsts])
    return result if is_tensor(rows) else result.numpy()
