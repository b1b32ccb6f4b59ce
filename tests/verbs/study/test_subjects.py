"""Sources are vectors or models, and models have matrices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isoscope.verbs.study.api import as_subject, run_study
from isoscope.verbs.study.inputs import open_vectors
from isoscope.verbs.study.registry import Subject


def test_names_of_models_keep_their_dots() -> None:
    assert as_subject("EleutherAI/pythia-1.4b").name == "pythia-1.4b"
    assert as_subject("Qwen/Qwen2.5-0.5B").name == "Qwen2.5-0.5B"
    assert as_subject("models/roberta/").name == "roberta"
    assert as_subject("wte.npy.gz").name == "wte"
    assert as_subject("SmolLM2-135M.Q4_K_M.gguf").name == "SmolLM2-135M"


def test_a_model_is_measured_with_all_its_rows(tiny_model: Callable[[str], Path]) -> None:
    import transformers

    folder = tiny_model("gpt-neox")
    network = transformers.AutoModel.from_pretrained(folder)
    matrix = network.get_input_embeddings().weight.detach().numpy()
    cloud = open_vectors(Subject("tiny", str(folder)), None)
    assert cloud.rows == len(matrix)  # 16 of them padding
    on_model = run_study("B-T1", [f"tiny={folder}"]).result
    on_matrix = run_study("B-T1", [Subject("tiny", matrix)]).result
    for row, other in zip(on_model, on_matrix, strict=True):
        assert row.value == pytest.approx(other.value, rel=1e-5)
    assert on_model.row("i1").n == len(matrix)


@pytest.mark.parametrize("name", ["L-F3.2", "L-F3.3", "L-F3.13", "L-LN", "P-F2", "R-F1"])
def test_results_say_where_weights_come_from(name: str, tiny_model: Callable[[str], Path]) -> None:
    folder = tiny_model("bert")
    run = run_study(name, [f"m={folder}"], text=["the cat sat.", "a dog ran.", "it was old."])
    (about,) = run.result.extra["models"].values()
    assert about["source"] == str(folder)
    about["quantisation"] = "dequantised from Q4_K_M"
    assert "weights dequantised from Q4_K_M" in run.to_markdown()


def test_models_compute_as_asked(tiny_model: Callable[[str], Path]) -> None:
    folder = tiny_model("bert")
    texts = ["the cat sat.", "a dog ran."]
    narrow, wide = (
        run_study("P-F1", [f"m={folder}"], text=texts, dtype=dtype, device="cpu").result
        for dtype in ("float32", "float64")
    )
    assert "float64" in wide.rows[0].protocol
    assert "float64" not in narrow.rows[0].protocol
    (about,) = wide.extra["models"].values()
    assert (about["dtype"], about["quantisation"]) == ("float64", "none")
    assert narrow.rows[0].value == pytest.approx(wide.rows[0].value, abs=1e-5)
