"""The first read of all layers: moments, a sample, and what depends on the context of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.dealing import Dealt
from isoscope.clouds.sample import Sample, SampleTaker
from isoscope.errors import DataError
from isoscope.measures.moments import Moments
from isoscope.measures.reading import FirstRead

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from numpy.typing import NDArray

    from isoscope.clouds.contract import Batch
    from isoscope.clouds.dealing import Dealer
    from isoscope.measures.contextual import ContextualTaker
    from isoscope.measures.kernels.torch_kernel import TorchMoments
    from isoscope.measures.moments import MomentParts
    from isoscope.profiles.massive import MassiveRule

    Arrays = dict[str, NDArray[Any]]

ORDINARY, MASSIVE, SAMPLE = "ordinary", "massive", "sample"


@dataclass(frozen=True)
class LayerRead:
    """What the first read of one layer gave, for all tokens and for ordinary ones."""

    everything: FirstRead
    ordinary: FirstRead | None
    """None where no token is massive."""


class FirstPass:
    """Sums over the layers of a model, batch by batch, in a state that can be stored."""

    def __init__(
        self,
        widths: Mapping[str, int],
        parts: MomentParts,
        rule: MassiveRule,
        *,
        dealer: Dealer | None,
        contextual: ContextualTaker | None,
        sample_size: int,
        seed: int,
        double: bool,
    ) -> None:
        self._parts, self._rule, self._dealer, self._double = parts, rule, dealer, double
        self.contextual = contextual
        self._kernels: dict[tuple[str, str], TorchMoments] = {}
        self._widths, self._size = widths, sample_size
        self._samples = {
            name: SampleTaker(width, sample_size, seed) for name, width in widths.items()
        }

    def add(self, batches: Mapping[str, Batch]) -> Dealt | None:
        """Take one batch of every layer; returns how its rows were dealt to blocks."""
        import torch

        dealt = None
        for name, batch in batches.items():
            x = batch.vectors
            norms = torch.linalg.vector_norm(x, dim=1)
            if not bool(norms.isfinite().all()):
                raise DataError(not_finite(name, batch, norms))
            dealt = None if self._dealer is None else self._dealer.deal(batch)
            ordinary = self._rule.ordinary(name, norms)
            if ordinary is None:
                self._kernel(name, ORDINARY).add(x, dealt=dealt)
            else:
                for which, mask in ((ORDINARY, ordinary), (MASSIVE, ~ordinary)):
                    rows = np.flatnonzero(mask)
                    if len(rows):
                        self._kernel(name, which).add(
                            x[torch.from_numpy(rows).to(x.device)],
                            dealt=None if dealt is None else dealt.part(rows),
                        )
            self._samples[name].add(batch, dealt)
        if self.contextual is not None:
            self.contextual.add(batches)
        return dealt

    def result(self) -> dict[str, LayerRead]:
        """Return what was found in every layer."""
        return {name: self._layer(name) for name in self._widths}

    def _layer(self, name: str) -> LayerRead:
        found = self._moments(name)
        sample = self._samples[name].result()
        everything = None
        for moments in found.values():
            everything = moments if everything is None else everything.merge(moments)
        if everything is None or everything.rows < 2:
            raise DataError(f"{name}: fewer than two tokens are left to measure")
        if MASSIVE not in found or found[ORDINARY].rows < 2:
            return LayerRead(FirstRead(everything, sample), None)
        lengths = np.linalg.norm(sample.vectors, axis=1)
        rest = sample.where(lengths <= self._rule.limits[name])
        return LayerRead(FirstRead(everything, sample), FirstRead(found[ORDINARY], rest))

    def _moments(self, name: str) -> dict[str, Moments]:
        kernels = {
            which: self._kernels[name, which]
            for which in (ORDINARY, MASSIVE)
            if (name, which) in self._kernels
        }
        states = {which: kernel.result() for which, kernel in kernels.items()}
        return {which: state for which, state in states.items() if state is not None}

    def _kernel(self, name: str, which: str) -> TorchMoments:
        from isoscope.measures.kernels.torch_kernel import TorchMoments

        if (name, which) not in self._kernels:
            self._kernels[name, which] = TorchMoments(self._parts, double=self._double)
        return self._kernels[name, which]

    def to_arrays(self) -> Arrays:
        """Return the whole state as named arrays."""
        arrays: Arrays = {}
        for name in self._widths:
            parts: dict[str, Moments | Sample] = {**self._moments(name)}
            parts[SAMPLE] = self._samples[name].result()
            for which, part in parts.items():
                for key, array in part.to_arrays().items():
                    arrays[f"{name}|{which}|{key}"] = array
        if self.contextual is not None:
            for key, array in self.contextual.to_arrays().items():
                arrays[f"contextual|{key}"] = array
        return arrays

    def resume(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a stored state; what depends on context is restored by itself."""
        from isoscope.measures.kernels.torch_kernel import TorchMoments

        found: dict[tuple[str, str], Arrays] = {}
        for key, array in arrays.items():
            name, _, rest = key.partition("|")
            if name != "contextual":
                which, _, field = rest.partition("|")
                found.setdefault((name, which), {})[field] = array
        for (name, which), fields in found.items():
            if which == SAMPLE:
                self._samples[name].add_sample(Sample(**fields))
            else:
                self._kernels[name, which] = TorchMoments.resumed(
                    self._parts, double=self._double, moments=Moments.from_arrays(fields)
                )


def contextual_arrays(arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays of a stored state that the measures of context left."""
    prefix = "contextual|"
    return {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}


def not_finite(name: str, batch: Batch, norms: torch.Tensor) -> str:
    """Name the first token whose vector is not finite."""
    row = int((~norms.isfinite()).nonzero()[0])
    token, text = batch.labels["token"][row], batch.labels["sentence"][row]
    return (
        f"{name}: the vector of token {token!r} of text {text} holds NaN or an infinity; "
        "half precision may be too narrow for this model: --dtype float32"
    )
