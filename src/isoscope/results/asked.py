"""Corrections as a user writes them: views, and those that take a corrected cloud to measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.errors import UsageError
from isoscope.measures.views import CorrectionName, is_view, parse_correction

if TYPE_CHECKING:
    from collections.abc import Sequence


def parse_corrections(texts: Sequence[str]) -> tuple[CorrectionName, ...]:
    """Take a list of corrections apart, without repeats, in the order given."""
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(
                f"corrections are named, such as 'whiten:kind=zca', not given as {text!r}"
            )
    parsed = {text.strip(): parse(text.strip()) for text in texts}
    if not parsed:
        raise UsageError("name at least one correction; 'none' measures the cloud as it is")
    return tuple(parsed.values())


def parse(text: str) -> CorrectionName:
    """Take one correction apart and check its options as far as that goes without a cloud."""
    if is_view(text):
        return parse_correction(text)
    from isoscope.corrections.registry import make_correction  # imports scikit-learn

    make_correction(text)
    name, *pairs = text.split(":")
    return CorrectionName(text, name, dict(pair.split("=", 1) for pair in pairs))
