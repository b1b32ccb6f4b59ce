"""How much memory a run may take, and whether what it is about to do fits.

The limit is what the user names (``--max-memory``, ``ISOSCOPE_MAX_MEMORY``), else three quarters of
what is free on the machine or within the limit of the container, whichever is less. A run whose
matrices would not fit is refused before it reads anything: the kernel would end it later, without
a word.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from isoscope.errors import UsageError

VARIABLE = "ISOSCOPE_MAX_MEMORY"

# Share of the free memory that a run takes unless it is told otherwise.
SHARE = 0.75

# What is smaller than this is not looked at: to ask for the free memory takes longer.
NEGLIGIBLE = 1 << 26

# d × d matrices of float64 that are there at a time, measured at 1,500 and 2,500 dimensions. Two
# reads: sums of the threads, two matrices to decompose with the workspace of LAPACK, two bases.
MEASURED, FITTED = 12, 16

# The same where two clouds are compared, and where both have the same rows their products too.
COMPARED = 12

# Bytes for each byte of stored weights: as they are stored and as they are computed with, which may
# be twice as wide, and what training adds, which is gradients and AdamW's two moments. Quantised
# weights have half a byte or more for a number that becomes four.
LOADED, TRAINED, QUANTISED = 3, 4, 8

# Copies of rows that are held at a time, beside the working memory of a product: the rows as they
# were read, the same in one array, and one with other numbers, such as corrected or of norm 1.
COPIES = 3

# The same for the rows of a cloud that has fewer of them than dimensions.
FACTORED = 10

# Sums of each block of rows for intervals, of vectors and of unit vectors: those of a batch and of
# all batches before.
SUMMED = 4

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
# Bytes below which a size without a unit is taken for one whose unit was forgotten.
FEWEST_BYTES = 1_000_000

POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def parsed_size(text: str, name: str = "--max-memory") -> int:
    """Return the bytes of a size such as 500M, 8GB or 2GiB.

    Examples
    --------
    >>> parsed_size("8GB"), parsed_size("2 GiB"), parsed_size("1.5k")
    (8000000000, 2147483648, 1500)
    """
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{name} must be a size such as 500MB or 8GB, got {text!r}")
    number, unit, binary = found.groups()
    size = int(float(number) * (1024 if binary else 1000) ** POWERS[unit.upper()])
    if float(number) == 0:
        raise UsageError(f"{name} must be more than 0")
    if not unit and size < FEWEST_BYTES:
        raise UsageError(
            f"{name} has no unit, and would be {number} bytes; write {number}GB or {number}MB"
        )
    return size


@contextmanager
def limited(size: str | None) -> Iterator[None]:
    """Hold what runs inside to a size; None leaves the limit as it is."""
    if size is None:
        yield
        return
    parsed_size(size)
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = size  # where the workers of this process look for it as well
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def memory_limit() -> int | None:
    """Return the bytes that a run may take; None where this system does not tell."""
    if os.environ.get(VARIABLE):
        return parsed_size(os.environ[VARIABLE], VARIABLE)
    known = [size for size in (free_memory(), container_memory()) if size is not None]
    return int(SHARE * min(known)) if known else None


def free_memory() -> int | None:
    """Return the bytes that the machine could give out without swapping."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def container_memory(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes that are left within the limit of the control group; None for no limit."""
    left = []
    for folder in control_groups(root):
        for most, used in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            # "max" stands for no limit, and is no number.
            with suppress(OSError, ValueError):
                limit = int((folder / most).read_text())
                left.append(max(limit - int((folder / used).read_text()), 0))
    return min(left, default=None)


def control_groups(root: Path) -> list[Path]:
    """Return the folders of this process's control group and of all those above it."""
    folders = [root, root / "memory"]
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "memory"):
                base = root / controllers
                below = Path(path.lstrip("/"))
                folders += [base / part for part in (below, *below.parents)]
    return list(dict.fromkeys(folders))


def check_matrices(
    width: int, count: int, what: str, advice: str, *, rows: int | None = None
) -> None:
    """Refuse work whose matrices would not fit into memory.

    Parameters
    ----------
    width : int
        Number of dimensions, d.
    count : int
        How many such matrices of float64 there are at a time.
    what : str
        What takes them, for the message, such as "measuring x.npy".
    advice : str
        What to do instead.
    rows : int, optional
        Rows of the matrices, where they are not d × d.
    """
    high = width if rows is None else rows
    check_bytes(8 * high * width * count, what, f"matrices of {high:,} × {width:,}", advice)


def check_held(rows: int | None, width: int, what: str, advice: str, *, itemsize: int = 8) -> None:
    """Refuse to hold rows that would not fit into memory.

    Parameters
    ----------
    rows : int or None
        How many are held at a time; None where only reading tells.
    width : int
        Number of dimensions, d.
    what : str
        What holds them, for the message, such as "a sample of x.npy".
    advice : str
        What to do instead.
    itemsize : int
        Bytes of a number.
    """
    if rows is not None:
        held = f"{rows:,} vectors of {width:,} dimensions"
        check_bytes(COPIES * itemsize * rows * width, what, held, advice)


def check_bytes(needed: int, what: str, held: str, advice: str) -> None:
    """Refuse work that takes more bytes than may be used; ``held`` says what takes them."""
    if needed <= NEGLIGIBLE:
        return
    limit = memory_limit()
    if limit is not None and needed > limit:
        raise UsageError(
            f"{what} takes about {gigabytes(needed)} for {held}, and "
            f"{gigabytes(limit)} may be used (--max-memory or {VARIABLE}); {advice}"
        )


def room(most: int) -> int:
    """Return how many bytes work may take that can be cut to fit: half the limit, at most ``most``.

    Only what takes more than is negligible is cut, so that the free memory of a machine does not
    decide what a small run reads.
    """
    limit = memory_limit()
    return most if limit is None else min(most, max(limit // 2, NEGLIGIBLE))


def gigabytes(size: int) -> str:
    """Write a size for people."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
