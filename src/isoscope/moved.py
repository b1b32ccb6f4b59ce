"""Old import paths: they still work, with a warning that names the new path.

``docs/migrating.md`` lists them. An entry stays for two minor releases.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MOVED = {
    "isoscope.clouds": "isoscope.data",
    "isoscope.models.opening": "isoscope.models.model",
    "isoscope.search": "isoscope.verbs.threshold",
    "isoscope.search.differing": "isoscope.verbs.diff.api",
    "isoscope.search.score_maps": "isoscope.verbs.threshold.score_map",
    "isoscope.search.thresholds": "isoscope.verbs.threshold.api",
}


class MovedModule(Loader):
    """Puts the module that has taken another's place under the old name."""

    def __init__(self, new: str) -> None:
        self._new = new

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module that the import system has made."""
        sys.modules[module.__name__] = import_module(self._new)


class MovedFinder(MetaPathFinder):
    """Finds old paths.

    It is asked first: a folder that an older checkout has left behind, with nothing but compiled
    modules in it, would be found as an empty package.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how the module at an old path is loaded, and warn."""
        del path, target
        new = MOVED.get(fullname)
        if new is None:
            return None
        warnings.warn(
            f"{fullname} has moved to {new}; see docs/migrating.md",
            DeprecationWarning,
            stacklevel=2,  # frames of the import system do not count
        )
        return ModuleSpec(fullname, MovedModule(new))


def install() -> None:
    """Make the old paths work."""
    if not any(isinstance(finder, MovedFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedFinder())
