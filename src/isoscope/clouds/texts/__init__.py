"""Where texts come from, for models that turn them into vectors."""

from isoscope.clouds.texts.contract import Text, TextSource, TextSurvey
from isoscope.clouds.texts.opening import open_texts
from isoscope.clouds.texts.sampled import SampledTexts

__all__ = ["SampledTexts", "Text", "TextSource", "TextSurvey", "open_texts"]
