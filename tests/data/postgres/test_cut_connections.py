"""Connections that are cut in the middle of messages of the protocol; benchmarks take every one."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_injection.postgres_cuts import OPERATIONS, all_cuts
from postgres_for_tests import Server

EVERY = 13
"""One message in so many, with no common divisor of how often statements are sent."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_all_or_nothing_and_one_line(postgres: Server, name: str, tmp_path: Path) -> None:
    found = all_cuts(postgres, name, tmp_path, EVERY)
    assert not found["harm"]
    assert found["messages"] > 60
    assert found["refused"] > found["cuts"] / 2
