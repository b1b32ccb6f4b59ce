from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.corrections import make_correction
from isoscope.corrections.registry import parse_corrections
from isoscope.errors import UsageError
from isoscope.measures.views import is_view

CLOUD = shifted(0, 700, 6)


def test_lists_lose_repeats_and_keep_their_order() -> None:
    texts = ["none", " center", "none", "clip:dimensions=0+1"]
    assert [c.text for c in parse_corrections(texts)] == ["none", "center", "clip:dimensions=0+1"]


def test_views_are_told_from_corrections_that_must_be_fitted() -> None:
    for view in ("none", "center", "all-but-the-top:n_components=2:project=original", "whiten"):
        assert is_view(view)
    for other in ("clip", "whiten:kind=zca", "center:renormalize=true", "cluster-pc-removal"):
        assert not is_view(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("whitten", "did you mean whiten"),
        ("clip:dimension=1", "did you mean dimensions"),
        ("standardize:renormalize", "write renormalize=VALUE"),
        ("cluster-pc-removal:n_clusters=0", "n_clusters"),
    ],
)
def test_mistakes_are_found_before_anything_is_read(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_corrections([text])


@pytest.mark.parametrize(
    "text",
    [
        "center-scaled",
        "standardize",
        "clip:dimensions=0+3",
        "whiten:kind=zca:renormalize=true",
        "whiten:n_components=3",
        "center:renormalize=true",
        "cluster-pc-removal:n_clusters=4:n_components=1",
    ],
)
def test_measuring_through_a_lazy_cloud_equals_measuring_a_corrected_copy(text: str) -> None:
    lazy = isoscope.measure(CLOUD, "all", ["none", text], intervals=False)
    copy = make_correction(text).fit(CLOUD).transform(CLOUD)
    made = isoscope.measure(copy, "all", ["none"], intervals=False)
    for row in made.rows:
        if row.measure == "local_i1":
            continue  # of the cloud as it is only
        found = lazy.row(row.measure, text)
        assert found.n == row.n
        if row.value is None:
            assert found.value is None
        else:
            assert found.value == pytest.approx(row.value, rel=1e-9, abs=1e-12), row.measure
    assert {row.correction for row in lazy.rows} == {"none", text}


def test_spaces_come_in_the_order_in_which_they_were_asked_for() -> None:
    asked = ["standardize", "center", "none", "clip"]
    result = isoscope.measure(CLOUD, "mean_cosine", asked)
    assert [row.correction for row in result.rows] == asked


def test_a_fitted_correction_has_no_interval_and_says_why() -> None:
    row = isoscope.measure(CLOUD, "mean_cosine", "standardize").rows[0]
    assert row.low is None
    assert "fitted" in row.extra["no_interval"]


def test_every_part_of_a_run_is_corrected_on_its_own(tmp_path) -> None:  # type: ignore[no-untyped-def]
    clouds = {layer: shifted(layer, 200, 4, offset=layer) for layer in (1, 2)}
    for layer, cloud in clouds.items():
        np.save(tmp_path / f"layer_{layer}.npy", cloud)
    result = isoscope.measure(
        str(tmp_path / "layer_{layer}.npy"), "mean_norm", ["center-scaled"], intervals=False
    )
    for layer, cloud in clouds.items():
        corrected = make_correction("center-scaled").fit(cloud).transform(cloud)
        expected = np.linalg.norm(corrected, axis=1).mean()
        found = result.value("mean_norm", "center-scaled", part=f"layer {layer}")
        assert found == pytest.approx(expected)


def test_estimators_are_not_names() -> None:
    with pytest.raises(UsageError, match="corrections must be names"):
        isoscope.measure(CLOUD, corrections=[make_correction("whiten")])  # type: ignore[list-item]
