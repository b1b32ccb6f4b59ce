"""What reads of some texts come to: states of all layers that merge, and that a journal keeps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.sampling import Sample, lowest
from isoscope.errors import DataError
from isoscope.measures.context.sums import ContextualTaker
from isoscope.measures.reads.moments import Moments
from isoscope.measures.reads.passes import FirstRead, by_kind_and_name, merged_by_name
from isoscope.models.layers import ReadSoFar
from isoscope.models.tokens import Truncation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.compute.stage import Entry
    from isoscope.profiles.massive import MassiveRule
    from isoscope.typing import Arrays


ORDINARY, MASSIVE, SAMPLE = "ordinary", "massive", "sample"
CONTEXT = "contextual|"


@dataclass(frozen=True)
class LayerRead:
    """What the first read of one layer gave, for all tokens and for ordinary ones."""

    everything: FirstRead
    ordinary: FirstRead | None
    """None where no token is massive."""


@dataclass(frozen=True)
class LayerSums:
    """The first read of all layers over some texts."""

    ordinary: Mapping[str, Moments]
    """Sums over the ordinary tokens of each layer."""
    massive: Mapping[str, Moments]
    """Sums over the massive tokens of each layer."""
    samples: Mapping[str, Sample]
    sample_size: int
    contextual: ContextualTaker | None
    met: ReadSoFar

    def merge(self, other: LayerSums) -> LayerSums:
        """Combine the reads of two disjoint sets of texts; neither is used again."""
        size, context = self.sample_size, self.contextual
        if context is not None and other.contextual is not None:
            context = context.merge(other.contextual)
        return LayerSums(
            merged_by_name(self.ordinary, other.ordinary, Moments.merge),
            merged_by_name(self.massive, other.massive, Moments.merge),
            merged_by_name(self.samples, other.samples, lambda one, two: lowest([one, two], size)),
            size,
            context,
            self.met.merge(other.met),
        )

    def layers(self, rule: MassiveRule) -> dict[str, LayerRead]:
        """Return what was found in every layer."""
        return {name: self._layer(name, rule.limits[name]) for name in self.samples}

    def _layer(self, name: str, limit: float) -> LayerRead:
        found = [sums[name] for sums in (self.ordinary, self.massive) if name in sums]
        everything = found[0] if len(found) == 1 else None
        if len(found) == 2:
            everything = found[0].merge(found[1])
        if everything is None or everything.rows < 2:
            raise DataError(f"{name}: fewer than two tokens are left to measure")
        sample = self.samples[name]
        whole = FirstRead(everything, sample)
        if name not in self.massive or name not in self.ordinary or self.ordinary[name].rows < 2:
            return LayerRead(whole, None)
        rest = sample.where(np.linalg.norm(sample.vectors, axis=1) <= limit)
        return LayerRead(whole, FirstRead(self.ordinary[name], rest))

    def to_entry(self) -> Entry:
        """Return arrays and facts."""
        arrays: dict[str, NDArray[Any]] = {}
        parts: dict[str, Mapping[str, Moments | Sample]] = {
            ORDINARY: self.ordinary, MASSIVE: self.massive, SAMPLE: self.samples,
        }  # fmt: skip
        for kind, by_layer in parts.items():
            for name, part in by_layer.items():
                for key, array in part.to_arrays().items():
                    arrays[f"{kind}|{key}|{name}"] = array
        facts: dict[str, Any] = {"sample_size": self.sample_size, "met": asdict(self.met)}
        if self.contextual is not None:
            facts["contextual"] = self.contextual.facts()
            for key, array in self.contextual.to_arrays().items():
                arrays[f"{CONTEXT}{key}"] = array
        return arrays, facts

    @classmethod
    def from_entry(cls, arrays: Arrays, facts: Mapping[str, Any]) -> LayerSums:
        """Rebuild what ``to_entry`` took apart."""
        context = {key: array for key, array in arrays.items() if key.startswith(CONTEXT)}
        parts = by_kind_and_name({key: arrays[key] for key in arrays if key not in context})
        met = dict(facts["met"])
        return cls(
            {name: Moments.from_arrays(found) for name, found in parts.get(ORDINARY, {}).items()},
            {name: Moments.from_arrays(found) for name, found in parts.get(MASSIVE, {}).items()},
            {name: Sample(**found) for name, found in parts.get(SAMPLE, {}).items()},
            int(facts["sample_size"]),
            ContextualTaker.from_arrays(
                {key.removeprefix(CONTEXT): array for key, array in context.items()},
                facts["contextual"],
            )
            if "contextual" in facts
            else None,
            ReadSoFar(**{**met, "truncation": Truncation(**met["truncation"])}),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return LayerSums.from_entry, self.to_entry()
