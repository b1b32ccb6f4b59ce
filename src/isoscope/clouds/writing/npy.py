"""Writing ``.npy`` files, row by row whatever the order of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from isoscope.clouds.npy import read_header
from isoscope.clouds.streams import readable

if TYPE_CHECKING:
    from isoscope.clouds.writing.change import Rewrite


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
