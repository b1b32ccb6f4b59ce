"""How many files of each format the fuzz tests try: ``ISOSCOPE_FUZZ_CASES``, or 1,000."""

from __future__ import annotations

import os

DAMAGED = int(os.environ.get("ISOSCOPE_FUZZ_CASES", "1000"))
"""Mutations of a real file; one takes a fraction of a millisecond."""

DRAWN = max(DAMAGED * 12 // 100, 1)
"""Files that hypothesis draws, which takes it some ten times as long."""
