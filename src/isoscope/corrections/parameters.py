"""Checks of parameters that several corrections have."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


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
