"""One way in: from whatever the user has to a cloud."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.arrays import ArrayCloud, TensorCloud, is_tensor
from isoscope.clouds.contract import CloudGroup
from isoscope.clouds.npy import open_npy
from isoscope.clouds.npz import open_npz
from isoscope.clouds.packages import PACKAGES, PREFIX, open_package, refuse_column
from isoscope.clouds.safetensors import open_safetensors
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.clouds.contract import Cloud

FORMATS: dict[str, Callable[[Path, str | None], Cloud]] = {
    ".npy": open_npy,
    ".npz": open_npz,
    ".safetensors": open_safetensors,
}
"""Opener of each file ending. A new format is a file of its own and a line here."""


def open_cloud(source: Any, *, column: str | None = None) -> CloudGroup:
    """Open a cloud of vectors.

    Parameters
    ----------
    source : str, Path, array or tensor
        A ``.npy``, ``.npz`` or ``.safetensors`` file; ``package:glove`` or ``package:minilm``;
        a two-dimensional numpy array, torch tensor, or anything numpy makes an array of.
        A cloud is returned as it is.
    column : str, optional
        Which array of a file that holds several.

    Returns
    -------
    CloudGroup
        The cloud; nothing but its header has been read.

    Examples
    --------
    >>> import numpy as np, isoscope
    >>> isoscope.open_cloud(np.eye(3))
    <ArrayCloud 'array': 3 × 3 float64>
    """
    if isinstance(source, str | os.PathLike):
        return open_location(os.fspath(source), column)
    if isinstance(source, CloudGroup):
        return source
    refuse_column("an array in memory", column)
    if is_tensor(source):
        return TensorCloud(source)
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise DataError(f"the rows do not make an array: {error}") from error
    return ArrayCloud(array)


def open_location(location: str, column: str | None) -> CloudGroup:
    """Open what a string names."""
    if location.startswith(PREFIX):
        return open_package(location, column)
    path = Path(location).expanduser()
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if p.suffix in FORMATS)
        held = f"; in it: {', '.join(inside[:5])}" if inside else ""
        raise UsageError(f"{path} is a folder; name a file{held}")
    opener = FORMATS.get(path.suffix.lower())
    if not path.exists():
        packaged = ", ".join(PREFIX + name for name in PACKAGES)
        raise UsageError(f"there is no file {path}; to try isoscope without one: {packaged}")
    if opener is None:
        raise UsageError(
            f"{path}: isoscope does not read {path.suffix or 'files without an ending'}; "
            f"it reads {', '.join(FORMATS)}"
        )
    try:
        return opener(path, column)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
