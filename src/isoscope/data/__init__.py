"""Sources of vectors, and files that are written in the format in which they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.data.base import Batch as Batch
    from isoscope.data.base import Cloud as Cloud
    from isoscope.data.base import CloudGroup as CloudGroup
    from isoscope.data.open import open_cloud as open_cloud
    from isoscope.data.rewrite import Change as Change
    from isoscope.data.rewrite import Written as Written
    from isoscope.data.rewrite import rewrite_files as rewrite_files
    from isoscope.data.selection import RowSelection as RowSelection

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "isoscope.data.base": ["Batch", "Cloud", "CloudGroup"],
        "isoscope.data.open": ["open_cloud"],
        "isoscope.data.rewrite": ["Change", "Written", "rewrite_files"],
        "isoscope.data.selection": ["RowSelection"],
    },
)
