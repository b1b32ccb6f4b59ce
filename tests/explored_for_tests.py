"""Small things to explore, with every kind of row that can go wrong."""

from __future__ import annotations

import numpy as np

from isoscope.verbs.explore.session import Spaces
from isoscope.verbs.explore.word_rows import Colouring, Explored

MARKUP = '<img src=x onerror="document.title=1">'
LONG = "long" * 40
ROWS, WIDTH = 1_500, 16


def small(rows: int = ROWS, width: int = WIDTH, seed: int = 0) -> Explored:
    """Two layers of vectors off the origin that are wider one way than the other.

    Row 0 has markup for a word, rows 1 and 2 have the same word, row 3 is ``Word3``, and the word
    of row 4 is wider than a page.
    """
    rng = np.random.default_rng(seed)
    stretch = np.linspace(3.0, 0.5, width)
    layers = {
        name: (rng.normal(size=(rows, width)) * stretch + 2).astype(np.float32)
        for name in ("first", "last")
    }
    words = np.array([f"word{row}" for row in range(rows)], dtype=object)
    words[:5] = MARKUP, "twice", "twice", "Word3", LONG
    order = {"order": Colouring(np.arange(rows, dtype=np.float32))}
    return Explored(
        "small", f"{rows} rows", layers, words, words, order, lambda row: f"row {row} <b>"
    )


def small_spaces(shown: int = 100) -> Spaces:
    """All spaces of it."""
    return Spaces(small(), shown, seed=1)
