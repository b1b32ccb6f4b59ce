"""Old import paths: they still work, with a warning that names the new path.

``docs/migrating.md`` lists them. An entry stays for two minor releases.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader, MetaPathFinder
else:  # the abstract classes add nothing, and importing them takes longer than this whole package
    Loader = MetaPathFinder = object

# Old paths that the documentation of 0.1 showed, with the modules that have their names now.
MOVED = {
    "isoscope.clouds": "isoscope.data",
    "isoscope.clouds.texts": "isoscope.data.texts",
    "isoscope.corrections.naming": "isoscope.corrections.registry",
    "isoscope.explain": "isoscope.verbs.explain.api",
    "isoscope.explain.explaining": "isoscope.verbs.explain.api",
    "isoscope.models.opening": "isoscope.models.model",
    "isoscope.profiles": "isoscope.verbs.profile.api",
    "isoscope.profiles.profiling": "isoscope.verbs.profile.api",
    "isoscope.report": "isoscope.verbs.report.api",
    "isoscope.report.saving": "isoscope.verbs.report.pictures",
    "isoscope.results.measuring": "isoscope.verbs.measure.api",
    "isoscope.search": "isoscope.verbs.threshold.api",
    "isoscope.search.differing": "isoscope.verbs.diff.api",
    "isoscope.search.score_maps": "isoscope.verbs.threshold.score_map",
    "isoscope.search.sources": "isoscope.tasks.encoding",
    "isoscope.search.thresholds": "isoscope.verbs.threshold.api",
    "isoscope.studies": "isoscope.verbs.study.api",
    "isoscope.studies.running": "isoscope.verbs.study.api",
    "isoscope.tasks.advising": "isoscope.verbs.advise.api",
    "isoscope.tasks.data_folder": "isoscope.tasks.registry",
    "isoscope.tasks.evaluating": "isoscope.verbs.evaluate.api",
    "isoscope.tasks.relating": "isoscope.verbs.evaluate.relation",
    "isoscope.training.finetuning": "isoscope.verbs.train.api",
    "isoscope.training.pretraining": "isoscope.verbs.train.api",
    "isoscope.training.pretraining.ablating": "isoscope.verbs.train.api",
    "isoscope.training.pretraining.pretraining": "isoscope.verbs.train.api",
}


class OldModule(ModuleType):
    """Stands at an old path and gives out the names of the module that has taken its place.

    Importing ``isoscope.explain`` puts a module where the function of that name is, so the module
    can be called like the function.
    """

    def __init__(self, old: str, new: str) -> None:
        super().__init__(old)
        self.__path__: list[str] = []  # what had been a package may have moved modules below it
        self._new = new

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._new), name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of the same name."""
        return getattr(self, self.__name__.rpartition(".")[2])(*arguments, **options)


class MovedModule(Loader):
    """Puts a module that forwards to the new one under the old name."""

    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make the module that forwards."""
        return OldModule(spec.name, self._new)

    def exec_module(self, module: ModuleType) -> None:
        """Import the new module, so that an error appears where the old one is imported."""
        del module
        import_module(self._new)


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
