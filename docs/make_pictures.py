"""Draw the pictures of the documentation from real output: python docs/make_pictures.py."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

import isoscope
from isoscope.cli.measure import show

IMAGES = Path(__file__).parent / "images"


def terminal(source: str, path: Path) -> None:
    """Draw what ``isoscope measure SOURCE`` prints."""
    console = Console(
        record=True, width=84, file=io.StringIO(), highlight=False, markup=False, color_system=None
    )
    console.print(f"$ isoscope measure {source}")
    show(isoscope.measure(source, progress=None), console)
    svg = console.export_svg(title="isoscope")
    # The drawing would load a web font; the reader's own monospace does as well.
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    path.write_text(svg.replace("Fira Code, monospace", "monospace"), "utf-8")


if __name__ == "__main__":
    terminal("package:glove", IMAGES / "measure-glove.svg")
