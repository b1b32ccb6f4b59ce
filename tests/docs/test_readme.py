"""The README shows the screen and the times of the stored records."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_readme")


def test_the_readme_is_what_the_script_makes(maker: ModuleType) -> None:
    made = "python docs/make_readme.py writes another README than the committed one"
    assert maker.page() == maker.README.read_text("utf-8"), made


def test_times_are_those_of_the_record(maker: ModuleType) -> None:
    seconds = dict.fromkeys(maker.SHOWN, 0.123) | {"IsoScore 2.0.1": 123.4}
    about = {"rows": 5000, "dimensions": 8, "cores": 2, "date": "2026-01-01", "isoscope": "9.1"}
    record = {**about, "seconds": seconds}
    lines = maker.times(record).splitlines()
    assert "Time for 5,000 vectors of 8 dimensions" in lines[0]
    assert "| isoscope 9.1 | `iso_score` alone, with its interval | 0.12 s |" in lines
    assert "| IsoScore 2.0.1 | IsoScore | 123 s |" in lines
    assert lines[-1] == "| vecscope 0.2.0 | its audit | 0.12 s |"


def test_the_memory_of_a_large_file_is_that_of_the_record() -> None:
    """What is printed by the benchmark of measure stands on its page."""
    page = (DOCS / "results" / "measure.md").read_text("utf-8")
    found = re.search(r"A file of (\d+)\.\d GB .*\n +peak resident memory (\d+) MB", page)
    assert found is not None
    promised = re.search(
        r"measuring a file of (\d+) GB takes less than (\d+) MB of\s+memory",
        (DOCS.parent / "README.md").read_text("utf-8"),
    )
    assert promised is not None
    assert promised[1] == found[1]
    assert int(found[2]) < int(promised[2])
