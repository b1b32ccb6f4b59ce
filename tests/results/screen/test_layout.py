"""Screens fit a terminal: no wide line, no broken number, no more lines than fit."""

from __future__ import annotations

import itertools
import shlex

import pytest
from screens_for_tests import too_wide

from isoscope.results.screen.blocks import Fact, Numbers, Picture, Screen, Text
from isoscope.results.screen.cells import width
from isoscope.results.screen.layout import HEIGHT, lay_out

NAMES = ("none", "center", "cluster-pc-removal:n_clusters=3:n_components=2", "向量空间", "متجه")


def texts(screen: Screen, cells: int = 80, *, plain: bool = False) -> list[str]:
    return [line.text for line in lay_out(screen, cells, plain=plain)]


def screen(columns: int, rows: int) -> Screen:
    names = list(itertools.islice(itertools.cycle(NAMES), columns))
    header = ["measure", *names]
    body = [[f"row {k} with a long name", *(f"{k}.{c:04d}" for c in range(columns))]
            for k in range(rows)]  # fmt: skip
    return Screen(
        "a" * 60 + " · 5,000 vectors × 64 dimensions · float32",
        ["A strong common offset: the mean is 90 % as long as the vectors." * 3],
        [[Numbers(header, body)], [Picture("spectrum", lambda room, _: ["#" * min(room, 40)])],
         [Text("A remark about it.")]],
        [Fact("Meaning", "Thresholds are high. " * 5),
         Fact("Next", "isoscope advise vectors.npy --pairs PAIRS.tsv", "does it help?", True)],
    )  # fmt: skip


@pytest.mark.parametrize("cells", [60, 80, 120, 200])
@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (4, 6), (8, 6), (12, 3), (2, 90)])
def test_nothing_is_wider_or_longer_than_the_terminal(cells: int, columns: int, rows: int) -> None:
    lines = texts(screen(columns, rows), cells)
    assert max(map(width, lines)) <= cells
    if columns < 12:
        assert len(lines) <= HEIGHT


def test_numbers_are_never_broken() -> None:
    told = screen(8, 6)
    lines = texts(told)
    for row in told.body[0][0].rows:  # type: ignore[union-attr]
        for number in row[1:]:
            assert any(number in line.split() for line in lines), number


def test_columns_become_rows_where_they_do_not_fit() -> None:
    table = Numbers(["", *(f"correction-{k}" for k in range(8))],
                    [["mean cosine", *("0.10" for _ in range(8))],
                     ["effective rank", *("41.5" for _ in range(8))]])  # fmt: skip
    lines = texts(Screen("x", [], [[table]]))
    assert [line.split() for line in lines if "correction-3" in line] == [
        ["correction-3", "0.10", "41.5"]
    ]
    wide = texts(Screen("x", [], [[table]]), 160)
    assert any("correction-0" in line and "correction-7" in line for line in wide)


def test_long_tables_say_how_much_is_missing() -> None:
    lines = texts(screen(2, 90))
    assert len(lines) <= HEIGHT
    (said,) = [line for line in lines if "--details" in line]
    shown = sum(line.strip().startswith("row ") for line in lines)
    assert f"… {90 - shown} more rows" in said


def test_ascii_alone() -> None:
    lines = texts(Screen("shifted · 3 × 4", ["0.8 ±0.1"], [], [Fact("Next", "a → b")]), plain=True)
    assert all(line.isascii() for line in lines)


def test_a_command_that_does_not_fit_can_still_be_pasted() -> None:
    command = "isoscope advise " + " ".join(f"--option{k} value{k}" for k in range(8))
    lines = texts(Screen("x", [], [], [Fact("Next", command, "does it help?", command=True)]))
    pasted = [line.removeprefix("  Next").strip() for line in lines if "option" in line]
    assert all(line.endswith("\\") for line in pasted[:-1])
    assert " ".join(line.removesuffix("\\").strip() for line in pasted) == command


def test_a_long_word_of_a_command_stays_whole() -> None:
    for path in ("/a/folder/" + "x" * 60, "'" + "向" * 33 + " x'", "'向量文件.npy'"):
        command = f"isoscope threshold vectors.npy --pairs {path} --precision 0.9 --map map.json"
        lines = texts(Screen("x", [], [], [Fact("Next", command, command=True)]))
        pasted = "\n".join(lines[2:]).replace("  Next", "").replace("\\\n", "")
        assert shlex.split(pasted) == shlex.split(command)
        assert too_wide(lines, 80) == []
        assert max(map(width, lines)) <= 80  # it begins further to the left
        narrow = texts(Screen("x", [], [], [Fact("Next", command, command=True)]), 40)
        assert too_wide(narrow, 40) == []


def test_a_table_without_rows_is_not_drawn() -> None:
    assert texts(Screen("x", ["A sentence."], [[Numbers(["a", "b"], [])]])) == [
        "x", "", "  A sentence.",
    ]  # fmt: skip


def test_pictures_without_room_take_their_headings_along() -> None:
    drawn = [Text("gains in points:"), Picture("", lambda *_: ["###"] * 20)]
    long = Screen("x", [], [drawn, drawn, [Text("A sentence.")], [Numbers(["a"], [["1"]])]])
    lines = texts(long)
    assert "  gains in points:" not in lines
    assert "  A sentence." in lines
    assert "  gains in points:" in texts(Screen("x", [], [drawn]))
