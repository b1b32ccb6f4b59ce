"""Every table of printed numbers says where it is printed."""

from __future__ import annotations

from pathlib import Path

from isoscope.verbs.study import reference


def test_every_file_has_a_source() -> None:
    folder = Path(reference.__file__).parent
    files = {path.stem for path in folder.glob("*.csv")} - {"sources"}
    sources = {row["file"]: row["source"] for row in reference.printed_table("sources")}
    assert set(sources) == files
    assert all(sources.values())
    for name in files:
        assert reference.printed_table(name)
