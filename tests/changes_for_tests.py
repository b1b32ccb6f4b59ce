"""A change of vectors that is easy to do by hand, for tests of what writes it to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from clouds_for_tests import joined

import isoscope
from isoscope.data import Change, Written, rewrite_files


def moved(rows: np.ndarray) -> np.ndarray:
    """Subtract 1 and halve, in the type of the rows."""
    return (rows - rows.dtype.type(1)) / rows.dtype.type(2)


def change(width: int, new_width: int | None = None, fingerprint: str = "abc") -> Change:
    """Return ``moved``, which may keep the first dimensions only."""
    kept = width if new_width is None else new_width
    return Change(lambda rows: moved(rows)[:, :kept], width, kept, "moved", fingerprint)


def rewritten(
    source: Path, out: Path, new_width: int | None = None, column: str | None = None
) -> Written:
    """Write one file changed, and check that its vectors are those of the source, changed."""
    before = isoscope.open_cloud(source, column=column)
    (width,) = before.widths
    (written,) = rewrite_files(str(source), str(out), change(width, new_width), column=column)
    after = isoscope.open_cloud(out, column=column)
    assert after.widths == (new_width or width,)
    assert after.dtypes == before.dtypes
    wide = joined(before)
    wide = wide.astype(np.float32) if wide.dtype == np.float16 else wide
    expected = moved(wide)[:, : new_width or width]
    found = joined(after)
    if before.dtypes == ("bfloat16",):
        np.testing.assert_allclose(found, expected, rtol=2.0**-8)
    else:
        np.testing.assert_array_equal(found, expected.astype(found.dtype))
    assert (written.rows, written.width) == found.shape
    assert not list(out.parent.glob(".isoscope-*"))
    return written
