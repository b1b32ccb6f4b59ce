"""Text in the cells of a terminal."""

from __future__ import annotations

from isoscope.results.screen.cells import padded, shortened, to_ascii, width, wrapped


def test_a_chinese_character_takes_two_cells() -> None:
    assert width("向量") == 4
    assert padded("向量", 6) == "向量  "
    assert padded("1", 3, right=True) == "  1"


def test_names_lose_their_middle() -> None:
    assert shortened("vectors.npy", 20) == "vectors.npy"
    short = shortened("a_very_long_name_of_a_file_01.npy", 15)
    assert width(short) == 15
    assert short.startswith("a_very")
    assert short.endswith("01.npy")
    assert width(shortened("向量文件中文名称", 7)) <= 7


def test_lines_break_at_spaces_but_not_before_a_percent_sign() -> None:
    assert wrapped("the share is 90 % of all", 15) == ["the share is", "90 % of all"]
    assert wrapped("向量文件中文名称", 6) == ["向量文", "件中文", "名称"]
    assert all(width(line) <= 10 for line in wrapped("a verylongwordwithoutspaces b", 10))


def test_ascii_leaves_letters_alone() -> None:
    assert to_ascii("0.8 ±0.1 · 3 × 4 …") == "0.8 +-0.1 - 3 x 4 ..."
    assert to_ascii("向量") == "向量"
