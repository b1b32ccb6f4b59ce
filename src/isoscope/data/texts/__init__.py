"""Where texts come from, for models that turn them into vectors."""

from isoscope.data.texts.base import Text, TextSource, TextSurvey
from isoscope.data.texts.open import open_texts
from isoscope.data.texts.readers import SampledTexts

__all__ = ["SampledTexts", "Text", "TextSource", "TextSurvey", "open_texts"]
