"""The page is what its script makes, and what it calls a definition is what isoscope computes."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import isoscope

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_why_different")


def test_the_page_is_what_the_script_makes(maker: ModuleType) -> None:
    made = "python docs/make_why_different.py writes another page than the committed one"
    assert maker.page() == maker.PAGE.read_text("utf-8"), made


def test_definitions_are_what_isoscope_computes(maker: ModuleType) -> None:
    partition, others = maker.partition, maker.cosine_and_spectrum
    tables = [partition.SIGNS, partition.I2, others.COSINES, others.SPECTRUM]
    defined = [one for table in tables for one in table if "definition" in one.what]
    assert len(defined) == 5
    for one in [*defined, *partition.SCALE]:
        # Both sides are sums of 200 terms in double precision.
        assert maker.run(one.code) == pytest.approx(maker.measured(one.beside), rel=1e-10)


def test_corrected_clouds_are_what_the_named_option_gives(maker: ModuleType) -> None:
    named = [one for one in [*maker.corrected.TOPS, *maker.corrected.WHITENED] if one.option]
    assert len(named) == 5
    cloud = maker.run("X")
    for one in named:
        done = isoscope.measure(maker.run(one.code), ["mean_cosine", "i1"], ["none"])
        view = isoscope.measure(cloud, ["mean_cosine", "i1"], [one.option])
        for measure in ("mean_cosine", "i1"):
            # The smallest variance is 1/16,000 of the largest: whitening loses four digits.
            expected = view.value(measure, one.option)
            assert done.value(measure) == pytest.approx(expected, rel=1e-8)


def test_variants_differ_visibly(maker: ModuleType) -> None:
    for one in [*maker.partition.SIGNS[1:4], *maker.partition.DIRECTIONS[:4]]:
        ratio = maker.run(one.code) / maker.measured(one.beside)
        assert abs(np.log(ratio)) > 0.02, one.what


@pytest.mark.needs_package("IsoScore", "IsoScore")
@pytest.mark.needs_package("spectralyte", "spectralyte")
@pytest.mark.needs_package("vecscope", "vecscope")
def test_other_packages_still_print_what_is_stored(maker: ModuleType) -> None:
    stored = json.loads(maker.PEERS.read_text("utf-8"))
    for entry, now in zip(stored, maker.peer_numbers(), strict=True):
        if entry["package"] != now["package"]:
            pytest.skip(f"{now['package']} is installed, {entry['package']} is stored")
        assert now == {**entry, "value": pytest.approx(entry["value"], rel=1e-5)}
