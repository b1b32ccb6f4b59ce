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
    places = lookup(folder, name)
    if not places:
        raise UsageError(
            f"there is no {name} in {folder} or in a folder directly inside it; {expected}"
        )
    if len(places) > 1:
        found = ", ".join(str(path) for path in places)
        raise UsageError(f"{name} is there more than once: {found}; name one folder with --data")
    return places[0]


def lookup(folder: Path, name: str) -> list[Path]:
    """Return where a file is: in the folder itself, else in the folders directly inside it.

    Where ``name`` has a folder of its own, as in ``CoLA/train.tsv``, the user may also have named
    that one.
    """
    first, slash, _ = name.partition("/")
    own = [folder, folder.parent] if slash and folder.absolute().name == first else [folder]
    for place in own:
        if (place / name).is_file():
            return [place / name]
    return sorted(path for path in folder.glob(f"*/{name}") if path.is_file())
