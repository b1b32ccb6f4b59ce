"""Two clouds from end to end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.corrections import Center, Whiten
from isoscope.data.arrays import ArrayCloud
from isoscope.data.combine import LabelledCloud
from isoscope.errors import DataError, UsageError
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.diff.api import diff

RANDOM = np.random.default_rng(0)
ROWS = (RANDOM.standard_normal((900, 12)) + 1) * np.arange(1, 13) ** -0.5
A, B = ROWS[:450], ROWS[450:]


def remarks(result: isoscope.Result) -> str:
    return " ".join(result.extra["remarks"])


def test_halves_of_one_cloud_do_not_differ() -> None:
    found = diff(A, B, same_rows=False, seed=1)
    assert {row.part for row in found} == {"difference", "support", "keeping"}
    for measure in ("mean_shift", "covariance_distance", "mean_length_ratio"):
        assert found.row(measure).extra["p_holm"] > 0.05
    assert "differ by no more than chance" in remarks(found)
    assert remarks(found).count("Keep the threshold") == 3
    assert remarks(found).count("Keep A's correction") == 2
    outside = found.row("B outside A@95%")
    assert outside.low is not None
    assert outside.high is not None
    assert outside.low <= 0.05 <= outside.high


def test_another_cloud_does() -> None:
    found = diff(A, 2 * B + 1, same_rows=False)
    for measure in ("mean_shift", "covariance_distance", "mean_length_ratio"):
        assert found.row(measure).extra["p_holm"] == pytest.approx(0.003)
    assert found.value("total_variance_ratio") == pytest.approx(4, rel=0.2)
    assert "Beyond chance differ the means" in remarks(found)
    assert "Fit the correction again" in remarks(found)
    assert "Choose a new threshold" in remarks(found)
    assert found.value("B outside A@95%") > 0.5


def test_the_same_rows_may_have_other_widths() -> None:
    found = diff(A, A @ RANDOM.standard_normal((12, 5)))
    assert {row.part for row in found} == {"same rows"}
    assert [row.measure for row in found] == [
        "neighbour_overlap@10",
        "linear_cka_debiased",
        "linear_cka",
        "cosine_rank_correlation",
    ]
    assert "as many rows, and no ids; --other-rows" in remarks(found)
    assert found.row("neighbour_overlap@10").extra["chance"] == 10 / 449


def test_the_same_rows_of_one_width_are_compared_as_clouds_too() -> None:
    found = diff(A, A + 0.3 * RANDOM.standard_normal(A.shape) + 0.1, k=5)
    assert {row.part for row in found} == {"same rows", "difference", "support", "keeping"}
    assert found.value("neighbour_overlap@5") > 0.2
    # Swapped within rows, which have most of their noise in common, a small shift is plain.
    assert found.row("mean_shift").extra["p_holm"] <= 0.05


def test_equal_clouds_are_called_equal() -> None:
    found = diff(A, A.copy())
    assert "A and B hold the same vectors: they are equal." in remarks(found)
    assert found.value("neighbour_overlap@10") == 1
    assert found.value("linear_cka") == pytest.approx(1)
    assert found.row("mean_shift").extra["p"] == 1
    assert not re.search("Fit the|Choose a new", remarks(found))


def test_a_result_can_be_made_again_and_kept() -> None:
    first, second = (diff(A, B, same_rows=False, seed=4, sample=200) for _ in range(2))
    assert first.to_json() == second.to_json()
    again = isoscope.Result.from_json(first.to_json())
    assert again.to_markdown() == first.to_markdown()
    assert json.loads(first.to_json())["seeds"] == {"seed": 4}
    other = diff(A, B, same_rows=False, seed=5, sample=200)
    assert other.value("B outside A@95%") != first.value("B outside A@95%")


def test_rows_that_are_not_finite() -> None:
    holes = B.copy()
    holes[3, 2] = np.nan
    with pytest.raises(DataError, match="row 3 holds NaN"):
        diff(A, holes, same_rows=False)
    with pytest.raises(DataError, match="B, array: row 3 holds NaN"):
        diff(A, holes, same_rows=True)
    assert diff(A, holes, same_rows=False, drop_invalid=True).left_out == {"not finite (of B)": 1}
    both = diff(A, holes, same_rows=True, drop_invalid=True)
    assert both.left_out == {"not finite": 1}
    assert both.row("linear_cka").n == 449


def test_zero_rows_stay_where_they_mean_something() -> None:
    holes = A.copy()
    holes[:2] = 0
    found = diff(holes, B, same_rows=True)
    row = found.row("neighbour_overlap@10")
    assert row.n == 448
    assert "2 sampled rows without a direction" in row.note
    assert found.row("linear_cka").n == 450


def test_a_correction_and_a_threshold_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "old.safetensors"
    Whiten(n_components=6).fit(A).save(path)
    found = diff(A, B, same_rows=False, correction=path, threshold=0.5)
    row = found.row("pairs_above_threshold/B", "whiten:n_components=6")
    assert row.extra["threshold"] == 0.5
    with pytest.raises(KeyError):
        found.row("pairs_above_threshold/B")
    assert "not those of A" not in remarks(found)
    elsewhere = diff(A, B, same_rows=False, correction=Center().fit(B), threshold=0.5)
    assert "450 vectors that are not those of A" in remarks(elsewhere)
    as_it_is = diff(A, B, same_rows=False, threshold=0.5)
    assert as_it_is.row("pairs_above_threshold/A").extra["threshold"] == 0.5
    assert as_it_is.row("pairs_above_threshold/A", "center").extra["threshold"] != 0.5


def documented(vectors: np.ndarray, documents: int) -> LabelledCloud:
    return LabelledCloud(ArrayCloud(vectors), "page", np.arange(len(vectors)) % documents)


def test_documents_are_exchanged_as_a_whole() -> None:
    random = np.random.default_rng(5)
    pages = [random.standard_normal((30, 8))[np.arange(600) % 30] for _ in range(2)]
    a, b = (3 * page + random.standard_normal((600, 8)) for page in pages)
    alone = diff(a, b, same_rows=False)
    assert alone.row("mean_shift").extra["p_holm"] <= 0.05  # rows are not independent
    together = diff(documented(a, 30), documented(b, 30), same_rows=False, documents="page")
    assert together.row("mean_shift").extra["p_holm"] > 0.05
    few = diff(documented(a, 6), documented(b, 6), same_rows=False, documents="page")
    assert few.row("mean_shift").extra["no_test"] == "too few documents"
    with pytest.raises(UsageError, match="no label 'url'"):
        diff(documented(a, 30), documented(b, 30), same_rows=False, documents="url")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"b": B[:, :5], "same_rows": False}, "12 dimensions and array 5.*--same-rows"),
        ({"b": B[:400], "same_rows": True}, "array has 450 rows and array 400.*--other-rows"),
        ({"b": B[:40]}, "array has 40 rows; two clouds are compared from 50 rows on"),
        ({"b": B, "k": 0}, "k is the number of neighbours"),
        ({"b": B, "threshold": 1.5}, "a threshold is a cosine"),
        ({"b": B, "sample": 10}, "at least 50 rows"),
        ({"b": B[:, :5], "threshold": 0.5}, "has no meaning in the other"),
        ({"b": B, "correction": Center().fit(B[:, :5])}, "fitted on 5 dimensions"),
        ({"b": B, "correction": "nowhere.safetensors"}, "there is no file nowhere"),
    ],
)
def test_bad_calls_are_one_line(options: dict[str, object], error: str) -> None:
    with pytest.raises((DataError, UsageError), match=error) as raised:
        diff(A, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.filterwarnings("ignore:.*in the release of.*")
def test_models_read_the_same_texts(tiny_model: Callable[[str], Path]) -> None:
    texts = [f"the {what} number {k}" for k in range(30) for what in ("cat", "dog")]
    folder = str(tiny_model("bert"))
    found = diff(
        folder, folder, text=texts, layer_b="block 1", sentences=SentenceProtocol(cache=False)
    )
    assert "block 1" in found.rows[0].subject
    assert found.value("linear_cka") > 0
    assert "both models read the same texts" in remarks(found)


# The kernel's high-water mark of this process; getrusage would include the parent's before exec.
PEAK = """
import re, sys, isoscope
isoscope.diff(sys.argv[1], sys.argv[2], sample=500)
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_clouds(tmp_path: Path) -> None:
    peaks = []
    for rows in (10_000, 110_000):
        for name in "ab":
            np.save(tmp_path / f"{name}.npy", RANDOM.standard_normal((rows, 64)).astype("f4"))
        ran = subprocess.run(
            [sys.executable, "-c", PEAK, tmp_path / "a.npy", tmp_path / "b.npy"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(ran.stdout))
    # 100,000 rows of 64 in single precision are 24 MB a cloud: both would be 49 MB.
    assert peaks[1] - peaks[0] < 25
