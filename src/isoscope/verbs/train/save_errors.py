"""Which errors say that a model could not be written, among those that its libraries raise."""

from __future__ import annotations

import re

from safetensors import SafetensorError

# Parts of what torch says where it cannot write: it has no exception of its own for that.
TORCH_WRITER = ("PytorchStreamWriter", "inline_container", "iostream error")

# What tokenizers raise is an ``Exception`` of no other class, with the number of the system.
SYSTEM_ERROR = re.compile(r"^(?P<reason>.*) \(os error \d+\)$", re.DOTALL)


def is_save_error(error: BaseException) -> bool:
    """Whether a folder could not be written, rather than something else having gone wrong."""
    if isinstance(error, OSError | SafetensorError):
        return True
    if isinstance(error, RuntimeError):
        return any(sign in str(error) for sign in TORCH_WRITER)
    return type(error) is Exception and SYSTEM_ERROR.match(str(error)) is not None


def save_reason(error: BaseException) -> str:
    """Return why, in the words of the system where they are known."""
    found = SYSTEM_ERROR.match(str(error))
    if found:
        return found["reason"]
    said = str(getattr(error, "strerror", None) or error).splitlines()
    return said[0] if said else type(error).__name__
