"""``.npy`` files: numpy's own format, read as a stream and written row by row."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from isoscope.data.base import Cloud, Labels, checked_shape, stored_type
from isoscope.data.formats.matrix import MatrixFileCloud, MatrixLayout
from isoscope.data.location import Location, first_line, readable
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.data.rewrite import Rewrite


def read_header(file: BinaryIO, where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read shape, column-major flag and dtype; the file is then at the first number."""
    try:
        with warnings.catch_warnings():
            # That a file is of Python 2 changes nothing.
            warnings.filterwarnings("ignore", "Reading `.npy` or `.npz` file required")
            return checked_header(file, where)
    except (OSError, DataError):
        raise
    except Exception as error:  # numpy evaluates the header, so that anything may be raised
        if not file.tell():
            raise DataError(f"{where} is empty") from error
        raise DataError(f"{where} is not a whole .npy file: {first_line(error)}") from error


def checked_header(file: BinaryIO, where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read a header as numpy does."""
    version = npy_format.read_magic(file)
    if version == (1, 0):
        shape, column_major, dtype = npy_format.read_array_header_1_0(file)
    else:
        # 3.0 differs from 2.0 in the encoding of field names, which vectors do not have.
        shape, column_major, dtype = npy_format.read_array_header_2_0(file)
    if any(length < 0 for length in shape):
        raise DataError(f"{where} is not a .npy file: its header says shape {shape}")
    return shape, column_major, dtype


def matrix_layout(
    shape: tuple[int, ...], column_major: bool, dtype: np.dtype, where: str
) -> MatrixLayout:
    """Check an array's header and turn it into a layout."""
    stored = stored_type(dtype, where)
    rows, width = checked_shape(shape, where)
    order = ">" if dtype.byteorder == ">" else "<"
    return MatrixLayout(rows, width, stored, order, column_major)


def open_npy(
    location: Location,
    column: str | None,
    name: str | None = None,
    labeller: Callable[[int, int], Labels] | None = None,
) -> Cloud:
    """Open a ``.npy`` file."""
    if column is not None:
        raise UsageError(f"{location} holds one array without a name; leave --column out")
    with location.open() as file:
        layout = matrix_layout(*read_header(file, str(location)), str(location))
        offset = file.tell()
    present = location.size() - offset
    if present != layout.bytes:
        raise DataError(
            f"{location}: its header promises {layout.rows:,} × {layout.width:,} {layout.stored} "
            f"({layout.bytes:,} bytes), but {present:,} bytes follow"
            + (": the file is truncated" if present < layout.bytes else ": more than one array?")
        )
    return MatrixFileCloud(location, layout, offset, name or location.stem, labeller)


def write_npy(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the array of a ``.npy`` file changed, in the same type and byte order."""
    where = str(rewrite.location)
    with readable(where), rewrite.location.open() as source:
        _, _, dtype = read_header(source, where)
    write_rows(rewrite, dtype, file)


def write_rows(rewrite: Rewrite, dtype: np.dtype, file: BinaryIO) -> None:
    """Write header and rows; bfloat16 has two bytes of ``void`` as its type."""
    assert rewrite.cloud.rows is not None
    npy_format.write_array_header_1_0(
        file,
        {
            "descr": npy_format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": (rewrite.cloud.rows, rewrite.change.new_width),
        },
    )
    swapped = dtype.byteorder == ">"
    for batch in rewrite.batches():
        file.write((batch.vectors.byteswap() if swapped else batch.vectors).data)
