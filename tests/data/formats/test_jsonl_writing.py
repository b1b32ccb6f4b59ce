from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from changes_for_tests import change, rewritten

from isoscope.data import rewrite_files
from isoscope.data.formats import jsonl as module
from isoscope.data.formats.jsonl import objects
from isoscope.data.location import Location
from isoscope.errors import DataError

VECTORS = np.random.default_rng(0).standard_normal((300, 5))


def entries() -> list[dict[str, object]]:
    return [
        {"id": k, "text": "ö\u2028\ud800" if k == 7 else f"größer {k}", "vector": row.tolist(),
         "more": {"deep": [1, None, 2.50, "x"]}, "big": 2**70}
        for k, row in enumerate(VECTORS)
    ]  # fmt: skip


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
@pytest.mark.parametrize("new_width", [None, 3])
def test_other_fields_and_their_order_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, new_width: int | None
) -> None:
    monkeypatch.setattr(module, "rows_per_batch", lambda _: 128)
    source, out = tmp_path / "v.jsonl", tmp_path / f"w{ending}"
    source.write_text("\n\n".join(json.dumps(entry) for entry in entries()))
    rewritten(source, out, new_width)
    with Location(str(out)).stream() as file:
        found = list(objects(file, ""))
    for before, after in zip(entries(), found, strict=True):
        assert list(before) == list(after)
        assert {**before, "vector": 0} == {**after, "vector": 0}


def test_a_row_that_does_not_fit(tmp_path: Path) -> None:
    lines = [{"v": [1.0, 2.0]}, {"v": [1.0]}]
    (tmp_path / "v.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(DataError, match="row 1 has 1 numbers, the first has 2"):
        rewrite_files(str(tmp_path / "v.jsonl"), str(tmp_path / "w.jsonl"), change(2))
    assert not (tmp_path / "w.jsonl").exists()
