"""Where texts come from, for models that turn them into vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.data.texts.base import Text as Text
    from isoscope.data.texts.base import TextSource as TextSource
    from isoscope.data.texts.base import TextSurvey as TextSurvey
    from isoscope.data.texts.open import open_texts as open_texts
    from isoscope.data.texts.readers import SampledTexts as SampledTexts

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "isoscope.data.texts.base": ["Text", "TextSource", "TextSurvey"],
        "isoscope.data.texts.open": ["open_texts"],
        "isoscope.data.texts.readers": ["SampledTexts"],
    },
)
