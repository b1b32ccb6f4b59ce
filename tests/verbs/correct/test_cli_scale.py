"""``isoscope correct`` on any workers: the same bytes, after a kill as well."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.cli.app import main
from isoscope.corrections import Correction
from isoscope.errors import UsageError
from isoscope.measures.reads import passes as reading

ROWS = 10_000
VECTORS = shifted(0, 3 * ROWS, 50).astype(np.float32)
CLUSTERS = "cluster-pc-removal:n_clusters=2:n_components=1"
SHARD = ("--shard", "4096")
"""Each of the three files has three shards of a batch."""


class Outcome(NamedTuple):
    """What a call leaves."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call the command line in this process, in a folder with three files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for k in range(3):
        np.save(f"part-{k}.npy", VECTORS[k * ROWS : k * ROWS + ROWS])

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["isoscope", "correct", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        return Outcome(int(left.value.code or 0), *capsys.readouterr())

    return call


def fit(run: Run, out: str, *options: str, name: str = "whiten") -> dict[str, Any]:
    """Fit on all files, and return what is printed, without the name of the file."""
    done = run(
        "fit", "part-*.npy", "--correction", name, "--out", f"{out}.safetensors", *SHARD, "--json",
        *options,
    )  # fmt: skip
    assert done.code == 0, done.err
    facts: dict[str, Any] = json.loads(done.out)
    del facts["file"]
    return facts


def contents(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def failed(outcome: Outcome, code: int, words: str) -> None:
    """Check that an error is one line on standard error and nothing else."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("isoscope: ")
    assert words in outcome.err


@pytest.mark.parametrize(
    "name", ["center", "center-scaled", "all-but-the-top", "whiten", "clip", "standardize"]
)
def test_threads_fit_the_same_bytes(run: Run, name: str) -> None:
    one = fit(run, "one", "--workers", "1", name=name)
    assert fit(run, "two", "--workers", "2", name=name) == one
    assert fit(run, "all", name=name) == one
    found = {Path(f"{out}.safetensors").read_bytes() for out in ("one", "two", "all")}
    assert len(found) == 1


def test_ray_fits_refreshes_and_applies_to_the_same_bytes(
    run: Run, ray_cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del ray_cluster  # which every run uses, and leaves as it is
    np.save("more.npy", VECTORS[:9_000] + 1)
    local = fit(run, "local")
    refresh = ("refresh", "local.safetensors", "more.npy", *SHARD)
    assert run(*refresh, "--out", "more-local.safetensors").code == 0
    assert run("apply", "local.safetensors", "part-*.npy", "--out", "local").code == 0
    batches = counted(monkeypatch)
    monkeypatch.delattr("isoscope.verbs.correct.files.carried_out")
    for workers in ("1", "2"):
        out, elsewhere = f"ray-{workers}", ("--engine", "ray", "--workers", workers)
        assert fit(run, out, *elsewhere) == local
        assert Path(f"{out}.safetensors").read_bytes() == Path("local.safetensors").read_bytes()
        applied = run("apply", "local.safetensors", "part-*.npy", "--out", out, *elsewhere)
        assert applied.code == 0, applied.err
        assert contents(out) == contents("local")
    done = run(*refresh, "--out", "more-ray.safetensors", "--engine", "ray", "--workers", "2")
    assert done.code == 0, done.err
    found = (Path(f"more-{name}.safetensors").read_bytes() for name in ("ray", "local"))
    assert len(set(found)) == 1
    assert batches == []  # this process read nothing itself


# Everything finished is kept at once, and the process dies by kill -9: in the middle of a batch, or
# when a worker is done with a shard.
KILLED = """
import os, signal, sys
from isoscope.cli.app import main
from isoscope.data import rewrite as change
from isoscope.compute import stage as shard_journal, stage as sharded
from isoscope.measures.reads import passes as reading

shard_journal.SHARE = 0
where, left = sys.argv.pop(1), int(sys.argv.pop(1))

def deadly(method):
    def call(*arguments):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments)
    return call

if where == "batch":
    reading.MomentsTaker.add = deadly(reading.MomentsTaker.add)
    change.Rewrite.changed = deadly(change.Rewrite.changed)
else:
    sharded.Stage.add = deadly(sharded.Stage.add)
main()
"""


def killed(where: str, count: int, *arguments: str) -> None:
    """Let a process call the command line, and die over its ``count``-th batch or shard."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, where, str(count), "correct", *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the first row of every batch that is summed."""
    batches: list[int] = []
    add = reading.MomentsTaker.add

    def noting(taker: reading.MomentsTaker, found: Any) -> None:
        batches.extend(batch.first_row for batch in found.values())
        add(taker, found)

    monkeypatch.setattr(reading.MomentsTaker, "add", noting)
    return batches


def test_a_killed_fit_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit(run, "whole")
    call = ("fit", "part-*.npy", "--correction", "whiten", "--out", "c.safetensors", *SHARD)
    killed("batch", 4, *call, "--workers", "1")
    assert not Path("c.safetensors").exists()
    failed(run(*call), 2, "c.safetensors.journal is the journal of a run that did not finish")
    failed(run(*call, "--drop-invalid", "--resume"), 2, "started with drop_invalid false")
    failed(run(*call[:-2], "--resume"), 2, "started with shard_rows 4096")
    batches = counted(monkeypatch)
    assert fit(run, "c", "--resume", "--workers", "1") == whole
    assert min(batches) == ROWS  # the shards of the first file are not read again
    assert len(batches) == 6
    assert Path("c.safetensors").read_bytes() == Path("whole.safetensors").read_bytes()
    assert not Path("c.safetensors.journal").exists()


@pytest.mark.parametrize("name", ["whiten", CLUSTERS])
def test_the_journal_goes_after_the_file_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(correction: Correction, path: Path) -> None:
        del correction
        raise UsageError(f"{path} cannot be written: no space left")

    call = ("fit", "part-*.npy", "--correction", name, "--out", "c.safetensors", *SHARD)
    with monkeypatch.context() as patch:
        patch.setattr(Correction, "save", full)
        failed(run(*call), 2, "no space left")
    # Clusters leave nothing that a run could go on from.
    assert Path("c.safetensors.journal").exists() == (name == "whiten")
    if name == "whiten":
        batches = counted(monkeypatch)
        assert run(*call, "--resume").code == 0
        assert batches == []
    else:
        assert run(*call).code == 0
    assert Path("c.safetensors").exists()


def test_a_killed_application_goes_on(run: Run) -> None:
    fit(run, "c")
    assert run("apply", "c.safetensors", "part-*.npy", "--out", "whole").code == 0
    call = ("apply", "c.safetensors", "part-*.npy", "--out", "new/")
    killed("batch", 5, *call)
    shown = [path for path in Path("new").iterdir() if not path.name.startswith(".")]
    assert [path.name for path in shown] == ["part-0.npy"]  # and no half of another
    before = shown[0].stat()
    failed(run(*call), 2, "new.journal is the journal of a run that did not finish")
    assert run(*call, "--resume").code == 0
    assert shown[0].stat().st_mtime_ns == before.st_mtime_ns
    assert contents("new") == contents("whole")  # and nothing that the killed run left
    assert not Path("new.journal").exists()


def test_a_killed_application_of_workers_goes_on(run: Run) -> None:
    fit(run, "c")
    assert run("apply", "c.safetensors", "part-*.npy", "--out", "whole").code == 0
    call = ("apply", "c.safetensors", "part-*.npy", "--out", "new", "--workers", "2")
    killed("shard", 2, *call)
    assert len(list(Path("new.journal").glob("step *"))) == 1
    done = run(*call, "--resume", "--json")
    assert [one["source"] for one in json.loads(done.out)] == sorted(map(str, Path().glob("p*")))
    assert contents("new") == contents("whole")


def test_a_killed_refresh_counts_nothing_twice(run: Run) -> None:
    np.save("more.npy", VECTORS[:9_000] + 1)
    fit(run, "c")
    call = ("refresh", "c.safetensors", "more.npy", *SHARD)
    assert run(*call, "--out", "whole.safetensors").code == 0
    killed("batch", 2, *call, "--workers", "1")
    failed(run(*call), 2, "c.safetensors.journal is the journal of a run that did not finish")
    # As if it had been killed after the file was written, and before the journal went.
    kept = contents("c.safetensors.journal")
    assert run(*call, "--resume").code == 0
    assert Path("c.safetensors").read_bytes() == Path("whole.safetensors").read_bytes()
    Path("c.safetensors.journal").mkdir()
    for name, data in kept.items():
        Path("c.safetensors.journal", name).write_bytes(data)
    failed(run(*call, "--resume"), 2, "cannot be resumed: it was started with refreshes")


@pytest.fixture
def bad(run: Run) -> None:
    """Let one file be cut off, and one hold a row that is not finite."""
    del run
    Path("part-0.npy").write_bytes(Path("part-0.npy").read_bytes()[:1_000])
    rows = VECTORS[ROWS : 2 * ROWS].copy()
    rows[4_500] = np.nan
    np.save("part-1.npy", rows)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["whiten", CLUSTERS])
def test_bad_shards_are_named_and_counted(run: Run, bad: None, name: str) -> None:
    del bad
    call = ("fit", "part-*.npy", "--correction", name, "--out", "c.safetensors", *SHARD)
    failed(run(*call), 1, "part-0.npy")
    done = run(*call, "--on-error", "skip")
    assert done.code == 0, done.err
    # A file that cannot be opened, and the middle third of another.
    assert f"{name} · {2 * ROWS - 4_096:,} vectors" in done.out
    assert "Left out, shards that could not be read: 2.\n" in done.out
    first, second = done.err.splitlines()
    assert first.startswith("isoscope: warning: left out: part-0.npy")
    assert second.startswith("isoscope: warning: left out: part-1.npy, rows 4,096 to 8,191: ")
    assert "row 4500 holds NaN" in second
    quiet = run(*call, "--on-error", "skip", "--json", "--quiet")
    assert quiet.err == ""
    facts = json.loads(quiet.out)
    assert facts["left_out"] == {"shards that could not be read": 2}
    assert list(facts["skipped_shards"]) == ["part-0.npy", "part-1.npy, rows 4,096 to 8,191"]


@pytest.mark.filterwarnings("default")
def test_bad_files_are_left_out_of_a_refresh(run: Run, bad: None) -> None:
    del bad
    fitted = isoscope.make_correction("center").fit(VECTORS[:100])
    fitted.save("c.safetensors")
    call = ("refresh", "c.safetensors", "part-*.npy", *SHARD, "--json")
    failed(run(*call), 1, "part-0.npy")
    done = run(*call, "--on-error", "skip", "--quiet")
    facts = json.loads(done.out)
    assert facts["rows"] == 100 + 2 * ROWS - 4_096
    assert len(facts["skipped_shards"]) == 2


@pytest.mark.filterwarnings("default")
def test_bad_files_are_left_out_of_an_application(run: Run, bad: None) -> None:
    del bad
    isoscope.make_correction("center").fit(VECTORS).save("c.safetensors")
    call = ("apply", "c.safetensors", "part-*.npy", "--out", "new")
    failed(run(*call), 1, "part-0.npy")
    done = run(*call, "--on-error", "skip")
    assert "  part-2.npy → new/part-2.npy: 10,000 rows of 50 dimensions\n" in done.out
    assert "Left out, files that could not be read: 2." in done.out
    assert [line.split(": ")[2] for line in done.err.splitlines()] == ["left out"] * 2
    quiet = run(*call, "--on-error", "skip", "--json", "--quiet")
    assert quiet.err == ""
    written, *skipped = json.loads(quiet.out)
    assert written["out"] == "new/part-2.npy"
    assert [one["source"] for one in skipped] == ["part-0.npy", "part-1.npy"]
    assert "row 4500 holds NaN" in skipped[1]["skipped"]


FIT = ("fit", "part-0.npy", "--out", "d.safetensors", "--correction")
APPLY = ("apply", "c.safetensors", "part-*.npy", "--out")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*FIT, "center", "--engine", "spark"), "--engine must be local, ray or ray:ADDRESS"),
        ((*FIT, "center", "--workers", "0"), "--workers"),
        ((*FIT, "center", "--shard", "0"), "--shard"),
        ((*FIT, "center", "--on-error", "ignore"), "--on-error"),
        ((*FIT, "center", "--quiet", "--progress", "bar"), "--quiet shows no progress"),
        ((*FIT, "whiten:n_components=51"), "n_components must be at most 50"),
        ((*FIT, "clip:dimensions=99"), "there is no dimension 99"),
        ((*FIT, CLUSTERS, "--engine", "ray"), "Ray fits center, "),
        ((*FIT, CLUSTERS, "--workers", "2"), "--workers is for center, "),
        ((*FIT, CLUSTERS, "--resume"), "leave --resume out"),
        ((*APPLY, "new", "--engine", "ray:"), "--engine must be local, ray or ray:ADDRESS"),
        ((*APPLY, "new", "--on-error", "ignore"), "--on-error"),
        ((*APPLY, "memory://new", "--resume"), "--resume needs an --out on this machine"),
        (("refresh", "c.safetensors", "part-*.npy", *SHARD), "are those that the correction was"),
        (("refresh", "c.safetensors", "part-0.npy", "--engine", "ray:"), "--engine must be local"),
    ],
)
def test_wrong_calls(run: Run, arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    isoscope.make_correction("center").fit_cloud("part-*.npy").save("c.safetensors")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    failed(run(*arguments), 2, words)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_progress_as_lines(run: Run) -> None:
    lines = ("--progress", "lines")
    done = run("fit", "part-*.npy", "--correction", "center", "--out", "c.safetensors", *lines)
    last = json.loads(done.err.splitlines()[-1])
    assert (last["progress"], last["done"], last["total"]) == ("fit", 3 * ROWS, 3 * ROWS)
    done = run("apply", "c.safetensors", "part-*.npy", "--out", "new", *lines)
    last = json.loads(done.err.splitlines()[-1])
    assert (last["progress"], last["done"], last["total"]) == ("apply", 3 * ROWS, 3 * ROWS)


@pytest.mark.parametrize(
    ("out", "journal"), [("new", "new.journal"), ("new/", "new.journal"), (".", "here.journal")]
)
def test_where_the_journal_is(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, out: str, journal: str
) -> None:
    isoscope.make_correction("center").fit(VECTORS).save("c.safetensors")
    Path("here").mkdir()
    Path(journal).mkdir()
    Path(journal, "configuration.json").write_text("{}")
    if out == ".":
        monkeypatch.chdir(tmp_path / "here")
    call = ("apply", str(tmp_path / "c.safetensors"), str(tmp_path / "part-*.npy"), "--out", out)
    failed(run(*call), 2, "is the journal of a run that did not finish")
