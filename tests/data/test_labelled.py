from __future__ import annotations

import numpy as np
import pytest

from isoscope import measure, open_cloud
from isoscope.data.combine import LabelledCloud
from isoscope.errors import DataError, UsageError

CLOUD = np.random.default_rng(0).normal(size=(5_000, 700)).astype(np.float32)


def test_labels_follow_their_rows_over_batches() -> None:
    labelled = LabelledCloud(open_cloud(CLOUD), "document", np.arange(5_000) * 2)
    batches = list(labelled.read())
    assert len(batches) > 1
    found = np.concatenate([batch.labels["document"] for batch in batches])
    np.testing.assert_array_equal(found, np.arange(5_000) * 2)


def test_too_few_or_too_many_labels_are_refused() -> None:
    for count in (4_999, 5_001):
        with pytest.raises(DataError, match=f"{count:,} values of document for 5,000 rows"):
            LabelledCloud(open_cloud(CLOUD), "document", np.arange(count))


def test_rows_that_only_reading_counts_are_checked_then() -> None:
    batches = [CLOUD[:100], CLOUD[100:150]]
    for count, rows in ((149, "150"), (151, "150")):
        with pytest.raises(DataError, match=f"{count} values of document for {rows} rows"):
            list(LabelledCloud(open_cloud(batches), "document", np.arange(count)).read())


def test_labels_are_one_list() -> None:
    with pytest.raises(UsageError, match="one list"):
        measure(CLOUD[:100], documents=np.zeros((100, 2)))
