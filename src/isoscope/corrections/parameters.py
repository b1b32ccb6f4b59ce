"""Parameters: checks that several corrections share, and their form in a file."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.corrections.base import Correction


def check_count(correction: Any, parameter: str, *, least: int, optional: bool = False) -> None:
    """Refuse anything but whole numbers from ``least`` on (or None)."""
    value = getattr(correction, parameter)
    if value is None and optional:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise UsageError(
            f"{correction.name}: {parameter} is a whole number from {least} on, not {value!r}"
        )


def check_choice(correction: Any, parameter: str, choices: Sequence[str]) -> None:
    """Refuse anything but some words."""
    value = getattr(correction, parameter)
    if value not in choices:
        raise UsageError(f"{correction.name}: {parameter} is {' or '.join(choices)}, not {value!r}")


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
        f"{where} is a {type(value).__name__}, which a file cannot hold; set a number, text, a "
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
    restored = {
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
