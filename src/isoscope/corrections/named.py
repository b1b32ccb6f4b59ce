"""Corrections at evaluation: fitted on the whole cloud, applied to the vectors that are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from isoscope.compute.memory import check_held
from isoscope.corrections.fit import fit_together
from isoscope.corrections.registry import make_correction
from isoscope.data.arrays import is_tensor
from isoscope.errors import DataError, UsageError
from isoscope.measures.views import NONE as NONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from isoscope.data.base import CloudGroup
    from isoscope.progress import Progress


class Transformer(Protocol):
    """Anything with scikit-learn's ``fit`` and ``transform``."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from vectors."""

    def transform(self, X: Any) -> Any:
        """Change vectors."""


CorrectionLike: TypeAlias = str | Transformer


@dataclass(frozen=True)
class NamedCorrection:
    """A correction and what results call it; ``none`` has no transformer."""

    name: str
    transformer: Any | None

    def apply(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Correct some vectors; a zero or infinite result is left for the scores to see."""
        if self.transformer is None or not len(vectors):
            return vectors
        corrected = np.asarray(self.transformer.transform(vectors), np.float64)
        if corrected.ndim != 2 or len(corrected) != len(vectors):
            raise DataError(
                f"correction {self.name} made {corrected.shape} of {vectors.shape}; it must "
                "return one row per vector"
            )
        if not np.isfinite(corrected).all():
            raise DataError(f"correction {self.name} returned NaN or infinity for finite vectors")
        return corrected


def fitted(
    corrections: Sequence[NamedCorrection], cloud: CloudGroup, progress: Progress | None
) -> tuple[NamedCorrection, ...]:
    """Return copies that have learned from a cloud.

    isoscope's own corrections are fitted from batches, those that follow from sums in one read;
    any other transformer gets the whole cloud as an array.
    """
    from sklearn.base import clone

    # None, for vectors as they are, is copied as None.
    copies = [NamedCorrection(one.name, clone(one.transformer, safe=False)) for one in corrections]
    transformers = [one.transformer for one in copies if one.transformer is not None]
    own = [one for one in transformers if hasattr(one, "from_sums")]
    if own:
        fit_together(own, cloud, progress=progress)
    others = [one for one in transformers if not hasattr(one, "from_sums")]
    if others:
        vectors = in_memory(cloud)
        for transformer in others:
            transformer.fit(vectors)
    return tuple(copies)


def named(corrections: Iterable[CorrectionLike]) -> tuple[NamedCorrection, ...]:
    """Make corrections of names and transformers, without repeats, in the order given.

    A transformer has the name that it prints.
    """
    found: dict[str, NamedCorrection] = {}
    for given in corrections:
        if isinstance(given, str):
            name = given.strip()
            one = NamedCorrection(name, None if name == NONE else make_correction(name))
        elif hasattr(given, "fit") and hasattr(given, "transform"):
            one = NamedCorrection(" ".join(str(given).split()), given)
        else:
            raise UsageError(
                "a correction must be a name, or have fit and transform, which "
                f"{type(given).__name__} does not"
            )
        found.setdefault(one.name, one)
    if not found:
        raise UsageError("name at least one correction; 'none' evaluates the vectors as they are")
    return tuple(found.values())


def in_memory(cloud: CloudGroup) -> NDArray[Any]:
    """Load a whole cloud, for transformers that cannot learn from batches."""
    check_held(
        cloud.rows, cloud.widths[0], f"holding {cloud.names[0]}",
        "take fewer rows with --sample, or write a part of them to a file",
        itemsize=8 if cloud.dtypes[0] == "float64" else 4,
    )  # fmt: skip
    parts = []
    for batches in cloud.batches():
        (batch,) = batches.values()
        rows = batch.vectors
        parts.append(rows.float().cpu().numpy() if is_tensor(rows) else np.asarray(rows))
    if not parts:
        raise DataError(f"{cloud.names[0]}: all rows were excluded")
    return np.concatenate(parts)
