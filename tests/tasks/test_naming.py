from __future__ import annotations

import pytest

from isoscope.errors import UsageError
from isoscope.tasks.probes import PROBES, LogisticProbe, MlpProbe, find_probe


def test_probes_have_names_and_take_a_seed() -> None:
    assert find_probe("logistic", seed=3) == LogisticProbe(seed=3)
    assert find_probe("mlp") == MlpProbe()
    assert [find_probe(name).name for name in PROBES] == list(PROBES)


def test_an_unknown_probe_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean logistic"):
        find_probe("logistics")
