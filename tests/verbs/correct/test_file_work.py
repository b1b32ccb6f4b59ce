"""Files of a pattern, corrected by anybody: the same bytes, what is left out, what is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from clouds_for_tests import shifted
from pyarrow import parquet

from isoscope.corrections import Center, Whiten
from isoscope.data.rewrite import Written, carried_out
from isoscope.errors import DataError, UsageError
from isoscope.verbs.correct.files import Applied, WrittenFiles, apply_to_files

ROWS = 5_000
VECTORS = shifted(0, 5 * ROWS, 50).astype(np.float32)
WHITEN = Whiten().fit(VECTORS)

Apply = Callable[..., Applied]


@pytest.fixture
def apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apply:
    """Have five files, and apply a correction to them."""
    monkeypatch.chdir(tmp_path)
    # Every file that is written is kept at once.
    monkeypatch.setattr("isoscope.compute.stage.SHARE", 0)
    for k in range(5):
        np.save(f"part-{k}.npy", VECTORS[k * ROWS : k * ROWS + ROWS])

    def call(out: str = "new", source: str = "part-*.npy", **options: Any) -> Applied:
        return apply_to_files(WHITEN, source, out, journal=Path(f"{out}.journal"), **options)

    return call


def contents(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.parametrize(("workers", "source"), [(1, "t-*.parquet"), (2, "part-*.npy")])
def test_processes_write_the_same_bytes(apply: Apply, workers: int, source: str) -> None:
    for k in range(3):
        rows = VECTORS[k * 3_000 : k * 3_000 + 3_000]
        columns = {"id": list(range(3_000)), "vector": pyarrow.array(list(rows))}
        parquet.write_table(pyarrow.table(columns), f"t-{k}.parquet", row_group_size=1_100)
    here = apply("here", source)
    there = apply("there", source, workers=workers)
    assert contents("here") == contents("there")
    assert [one.source for one in there.written] == [one.source for one in here.written]
    assert there.skipped == {}


def test_rows_that_are_done(apply: Apply) -> None:
    calls: list[tuple[str, int, int | None]] = []
    apply(progress=lambda *call: calls.append(call))
    done = [done for _, done, _ in calls]
    assert {(stage, total) for stage, _, total in calls} == {("apply", 25_000)}
    assert done == sorted(done)
    assert {4_096, 5_000, 9_096, 25_000} <= set(done)
    calls.clear()
    apply("other", workers=1, progress=lambda *call: calls.append(call))
    assert [done for _, done, _ in calls] == [5_000, 10_000, 15_000, 20_000, 25_000]


def test_rows_that_nobody_has_counted(apply: Apply) -> None:
    for k in range(2):
        rows = VECTORS[k * 40 : k * 40 + 40]
        lines = [f"w{i} {' '.join(map(str, row.tolist()))}\n" for i, row in enumerate(rows)]
        Path(f"words-{k}.txt").write_text("".join(lines))
    calls: list[tuple[str, int, int | None]] = []
    apply(source="words-*.txt", progress=lambda *call: calls.append(call))
    assert calls[-1] == ("apply", 80, None)


class DeathError(Exception):
    """What stands for the end of a process."""


def written_until(monkeypatch: pytest.MonkeyPatch, last: int) -> list[str]:
    """Die in the middle of the file after the ``last``; returns the names of those begun."""
    begun: list[str] = []

    def deadly(plan: Any, change: Any, report: Any) -> Written:
        def tick(rows: int) -> None:
            if len(begun) > last:
                raise DeathError
            report(rows)

        begun.append(plan.name)
        return carried_out(plan, change, tick)

    monkeypatch.setattr("isoscope.verbs.correct.files.carried_out", deadly)
    return begun


def test_a_finished_file_is_not_written_again(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = apply("whole")
    assert not Path("whole.journal").exists()
    written_until(monkeypatch, 3)
    with pytest.raises(DeathError):
        apply()
    assert sorted(contents("new")) == ["part-0.npy", "part-1.npy", "part-2.npy"]
    with pytest.raises(UsageError, match="new.journal is the journal of a run that did not finish"):
        apply()
    calls: list[tuple[str, int, int | None]] = []
    begun = written_until(monkeypatch, 99)
    resumed = apply(resume=True, progress=lambda *call: calls.append(call))
    assert begun == ["part-3.npy", "part-4.npy"]
    assert calls[0] == ("apply", 15_000 + 4_096, 25_000)
    assert contents("new") == contents("whole")
    assert [one.source for one in resumed.written] == [one.source for one in whole.written]
    assert not Path("new.journal").exists()


def test_another_call_does_not_go_on(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    written_until(monkeypatch, 2)
    with pytest.raises(DeathError):
        apply()
    written_until(monkeypatch, 99)
    with pytest.raises(UsageError, match="cannot be resumed: it was started with correction"):
        apply_to_files(
            Center().fit(VECTORS), "part-*.npy", "new", journal=Path("new.journal"), resume=True
        )
    other = Whiten().fit(VECTORS[:100])
    with pytest.raises(UsageError, match="cannot be resumed: it was started with fingerprint"):
        apply_to_files(other, "part-*.npy", "new", journal=Path("new.journal"), resume=True)
    np.save("part-4.npy", VECTORS[:ROWS])
    with pytest.raises(UsageError, match="cannot be resumed: it was started with source"):
        apply(resume=True)


def test_a_file_that_is_gone_is_noticed(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    written_until(monkeypatch, 2)
    with pytest.raises(DeathError):
        apply()
    written_until(monkeypatch, 99)
    Path("new/part-0.npy").unlink()
    with pytest.raises(
        DataError, match="new/part-0.npy was written .* missing; delete new.journal to start"
    ):
        apply(resume=True)


@pytest.fixture
def bad(apply: Apply) -> None:
    """Let one file be cut off, one of another width, and one hold a row that is not finite."""
    del apply
    Path("part-0.npy").write_bytes(Path("part-0.npy").read_bytes()[:1_000])
    np.save("part-2.npy", VECTORS[:100, :9])
    rows = VECTORS[-ROWS:].copy()
    rows[4_500, 3] = np.inf
    np.save("part-4.npy", rows)


@pytest.mark.parametrize("workers", [None, 2])
def test_bad_files_are_left_out(apply: Apply, bad: None, workers: int | None) -> None:
    del bad
    applied = apply(on_error="skip", workers=workers)
    assert [one.out for one in applied.written] == ["new/part-1.npy", "new/part-3.npy"]
    assert sorted(contents("new")) == ["part-1.npy", "part-3.npy"]
    assert list(applied.skipped) == ["part-0.npy", "part-2.npy", "part-4.npy"]
    assert "part-2.npy has 9 dimensions" in applied.skipped["part-2.npy"]
    assert applied.skipped["part-4.npy"].startswith("part-4.npy: row 4500 holds NaN")
    assert not Path("new.journal").exists()


def test_bad_files_stop_the_run(apply: Apply, bad: None) -> None:
    del bad
    with pytest.raises(DataError, match="part-0.npy"):
        apply()
    assert not Path("new").exists()
    for name in ("part-0.npy", "part-2.npy"):
        Path(name).unlink()
    with pytest.raises(DataError, match="^part-4.npy: row 4500 holds NaN"):
        apply()
    assert sorted(contents("new")) == ["part-1.npy", "part-3.npy"]
    skipping = apply(resume=True, on_error="skip")
    assert list(skipping.skipped) == ["part-4.npy"]
    assert len(skipping.written) == 2


def test_a_file_that_is_named_is_never_left_out(apply: Apply, bad: None) -> None:
    del bad
    with pytest.raises(DataError, match="part-2.npy has 9 dimensions"):
        apply("w.npy", "part-2.npy", on_error="skip")
    with pytest.raises(DataError, match="part-4.npy: row 4500"):
        apply("w.npy", "part-4.npy", on_error="skip")
    assert not list(Path().glob("w.npy*"))


def test_a_single_file_needs_no_workers(apply: Apply) -> None:
    apply("here.npy", "part-1.npy")
    apply("there.npy", "part-1.npy", engine="ray:nowhere:1", workers=2, resume=True)
    assert Path("here.npy").read_bytes() == Path("there.npy").read_bytes()
    assert not list(Path().glob("*.journal"))


def test_the_journal_keeps_every_fact() -> None:
    files = WrittenFiles((Written("a", "b", 3, 2, True), Written("c", "d", 4, 2, False, 1)))
    assert WrittenFiles.from_entry(*files.to_entry()) == files
    assert files.rows == 7


def test_the_journal_keeps_no_secrets() -> None:
    files = WrittenFiles((Written("ftp://me:secret@host/a.npy", "b", 3, 2, True),))
    assert "secret" not in str(files.to_entry())


def test_ended_workers_leave_nothing(apply: Apply) -> None:
    for k in range(1, 5):
        np.save(f"part-{k}.npy", np.tile(VECTORS, (6, 1)))
    rows = VECTORS[:10].copy()
    rows[5] = np.nan
    np.save("part-0.npy", rows)
    with pytest.raises(DataError, match="part-0.npy: row 5"):
        apply(workers=2)
    assert all(not name.startswith(".") for name in contents("new"))
