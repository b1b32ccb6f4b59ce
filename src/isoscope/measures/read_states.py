"""What a read of some rows comes to: states that merge, and that a journal keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoscope.data.sampling import Sample, lowest
from isoscope.measures.moments import Moments
from isoscope.measures.projections import Projections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.compute.stage import Entry


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
            merged_by_name(self.moments, other.moments, lambda one, two: one.merge(two)),
            merged_by_name(self.samples, other.samples, lambda one, two: lowest([one, two], size)),
            size,
            self.dealt_by or other.dealt_by,
            added(self.left_out, other.left_out),
        )

    def to_entry(self) -> Entry:
        """Return arrays and facts."""
        arrays: dict[str, NDArray[Any]] = {}
        for kind, parts in ((MOMENTS, self.moments), (SAMPLE, self.samples)):
            for name, part in parts.items():
                for key, array in part.to_arrays().items():
                    arrays[f"{kind}|{key}|{name}"] = array
        facts = {
            "sample_size": self.sample_size,
            "dealt_by": self.dealt_by,
            "left_out": dict(self.left_out),
        }
        return arrays, facts

    @classmethod
    def from_entry(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> FirstState:
        """Rebuild what ``to_entry`` took apart."""
        parts = by_kind_and_name(arrays)
        return cls(
            {name: Moments.from_arrays(fields) for name, fields in parts.get(MOMENTS, {}).items()},
            {name: Sample(**fields) for name, fields in parts.get(SAMPLE, {}).items()},
            int(facts["sample_size"]),
            str(facts["dealt_by"]),
            dict(facts["left_out"]),
        )


@dataclass(frozen=True)
class SecondState:
    """The second read of some rows of every cloud of a group."""

    projections: Mapping[str, Projections]

    def merge(self, other: SecondState) -> SecondState:
        """Combine two reads of disjoint rows."""
        return SecondState(
            merged_by_name(self.projections, other.projections, lambda one, two: one.merge(two))
        )

    def to_entry(self) -> Entry:
        """Return arrays and facts."""
        arrays = {
            f"projections|{key}|{name}": array
            for name, part in self.projections.items()
            for key, array in part.to_arrays().items()
        }
        return arrays, {}

    @classmethod
    def from_entry(
        cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]
    ) -> SecondState:
        """Rebuild what ``to_entry`` took apart."""
        del facts
        parts = by_kind_and_name(arrays).get("projections", {})
        return cls({name: Projections.from_arrays(fields) for name, fields in parts.items()})


def by_kind_and_name(
    arrays: Mapping[str, NDArray[Any]],
) -> dict[str, dict[str, dict[str, NDArray[Any]]]]:
    """Sort arrays called ``kind|key|name`` by kind and name; a name may hold any sign."""
    found: dict[str, dict[str, dict[str, NDArray[Any]]]] = {}
    for text, array in arrays.items():
        kind, key, name = text.split("|", 2)
        found.setdefault(kind, {}).setdefault(name, {})[key] = array
    return found


def merged_by_name(one: Mapping[str, Any], other: Mapping[str, Any], merge: Any) -> dict[str, Any]:
    """Merge what is under the same name; the rest stays as it is."""
    found = dict(one)
    for name, value in other.items():
        found[name] = merge(found[name], value) if name in found else value
    return found


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Add counts by name."""
    return {key: one.get(key, 0) + other.get(key, 0) for key in dict.fromkeys([*one, *other])}
