"""A fitted correction applied to files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from isoscope.clouds.writing import Change, rewrite_files
from isoscope.corrections.naming import text_of
from isoscope.corrections.rows import corrected_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.clouds.writing import Written
    from isoscope.corrections.base import Correction
    from isoscope.measures.reading import Progress


def apply_to_files(
    correction: Correction,
    source: str,
    out: str,
    *,
    column: str | None = None,
    progress: Progress | None = None,
) -> list[Written]:
    """Correct every vector of a source, and write it in the format that it came in.

    See ``isoscope.clouds.writing.rewrite_files`` for what is kept. Parquet, Arrow and safetensors
    files and columns of PostgreSQL note the correction, and one that carries it already is refused.

    Parameters
    ----------
    correction : Correction
        Fitted on vectors of the same width.
    source : str
        A file, a pattern of files, a packaged cloud, or a column of a PostgreSQL table.
    out : str
        A file of the same family, or a folder; a pattern needs a folder. For a table: a new
        column of it, a new table, or ``.npy``.
    column : str, optional
        Which array of a file that holds several.
    progress : callable, optional
        Called with what is done, rows done, and rows in all.

    Returns
    -------
    list of Written
        What was written, file by file.
    """
    check_is_fitted(correction)

    def apply(rows: NDArray[Any]) -> NDArray[Any]:
        # What ``transform`` does, without its checks, which a file has been through already.
        corrected: NDArray[Any] = corrected_rows(
            rows,
            correction._correct,
            correction._output_width,
            renormalize=correction.renormalize,
            threads=not correction.own_threads,
        )
        return corrected

    change = Change(
        apply,
        correction.n_features_in_,
        correction._output_width,
        text_of(correction),
        correction.fingerprint,
    )
    return rewrite_files(source, out, change, column=column, progress=progress)
