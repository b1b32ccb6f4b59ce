"""Machina & Mercer's recipes on finished models against numpy and transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judged_for_tests import exact, outcomes, sure
from scipy import stats

from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.judgement.scope import Facts
from isoscope.verbs.study.papers.pythia2024 import (
    ABOVE,
    BOTH,
    CHANGE,
    FINAL_NORM,
    INTER,
    INTRA,
    LAST_BLOCK,
)
from isoscope.verbs.study.papers.pythia2024.weights import OUTLIERS, outliers_and_isotropy
from isoscope.verbs.study.text import beside_printed

Folder = Callable[[str], Path]
LANGUAGE_MODEL = Facts("transformer", "gpt_neox", "causal", 10**9, False, unembedding=True)
TEXTS = [
    "the cat sat on the old tree.", "a small dog ran.", "it was the river bank",
    "the bird flew and the boat saw money", "green and red.", "the cat and the boat",
]  # fmt: skip


def mean_cosine(vectors: np.ndarray) -> float:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    return float(cosines[~np.eye(len(units), dtype=bool)].mean())


def tokens_of(folder: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Vectors of all ordinary tokens before and behind the end of a model, and their types."""
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    last: list[torch.Tensor] = []
    blocks = network.layers
    hook = blocks[-1].register_forward_hook(
        lambda _module, _args, out: last.append(out[0] if isinstance(out, tuple) else out)
    )
    found: dict[str, list[np.ndarray]] = {"before": [], "block": [], "normed": []}
    types = []
    with torch.no_grad():
        for text in TEXTS:
            inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
            kept = inputs.pop("special_tokens_mask")[0] == 0
            inputs.pop("token_type_ids", None)
            states = network(**inputs, output_hidden_states=True).hidden_states
            for name, state in (
                ("before", states[-2]),
                ("block", last[-1]),
                ("normed", states[-1]),
            ):
                found[name].append(state.reshape(-1, state.shape[-1])[kept].double().numpy())
            types.append(inputs["input_ids"][0][kept].numpy())
    hook.remove()
    return {name: np.concatenate(parts) for name, parts in found.items()}, np.concatenate(types)


def test_the_end_of_a_model(tiny_model: Folder) -> None:
    folder = tiny_model("gpt-neox")
    vectors, types = tokens_of(folder)
    before, block, normed = (mean_cosine(vectors[name]) for name in ("before", "block", "normed"))
    run = run_study("P-F1", [f"Pythia-6.9B={folder}"], text=TEXTS)
    value = run.result.value
    assert value(INTER, part="block 3") == pytest.approx(block, abs=1e-5)
    assert value(INTER, part=FINAL_NORM) == pytest.approx(normed, abs=1e-5)
    assert value(CHANGE, part=BOTH) == pytest.approx(normed - before, abs=1e-5)
    assert value(CHANGE, part=LAST_BLOCK) == pytest.approx(block - before, abs=1e-5)
    assert value(CHANGE, part=FINAL_NORM) == pytest.approx(normed - block, abs=1e-5)
    assert run.result.row(INTER, part=FINAL_NORM).extra["printed"] == 0.14

    similar = run_study("P-F2", [f"Pythia-6.9B={folder}"], text=TEXTS).result
    groups = [vectors["normed"][types == t] for t in np.unique(types)]
    intra = np.mean([mean_cosine(group) for group in groups if len(group) > 1])
    assert similar.value(INTRA, part=FINAL_NORM) == pytest.approx(intra, abs=1e-5)
    assert similar.value(ABOVE, part=FINAL_NORM) == pytest.approx(intra - normed, abs=1e-5)
    assert similar.value(INTRA, part="embedding") == pytest.approx(1.0)  # rotary


def test_a_model_without_a_final_norm(tiny_model: Folder) -> None:
    result = run_study("P-F1", [str(tiny_model("bert"))], text=TEXTS).result
    assert "no final norm" in result.row(CHANGE, part=BOTH).note
    assert result.value(CHANGE, part=BOTH) == result.value(CHANGE, part=LAST_BLOCK)


def test_matrices_and_the_last_norm(tiny_model: Folder) -> None:
    import transformers

    folder = tiny_model("gpt-neox")
    network = transformers.AutoModelForCausalLM.from_pretrained(folder)
    result = run_study("P-F8", [f"Pythia-410M={folder}", str(tiny_model("llama"))]).result
    norm = network.get_submodule("gpt_neox.final_layer_norm")
    gain, bias = (vector.detach().double().numpy() for vector in (norm.weight, norm.bias))
    assert result.value("gain_avgnorm") == pytest.approx(np.linalg.norm(gain) / 32**0.5)
    ratio = np.linalg.norm(bias) / np.linalg.norm(gain)
    assert result.value("bias_over_gain") == pytest.approx(ratio)
    assert "final_layer_norm" in result.row("gain_avgnorm").protocol
    llama = {row.measure for row in result if row.subject == "tiny-llama"}
    assert "bias_avgnorm" not in llama  # RMSNorm has none, which is not a small one
    both = run_study("P-F6", [f"Pythia-410M={folder}"]).result
    for part, matrix in (
        ("embedding", network.get_input_embeddings().weight),
        ("unembedding", network.get_output_embeddings().weight),
    ):
        found = matrix.detach().double().numpy()
        assert both.value("i1", part=part) == pytest.approx(i1(found), rel=1e-5)
        assert both.value("i1", "center", part=part) == pytest.approx(
            i1(found - found.mean(axis=0)), rel=1e-5
        )
    assert "16 of them padding" in both.rows[0].protocol
    unembedding = run_study("P-F5", [f"Pythia-410M={folder}"]).result
    assert unembedding.value("i1") == both.value("i1", part="unembedding")


def i1(vectors: np.ndarray) -> float:
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    projected = vectors @ directions
    z = np.maximum(np.exp(projected).sum(axis=0), np.exp(-projected).sum(axis=0))
    return float(z.min() / z.max())


def without_head(folder: Path, out: Path) -> Path:
    """Save a model without its head, as sentence encoders are saved."""
    import transformers

    transformers.AutoModel.from_pretrained(folder).save_pretrained(out)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(out)
    return out


def test_an_unembedding_is_reported_only_where_there_is_one(
    tiny_model: Folder, tmp_path: Path
) -> None:
    encoder = str(without_head(tiny_model("bert"), tmp_path / "encoder"))
    decoder = str(tiny_model("gpt-neox"))
    with pytest.raises(UsageError, match="P-F5: encoder has no unembedding"):
        run_study("P-F5", [encoder])
    for name in ("P-F6", "P-F8"):
        alone = run_study(name, [encoder]).result
        assert not [row for row in alone if row.part == "unembedding"]
    run = run_study("P-F5", [encoder, decoder])
    assert {row.subject for row in run.result} == {"tiny-gpt-neox"}
    centring = {one.subject: one for one in run.verdicts if one.text.startswith("centring")}
    assert centring["encoder"].outcome == "not applicable"
    assert centring["encoder"].reason == "has no unembedding"
    assert centring["tiny-gpt-neox"].outcome in ("holds", "fails", "reversed", "undecided")
    assert len(run.result.row("i1").extra["replicates"]) == 10


def test_numbers_of_layers_know_their_error_over_documents(tiny_model: Folder) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(" ".join(TEXTS).split(), 8)) for _ in range(60)]
    folder = tiny_model("gpt-neox")
    run = run_study("P-F2", [f"Pythia-6.9B={folder}"], text=texts)
    for measure in (INTER, INTRA, ABOVE):
        row = run.result.row(measure, part=FINAL_NORM)
        assert len(row.extra["replicates"]) == 10
        assert row.low < row.value < row.high
    differences = np.subtract(
        run.result.row(INTRA, part=FINAL_NORM).extra["replicates"],
        run.result.row(INTER, part=FINAL_NORM).extra["replicates"],
    )
    above = run.result.row(ABOVE, part=FINAL_NORM).extra["replicates"]
    assert above == pytest.approx(differences.tolist())
    assert {verdict.outcome for verdict in run.verdicts} <= {"holds", "fails", "reversed"}
    beside = {one.what: one for one in beside_printed(run)}
    similar = beside[f"Pythia-6.9B: {FINAL_NORM} {INTRA} (none)"]
    assert similar.printed == 0.5
    assert similar.difference == pytest.approx(similar.measured - 0.5)
    changed = run_study("P-F1", [f"Pythia-70M={folder}"], text=texts)
    row = changed.result.row(CHANGE, part=BOTH)
    assert row.low < row.value < row.high
    assert [one.outcome for one in changed.verdicts][0::2] == ["not applicable"] * 2


def weights(outliers: list[float], evenness: list[float]) -> list[Row]:
    rows = []
    for k, (count, value) in enumerate(zip(outliers, evenness, strict=True)):
        rows.append(Row(f"m{k}", FINAL_NORM, "none", OUTLIERS, count))
        rows.append(Row(f"m{k}", "unembedding", "none", "i1", value))
        rows.append(Row(f"m{k}", "unembedding", "center", "i1", 0.99))
    return rows


def test_outliers_against_isotropy() -> None:
    rng = np.random.default_rng(0)
    counts, values = rng.integers(0, 9, 60).astype(float).tolist(), rng.random(60).tolist()
    rows = weights(counts, values)
    (found,) = outliers_and_isotropy(Result(rows))
    assert found.value == pytest.approx(stats.pearsonr(counts, values)[0])
    assert found.n == 60

    def said(rows: list[Row]) -> str:
        together = outliers_and_isotropy(Result(rows))
        return outcomes("P-F8", [*rows, *together], LANGUAGE_MODEL)[2]

    assert said(rows) == "holds"
    strong = weights(counts, [0.1 * count + 0.001 * k for k, count in enumerate(counts)])
    assert said(strong) == "fails"
    assert said(rows[: 3 * 6]) == "undecided"  # of six models
    assert said(rows[: 3 * 4]) == "not run"


def test_claims_about_layers_hold_and_fail() -> None:
    def ends(large: float, small: float, last: float, error: float = 1e-3) -> list[Row]:
        return [
            sure(Row("pythia-1.4b", BOTH, "none", CHANGE, large), error),
            sure(Row("Pythia-70M", BOTH, "none", CHANGE, small), error),
            sure(Row("pythia-6.9b", FINAL_NORM, "none", INTER, last), error),
            sure(Row("pythia-6.9b", f"{FINAL_NORM}, ordinary tokens", "none", INTER, 0.9), error),
            sure(Row("SmolLM2-135M", BOTH, "none", CHANGE, 0.1), error),
        ]

    large = [*ends(-0.3, 0.3, 0.14), sure(Row("pythia-6.9b", BOTH, "none", CHANGE, -0.1))]
    assert outcomes("P-F1", large) == ["holds"] * 3
    assert outcomes("P-F1", ends(0.3, -0.3, 0.5)[:2]) == ["reversed"] * 2 + ["not applicable"]
    assert outcomes("P-F1", ends(0.3, -0.3, 0.5)[2:])[2] == "fails"
    assert outcomes("P-F1", ends(-0.3, 0.3, 0.14, error=1)[:2])[:2] == ["undecided"] * 2
    assert outcomes("P-F1", ends(0, 0, 0)[-1:]) == ["not applicable"] * 3
    for intra, above, expected in (
        (0.5, 0.36, ["holds", "holds"]),
        (0.6, 0.1, ["fails", "fails"]),
        (0.4, -0.3, ["fails", "reversed"]),
        (0.55, 0.2, ["undecided", "undecided"]),
    ):
        rows = [
            sure(Row("pythia-6.9b", FINAL_NORM, "none", INTRA, intra)),
            sure(Row("pythia-6.9b", FINAL_NORM, "none", ABOVE, above)),
        ]
        assert outcomes("P-F2", rows) == expected


def test_claims_about_weights_hold_and_fail() -> None:
    def matrices(large: float, tied: float, centred: float, entry: float) -> list[Row]:
        rows = [
            Row("pythia-410m", "unembedding", "none", "i1", large),
            Row("pythia-410m", "unembedding", "center", "i1", centred),
            Row("pythia-410m", "embedding", "none", "i1", entry),
            Row("opt-6.7b", "unembedding", "none", "i1", tied),
            Row("opt-6.7b", "unembedding", "center", "i1", 0.99),
        ]
        return [sure(row) for row in rows]

    def said(name: str, rows: list[Row]) -> list[str]:
        return outcomes(name, rows, LANGUAGE_MODEL)

    assert said("P-F5", matrices(0.8, 0.3, 0.9, 0.95)) == ["holds"] * 3
    # Centring raises the I1 of one model and lowers that of the other.
    assert said("P-F5", matrices(0.7, 0.8, 0.6, 0.95)) == ["fails", "reversed", "holds+reversed"]
    assert said("P-F5", matrices(0.9, 0.3, 0.95, 0.95))[0] == "fails"
    assert said("P-F5", matrices(0.725, 0.3, 0.95, 0.95))[0] == "undecided"
    small = [replace(row, subject="SmolLM2") for row in matrices(0.8, 0.3, 0.9, 0.95)[:2]]
    assert said("P-F5", small) == ["not applicable", "not applicable", "holds"]
    assert said("P-F6", matrices(0.8, 0.3, 0.9, 0.95)) == ["holds", "holds"]
    assert said("P-F6", matrices(0.8, 0.3, 0.9, 0.7)) == ["reversed", "fails"]

    def norms(large: float, other: float) -> list[Row]:
        return [
            exact(Row(subject, FINAL_NORM, "none", measure, value))
            for subject, value in (("pythia-410m", large), ("pythia-12b", large / 2), ("X", other))
            for measure in ("bias_avgnorm", "bias_over_gain")
        ]

    assert said("P-F8", norms(0.1, 0.2))[:2] == ["holds", "holds"]
    assert said("P-F8", norms(0.3, 0.2))[:2] == ["fails", "fails"]
    alone = [row for row in norms(0.1, 0.2) if row.subject == "pythia-410m"]
    assert said("P-F8", alone)[:2] == ["not run"] * 2
