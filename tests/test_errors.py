from __future__ import annotations

from isoscope.errors import DataError, unknown_name


def test_a_message_is_one_line_whatever_a_file_calls_its_arrays() -> None:
    assert str(DataError("a\nb\r\x1b[31m‖ü")) == "a\\nb\\r\\x1b[31m‖ü"
    assert "\n" not in str(unknown_name("array", "x", ["y\nz"]))


def test_a_message_about_data_is_short_whatever_they_hold() -> None:
    held = "a/b c " * 1_000
    message = str(DataError(f"row 3 holds {held!r}; write the file again"))
    assert len(message) == 300
    assert message.startswith("row 3 holds 'a/b c ")
    assert message.endswith("; write the file again")
    folder = "/home/somebody/" + "folder/" * 60  # whose length is the caller's affair
    message = str(DataError(f"{folder}x.json: row 3 holds {held!r}; write the file again"))
    assert message.startswith(f"{folder}x.json: row 3 holds")
    assert len(message) == len(folder) + 298
    assert str(DataError(f"{folder} {'x ' * 140}")) == f"{folder} {'x ' * 140}"


def test_names_in_other_letters_are_recognised() -> None:
    names = ("B-T1", "all-but-the-top", "center")
    assert "did you mean B-T1?" in str(unknown_name("study", "bt1", names))
    assert "did you mean all-but-the-top?" in str(unknown_name("correction", "AllButTheTop", names))
    assert "did you mean" not in str(unknown_name("correction", "xyz", names))
