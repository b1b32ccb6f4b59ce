"""Corrections of the form y = x A + b, kept as y = L(x − c) + s.

A is seldom a full matrix: centring has none, and taking away a few directions is two thin
products. So the map is kept in the form in which it is cheap and exact to apply.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.apply import Placed
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.fit import Summary
from isoscope.corrections.parameters import Slot
from isoscope.data.arrays import in_double, is_tensor, like
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.corrections.closed_form import Arrays
    from isoscope.corrections.parameters import Slots
    from isoscope.data.base import Array
    from isoscope.typing import Matrix, Vector


# Factors of the size of float32's range: what they are multiplied with is at its other end.
SINGLE_FACTORS = (1e-30, 1e30)


@dataclass(frozen=True)
class AffineMap(Placed[tuple[Any, ...]]):
    """y = L(x − center) + shift, where L scales, then removes directions, then multiplies.

    The centre is taken off before anything else: a large common offset would otherwise cost
    digits in every product. What rounding it to the type of the vectors leaves over is constant
    and is added at the end.
    """

    center: Vector
    shift: Vector
    scale: Vector | None = None
    """A factor for each dimension."""
    removed: Matrix | None = None
    """Orthonormal directions in columns; projections on them are taken away."""
    product: Matrix | None = None
    double: bool = False
    """Whether float32 would lose too many digits, so that float64 is used whatever comes."""

    @property
    def width(self) -> int:
        """Number of dimensions of the result."""
        return len(self.shift)

    @cached_property
    def _beyond_single(self) -> bool:
        """Whether float32 cannot hold the parts, or their products with vectors of that size."""
        factors = [part for part in (self.scale, self.product) if part is not None]
        sizes = [float(np.abs(part).max(initial=0.0)) for part in factors]
        offsets = [float(np.abs(part).max(initial=0.0)) for part in (self.center, self.shift)]
        smallest, largest = SINGLE_FACTORS
        return any(size > largest for size in (*sizes, *offsets)) or any(
            0 < size < smallest for size in sizes
        )

    def linear(self, x: Array, scale: Array, removed: Array, product: Array) -> Array:
        """L x for rows x, with its parts in the type and place of ``x``; None leaves one out."""
        if scale is not None:
            x = x * scale
        if removed is not None:
            x = x - (x @ removed) @ removed.T
        if product is not None:
            x = x @ product
        return x

    def __call__(self, rows: Array) -> Array:
        """Apply the map to float32 or float64 rows, array or tensor; never in place."""
        wide = in_double(rows) if self.double or self._beyond_single else rows
        center, constant, scale, removed, product = self.parts_like(wide)
        moved = wide if center is None else wide - center
        y = self.linear(moved, scale, removed, product)
        if constant is not None and y is not rows and not is_tensor(y):
            y += constant  # in the memory of the product: another array costs a tenth of its time
            return y
        if constant is not None:
            return y + constant
        return y.copy() if y is rows and not is_tensor(y) else y

    def _parts_for(self, rows: Array) -> tuple[Any, ...]:
        """Return centre, constant and the parts of L; None for what changes nothing."""
        single = "float32" in str(rows.dtype)
        rounded = self.center.astype(np.float32 if single else np.float64).astype(np.float64)
        rest = (rounded - self.center)[None, :]
        linear = self.scale, self.removed, self.product
        constant = self.linear(rest, *linear)[0] + self.shift
        offsets = [part if part.any() else None for part in (rounded, constant)]
        return tuple(like(rows, part) for part in (*offsets, *linear))

    @property
    def matrix(self) -> Matrix:
        """A of y = x A + b."""
        found = self.linear(np.eye(len(self.center)), self.scale, self.removed, self.product)
        return np.asarray(found)

    @property
    def offset(self) -> Vector:
        """b of y = x A + b."""
        moved = self.linear(-self.center[None, :], self.scale, self.removed, self.product)
        return np.asarray(moved[0] + self.shift)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the parts that there are, by name."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: np.asarray(value) for name, value in values.items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> AffineMap:
        """Rebuild the map that ``to_arrays`` took apart; other arrays are left alone."""
        parts: dict[str, Any] = {
            part.name: arrays[part.name] for part in fields(cls) if part.name in arrays
        }
        return cls(**{**parts, "double": bool(parts.get("double", False))})


class AffineCorrection(ClosedForm):
    """A correction that is an affine map.

    Attributes
    ----------
    matrix_ : array of shape (n_features_in_, n_features_out), float64
    offset_ : array of shape (n_features_out,), float64
        transform(x) = x @ matrix_ + offset_, before any renormalisation.
    """

    affine = True
    _map: AffineMap | None = None
    _inverse: AffineMap | None = None

    @property
    def matrix_(self) -> Matrix:
        """The linear part of the map."""
        return self._affine().matrix

    @property
    def offset_(self) -> Vector:
        """The constant part of the map."""
        return self._affine().offset

    def _affine(self) -> AffineMap:
        self._solved()
        assert self._map is not None
        return self._map

    def _prepare(self, solution: Arrays) -> None:
        self._map, self._inverse = AffineMap.from_arrays(solution), None

    def _solution_slots(self, width: int) -> Slots:
        return {
            "center": Slot((width,)),
            "shift": Slot((width,)),
            "double": Slot((), "bool"),
        }

    def _correct(self, rows: Array) -> Array:
        return self._affine()(rows)

    @property
    def _output_width(self) -> int:
        return self._affine().width

    @property
    def _n_features_out(self) -> int:
        return self._output_width


class Invertible(AffineCorrection):
    """An affine correction that can be undone."""

    def inverse_transform(self, X: Any) -> Any:
        """Undo the correction; what it dropped comes back as the mean."""
        self._check_invertible()
        if self._inverse is None:
            self._inverse = self._inverted(self._affine())
        return self._undone(X, self._inverse)

    def _inverted(self, affine: AffineMap) -> AffineMap:
        """Return the map that undoes another."""
        raise NotImplementedError


class Centring(AffineCorrection):
    """An affine correction that begins by subtracting a mean: y = W (x − μ).

    Another cloud could have its own mean; see ``centred_on``.

    Attributes
    ----------
    mean_ : array of shape (n_features_in_,)
        μ, weighted where weights were given.
    """

    @property
    def mean_(self) -> Vector:
        """The mean that is subtracted."""
        return self._affine().center


def centred_on(correction: Any, mean: Vector) -> ClosedForm:
    """Return a copy that subtracts another mean, and does the rest as before.

    One correction then serves two clouds that do not share a centre. Where documents go through
    y = W (x − μ), queries go through W (x − μ'): both clouds have their centre at the origin, and
    distances within each are those that W gives to documents. The copy's sums are those of no
    cloud, and say so by counting no row: it cannot be refreshed.

    Parameters
    ----------
    correction : Centring
        Fitted, on documents, say.
    mean : array of shape (n_features_in_,)
        The mean of the other cloud.
    """
    if not isinstance(correction, Centring):
        raise UsageError(
            f"{getattr(correction, 'name', 'this')} does not subtract a mean that could be replaced"
        )
    if mean.shape != (correction.n_features_in_,):
        raise DataError(
            f"a mean of {len(mean):,} dimensions does not fit a correction of "
            f"{correction.n_features_in_:,}"
        )
    moved = replace(correction.moments_, mean=mean, rows=0)
    return correction.refit(Summary(moved, correction.stored_, correction.precision_))
