"""A few cases of every target, and every case that once failed.

`make fuzz` tries many more, in processes with limits. The cases that failed are in ``found``: a
folder for each target, and in it a folder with the files of each case.
"""

from __future__ import annotations

import importlib.util
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from fuzz_cases import DAMAGED

from fuzz import (
    command_targets,
    engine,
    model_targets,
    server_target,
    stored_targets,
    vector_targets,
)
from fuzz.__main__ import add_failure, begun_again, open_failures
from fuzz.engine import Fuzzer, Outcome, attempt, strictly, write
from fuzz.mutations import any_value, dumped
from fuzz.target import Target

FOUND = Path(__file__).with_name("found")
ALL = {
    target.name: target
    for group in (vector_targets, stored_targets, command_targets, model_targets, server_target)
    for target in group.TARGETS
}


NEVER_REFUSE = ("explore server", "vector cache", "checkpoint mark", "verify")


def needed(name: str) -> Target:
    target = ALL[name]
    for package in target.needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    return target


def folder_of(name: str) -> str:
    return name.replace(" ", "-").replace("/", "-")


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    before = signal.getsignal(signal.SIGPROF)
    strictly()
    yield
    signal.signal(signal.SIGPROF, before)


def said(outcome: Outcome) -> str:
    return f"{outcome.kind} at {outcome.place}: {outcome.detail}"


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ALL)
def test_some_cases(name: str, tmp_path: Path) -> None:
    target = needed(name)
    fuzzer = Fuzzer(target, tmp_path, [], "suite")
    for seed in fuzzer.seeds:
        assert fuzzer.outcome_of(seed).kind == "read"
    kinds = set()
    for _, outcome in fuzzer.cases(max(target.tiny * DAMAGED // 1_000, 10)):
        assert not outcome.failed, said(outcome)
        kinds.add(outcome.kind)
    assert "refused" in kinds or name in NEVER_REFUSE


@pytest.mark.parametrize(
    ("name", "case"),
    [
        (name, case.name)
        for name in ALL
        for case in sorted((FOUND / folder_of(name)).glob("*"))
    ],
)  # fmt: skip
def test_cases_that_once_failed(name: str, case: str, tmp_path: Path) -> None:
    target = needed(name)
    folder = FOUND / folder_of(name) / case
    write(tmp_path, {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    })  # fmt: skip
    outcome = attempt(target, tmp_path)
    assert not outcome.failed, said(outcome)


def test_numbers_of_thousands_of_digits_are_mutated_as_well() -> None:
    random = Random(0)
    for digits in (400, 5_000):
        assert all(dumped(any_value(random, 10**digits)) for _ in range(100))


def test_failures_are_noticed(tmp_path: Path) -> None:
    """A reader with every kind of fault, each of which must be called by its name."""

    def careless(folder: Path) -> object:
        content = (folder / "x").read_bytes()
        if content == b"loop":
            while True:
                pass
        if content == b"lines":
            from isoscope.errors import DataError

            error = DataError("x")
            error.args = ("two\nlines",)
            raise error
        return 1 / len(content)

    target = Target("careless", lambda: [{"x": b"x"}], careless)
    engine.SECONDS, before = 0.05, engine.SECONDS
    try:
        for content, kind in ((b"", "ZeroDivisionError"), (b"loop", "too slow"),
                              (b"lines", "message of several lines"), (b"x", "read")):  # fmt: skip
            write(tmp_path, {"x": content})
            assert attempt(target, tmp_path).kind == kind
    finally:
        engine.SECONDS = before


def test_the_case_that_takes_the_memory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a batch that took too much: the first case is not blamed for another one."""

    def hungry(folder: Path) -> object:
        content = (folder / "x").read_bytes() if folder.exists() else b""
        return len(bytearray(300 << 20)) if content == b"big" else 0

    for k, content in enumerate((b"small", b"big", b"small")):
        write(tmp_path / engine.HEAVY / f"{k:03}", {"x": content})
    engine.forget_peak()
    monkeypatch.setattr(engine, "MEGABYTES", engine.peak() + 200)
    engine.weigh_round(Target("hungry", lambda: [{"x": b""}], hungry), tmp_path)
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["kind"] == "too much memory"
    assert (Path(failure["files"]) / "x").read_bytes() == b"big"
    assert not (tmp_path / engine.HEAVY).exists()


def test_what_was_fixed_and_fails_again_is_a_failure() -> None:
    failure = {"kind": "KeyError", "place": "a:1", "detail": "x", "files": "y"}
    fixed = {**failure, "times": 3, "fixed": "2026-01-01"}
    entry = {"rounds": 2, "cases": 9, "read": 4, "failures": [fixed]}
    again = begun_again(entry)
    assert again == {"rounds": 2, "cases": 0, "failures": [fixed]}
    assert not open_failures(again)
    for times in (1, 2):
        add_failure(again, dict(failure))
        assert [one["times"] for one in open_failures(again)] == [times]
    assert fixed["times"] == 3
