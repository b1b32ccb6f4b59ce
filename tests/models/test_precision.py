from __future__ import annotations

import warnings

import pytest

from isoscope.models import runtime as precision

torch = pytest.importorskip("torch")


def test_half_precision_falls_back_where_a_process_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    precision.survives.cache_clear()
    monkeypatch.setattr(precision, "PROBE", "import os, signal; os.kill(os.getpid(), 4)")
    with pytest.warns(UserWarning, match="cannot multiply matrices in bfloat16"):
        assert precision.computable("bfloat16", "cpu") == "float32"
    precision.survives.cache_clear()


def test_half_precision_is_kept_where_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "survives", lambda _: True)
    assert precision.computable("float16", "cpu") == "float16"


def test_only_half_precision_on_a_processor_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "survives", lambda _: pytest.fail("was probed"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert precision.computable("bfloat16", "cuda") == "bfloat16"
        assert precision.computable("float32", "cpu") == "float32"


def test_the_probe_itself_is_sound() -> None:
    assert precision.survives("float32")
    assert not precision.survives("no_such_type")


def test_names_of_types() -> None:
    assert precision.dtype_name(None) == "float32"
    assert precision.dtype_name(torch.bfloat16) == "bfloat16"
    assert precision.dtype_name("float64") == "float64"
