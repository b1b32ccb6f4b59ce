"""Who is told how far a run is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Takes the name of a stage, what is done, and the total where it is known."""
