"""What isoscope has, as it is stored: reading it imports none of what it is about.

``contents.json`` is what the registries say of measures, corrections and tasks. It is written by
``python docs/make_catalogue.py``, and a test compares the two.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from isoscope.errors import unknown_name
from isoscope.wording import listed

FILE = Path(__file__).with_name("contents.json")


@cache
def contents() -> dict[str, list[dict[str, Any]]]:
    """Return what is known of ``measures``, ``corrections`` and ``tasks``, in their order."""
    found: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_bytes())
    return found


def check_measures(names: str | None) -> None:
    """Refuse measures of vectors that do not exist, before any work is done."""
    measures = [item for item in contents()["measures"] if "of" not in item]
    known = {item[key] for item in measures for key in ("name", "alias") if item[key]}
    for name in listed(names, ()):
        if name.partition(":")[0].lower() not in known | {"all"}:
            raise unknown_name("measure", name, known)


def check_corrections(names: str | None) -> None:
    """Refuse corrections that do not exist, before any work is done."""
    known = [item["name"] for item in contents()["corrections"]]
    for name in listed(names, ()):
        wanted = name.partition(":")[0]
        if wanted not in known:
            raise unknown_name("correction", wanted, [one for one in known if one != "none"])
