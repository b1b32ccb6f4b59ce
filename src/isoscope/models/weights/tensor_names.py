"""Under which name a checkpoint stores a tensor of a network.

Names differ from paths: a checkpoint may have been saved with a head or without, so that all names
begin with the path of the base or none does; old ones call a norm's gain and bias gamma and beta;
a tensor that several modules share is stored once, under the name of any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any

from isoscope.errors import DataError, unknown_name

OLD_ENDS = {"weight": "gamma", "bias": "beta"}

Shape = tuple[int, ...]


class StoredNames:
    """Finds the stored name of a tensor.

    Parameters
    ----------
    skeleton : transformers.PreTrainedModel
        The network with its head, without numbers.
    prefix : str
        Path of the network without a head in it, with a dot behind, or nothing.
    names : collection of str
        All stored names.
    shape_of : callable
        Gives the shape of a stored tensor, which may take opening its file.
    model : str
        What messages call the model.
    """

    def __init__(
        self,
        skeleton: Any,
        prefix: str,
        names: Collection[str],
        shape_of: Callable[[str], Shape],
        model: str,
    ) -> None:
        self._prefix, self._model = prefix, model
        self._stored, self._shape_of = names, shape_of
        # Names have it where the checkpoint had a head, be there one in this network or not.
        self._added = f"{skeleton.base_model_prefix}."
        state = skeleton.state_dict(keep_vars=True)
        self._wanted = {path: tuple(tensor.shape) for path, tensor in state.items()}
        sharing: dict[int, list[str]] = {}
        # keep_vars gives the parameters themselves, so that tied ones are one object.
        for path, tensor in state.items():
            sharing.setdefault(id(tensor), []).append(path)
        self._sharing = {path: paths for paths in sharing.values() for path in paths}

    def find(self, path: str) -> str:
        """Return the name under which a tensor is stored, perhaps as that of another module."""
        whole = self._whole(path)
        for candidate in (whole, *self._sharing[whole]):
            name = self._spelt(candidate)
            if name is not None:
                return self._checked(name, whole)
        name = self._renamed(whole)
        if name is None:
            raise DataError(f"{self._model} is not complete: its weights have no {path}")
        return name

    def is_stored(self, path: str) -> bool:
        """Whether a tensor is stored, perhaps under the name of another module."""
        whole = self._whole(path)
        return any(map(self._spelt, self._sharing[whole])) or self._renamed(whole) is not None

    def find_own(self, path: str) -> str | None:
        """Return the name of a tensor that is stored for this very module, though it be shared."""
        return self._spelt(self._whole(path))

    def _whole(self, path: str) -> str:
        for candidate in (self._prefix + path, path):
            if candidate in self._wanted:
                return candidate
        raise unknown_name(f"tensor of {self._model}", path, self._wanted)

    def _spelt(self, whole: str) -> str | None:
        return next((name for name in self._spellings(whole) if name in self._stored), None)

    def _spellings(self, whole: str) -> Iterator[str]:
        parent, dot, end = whole.rpartition(".")
        for name in (whole, *((parent + dot + OLD_ENDS[end],) if end in OLD_ENDS else ())):
            yield name
            yield name.removeprefix(self._added)
            yield self._added + name

    def _checked(self, name: str, whole: str) -> str:
        shape = self._shape_of(name)
        if shape != self._wanted[whole]:
            raise DataError(
                f"{self._model}: {name} is stored as {shape}, but its configuration makes it "
                f"{self._wanted[whole]}"
            )
        return name

    def _renamed(self, whole: str) -> str | None:
        """Find a matrix by its shape, where there is one tensor and one place left of that shape.

        transformers renames modules now and then, as it did GPT-NeoX's ``embed_out``, and goes on
        storing them under the old names.
        """
        shape = self._wanted[whole]
        left = {path for path in self._missing if self._wanted[path] == shape}
        free = [name for name in self._unclaimed if self._shape_of(name) == shape]
        return free[0] if len(shape) == 2 and left == {whole} and len(free) == 1 else None

    @cached_property
    def _missing(self) -> list[str]:
        """Paths that nothing is stored for."""
        return [
            path
            for path, sharing in self._sharing.items()
            if not any(self._spelt(other) for other in sharing)
        ]

    @cached_property
    def _unclaimed(self) -> list[str]:
        """Stored names that no path spells."""
        claimed = {name for path in self._wanted for name in self._spellings(path)}
        return [name for name in self._stored if name not in claimed]
