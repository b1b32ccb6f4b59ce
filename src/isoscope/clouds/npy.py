"""``.npy`` files: numpy's own format, read as a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from isoscope.clouds.checks import checked_shape, stored_type
from isoscope.clouds.matrix_file import MatrixFileCloud, MatrixLayout
from isoscope.clouds.streams import first_line
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from isoscope.clouds.contract import Cloud
    from isoscope.clouds.location import Location


def read_header(file: BinaryIO, where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read shape, column-major flag and dtype; the file is then at the first number."""
    try:
        version = npy_format.read_magic(file)
        if version == (1, 0):
            shape, column_major, dtype = npy_format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, column_major, dtype = npy_format.read_array_header_2_0(file)
        else:
            # 3.0 exists for field names that are not latin-1: structured arrays only.
            raise DataError(
                f"{where} is in .npy format {version[0]}.{version[1]}, which holds "
                "structured arrays; save the vectors as one plain float array"
            )
    except DataError:
        raise
    except (ValueError, EOFError, SyntaxError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(f"{where} is not a whole .npy file: {first_line(error)}") from error
    return shape, column_major, dtype


def matrix_layout(
    shape: tuple[int, ...], column_major: bool, dtype: np.dtype, where: str
) -> MatrixLayout:
    """Check an array's header and turn it into a layout."""
    stored = stored_type(dtype, where)
    rows, width = checked_shape(shape, where)
    order = ">" if dtype.byteorder == ">" else "<"
    return MatrixLayout(rows, width, stored, order, column_major)


def open_npy(location: Location, column: str | None) -> Cloud:
    """Open a ``.npy`` file."""
    if column is not None:
        raise UsageError(f"{location} holds one array without a name; leave --column out")
    layout, offset = read_layout(location)
    present = location.size() - offset
    if present != layout.bytes:
        raise DataError(
            f"{location}: its header promises {layout.rows:,} × {layout.width:,} {layout.stored} "
            f"({layout.bytes:,} bytes), but {present:,} bytes follow"
            + (": the file is truncated" if present < layout.bytes else ": more than one array?")
        )
    return MatrixFileCloud(location, layout, offset, location.stem)


def read_layout(location: Location) -> tuple[MatrixLayout, int]:
    """Return the layout of a ``.npy`` file's matrix and the byte at which it starts."""
    with location.open() as file:
        layout = matrix_layout(*read_header(file, str(location)), str(location))
        return layout, file.tell()
