"""An environment that holds chosen distributions as links into the one of the tests.

pip would take a minute to install what is already here; the links take milliseconds, and a package
that is not linked cannot be imported, which is all that the tests need.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path


@cache
def shared_folders() -> frozenset[str]:
    """Return the folders at the top of site-packages that several distributions fill."""
    owners = Counter(top for found in distributions() for top in tops(found))
    return frozenset(name for name, count in owners.items() if count > 1)


def tops(found: Distribution) -> set[str]:
    """Return the files and folders at the top of site-packages that belong to a distribution."""
    names = {path.parts[0] for path in found.files or []}
    return names - {"..", "__pycache__"}  # scripts are not needed


def link_all(found: Distribution, site: Path) -> None:
    """Link the files of a distribution into a folder."""
    for top in tops(found) - shared_folders():
        (site / top).symlink_to(Path(str(found.locate_file(top))))
    for path in found.files or []:
        if path.parts[0] in shared_folders():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).symlink_to(Path(str(found.locate_file(path))))


def linked_environment(folder: Path, needed: Iterable[Distribution]) -> Path:
    """Make an environment with some distributions, and return its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for found in needed:
        link_all(found, site)
    return site
