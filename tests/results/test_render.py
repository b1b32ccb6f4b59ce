"""Names come from files and users: they must not become markup."""

from __future__ import annotations

import re

import numpy as np
import pytest

import isoscope
from isoscope.data.arrays import ArrayCloud
from isoscope.results.render import Markdown, escaped, markdown_table

NAMES = [
    "**bold**",
    "_slanted_",
    "`code`",
    "a|b",
    "a\\|b",
    "<img src=x onerror=alert(1)>",
    "</table><script>x</script>",
    "[text](javascript:x)",
    "![text](http://x/y.png)",
    "[text][mark]",
    "two\nlines",
]


@pytest.mark.parametrize("name", NAMES)
def test_markup_in_names(name: str) -> None:
    safe = escaped(name)
    assert "\n" not in safe
    without = re.sub(r"\\(.)", "", safe)  # as Markdown takes a backslash and what follows
    for sign in ("*", "`", "|", "<", "](", "]["):
        assert sign not in without
    assert not re.search(r"(^|\W)_|_(\W|$)", without)
    assert re.sub(r"\\(.)", r"\1", safe) == name.replace("\n", " ")


@pytest.mark.parametrize("text", ["mean_cosine", "0.1 [0.05, 0.2]", "p < 0.05", "a ≤ b (c)"])
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert escaped(text) == text


def test_a_table_keeps_its_columns() -> None:
    lines = markdown_table([["a", "b"], [r"x\|y", "1"]]).splitlines()
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}) == 1


def test_titles_and_verdicts() -> None:
    cloud = ArrayCloud(np.random.default_rng(0).standard_normal((50, 4)) + 3, "<b>x</b>*y*")
    text = isoscope.measure(cloud).to_markdown()
    assert r"\<b>x\</b>\*y\*" in text
    assert not re.search(r"(?<!\\)<b>", text)


def test_links_of_our_own_stay_links() -> None:
    link = "[B-T1](studies/B-T1.md)"
    (_, _, row) = markdown_table([["study", "name"], [Markdown(link), link]]).splitlines()
    assert row == rf"| {link} | [B-T1]\(studies/B-T1.md) |"
