"""Commands to paste."""

from __future__ import annotations

import pytest

from isoscope.results.result import Result
from isoscope.results.screen.commands import given, next_step


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("isoscope measure a.npy --json", "isoscope advise a.npy --pairs P"),
        ("isoscope measure --json a.npz --column v", "isoscope advise a.npz --column v --pairs P"),
        ("isoscope measure --seed=3 'a b.npy'", "isoscope advise 'a b.npy' --pairs P"),
        ("", "isoscope advise SOURCE --pairs P"),
    ],
)
def test_the_source_is_the_same(command: str, expected: str) -> None:
    found = next_step(Result([], command=command), "advise", "--pairs", "P", remark="why?")
    assert found.text == expected
    assert found.command
    assert found.remark == "why?"


def test_what_a_command_was_given() -> None:
    places, options = given("isoscope diff a.npy b.npy --other-rows --k 5")
    assert places == ["a.npy", "b.npy"]
    assert options == {"--other-rows": "", "--k": "5"}
