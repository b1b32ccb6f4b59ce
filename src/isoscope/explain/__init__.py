"""Why a space is filled as it is: frequency, position, norms, outliers, senses, structure."""

from isoscope.explain.contract import Explanation, MissingError, Question, Topic
from isoscope.explain.explaining import explain
from isoscope.explain.topics import TOPICS

__all__ = ["TOPICS", "Explanation", "MissingError", "Question", "Topic", "explain"]
