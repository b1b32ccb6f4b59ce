"""Where vectors come from.

Writing clouds: a file becomes another of its kind, with its vectors changed.
"""

from isoscope.data.base import Batch, Cloud, CloudGroup
from isoscope.data.change import Change
from isoscope.data.open import open_cloud
from isoscope.data.rewrite import Written, rewrite_files
from isoscope.data.selection import RowSelection

__all__ = [
    "Batch",
    "Change",
    "Cloud",
    "CloudGroup",
    "RowSelection",
    "Written",
    "open_cloud",
    "rewrite_files",
]
