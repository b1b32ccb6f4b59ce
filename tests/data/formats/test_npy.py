from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import joined

import isoscope
from isoscope.errors import DataError, UsageError

CONTENT = np.random.default_rng(0).standard_normal((3_000, 7))


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_come_back_in_order(tmp_path: Path, dtype: str, order: str) -> None:
    array = np.asarray(CONTENT.astype(dtype), order=order)
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(joined(isoscope.open_cloud(tmp_path / "a.npy")), array)


def test_many_batches_and_a_second_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.data.formats.matrix.rows_per_batch", lambda _: 129)
    for order in "CF":
        np.save(tmp_path / "a.npy", np.asarray(CONTENT, order=order))
        cloud = isoscope.open_cloud(tmp_path / "a.npy")
        for _ in range(2):
            batches = [next(iter(b.values())).vectors for b in cloud.batches()]
            assert len(batches) == -(-3_000 // 129)
            np.testing.assert_array_equal(np.concatenate(batches), CONTENT)


def test_bfloat16_as_numpy_saves_it(tmp_path: Path) -> None:
    bits = (CONTENT.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    np.save(tmp_path / "b.npy", bits.view("V2"))
    expected = (bits.astype(np.uint32) << 16).view(np.float32)
    assert isoscope.open_cloud(tmp_path / "b.npy").dtypes == ("bfloat16",)
    np.testing.assert_array_equal(joined(isoscope.open_cloud(tmp_path / "b.npy")), expected)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(5), "is 1-dimensional"),
        (np.zeros((2, 2, 2)), "is 3-dimensional"),
        (np.zeros(()), "is 0-dimensional"),
        (np.zeros((0, 4)), "no vectors"),
        (np.zeros((4, 0)), "without dimensions"),
        (np.zeros((1, 4)), "at least two"),
        (np.zeros((4, 2), np.int64), "int64"),
        (np.zeros((4, 2), np.complex64), "complex64"),
        (np.zeros((4, 2), bool), "bool"),
        (np.array([[1, "a"], [2, "b"]], dtype=object), "never unpickled"),
        (np.zeros((4, 2), [("x", "f4")]), "holds"),
    ],
)
def test_what_is_not_a_cloud_is_refused(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "bad.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=message):
        isoscope.open_cloud(tmp_path / "bad.npy")


def test_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "short.npy"
    np.save(path, CONTENT)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(
        DataError, match=r"promises 3,000 × 7 float64 \(168,000 bytes\), but 167,900"
    ):
        isoscope.open_cloud(path)


def test_more_than_one_array_is_not_silently_lost(tmp_path: Path) -> None:
    with (tmp_path / "two.npy").open("wb") as file:
        np.save(file, CONTENT)
        np.save(file, CONTENT)
    with pytest.raises(DataError, match="more than one array"):
        isoscope.open_cloud(tmp_path / "two.npy")


@pytest.mark.parametrize(
    ("size", "message"),
    [(0, "head.npy is empty"), *((size, "not a whole .npy file") for size in (3, 8, 40))],
)
def test_broken_header(tmp_path: Path, size: int, message: str) -> None:
    np.save(tmp_path / "whole.npy", CONTENT)
    (tmp_path / "head.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:size])
    with pytest.raises(DataError, match=message):
        isoscope.open_cloud(tmp_path / "head.npy")


@pytest.mark.parametrize(
    "header", ["{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3)", "{'descr': ", "((((", ""]
)
def test_headers_that_do_not_parse(tmp_path: Path, header: str) -> None:
    text = header.encode().ljust(118)
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    (tmp_path / "a.npy").write_bytes(content + bytes(36))
    with pytest.raises(DataError, match="not a whole .npy file"):
        isoscope.open_cloud(tmp_path / "a.npy")


def test_negative_shapes_and_version_three(tmp_path: Path) -> None:
    for version, shape, content in ((1, (-3, -3), bytes(36)), (3, (3, 3), bytes(36))):
        text = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
        size = len(text).to_bytes(2 if version == 1 else 4, "little")
        magic = b"\x93NUMPY" + bytes([version, 0])
        (tmp_path / f"{version}.npy").write_bytes(magic + size + text + content)
    with pytest.raises(DataError, match="says shape"):
        isoscope.open_cloud(tmp_path / "1.npy")
    assert isoscope.open_cloud(tmp_path / "3.npy").rows == 3


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", CONTENT)
    cloud = isoscope.open_cloud(tmp_path / "a.npy")
    (tmp_path / "a.npy").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        list(cloud.batches())


def test_a_header_that_promises_too_much(tmp_path: Path) -> None:
    path = tmp_path / "huge.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (10**12, 1_000)}
        )
        file.write(bytes(4_000))
    with pytest.raises(DataError, match="truncated"):
        isoscope.open_cloud(path)


def test_a_file_that_shrinks_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isoscope.data.formats.matrix.rows_per_batch", lambda _: 1_000)
    path = tmp_path / "a.npy"
    np.save(path, CONTENT)
    batches = isoscope.open_cloud(path).batches()
    next(batches)
    path.write_bytes(path.read_bytes()[:90_000])
    with pytest.raises(DataError, match="ends early"):
        list(batches)


def test_a_column_makes_no_sense(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", CONTENT)
    with pytest.raises(UsageError, match="leave --column out"):
        isoscope.open_cloud(tmp_path / "a.npy", column="x")


def with_header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(96)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '" + "A" * 3_000 + "', 'fortran_order': False, 'shape': (3, 4), }\n",
        "{'descr': '<f8', '" + "k" * 3_000 + "': 1, 'fortran_order': False, 'shape': (3, 4), }\n",
        "\x01" * 3_000 + "\n",
        repr(
            {"descr": [(f"f{k}", "<f8") for k in range(99)], "fortran_order": False, "shape": (1,)}
        )
        + "\n",
    ],
)
@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_what_numpy_says_of_a_damaged_header_is_cut(
    tmp_path: Path, header: str, ending: str
) -> None:
    path = tmp_path / f"x{ending}"
    if ending == ".npy":
        path.write_bytes(with_header(header))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", with_header(header))
    with pytest.raises(DataError) as caught:
        isoscope.open_cloud(path)
    assert len(str(caught.value)) - len(str(path)) < 1_000


def test_a_file_of_many_arrays_names_some(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **{f"layer {k}": np.eye(3) for k in range(200)})
    with pytest.raises(
        UsageError, match=r"holds 200 arrays; .*layer 7 float64 \(3, 3\) and 192 more"
    ):
        isoscope.open_cloud(tmp_path / "x.npz")


def test_files_of_python_2_are_read_in_silence(tmp_path: Path) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 4L), }\n"
    (tmp_path / "x.npy").write_bytes(with_header(header))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isoscope.open_cloud(tmp_path / "x.npy").rows == 3
