"""``isoscope correct`` from the command line: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow
import pytest
from clouds_for_tests import joined, labels, shifted
from pyarrow import parquet

import isoscope
from isoscope.cli.app import main

VECTORS = shifted(0, 3_000, 6).astype(np.float32)
IDS = [f"d{k}" for k in range(3_000)]


class Outcome(NamedTuple):
    """What a call leaves."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call the command line in this process and this folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["isoscope", "correct", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        return Outcome(int(left.value.code or 0), *capsys.readouterr())

    np.save("v.npy", VECTORS)
    columns = {"id": IDS, "vector": pyarrow.array(list(VECTORS))}
    parquet.write_table(pyarrow.table(columns), "v.parquet", row_group_size=1_000)
    return call


@pytest.mark.slow
def test_fit_apply_and_refresh_as_a_user_does(tmp_path: Path) -> None:
    def command(*arguments: str | Path) -> str:
        return subprocess.run(
            [sys.executable, "-c", "from isoscope.cli.app import main; main()", *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
        ).stdout

    vectors, more, new = (tmp_path / name for name in ("v.npy", "more.npy", "w.npy"))
    file = tmp_path / "c.safetensors"
    np.save(vectors, VECTORS)
    np.save(more, VECTORS[:500] + 1)
    lines = command("correct", "fit", vectors, "--correction", "center", "--out", file).split("\n")
    assert lines[0] == "center · 3,000 vectors × 6 dimensions · float32"
    applied = command("correct", "apply", file, vectors, "--out", new)
    assert "3,000 rows of 6 dimensions" in " ".join(applied.split())
    np.testing.assert_allclose(np.load(new).mean(axis=0), 0, atol=1e-6)
    refreshed = command("correct", "refresh", file, more)
    assert "3,000 before, 3,500 now" in " ".join(refreshed.split())


@pytest.mark.parametrize(
    "name",
    [
        "center",
        "center:renormalize=true",
        "center-scaled",
        "all-but-the-top",
        "cluster-pc-removal:n_clusters=3:n_components=2",
        "whiten",
        "whiten:n_components=4",
        "clip",
        "standardize",
    ],
)
def test_every_correction_on_a_table(run: Run, name: str) -> None:
    fitted = run("fit", "v.parquet", "--correction", name, "--out", "c.safetensors", "--json")
    assert fitted.code == 0, fitted.err
    facts = json.loads(fitted.out)
    correction = isoscope.load_correction("c.safetensors")
    assert facts["correction"] == name
    assert (facts["rows"], facts["width"], facts["dtype"]) == (3_000, 6, "float32")
    assert facts["fingerprint"] == correction.fingerprint
    applied = run("apply", "c.safetensors", "v.parquet", "--out", "w.parquet", "--json")
    assert applied.code == 0, applied.err
    (written,) = json.loads(applied.out)
    assert written == {
        "source": "v.parquet", "out": "w.parquet", "rows": 3_000, "width": facts["new_width"],
        "marked": True,
        "without": 0, "zero_vectors": 0, "normalized": False, "other_norms": 0,
    }  # fmt: skip
    cloud = isoscope.open_cloud("w.parquet")
    np.testing.assert_array_equal(joined(cloud), correction.transform(VECTORS))
    assert labels(cloud, "id") == IDS
    again = run("apply", "c.safetensors", "w.parquet", "--out", "x.parquet")
    assert again.code == 2
    assert again.err == f"isoscope: w.parquet already carries this correction ({name})\n"
    if facts["new_width"] == facts["width"]:
        mixed = run("refresh", "c.safetensors", "w.parquet", "--out", "y.safetensors")
        assert mixed.code == 2
        assert f"w.parquet holds vectors that {name} has corrected" in mixed.err


def mean_cosine(vectors: np.ndarray) -> float:
    """Return the mean over all pairs, pair by pair."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float((units @ units.T)[np.triu_indices(len(units), 1)].mean())


def test_mean_cosine_before_and_after(run: Run) -> None:
    outcome = run("fit", "v.npy", "--correction", "center", "--out", "c.safetensors", "--json")
    found = json.loads(outcome.out)["mean_cosine"]
    vectors = VECTORS.astype(np.float64)
    assert found["rows"] == 3_000
    assert found["before"] == pytest.approx(mean_cosine(vectors), rel=1e-9)
    after = isoscope.load_correction("c.safetensors").transform(vectors)
    assert found["after"] == pytest.approx(mean_cosine(after), abs=1e-12)


@pytest.mark.parametrize(
    ("correction", "line"),
    [
        ("all-but-the-top:n_components=2", "directions removed: 2"),
        ("clip:dimensions=1+4", "dimensions set to zero: 1, 4"),
        ("clip", "dimensions set to zero: none"),
        ("whiten:n_components=3", "directions kept: 3"),
        ("whiten", "directions dropped, as they have no variance: 0"),
        ("standardize", "dimensions set to zero: none"),
        ("cluster-pc-removal:n_clusters=3:n_components=1", "clusters: 3"),
    ],
)
def test_what_was_learned(run: Run, correction: str, line: str) -> None:
    outcome = run("fit", "v.npy", "--correction", correction, "--out", "c.safetensors")
    lines = outcome.out.splitlines()
    assert lines[0].startswith(f"{correction} · 3,000 vectors × 6")
    assert f"{line[:1].upper()}{line[1:]}." in " ".join(outcome.out.split())
    assert lines[2].startswith("  The mean cosine of random pairs ")
    assert any(one.startswith("  mean norm ") for one in lines)
    assert "Next   isoscope correct apply c.safetensors v.npy --out corrected.npy" in outcome.out


def test_fewer_dimensions(run: Run) -> None:
    fitted = run("fit", "v.npy", "--correction", "whiten:n_components=2", "--out", "c.safetensors")
    assert "6 → 2 dimensions · float32" in fitted.out
    assert run("apply", "c.safetensors", "v.parquet", "--out", "w.parquet").code == 0
    assert isoscope.open_cloud("w.parquet").widths == (2,)


def test_a_folder_of_files(run: Run, tmp_path: Path) -> None:
    for k in range(3):
        np.save(f"part-{k}.npy", VECTORS[k * 1_000 : k * 1_000 + 1_000])
    run("fit", "part-*.npy", "--correction", "center", "--out", "c.safetensors")
    correction = isoscope.load_correction("c.safetensors")
    assert correction.fitted_on_.rows == 3_000
    outcome = run("apply", "c.safetensors", "part-*.npy", "--out", "new")
    assert outcome.out.splitlines()[2] == "  3,000 vectors corrected in 3 files."
    assert "  part-2.npy → new/part-2.npy: 1,000 rows of 6 dimensions\n" in outcome.out
    found = joined(isoscope.open_cloud(str(tmp_path / "new" / "*.npy")))
    np.testing.assert_array_equal(found, correction.transform(VECTORS))


@pytest.mark.parametrize("out", [None, "d.safetensors"])
def test_refreshing_is_fitting_on_all(run: Run, out: str | None) -> None:
    np.save("old.npy", VECTORS[:2_000])
    np.save("new.npy", VECTORS[2_000:])
    run("fit", "old.npy", "--correction", "whiten", "--out", "c.safetensors")
    before = Path("c.safetensors").read_bytes()
    more = [] if out is None else ["--out", out]
    outcome = run("refresh", "c.safetensors", "new.npy", *more)
    assert outcome.out.startswith("whiten · 3,000 vectors × 6 dimensions · float32\n")
    said = "Updated with 1,000 new vectors: 2,000 before, 3,000 now"
    assert said in " ".join(outcome.out.split())
    assert (Path("c.safetensors").read_bytes() == before) == (out is not None)
    run("fit", "v.npy", "--correction", "whiten", "--out", "all.safetensors")
    found, expected = (
        isoscope.load_correction(name).transform(VECTORS.astype(np.float64))
        for name in (out or "c.safetensors", "all.safetensors")
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_invalid_rows(run: Run) -> None:
    vectors = VECTORS.copy()
    vectors[[13, 700], 2] = np.nan
    np.save("nan.npy", vectors)
    fit = ("fit", "nan.npy", "--correction", "center", "--out", "c.safetensors")
    failed(run(*fit), 1, "row 13 holds NaN")
    assert not Path("c.safetensors").exists()
    dropped = run(*fit, "--drop-invalid")
    assert dropped.out.startswith("center · 2,998 vectors")
    assert "Left out, not finite: 2 rows." in dropped.out
    failed(run("apply", "c.safetensors", "nan.npy", "--out", "w.npy"), 1, "row 13 holds NaN")
    assert not Path("w.npy").exists()
    refreshed = run("refresh", "c.safetensors", "nan.npy", "--drop-invalid")
    failed(refreshed, 2, "the 2,998 vectors are those that the correction was fitted on")


def failed(outcome: Outcome, code: int, words: str) -> None:
    """Check that an error is one line on standard error and nothing else."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("isoscope: ")
    assert words in outcome.err


FIT = ["--correction", "center", "--out", "d.safetensors"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fit", "v.npy", "--correction", "centre", "--out", "d.safetensors"], 2, "mean center"),
        (["fit", "v.npy", "--correction", "center:x=1", "--out", "d.safetensors"], 2, "option of"),
        (["fit", "v.npy", "--correction", "center"], 2, "--out"),
        (["fit", "v.npy", "--out", "d.safetensors"], 2, "--correction"),
        (["fit", "v.npy", "--correction", "center", "--out", "d.npy"], 2, "must end in .safeten"),
        (["fit", "v.npy", "--correction", "center", "--out", "s3://a/d.safetensors"], 2, "machine"),
        (["fit", "v.npy", "--correction", "center", "--out", "no/d.safetensors"], 2, "no folder"),
        (
            ["fit", "t.safetensors", "--correction", "center", "--out", "t.safetensors"],
            2,
            "is a file that is read",
        ),
        (["fit", "absent.npy", *FIT], 2, "there is no file absent.npy"),
        (["fit", "layer_{k}.npy", *FIT], 2, "a correction is fitted on one cloud"),
        (["fit", "v.npy", "--column", "x", *FIT], 2, "leave --column out"),
        (["apply", "c.safetensors", "v.npy"], 2, "--out"),
        (["apply", "absent.safetensors", "v.npy", "--out", "w.npy"], 2, "there is no file absent"),
        (["apply", "v.npy", "v.npy", "--out", "w.npy"], 1, "v.npy"),
        (["apply", "t.safetensors", "v.npy", "--out", "w.npy"], 1, "not a correction saved by"),
        (["apply", "c.safetensors", "absent.npy", "--out", "w.npy"], 2, "there is no file absent"),
        (["apply", "c.safetensors", "v.npy", "--out", "w.parquet"], 2, "v.npy stays .npy"),
        (["apply", "c.safetensors", "v.npy", "--out", "v.npy"], 2, "is a file that is read"),
        (["apply", "c.safetensors", "narrow.npy", "--out", "w.npy"], 1, "has 5 dimensions"),
        (["refresh", "c.safetensors", "v.npy"], 2, "are those that the correction was fitted on"),
        (["refresh", "c.safetensors", "narrow.npy"], 1, "6 dimensions, and the new vectors have 5"),
        (["refresh", "clusters.safetensors", "narrow.npy"], 2, "cannot be refreshed; center, "),
        (["refresh", "c.safetensors", "v.npy", "--out", "d.npy"], 2, "must end in .safetensors"),
    ],
)
def test_wrong_calls(
    run: Run, fitted: None, arguments: list[str], code: int, words: str, tmp_path: Path
) -> None:
    del fitted
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    failed(run(*arguments), code, words)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.fixture
def fitted(run: Run) -> None:
    """Have some files to call wrongly with."""
    from safetensors.numpy import save_file

    del run
    save_file({"t": VECTORS}, "t.safetensors")
    np.save("narrow.npy", VECTORS[:, :5])
    for k in range(2):
        np.save(f"layer_{k}.npy", VECTORS)
    isoscope.make_correction("center").fit_cloud("v.npy").save("c.safetensors")
    clusters = isoscope.make_correction("cluster-pc-removal:n_clusters=2:n_components=1")
    clusters.fit_cloud("v.npy").save("clusters.safetensors")


def test_help_has_examples(run: Run) -> None:
    for command in ("fit", "apply", "refresh"):
        outcome = run(command, "--help")
        assert outcome.code == 0
        assert f"isoscope correct {command} " in outcome.out
    assert "refresh" in run().out


UNIT = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)


def test_norm_1_is_kept_and_said(run: Run) -> None:
    np.save("u.npy", UNIT)
    assert run("fit", "u.npy", "--correction", "center", "--out", "c.safetensors").code == 0
    applied = run("apply", "c.safetensors", "u.npy", "--out", "w.npy")
    assert "u.npy → w.npy: 3,000 rows of 6 dimensions" in applied.out
    assert (
        "The correction was fitted on vectors with norm 1, so the corrected ones are scaled to "
        "norm 1; --keep-norms turns this off." in " ".join(applied.out.split())
    )
    np.testing.assert_allclose(np.linalg.norm(np.load("w.npy"), axis=1), 1, atol=1e-6)
    facts = json.loads(run("apply", "c.safetensors", "u.npy", "--out", "w.npy", "--json").out)
    assert facts[0]["normalized"] is True
    kept = run("apply", "c.safetensors", "u.npy", "--out", "w.npy", "--keep-norms")
    assert "norm" not in kept.out
    np.testing.assert_allclose(np.load("w.npy"), UNIT - UNIT.mean(axis=0), atol=1e-6)
    other = run("apply", "c.safetensors", "v.npy", "--out", "w.npy")
    assert "3,000 did not have norm 1: normalise vectors before correcting" in " ".join(
        other.out.split()
    )


def test_zero_vectors_and_nulls_are_said(run: Run) -> None:
    rows = [None, [0.0] * 6, *VECTORS[:50].tolist(), [0.0] * 6]
    column = pyarrow.array(rows, pyarrow.list_(pyarrow.float32()))
    parquet.write_table(pyarrow.table({"vector": column}), "holes.parquet")
    fitted = run(
        "fit", "holes.parquet", "--correction", "center", "--out", "c.safetensors", "--drop-invalid"
    )
    assert "Left out, null: 1 row." in fitted.out
    applied = run("apply", "c.safetensors", "holes.parquet", "--out", "w.parquet")
    assert (
        "53 rows of 6 dimensions, recorded in its metadata; 1 row without a vector (null), left "
        "as null; 2 zero vectors, left as zero" in " ".join(applied.out.split())
    )


def test_a_refresh_with_other_norms_says_what_it_changes(run: Run) -> None:
    np.save("u.npy", UNIT)
    np.save("more.npy", UNIT[:100, ::-1])
    run("fit", "u.npy", "--correction", "center", "--out", "c.safetensors")
    same = run("refresh", "c.safetensors", "more.npy", "--out", "d.safetensors")
    assert "no longer" not in same.out
    other = run("refresh", "c.safetensors", "v.npy", "--out", "d.safetensors", "--json")
    facts = json.loads(other.out)
    assert (facts["unit_norm_before"], facts["unit_norm"]) == (True, False)
    other = run("refresh", "c.safetensors", "v.npy", "--out", "d.safetensors")
    assert (
        "The old vectors had norm 1 and not all of the new ones have, so correct apply no longer "
        "scales corrected vectors to norm 1" in " ".join(other.out.split())
    )
