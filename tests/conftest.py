"""What all tests share: hypothesis settings and a way to skip what a machine does not have."""

from __future__ import annotations

import importlib.util

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "isoscope", deadline=None, derandomize=True, max_examples=40, print_blob=True
)
hypothesis.settings.load_profile("isoscope")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs_package"):
        module, distribution = mark.args
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the package {distribution} is not installed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "needs_package(module, distribution): skips where a package is missing"
    )
