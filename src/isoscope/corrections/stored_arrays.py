"""What the arrays of a stored correction must look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Slot:
    """Shape and type of one array.

    A letter in the shape stands for one number, the same wherever the letter appears.
    """

    shape: tuple[int | str, ...]
    dtype: str = "float64"

    def accepts(self, array: NDArray[Any], numbers: dict[str, int]) -> bool:
        """Whether an array fits; letters that were open are bound to its shape."""
        if array.dtype.name != self.dtype or array.ndim != len(self.shape):
            return False
        for wanted, size in zip(self.shape, array.shape, strict=True):
            number = numbers.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            if number != size:
                return False
        return True

    def __str__(self) -> str:
        return f"{self.dtype} ({', '.join(str(size) for size in self.shape)})"


Slots: TypeAlias = dict[str, Slot]


def check_arrays(arrays: Mapping[str, NDArray[Any]], slots: Slots) -> None:
    """Refuse arrays of which one is missing, one too many, or one of another shape or type."""
    numbers: dict[str, int] = {}
    for name, slot in slots.items():
        if name not in arrays:
            raise DataError(f"the tensor {name} is missing")
        if not slot.accepts(arrays[name], numbers):
            array = arrays[name]
            bound = Slot(tuple(numbers.get(str(size), size) for size in slot.shape), slot.dtype)
            raise DataError(
                f"the tensor {name} is {array.dtype.name} {tuple(array.shape)}; "
                f"{bound} belongs there"
            )
    for name in arrays:
        if name not in slots:
            raise DataError(f"the tensor {name} does not belong there")
