from __future__ import annotations

from isoscope.errors import DataError, unknown_name


def test_a_message_is_one_line_whatever_a_file_calls_its_arrays() -> None:
    assert str(DataError("a\nb\r\x1b[31m‖ü")) == "a\\nb\\r\\x1b[31m‖ü"
    assert "\n" not in str(unknown_name("array", "x", ["y\nz"]))
