"""A real S3 protocol, spoken by a server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from clouds_for_tests import joined, shifted
from pyarrow import parquet

import isoscope
from isoscope.compute.processes import Processes
from isoscope.compute.stage import Stage
from isoscope.data.base import Shard, shards_of
from isoscope.errors import UsageError
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import FirstState, FirstWork

server = pytest.importorskip("moto.server", reason="moto is not installed")
s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")

VECTORS = shifted(0, 3_000, 4).astype(np.float32)


@pytest.fixture(scope="module")
def bucket() -> Iterator[object]:
    running = server.ThreadedMotoServer(port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        filesystem = s3fs.S3FileSystem()
        filesystem.mkdir("vectors")
        yield filesystem
        s3fs.S3FileSystem.clear_instance_cache()
    running.stop()


def test_files_in_a_bucket(bucket: s3fs.S3FileSystem, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VECTORS)
    np.savez(tmp_path / "a.npz", v=VECTORS)
    for name in ("a.npy", "a.npz"):
        bucket.put(str(tmp_path / name), f"vectors/{name}")
        np.testing.assert_array_equal(joined(isoscope.open_cloud(f"s3://vectors/{name}")), VECTORS)
    bucket.put(str(tmp_path / "a.npy"), "vectors/b.npy")
    assert isoscope.open_cloud("s3://vectors/*.npy").rows == 6_000
    with pytest.raises(UsageError, match="there is no file s3://vectors/absent.npy"):
        isoscope.open_cloud("s3://vectors/absent.npy")


def test_workers_read_shards_from_a_bucket(bucket: s3fs.S3FileSystem, tmp_path: Path) -> None:
    for number in range(3):
        table = pyarrow.table({"v": list(VECTORS + number)})
        parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=1_000)
        bucket.put(str(tmp_path / f"{number}.parquet"), f"vectors/shards/{number}.parquet")
    address = "s3://vectors/shards/*.parquet"
    group = isoscope.open_cloud(address)
    shards = shards_of(group)
    assert len(shards) == 3
    here = isoscope.measure(str(tmp_path / "*.parquet"), "mean_cosine,i1")
    work = FirstWork(MomentParts(), {group.names[0]: 4})
    stage: Stage[Shard, FirstState] = Stage("read", shards, [3_000] * 3, FirstState)
    with Processes(2) as pool:
        found = stage.run(pool, work).state.moments[group.names[0]]
    assert found.rows == 9_000
    there = isoscope.measure(address, "mean_cosine,i1")
    assert [row.value for row in there.rows] == [row.value for row in here.rows]


def test_a_bad_shard_in_a_bucket_is_left_out(bucket: s3fs.S3FileSystem, tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", VECTORS)
    bucket.put(str(tmp_path / "good.npy"), "vectors/some/good.npy")
    with bucket.open("vectors/some/torn.npy", "wb") as file:
        file.write((tmp_path / "good.npy").read_bytes()[:1_000])
    with pytest.warns(UserWarning, match="left out: s3://vectors/some/torn.npy: its header"):
        found = isoscope.measure("s3://vectors/some/*.npy", "mean_cosine", on_error="skip")
    assert found.left_out == {"shards that could not be read": 1}
    assert list(found.extra["skipped_shards"]) == ["s3://vectors/some/torn.npy"]
    whole = isoscope.measure(VECTORS, "mean_cosine")
    assert found.value("mean_cosine") == whole.value("mean_cosine")
