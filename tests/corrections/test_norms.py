"""Whether corrected vectors have norm 1 in files and in other libraries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import isoscope
from isoscope.corrections import AllButTheTop, Center, ClusterRemoval, Whiten
from isoscope.corrections.apply import change_of, normalizes
from isoscope.corrections.storage import load_correction
from isoscope.data.formats.registry import KEY
from isoscope.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore:builtin type .*:DeprecationWarning")

RANDOM = np.random.default_rng(5)
# An offset and uneven variances, as embeddings have: corrected norms differ by a factor of three.
CLOUD = RANDOM.standard_normal((600, 16)) * np.linspace(2, 0.3, 16) + 1
UNIT = (CLOUD / np.linalg.norm(CLOUD, axis=1, keepdims=True)).astype(np.float32)
CORRECTIONS = [Center(), AllButTheTop(2), Whiten(), Whiten(5), ClusterRemoval(3, 1)]


def norms(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors.astype(np.float64), axis=1)


def applied(correction: Any, vectors: np.ndarray, folder: Path, **how: Any) -> np.ndarray:
    np.save(folder / "v.npy", vectors)
    isoscope.apply_correction(correction, str(folder / "v.npy"), folder / "w.npy", **how)
    return np.load(folder / "w.npy")


def top_10(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-scores, axis=1, kind="stable")[:, :10]


@pytest.mark.parametrize("correction", CORRECTIONS, ids=repr)
def test_files_keep_norm_1_where_the_fit_saw_it(correction: Any, tmp_path: Path) -> None:
    correction.fit(UNIT)
    plain = correction.transform(UNIT)
    assert norms(plain).std() > 0.05  # as scikit-learn has it, transform does what parameters say
    found = applied(correction, UNIT, tmp_path)
    np.testing.assert_allclose(norms(found), 1, atol=1e-6)
    np.testing.assert_allclose(found, plain / norms(plain)[:, None], atol=1e-5)
    np.testing.assert_allclose(applied(correction, UNIT, tmp_path, keep_norms=True), plain, 1e-4)


@pytest.mark.parametrize("correction", CORRECTIONS, ids=repr)
def test_other_norms_stay_as_the_correction_makes_them(correction: Any, tmp_path: Path) -> None:
    cloud = CLOUD.astype(np.float32)
    correction.fit(cloud)
    found = applied(correction, cloud, tmp_path)
    np.testing.assert_allclose(found, correction.transform(cloud), atol=1e-5)


@pytest.mark.parametrize("correction", CORRECTIONS, ids=repr)
def test_an_inner_product_index_over_a_file_finds_what_cosines_find(
    correction: Any, tmp_path: Path
) -> None:
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    correction.fit(UNIT)
    plain = correction.transform(UNIT).astype(np.float64)
    unit = plain / norms(plain)[:, None]
    expected = top_10(unit[:40] @ unit.T)
    overlaps = {}
    for keep_norms in (False, True):
        found = applied(correction, UNIT, tmp_path, keep_norms=keep_norms)
        index = faiss.IndexFlatIP(found.shape[1])
        index.add(found)
        _, rows = index.search(found[:40], 10)
        overlaps[keep_norms] = np.mean(
            [len(set(one) & set(other)) / 10 for one, other in zip(rows, expected, strict=True)]
        )
    assert overlaps[False] == 1
    assert overlaps[True] < 0.95


@pytest.mark.parametrize("correction", CORRECTIONS[:-1], ids=repr)
def test_an_index_that_corrects_finds_what_cosines_find(correction: Any) -> None:
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    correction.fit(UNIT)
    plain = correction.transform(UNIT).astype(np.float64)
    unit = plain / norms(plain)[:, None]
    index = correction.to_faiss(faiss.IndexFlatIP(plain.shape[1]))
    index.add(UNIT)
    _, rows = index.search(UNIT[:40], 10)
    np.testing.assert_array_equal(np.sort(rows), np.sort(top_10(unit[:40] @ unit.T)))
    kinds = [type(faiss.downcast_VectorTransform(one)) for one in correction.to_faiss()]
    assert kinds == [faiss.LinearTransform, faiss.NormalizationTransform]
    (linear,) = correction.to_faiss(keep_norms=True)
    np.testing.assert_allclose(linear.apply(UNIT), plain, rtol=0, atol=1e-4)


def test_vectors_with_other_norms_are_exported_as_before() -> None:
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    assert len(Center().fit(CLOUD).to_faiss()) == 1


def test_keeping_norms_and_bringing_them_to_1_contradict_each_other(tmp_path: Path) -> None:
    correction = Whiten(renormalize=True).fit(UNIT)
    for call in (
        lambda: applied(correction, UNIT, tmp_path, keep_norms=True),
        lambda: correction.to_faiss(keep_norms=True),
        lambda: correction.to_sentence_transformers(keep_norms=True),
    ):
        with pytest.raises(UsageError, match=r"renormalize=true, .* leave --keep-norms .* out"):
            call()


def test_a_stored_correction_remembers_the_norms(tmp_path: Path) -> None:
    for correction in (Center(), ClusterRemoval(2, 1)):
        correction.fit(UNIT).save(tmp_path / "c.safetensors")
        again = load_correction(tmp_path / "c.safetensors")
        assert again.renormalize is False  # so that transform and fingerprint stay what they were
        assert normalizes(again, keep_norms=False)
        assert not normalizes(again, keep_norms=True)


def test_the_note_of_a_file_says_that_norms_are_1(tmp_path: Path) -> None:
    path, out = tmp_path / "v.parquet", tmp_path / "w.parquet"
    parquet.write_table(pyarrow.table({"v": pyarrow.array(list(UNIT))}), path)
    correction = Center().fit(UNIT)
    isoscope.apply_correction(correction, str(path), out)
    (mark,) = json.loads(parquet.read_schema(out).metadata[KEY.encode()])
    assert (mark["correction"], mark["normalized"]) == ("center", True)
    for keep_norms in (False, True):
        with pytest.raises(UsageError, match="already carries this correction"):
            isoscope.apply_correction(
                correction, str(out), tmp_path / "x.parquet", keep_norms=keep_norms
            )
    isoscope.apply_correction(correction, str(path), out, keep_norms=True)
    (mark,) = json.loads(parquet.read_schema(out).metadata[KEY.encode()])
    assert "normalized" not in mark


def test_only_what_the_name_does_not_say_is_noted() -> None:
    assert change_of(Center().fit(UNIT), 1).normalized
    assert not change_of(Center(renormalize=True).fit(UNIT), 1).normalized
    assert not change_of(Center().fit(CLOUD), 1).normalized


def test_vectors_that_the_correction_does_not_expect_are_counted(tmp_path: Path) -> None:
    correction, vectors = Center().fit(UNIT), UNIT.copy()
    vectors[:7] *= 3
    vectors[7] = 0
    for dtype in ("float16", "float32", "float64"):
        np.save(tmp_path / "v.npy", vectors.astype(dtype))
        (written,) = isoscope.apply_correction(
            correction, str(tmp_path / "v.npy"), tmp_path / "w.npy"
        ).written
        assert (written.other_norms, written.zero_vectors) == (7, 1)


@pytest.mark.parametrize("keep_norms", [False, True])
def test_a_run_goes_on_as_it_began(tmp_path: Path, keep_norms: bool) -> None:
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", UNIT)
    np.save(tmp_path / "c.npy", np.full((5, 16), np.nan, np.float32))
    correction, out = Center().fit(UNIT), tmp_path / "out"
    call = {"source": str(tmp_path / "*.npy"), "out": out}
    with pytest.raises(isoscope.IsoscopeError):
        isoscope.apply_correction(correction, **call, keep_norms=keep_norms)
    with pytest.raises(isoscope.IsoscopeError, match="normalized"):
        isoscope.apply_correction(correction, **call, keep_norms=not keep_norms, resume=True)
