"""A line of text for people."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """A line for people, with its style on a terminal; some stand with room before them."""

    text: str
    style: str = ""
    indented: bool = False
