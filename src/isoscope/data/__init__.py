"""Where vectors come from.

Writing clouds: a file becomes another of its kind, with its vectors changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.data.base import Batch, Cloud, CloudGroup
    from isoscope.data.open import open_cloud
    from isoscope.data.rewrite import Change, Written, rewrite_files
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

__getattr__ = lazy_names(
    __name__,
    {
        "Batch": "isoscope.data.base",
        "Change": "isoscope.data.rewrite",
        "Cloud": "isoscope.data.base",
        "CloudGroup": "isoscope.data.base",
        "RowSelection": "isoscope.data.selection",
        "Written": "isoscope.data.rewrite",
        "open_cloud": "isoscope.data.open",
        "rewrite_files": "isoscope.data.rewrite",
    },
)
