"""Names of norms in results: one each, whatever a model numbers inside its blocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import ARCHITECTURES

from isoscope.models.model import open_model
from isoscope.models.structure.norm_layers import norm_name


@pytest.mark.parametrize("architecture", sorted(ARCHITECTURES))
def test_every_norm_has_a_name_of_its_own(
    tiny_model: Callable[[str], Path], architecture: str
) -> None:
    norms = open_model(str(tiny_model(architecture))).parts.norms
    names = [norm_name(norm) for norm in norms]
    assert len(set(names)) == len(names) > 0
