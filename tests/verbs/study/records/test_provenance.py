"""Where a record comes from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.verbs.study.records.provenance import (
    available_memory,
    clocked,
    commit_of,
    digest_of,
    files_of,
    machine,
    provenance,
)
from isoscope.version import __version__


def test_digests_change_with_content_and_names_and_nothing_else(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "weights").write_bytes(b"abc")
        (folder / "config.json").write_text("{}")
    assert digest_of(first) == digest_of(str(second))
    (second / "__pycache__").mkdir()
    (second / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert digest_of(first) == digest_of(second)
    (second / "config.json").rename(second / "other.json")
    assert digest_of(first) != digest_of(second)
    # printf abc | sha256sum
    assert digest_of(first / "inner" / "weights") == "ba7816bf8f01cfea"
    (first / "inner" / "weights").write_bytes(b"abcd")
    assert digest_of(first / "inner" / "weights") != "ba7816bf8f01cfea"


@pytest.mark.parametrize(
    "source", ["someone/model", "package:nothing-of-this-name", np.eye(2), None, "x" * 5_000]
)
def test_what_is_no_file_here_has_no_digest(source: object) -> None:
    assert digest_of(source) is None
    assert files_of(source) == []


def test_a_record_says_how_it_was_made() -> None:
    with clocked() as spent:
        sum(range(1_000))
    made = provenance(spent, seed=3, command="isoscope …", digest=None)
    assert made["isoscope"] == __version__
    assert made["seed"] == 3
    assert made["command"] == "isoscope …"
    assert "digest" not in made
    assert made["machine"] == machine()
    assert made["seconds"] >= 0
    assert provenance({}, seed=0)["seed"] == 0


def test_a_folder_outside_a_checkout_has_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None


def test_memory_is_measured_where_the_system_says() -> None:
    if not Path("/proc/meminfo").is_file():
        assert available_memory() is None
        pytest.skip("only Linux says")
    assert (available_memory() or 0) > 2**20
    with clocked() as spent:
        held = np.ones(2**24)
    assert spent["memory"] > held.nbytes / 2**30
