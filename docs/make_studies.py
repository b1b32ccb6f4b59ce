"""Make the pages of the papers' studies, and the table of what they took, from the records.

    python docs/make_studies.py            # from docs/results/records
    python docs/make_studies.py studies    # from a folder of isoscope study run --out

With a folder of runs, the records are made from it first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from isoscope.verbs.study.records.costs import costs_table
from isoscope.verbs.study.records.pages import write_pages
from isoscope.verbs.study.records.store import save_record
from isoscope.verbs.study.runs.folder import StudyFolder

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "results"
RECORDS = PAGES / "records"
COSTS = ROOT / "src" / "isoscope" / "verbs" / "study" / "records" / "costs.csv"


def main(folder: str | None = None) -> None:
    """Make records, where a folder of runs is named; then pages and the table."""
    if folder is not None:
        runs = list(StudyFolder(folder).runs())
        for old in RECORDS.glob("*.json.gz"):
            old.unlink()
        for run in runs:
            save_record(run, RECORDS)
    kept = list(StudyFolder(RECORDS).runs())
    written = write_pages(kept, PAGES)
    COSTS.write_text(costs_table(kept), "utf-8")
    size = sum(path.stat().st_size for path in RECORDS.iterdir())
    print(f"{len(kept)} records, {size / 1e6:.1f} MB; {len(written)} pages")


if __name__ == "__main__":
    main(*sys.argv[1:2])
