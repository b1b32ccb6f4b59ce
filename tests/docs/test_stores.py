"""The examples of ``docs/stores.md``, run against the real stores where they are installed."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoscope

PAGE = Path(__file__).parents[2] / "docs" / "stores.md"
VECTORS = np.random.default_rng(0).standard_normal((10_000, 6)).astype(np.float32) + 1


def example(title: str) -> str:
    """Return the Python code below a heading of the page."""
    section = PAGE.read_text("utf-8").partition(f"### {title}\n")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def ran(code: str) -> isoscope.Result:
    """Run an example, and return the result that it prints."""
    shown: list[Any] = []
    exec(compile(code, str(PAGE), "exec"), {"print": shown.append})
    (result,) = shown
    assert isinstance(result, isoscope.Result)
    return result


def check(result: isoscope.Result) -> None:
    expected = isoscope.measure(VECTORS)
    assert result.row("mean_cosine").n == len(VECTORS)
    for one, other in zip(result, expected, strict=True):
        assert (one.value or 0) == pytest.approx(other.value or 0, rel=1e-5, abs=1e-7)


def test_an_index_that_corrects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("faiss", reason="faiss-cpu is not installed")
        unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
        monkeypatch.chdir(tmp_path)
        np.save("vectors.npy", unit)
        fitted = isoscope.make_correction("center").fit(unit)
        fitted.save("center.safetensors")
        names: dict[str, Any] = {}
        exec(compile(example("An index that corrects"), str(PAGE), "exec"), names)
    corrected = fitted.transform(unit)
    corrected /= np.linalg.norm(corrected, axis=1, keepdims=True)
    expected = -np.sort(-(corrected[:5] @ corrected.T), axis=1)[:, :10]
    np.testing.assert_allclose(names["scores"], expected, atol=1e-5)


def test_lancedb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed")
        monkeypatch.chdir(tmp_path)
        rows = [{"id": k, "vector": vector} for k, vector in enumerate(VECTORS)]
        lancedb.connect("data/lancedb").create_table("documents", rows)
        check(ran(example("LanceDB")))


def test_qdrant(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client_module = pytest.importorskip("qdrant_client", reason="qdrant-client is missing")
        models = client_module.models
        client = client_module.QdrantClient(":memory:")
        size = models.VectorParams(size=6, distance=models.Distance.EUCLID)
        client.create_collection("documents", vectors_config=size)
        client.upload_collection("documents", VECTORS, ids=range(len(VECTORS)))
        monkeypatch.setattr(client_module, "QdrantClient", lambda **_: client)
        check(ran(example("Qdrant")))
