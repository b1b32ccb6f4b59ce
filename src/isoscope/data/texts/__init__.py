"""Where texts come from, for models that turn them into vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.data.texts.base import Text, TextSource, TextSurvey
    from isoscope.data.texts.open import open_texts
    from isoscope.data.texts.readers import SampledTexts

__all__ = ["SampledTexts", "Text", "TextSource", "TextSurvey", "open_texts"]

__getattr__ = lazy_names(
    __name__,
    {
        "isoscope.data.texts.base": ["Text", "TextSource", "TextSurvey"],
        "isoscope.data.texts.open": ["open_texts"],
        "isoscope.data.texts.readers": ["SampledTexts"],
    },
)
