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
    assert "No significant difference between the means, the covariances or the norms" in remarks(
        found
    )
    assert not re.search("Fit the|Choose a new", remarks(found))
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
    assert "Significant differences: the means, by" in remarks(found)
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
    assert "no ids, but the similarities among 450 sampled rows correlate" in remarks(found)
    assert found.row("neighbour_overlap@10").extra["chance"] == 10 / 449


def test_the_same_rows_of_one_width_are_compared_as_clouds_too() -> None:
    found = diff(A, A + 0.3 * RANDOM.standard_normal(A.shape) + 0.1, k=5)
    assert {row.part for row in found} == {"same rows", "difference", "support", "keeping"}
    assert found.value("neighbour_overlap@5") > 0.2
    # Swapped within rows, which have most of their noise in common, a small shift is plain.
    assert found.row("mean_shift").extra["p_holm"] <= 0.05


def test_equal_clouds_are_called_equal() -> None:
    found = diff(A, A.copy())
    assert "A and B hold the same 450 vectors in the same order" in remarks(found)
    assert {row.part for row in found} == {"same rows", "difference"}
    for measure in ("neighbour_overlap@10", "linear_cka", "cosine_rank_correlation"):
        row = found.row(measure)
        assert (row.value, row.low, row.high) == (1, None, None)
        assert "exact" in row.note
    assert found.value("mean_shift") == found.value("length_distance") == 0
    assert found.row("mean_shift").extra["no_test"] == "A and B hold the same vectors"
    assert not re.search("Fit the|Choose a new|±0", remarks(found) + found.to_markdown())


def test_equal_clouds_in_another_order_are_equal_too() -> None:
    found = diff(A, A[::-1].copy())
    assert not found.extra["same_rows"]
    assert "A and B hold the same 450 vectors: every difference is exactly 0" in remarks(found)
    assert found.value("covariance_distance") == 0


@pytest.mark.parametrize("seed", range(4))
def test_halves_of_a_small_cloud_get_no_advice_to_change(seed: int) -> None:
    """250 rows in 64 dimensions: thresholds read off the fitted rows were always given up."""
    random = np.random.default_rng(seed)
    rows = (random.standard_normal((500, 64)) + 0.5) * np.arange(1, 65) ** -0.5
    found = diff(rows[:250], rows[250:])
    assert not re.search("Fit the|Choose a new", remarks(found))
    after = found.row("pairs_above_threshold/B", "whiten")
    assert (after.value, after.extra["keep"]) == (None, None)
    assert "needs 320 (5 per dimension)" in after.extra["no_statement"]
    assert "No statement on the threshold after A's whiten: A has 250 rows" in remarks(found)


def test_the_threshold_after_whitening_is_that_of_new_rows() -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((6_000, 64)) * np.arange(1, 65) ** -0.5
    found = diff(rows[:400], rows[400:800], same_rows=False)
    shares = [found.row(f"pairs_above_threshold/{side}", "whiten") for side in "AB"]
    threshold = shares[0].extra["threshold"]
    corrected = Whiten().fit(rows[:400]).transform(rows[800:])
    units = corrected / np.linalg.norm(corrected, axis=1, keepdims=True)
    above = float((units[:2_600] @ units[2_600:].T > threshold).mean())
    assert shares[0].value == pytest.approx(0.01, abs=0.001)
    # It would be 2.7 % if the threshold were read off the rows of the fit.
    assert above == pytest.approx(0.008, abs=0.002)


def test_a_rotated_cloud_is_not_told_to_keep_a_correction() -> None:
    random = np.random.default_rng(1)
    rows = random.standard_normal((1_000, 384)) * np.arange(1, 385) ** -0.5
    turn = np.linalg.qr(random.standard_normal((384, 384)))[0]
    found = diff(rows[:500], rows[500:] @ turn)
    assert "Keep A's correction" not in remarks(found)
    assert found.row("mean_cosine/old", "whiten").extra["keep"] is None
    assert "No statement on A's whiten: there are too few rows for this correction" in remarks(
        found
    )
    assert "No statement on A's center: the covariances differ by" in remarks(found)


def test_half_precision_differs_negligibly() -> None:
    rows = (A / np.linalg.norm(A, axis=1, keepdims=True)).astype(np.float32)
    found = diff(rows, rows.astype(np.float16))
    assert found.extra["same_rows"]
    assert found.row("length_distance").extra["negligible"]
    assert "Significant differences" not in remarks(found)
    assert re.search(
        r"negligible differences: .*the norms, by \S+ of their mean \(", remarks(found)
    )
    assert not re.search("Fit the|Choose a new|significantly", remarks(found))


def test_rows_that_only_stand_in_the_same_place_are_other_rows() -> None:
    found = diff(A, B)
    assert not found.extra["same_rows"]
    assert "there are no ids, and the similarities among 450 sampled rows" in remarks(found)
    assert "--same-rows compares them row by row" in remarks(found)


def test_every_sentence_agrees_with_its_field() -> None:
    words = {True: "Keep A's correction", False: "Fit the correction again"}
    cuts = {True: "Keep the threshold", False: "Choose a new threshold"}
    for shift in (0.0, 0.05, 0.2, 1.0):
        found = diff(A, B + shift, same_rows=False)
        said = remarks(found)
        rows = [found.row("mean_cosine/old", name) for name in ("center", "whiten")]
        names = ("none", "center", "whiten")
        limits = [found.row("pairs_above_threshold/B", name) for name in names]
        for wanted, some in ((words, rows), (cuts, limits)):
            answers = [row.extra["keep"] for row in some]
            assert [said.count(wanted[keep]) for keep in (True, False)] == [
                answers.count(True),
                answers.count(False),
            ]
            for row in some:
                assert (row.extra["keep"] is None) == bool(row.extra.get("no_statement"))


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
    assert "vectors as they are: there are 6 documents, and at least 20 are" in remarks(few)
    with pytest.raises(UsageError, match="no label 'url'"):
        diff(documented(a, 30), documented(b, 30), same_rows=False, documents="url")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"b": B[:, :5], "same_rows": False}, "12 dimensions and array has 5.*--same-rows"),
        ({"b": B[:400], "same_rows": True}, "array has 450 rows and array 400.*--other-rows"),
        ({"b": B[:40]}, "array has 40 rows; two clouds are compared from 50 rows on"),
        ({"b": B, "k": 0}, "k, the number of neighbours"),
        ({"b": B, "threshold": 1.5}, "a threshold must be a cosine"),
        ({"b": B, "sample": 10}, "at least 50 rows"),
        ({"b": B[:, :5], "threshold": 0.5, "same_rows": True}, "has no meaning in the other"),
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
