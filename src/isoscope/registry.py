"""Things that are found by name and loaded when they are used first."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from isoscope.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Item = TypeVar("Item")


class Registry(Generic[Item]):
    """Items by name, in the order in which the modules of a package register them.

    The package is imported when an item is looked for, not before: naming a registry is cheap.

    Parameters
    ----------
    kind : str
        What the items are, for messages.
    package : str
        Module whose import registers all of them.

    Examples
    --------
    >>> colours = Registry[int]("colour", "isoscope.registry")
    >>> colours.register("red", 0xFF0000)
    >>> "red" in colours, list(colours)
    (True, ['red'])
    >>> colours["rod"]
    Traceback (most recent call last):
        ...
    isoscope.errors.UsageError: no colour is called 'rod'; did you mean red? known: red
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._items: dict[str, Item] = {}
        self._aliases: dict[str, str] = {}

    def register(self, name: str, item: Item, alias: str = "") -> None:
        """Add an item, with another name where it has one; a name can be taken once."""
        taken = {*self._items, *self._aliases}
        if name in taken or alias in taken:
            raise ValueError(f"the {self.kind} {name} is registered twice")
        self._items[name] = item
        if alias:
            self._aliases[alias] = name

    def __contains__(self, name: object) -> bool:
        return name in self._loaded()

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __getitem__(self, name: str) -> Item:
        items = self._loaded()
        known = self._aliases.get(name, name)
        if known not in items:
            raise self.unknown(name)
        return items[known]

    def get(self, name: str) -> Item | None:
        """Return an item, or None where there is none of that name."""
        return self._loaded().get(self._aliases.get(name, name))

    def unknown(self, name: str) -> UsageError:
        """Build the error for a name that nothing has."""
        return unknown_name(self.kind, name, [*self._loaded(), *self._aliases])

    def values(self) -> tuple[Item, ...]:
        """Return all items, in their order."""
        return tuple(self._loaded().values())

    def _loaded(self) -> dict[str, Item]:
        import_module(self._package)
        return self._items


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]], moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package with names imported on use.

    Type checkers do not read the table: the package imports its names for them under
    ``TYPE_CHECKING``, each ``as`` itself, which is how a name is marked as public.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    modules : mapping
        For every module, the public names that it defines.
    moved : mapping, optional
        For every name that is now a name of ``isoscope`` itself, its place as ``module:name``.

    Examples
    --------
    >>> find, _, public = lazy_names("isoscope", {"isoscope.data.open": ["open_cloud"]})
    >>> find("open_cloud").__module__, public
    ('isoscope.data.open', ['open_cloud'])
    """
    module_of = {name: module for module, names in modules.items() for name in names}
    public = sorted(module_of)

    def find(name: str) -> Any:
        if moved is not None and name in moved:
            warnings.warn(
                f"{package}.{name} has moved to isoscope.{name}; see docs/migrating.md",
                DeprecationWarning,
                stacklevel=2,
            )
            return load(moved[name])
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(module_of[name]), name)

    return find, lambda: sorted({*vars(sys.modules[package]), *public}), public


def load(place: str) -> Any:
    """Return what ``module:name`` names.

    Examples
    --------
    >>> load("isoscope.registry:load") is load
    True
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
