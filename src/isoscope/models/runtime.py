"""Torch and transformers: imported, kept quiet, on which device and in which type they compute."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from isoscope.compute.in_order import Turn, in_order
from isoscope.data.location import first_line as first_line
from isoscope.errors import DataError, UsageError, check_name, require

Item = TypeVar("Item")
Value = TypeVar("Value")

TALKATIVE = ("transformers", "huggingface_hub")


def library(name: str) -> Any:
    """Import a library that only models need, or say what to install."""
    return require(name, f"models need {name.partition('.')[0]}; pip install 'isoscope[models]'")


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


@contextmanager
def loading(failure: str) -> Iterator[None]:
    """Keep the libraries quiet, and raise what they raise as one line that says what failed."""
    try:
        with quietly():
            yield
    except Exception as error:
        raise DataError(f"{failure}: {first_line(error)}") from error


DTYPES = ("float16", "bfloat16", "float32", "float64")
HALF = ("float16", "bfloat16")

# What the layers of a network do most; some processors lack an instruction for it.
PROBE = """
import sys, torch
dtype = getattr(torch, sys.argv[1])
for rows in (1, 7, 64):
    x = torch.ones(1, rows, 64, dtype=dtype)
    y = torch.nn.functional.linear(x, torch.ones(64, 64, dtype=dtype), torch.ones(64, dtype=dtype))
    torch.nn.functional.scaled_dot_product_attention(y, y, y)
"""


def dtype_name(dtype: Any) -> str:
    """Return the name of a type that is given by name or as torch's own; float32 for None."""
    name = "float32" if dtype is None else str(dtype).removeprefix("torch.")
    check_name("dtype of a model", name, DTYPES)
    return name


def device_name(device: Any) -> str:
    """Return a device that torch has: an accelerator where there is one, unless one is named."""
    torch = library("torch")
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"torch cannot use the device {device!r}: {first_line(error)}") from error
    return str(device)


def computable(dtype: str, device: str) -> str:
    """Return the type to compute in: half precision only where a processor survives it."""
    if dtype in HALF and device == "cpu" and not survives(dtype):
        warnings.warn(
            f"this processor cannot multiply matrices in {dtype}; the model computes in float32",
            stacklevel=2,
        )
        return "float32"
    return dtype


@cache
def survives(dtype: str) -> bool:
    """Whether a process that computes in this type comes back: an illegal instruction kills it."""
    probe = subprocess.run([sys.executable, "-c", PROBE, dtype], capture_output=True, check=False)
    return probe.returncode == 0


# Rotary positions whose frequencies follow from the longest text of a batch: the network changes
# its own numbers while it runs, so that it must take one batch after the other.
CHANGING_POSITIONS = ("dynamic", "longrope")


def forward_threads(device: str, config: Any) -> int:
    """Return how many batches go through a network at a time.

    On a processor each has one thread, and there are as many as torch may use: a product that
    several threads share may round otherwise than one thread does, so that numbers would depend on
    the machine. An accelerator takes one batch after the other.
    """
    text = config.get_text_config()
    rotary = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    if device != "cpu" or rotary.get("rope_type", rotary.get("type")) in CHANGING_POSITIONS:
        return 1
    return int(library("torch").get_num_threads())


def one_thread_each(
    items: Iterable[Item], work: Callable[[Item, Turn], Value], threads: int, device: str
) -> Iterator[Value]:
    """Yield ``work(item, turn)`` of every item in order, with one thread of torch for each."""
    if device != "cpu":
        yield from in_order(items, work, 1)
        return
    torch = library("torch")
    before = torch.get_num_threads()
    prepare = partial(torch.set_num_threads, 1)

    def alone(item: Item, turn: Turn) -> Value:
        prepare()
        try:
            return work(item, turn)
        finally:
            torch.set_num_threads(before)

    try:
        yield from in_order(items, alone if threads == 1 else work, threads, prepare)
    finally:
        torch.set_num_threads(before)  # which threads that begin later would else have not
