"""Where texts come from, for models that turn them into vectors."""

from isoscope.clouds.texts.contract import Text, TextSource, TextSurvey
from isoscope.clouds.texts.opening import open_texts

__all__ = ["Text", "TextSource", "TextSurvey", "open_texts"]
