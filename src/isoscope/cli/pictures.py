"""``--html`` and ``--figures``: what a command found, as a page and as pictures."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.data.output import check_place
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result


NEEDED = ("jinja2", "vl_convert")
ENDINGS = (".html", ".htm")


@dataclass(frozen=True)
class Pictures:
    """Where a page and pictures go; None for nowhere."""

    html: Path | None = None
    figures: Path | None = None

    @property
    def wanted(self) -> bool:
        """Whether anything is drawn."""
        return self != Pictures()

    def draw(self, results: Sequence[Result]) -> None:
        """Write the page and the pictures."""
        if not self.wanted:
            return
        from isoscope.report.saving import save_figures, save_page

        if self.html is not None:
            save_page(results, self.html)
        if self.figures is not None:
            save_figures(results, self.figures)


def pictures_of(html: Path | None, figures: Path | None) -> Pictures:
    """Refuse what could not be drawn or written, before any work is done."""
    if html is None and figures is None:
        return Pictures()
    for package in NEEDED:
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"--html and --figures need {package}; pip install 'isoscope[report]'")
    if html is not None:
        if html.suffix.lower() not in ENDINGS:
            raise UsageError(f"{html}: the name of a page must end in .html")
        check_place(html, "--html")
    if figures is not None and figures.exists() and not figures.is_dir():
        raise UsageError(f"--figures {figures} is a file; name a folder")
    return Pictures(html, figures)
