"""Where vectors come from."""

from isoscope.clouds.contract import Batch, Cloud, CloudGroup
from isoscope.clouds.opening import open_cloud
from isoscope.clouds.selection import RowSelection

__all__ = ["Batch", "Cloud", "CloudGroup", "RowSelection", "open_cloud"]
