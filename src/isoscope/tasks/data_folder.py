"""The folder in which a user keeps benchmark data."""

from __future__ import annotations

import os
from pathlib import Path

from isoscope.errors import UsageError

VARIABLE = "ISOSCOPE_DATA"


def data_folder(given: str | Path | None) -> Path | None:
    """Return the folder that the user names, here or in the environment."""
    name = os.fspath(given) if given is not None else os.environ.get(VARIABLE)
    if not name:
        return None
    folder = Path(name)
    if not folder.is_dir():
        where = "--data" if given is not None else VARIABLE
        raise UsageError(f"{where} {name}: there is no such folder")
    return folder


def find_file(folder: Path | None, name: str, expected: str) -> Path:
    """Find a file in the folder itself or in a folder directly inside it.

    ``expected`` says what is looked for, for the one line that a user sees when it is not there.
    """
    if folder is None:
        raise UsageError(
            f"{expected}; name the folder that holds it with --data (data=) or {VARIABLE}"
        )
    if (folder / name).is_file():
        return folder / name
    inside = sorted(path for path in folder.glob(f"*/{name}") if path.is_file())
    if not inside:
        raise UsageError(
            f"there is no {name} in {folder} or in a folder directly inside it; {expected}"
        )
    if len(inside) > 1:
        found = ", ".join(str(path) for path in inside)
        raise UsageError(f"{name} is there more than once: {found}; name one folder with --data")
    return inside[0]
