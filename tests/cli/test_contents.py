"""Names are refused from what is stored as the registries would refuse them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isoscope.cli.contents import check_corrections, check_measures
from isoscope.corrections.registry import parse_corrections
from isoscope.errors import UsageError
from isoscope.measures.registry import choose_measures
from isoscope.wording import listed


def refused(call: Callable[[], object]) -> str:
    """Return why a call is refused; nothing where it is not."""
    try:
        call()
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "names",
    ["mean_cosine", "inter_sim, I1", "all", "local_i1:n_clusters=9", "nosuch", "i1,uniform"],
)
def test_measures(names: str) -> None:
    assert refused(lambda: check_measures(names)) == refused(lambda: choose_measures(names))


@pytest.mark.parametrize(
    "names", ["none", "none,center", "whiten:kind=zca", "all-but-the-top", "nosuch", "whitening"]
)
def test_corrections(names: str) -> None:
    theirs = refused(lambda: parse_corrections(listed(names, ())))
    assert refused(lambda: check_corrections(names)) == theirs


def test_nothing_named_is_nothing_refused() -> None:
    check_measures(None)
    check_corrections(None)
