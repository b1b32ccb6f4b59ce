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
        "SampledTexts": "isoscope.data.texts.readers",
        "Text": "isoscope.data.texts.base",
        "TextSource": "isoscope.data.texts.base",
        "TextSurvey": "isoscope.data.texts.base",
        "open_texts": "isoscope.data.texts.open",
    },
)
