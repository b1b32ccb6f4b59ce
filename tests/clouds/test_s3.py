"""A real S3 protocol, spoken by a server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import joined, shifted

import isoscope
from isoscope.errors import UsageError

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
