"""The version of the installed package, in one place."""

from __future__ import annotations

import sys
from pathlib import Path


def installed_version() -> str:
    """Return the version that the installer recorded.

    It is the name of a folder, ``isoscope-VERSION.dist-info``, on the path. ``importlib.metadata``
    would say the same, after importing the package ``email`` for the sake of a single line: that
    takes longer than everything else that ``isoscope --version`` does.
    """
    for folder in sys.path:
        try:
            found = next(Path(folder).glob("isoscope-*.dist-info"), None)
        except OSError:  # a zip archive, or a folder that is not there
            continue
        if found is not None:
            return found.name.removeprefix("isoscope-").removesuffix(".dist-info")
    from importlib.metadata import PackageNotFoundError, version  # here, because it is slow

    try:
        return version("isoscope")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"


__version__ = installed_version()
