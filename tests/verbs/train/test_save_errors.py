from __future__ import annotations

import pytest
from safetensors import SafetensorError

from isoscope.verbs.train.save_errors import is_save_error, save_reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (SafetensorError("I/O error\nmore"), "I/O error"),
        (RuntimeError("basic_ios::clear: iostream error"), "basic_ios::clear: iostream error"),
        (RuntimeError("PytorchStreamWriter failed writing file"), "PytorchStreamWriter failed"),
        (Exception("Permission denied (os error 13)"), "Permission denied"),
    ],
)
def test_what_libraries_raise_where_they_cannot_write(error: Exception, reason: str) -> None:
    assert is_save_error(error)
    assert save_reason(error).startswith(reason)
    assert "\n" not in save_reason(error)


@pytest.mark.parametrize(
    "error", [RuntimeError("shapes differ"), ValueError("x (os error 13)"), Exception("a mistake")]
)
def test_other_errors_are_none(error: Exception) -> None:
    assert not is_save_error(error)
