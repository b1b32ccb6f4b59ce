"""Properties of the package as a whole."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.cli.app import COMMANDS

SOURCE = Path(isoscope.__file__).parent
LEFT_TO_RIGHT = [
    "errors",
    "moved",
    "registry",
    "progress",
    "typing",
    "wording",
    "spec",
    "version",
    "data",
    "compute",
    "measures",
    "corrections",
    "models",
    "results",
    "tasks",
    "verbs",
    "training",
    "cli",
]


def test_importing_pulls_in_no_heavy_library() -> None:
    code = "import sys, isoscope; print(*sorted(sys.modules))"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"torch", "scipy", "sklearn", "pyarrow", "pandas", "typer", "rich", "transformers",
             "faiss", "psycopg", "starlette", "uvicorn", "jinja2", "vl_convert"}  # fmt: skip
    assert not heavy & set(modules)


LOADED = """
import contextlib, io, sys
from isoscope.cli.app import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(*sorted(sys.modules))
"""


def modules_of(*arguments: str) -> set[str]:
    """Return what a command imports, in a process of its own."""
    return set(
        subprocess.run(
            [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def own(modules: set[str]) -> set[str]:
    """Return the modules of the project."""
    return {name for name in modules if name.partition(".")[0] == "isoscope"}


HELP = [
    *(name for name in COMMANDS if name not in ("correct", "list", "study", "train")),
    *("correct fit", "correct apply", "correct refresh", "list measures", "list tasks"),
    *("study list", "study show", "study run", "study compare"),
    *("train finetune", "train pretrain", "train ablate"),
]


@pytest.mark.parametrize("verb", HELP)
def test_help_loads_little(verb: str) -> None:
    found = modules_of(*verb.split(), "--help")
    assert len(own(found)) < 45
    assert not {"sklearn", "scipy", "torch", "pyarrow", "pandas"} & found


def test_the_version_loads_next_to_nothing() -> None:
    found = modules_of("--version")
    assert len(own(found)) < 15
    assert not {"numpy", "sklearn", "scipy", "torch", "pyarrow", "pandas"} & found


def test_measuring_a_file_takes_no_scikit_learn(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((50, 4)))
    found = modules_of("measure", str(tmp_path / "x.npy"))
    assert "isoscope.verbs.measure.api" in found
    assert not {"sklearn", "torch", "pyarrow", "pandas"} & found


def test_names_that_need_scikit_learn_are_there_when_asked_for() -> None:
    for name in isoscope.__all__:
        assert getattr(isoscope, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'make_coffee'"):
        isoscope.make_coffee  # noqa: B018


TOPS = ("", "corrections", "data", "data.texts", "tasks", "training")


@pytest.mark.parametrize("top", TOPS)
def test_type_checkers_and_dir_know_the_names_that_are_imported_on_use(top: str) -> None:
    package = importlib.import_module(f"isoscope.{top}".rstrip("."))
    (block,) = (
        node
        for node in ast.parse(Path(str(package.__file__)).read_text("utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imports = [alias for node in block.body for alias in node.names]  # type: ignore[attr-defined]
    assert all(alias.asname == alias.name for alias in imports)  # how a name is marked as public
    assert sorted(alias.name for alias in imports) == package.__all__
    assert set(package.__all__) <= set(dir(package))


def test_packages_import_only_from_their_left() -> None:
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[0] not in LEFT_TO_RIGHT or (parts[0], parts[-1]) == ("verbs", "cli"):
            continue  # a room's command line belongs to the right end
        allowed = LEFT_TO_RIGHT[: LEFT_TO_RIGHT.index(parts[0]) + 1]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isoscope."):
                package = (node.module or "").split(".")[1]
                assert package in allowed, f"{path} imports {node.module}"


ROOMS = (
    *("measure", "correct", "profile", "evaluate", "advise", "threshold", "diff", "train"),
    *("explain", "study", "report", "explore", "verify"),
)


def imports_of(path: Path) -> set[str]:
    """Return the modules that a file imports, also those imported from their package by name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in inside if is_module(name)}
            found |= modules if len(modules) == len(inside) else {node.module, *modules}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or a package of the project."""
    path = SOURCE.parent / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


def test_rooms_are_those_that_are_known() -> None:
    assert {path.name for path in (SOURCE / "verbs").iterdir() if path.is_dir()} - {
        "__pycache__"
    } == set(ROOMS)


def test_a_room_imports_only_api_and_names_of_rooms_to_its_left() -> None:
    for path in (SOURCE / "verbs").rglob("*.py"):
        room = path.relative_to(SOURCE / "verbs").parts[0]
        for module in imports_of(path):
            parts = module.split(".")
            if parts[:2] != ["isoscope", "verbs"] or parts[2:3] == [room]:
                continue
            assert len(parts) == 4, f"{path} imports {module}"
            assert parts[3] in ("api", "names"), f"{path} imports {module}"
            assert ROOMS.index(parts[2]) < ROOMS.index(room), f"{path} imports {module}"


def test_a_command_line_is_imported_by_nobody() -> None:
    """It is found by its name, when its command is called."""
    commands = {f"isoscope.verbs.{room}.cli" for room in ROOMS}
    for path in SOURCE.rglob("*.py"):
        assert not commands & imports_of(path), path


def test_a_command_line_takes_what_it_calls_from_the_top_of_the_package() -> None:
    for room in ROOMS:
        path = SOURCE / "verbs" / room / "cli.py"
        for module in imports_of(path):
            if module.startswith("isoscope.verbs."):
                assert module.startswith(f"isoscope.verbs.{room}."), f"{path} imports {module}"


# The kernel's high-water mark of this process; getrusage would include the parent's before exec.
PEAK = """
import re, sys, isoscope
isoscope.measure(sys.argv[1])
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A 1 GB file, all measures: a fifth of it would show that rows are kept."""
    path, rows, width = tmp_path / "large.npy", 2_000_000, 128
    block = np.random.default_rng(0).standard_normal((50_000, width), dtype=np.float32)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
        )
        for _ in range(rows // len(block)):
            file.write(block)
    try:
        assert path.stat().st_size > 1_000_000_000
        process = subprocess.run(
            [sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True
        )
    finally:
        path.unlink()
    assert int(process.stdout) < 250
