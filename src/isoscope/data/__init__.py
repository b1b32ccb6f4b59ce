"""Sources of vectors, and files that are written in the format in which they were read."""

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
        "isoscope.data.base": ["Batch", "Cloud", "CloudGroup"],
        "isoscope.data.open": ["open_cloud"],
        "isoscope.data.rewrite": ["Change", "Written", "rewrite_files"],
        "isoscope.data.selection": ["RowSelection"],
    },
)
