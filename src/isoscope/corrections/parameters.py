"""Parameters and fitted arrays of a correction: checks, and what they must look like in a file."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from isoscope.corrections.base import Correction


@dataclass(frozen=True)
class Rule:
    """What a parameter may be: in words, for the message of an error, and as a test."""

    wanted: str
    allows: Callable[[Any], bool]


BOOLEAN = Rule("true or false", lambda value: isinstance(value, bool | np.bool_))


def whole_number(least: int, *, optional: bool = False) -> Rule:
    """Whole numbers from ``least`` on (or None)."""

    def allows(value: Any) -> bool:
        if value is None:
            return optional
        # True is an integer to Python, and no number of anything.
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least

    return Rule(f"a whole number of at least {least}", allows)


def one_word(*words: str) -> Rule:
    """One of some words."""
    return Rule(" or ".join(words), lambda value: value in words)


def check_most(correction: Any, count: int, width: int) -> None:
    """Refuse more components than there are dimensions."""
    if count > width:
        raise UsageError(
            f"{correction.name}: n_components must be at most {width}, the number of dimensions"
        )


def plain_parameters(correction: Correction) -> dict[str, Any]:
    """Return the parameters as JSON has them: None, truth values, numbers, text and lists."""
    return {
        name: plain(value, f"{correction.name}: {name}")
        for name, value in correction.get_params(deep=False).items()
    }


def plain(value: Any, where: str) -> Any:
    """Return one value as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | range):
        return [plain(item, where) for item in value]
    raise UsageError(
        f"{where} is a {type(value).__name__}, which cannot be stored; set a number, text, a "
        "list or None with set_params"
    )


def restored_parameters(kind: type[Correction], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters out of a file; what a file of an older version lacks has its default."""
    defaults = kind().get_params(deep=False)
    for name, value in stored.items():
        if name not in defaults:
            raise DataError(f"{kind.name} has no parameter {name!r:.80}")
        if not same_kind(value, defaults[name]):
            raise DataError(f"{kind.name}: {name} is {value!r:.80}, not like {defaults[name]!r}")
    restored: dict[str, Any] = {
        name: tuple(value)
        if isinstance(value, list) and isinstance(defaults[name], tuple)
        else value
        for name, value in stored.items()
    }
    try:
        kind(**restored)._check_params()
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error
    return restored


def same_kind(value: Any, default: Any) -> bool:
    """Whether a value could stand in for a default; the class itself checks the rest."""
    if isinstance(default, bool):
        return isinstance(value, bool)
    if isinstance(default, Real):
        return value is None or (isinstance(value, Real) and not isinstance(value, bool))
    return not isinstance(value, dict)


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
