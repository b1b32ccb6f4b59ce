"""Loading models without the advice and the progress bars of the libraries that do it."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

TALKATIVE = ("transformers", "huggingface_hub")


def library(name: str) -> Any:
    """Import a library that only models need, or say what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(
            f"models need {name.partition('.')[0]}; pip install 'isoscope[models]'"
        ) from error


@contextmanager
def quietly() -> Iterator[None]:
    """Keep transformers and the hub's client from writing to standard error.

    Their loggers keep the stream that was standard error when they were imported, so they are
    imported before it is put aside.
    """
    loggers = []
    for name in TALKATIVE:
        library(name)
        logger = logging.getLogger(name)
        loggers.append((logger, logger.level))
        logger.setLevel(logging.CRITICAL)
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
            yield
    finally:
        for logger, level in loggers:
            logger.setLevel(level)


def first_line(error: Exception) -> str:
    """Shorten what a library says to its first line."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
