"""Training without the remarks and the bars of the library that does it."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from transformers.utils import logging as reporting

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def silently() -> Iterator[None]:
    """Switch off what transformers writes while it trains, saves and generates.

    Standard error stays open, unlike in ``models.quiet``: a command shows its own progress there.
    """
    logger = logging.getLogger("transformers")
    level, bars = logger.level, reporting.is_progress_bar_enabled()
    logger.setLevel(logging.CRITICAL)
    reporting.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logger.setLevel(level)
        if bars:
            reporting.enable_progress_bar()  # type: ignore[no-untyped-call]
