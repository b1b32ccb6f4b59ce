from __future__ import annotations

import re

import pytest


def test_groups_of_tests_have_an_effect(request: pytest.FixtureRequest) -> None:
    """With some releases of pytest they silently have none, and every service starts twice."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("this run has no groups: --dist loadgroup -n 2")
    assert re.search(r"@\d+$", request.node.nodeid)
