"""A matrix that drifts from checkpoint to checkpoint is found; one that stays is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.errors import MissingError
from isoscope.models.checkpoints import Checkpoint, Training, find_training
from isoscope.verbs.explain.topics.base import Explanation, Question
from isoscope.verbs.explain.topics.drift import DRIFT, Drift, Place, matrices, singular_ratio

pytest.importorskip("transformers")

Folder = Callable[[str], Path]
STEPS = (0, 100, 500)
INPUT, OUTPUT = "embedding matrix", "unembedding matrix"


def save_drift(
    base: Path, folder: Path, tensor: str, shifts: tuple[float, ...], seed: int = 0
) -> Path:
    """Copy a model once for each shift of all rows of a tensor, in mean lengths of them."""
    from safetensors.torch import load_file, save_file

    for step, shift in zip(STEPS, shifts, strict=True):
        here = folder / f"step{step}"
        shutil.copytree(base, here)
        tensors = load_file(here / "model.safetensors")
        values = tensors[tensor]
        direction = np.random.default_rng(seed).standard_normal(values.shape[1])
        length = values.norm(dim=1).mean()
        unit = direction / np.linalg.norm(direction)
        values += shift * length * values.new_tensor(unit)
        save_file(tensors, here / "model.safetensors", metadata={"format": "pt"})
    return folder


def asked(folder: Path, **options: Any) -> Explanation:
    from isoscope.models.model import open_model

    training = find_training(str(folder))
    last = training.checkpoints[-1].folder
    return DRIFT.explain(Question(open_model(str(last)), training=training, **options))


def values(found: Explanation, part: str, measure: str, correction: str = "none") -> list[Any]:
    return [
        row.value
        for row in found.rows
        if (row.part, row.measure, row.correction) == (part, measure, correction)
    ]


def stored(folder: Path, tensor: str, rows: int | None = None) -> Iterator[np.ndarray]:
    from safetensors.numpy import load_file

    for step in STEPS:
        tensors = load_file(folder / f"step{step}" / "model.safetensors")
        yield tensors[tensor][:rows].astype(np.float64)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_drifting_matrix_is_found(tiny_model: Folder, tmp_path: Path, seed: int) -> None:
    folder = save_drift(
        tiny_model("gpt2"), tmp_path / "run", "transformer.wte.weight", (0.0, 0.5, 2.0), seed
    )
    found = asked(folder)
    assert found.found
    matrices_read = list(stored(folder, "transformer.wte.weight"))
    means = [matrix.mean(axis=0) for matrix in matrices_read]
    lengths = [np.linalg.norm(matrix, axis=1).mean() for matrix in matrices_read]
    shifts = [np.linalg.norm(m) / length for m, length in zip(means, lengths, strict=True)]
    # Sums of float32 rows in float64: both agree to rounding.
    assert values(found, INPUT, "shift") == pytest.approx(shifts, rel=1e-9)
    moved = [np.linalg.norm(m - means[0]) / k for m, k in zip(means, lengths, strict=True)]
    assert values(found, INPUT, "mean/moved") == pytest.approx(moved, rel=1e-6, abs=1e-12)
    towards = [m @ means[-1] / np.linalg.norm(m) / np.linalg.norm(means[-1]) for m in means]
    assert values(found, INPUT, "mean/cosine_with_last") == pytest.approx(towards, rel=1e-9)
    ratios, centred = [], []
    for matrix in matrices_read:
        raw = np.linalg.svd(matrix, compute_uv=False)
        ratios.append(raw[0] / raw[1])
        flat = np.linalg.svd(matrix - matrix.mean(axis=0), compute_uv=False)
        centred.append(flat[0] / flat[1])
    assert values(found, INPUT, "singular_ratio") == pytest.approx(ratios, rel=1e-9)
    assert values(found, INPUT, "singular_ratio", "center") == pytest.approx(centred, rel=1e-9)
    assert found.sentence == (
        f"The mean of the embedding matrix moved away from the origin, from {shifts[0]:.2f} to "
        f"{shifts[-1]:.2f} of a mean length over steps 0 to 500; σ₁/σ₂ went from {ratios[0]:.1f} "
        f"to {ratios[-1]:.1f}, centred from {centred[0]:.1f} to {centred[-1]:.1f}."
    )
    assert centred[0] == pytest.approx(centred[-1], rel=1e-3)


def test_rows_tell_checkpoints_apart_as_profiles_do(tiny_model: Folder, tmp_path: Path) -> None:
    folder = save_drift(
        tiny_model("gpt2"), tmp_path / "run", "transformer.wte.weight", (0.0, 0.0, 0.0)
    )
    done: list[tuple[str, int, int | None]] = []
    found = asked(folder, progress=lambda *report: done.append(report))
    shifts = [row for row in found.rows if row.measure == "shift"]
    assert [row.subject for row in shifts] == ["run@step0", "run@step100", "run@step500"]
    assert [row.extra for row in shifts] == [
        {"model": "run", "revision": f"step{step}", "step": step, "parts": "matrix"}
        for step in STEPS
    ]
    assert {row.protocol for row in found.rows} == {"3 of 3 checkpoints: steps 0, 100, 500"}
    matrix = next(stored(folder, "transformer.wte.weight"))
    assert {row.n for row in found.rows} == {len(matrix)}
    keys = [(row.subject, row.part, row.correction, row.measure) for row in found.rows]
    assert len(set(keys)) == len(keys) == 15
    assert done == [("checkpoints", number, 3) for number in (1, 2, 3)]


@pytest.mark.parametrize("shifts", [(0.0, 0.0, 0.0), (0.0, 0.02, 0.05), (2.0, 1.0, 0.0)])
def test_a_control_is_not_found(
    tiny_model: Folder, tmp_path: Path, shifts: tuple[float, ...]
) -> None:
    folder = save_drift(tiny_model("gpt2"), tmp_path / "run", "transformer.wte.weight", shifts)
    found = asked(folder)
    assert not found.found
    first, *_, last = values(found, INPUT, "shift")
    assert found.sentence.startswith(
        f"No matrix drifted: the mean of the embedding matrix went from {first:.2f} to {last:.2f} "
        "of a mean length over steps 0 to 500; σ₁/σ₂ went from "
    )


def test_the_unembedding_is_told_of_where_it_drifts(tiny_model: Folder, tmp_path: Path) -> None:
    """Untied, as Pythia is: the rows that no token has are left out of both matrices."""
    from tiny_models import PADDED_ROWS

    folder = save_drift(
        tiny_model("gpt-neox"), tmp_path / "run", "embed_out.weight", (0.0, 1.0, 2.0)
    )
    found = asked(folder)
    assert found.found
    assert found.sentence.startswith("The mean of the unembedding matrix moved away")
    matrix = next(stored(folder, "embed_out.weight"))
    used = len(matrix) - PADDED_ROWS
    assert {row.n for row in found.rows} == {used}
    for part, tensor in ((INPUT, "gpt_neox.embed_in.weight"), (OUTPUT, "embed_out.weight")):
        shifts = [
            np.linalg.norm(one.mean(axis=0)) / np.linalg.norm(one, axis=1).mean()
            for one in stored(folder, tensor, used)
        ]
        assert values(found, part, "shift") == pytest.approx(shifts, rel=1e-9)
    first, last = shifts_of_input(found)
    assert found.sentence.endswith(
        f" The mean of the embedding matrix went from {first:.2f} to {last:.2f}."
    )


def shifts_of_input(found: Explanation) -> tuple[float, float]:
    first, *_, last = values(found, INPUT, "shift")
    return first, last


def test_tied_matrices_and_missing_heads_are_one(tiny_model: Folder) -> None:
    from isoscope.models.model import open_model

    assert matrices(open_model(str(tiny_model("gpt2")))) == {"input": INPUT}
    untied = {"input": INPUT, "output": OUTPUT}
    assert matrices(open_model(str(tiny_model("gpt-neox")))) == untied


def place(shift: float, ratio: float | None) -> Place:
    return Place(10, np.array([shift, 0.0]), 1.0, ratio, 1.0)


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        (place(0.0, 1.0), place(0.2, 2.0), True),
        (place(0.0, 1.0), place(0.09, 2.0), False),
        (place(0.0, 1.0), place(0.2, 1.05), False),
        (place(0.0, 2.0), place(0.2, 1.0), False),
        (place(0.3, 1.0), place(0.3, 2.0), False),
        (place(0.0, None), place(0.5, 2.0), False),
        (Place(10, np.zeros(2), 0.0, None, None), place(0.5, 2.0), False),
    ],
)
def test_both_the_shift_and_the_ratio_have_to_grow(first: Place, last: Place, found: bool) -> None:
    between = place(0.9, 9.0)  # where a training was in between does not count
    assert Drift(INPUT, (first, between, last)).found is found


def test_zeros_leave_figures_undefined(tiny_model: Folder, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = save_drift(
        tiny_model("gpt2"), tmp_path / "run", "transformer.wte.weight", (0.0, 0.5, 2.0)
    )
    path = folder / "step0" / "model.safetensors"
    tensors = load_file(path)
    tensors["transformer.wte.weight"][:] = 0.0
    save_file(tensors, path, metadata={"format": "pt"})
    found = asked(folder)
    assert not found.found
    assert found.sentence == (
        "No drift is known: all rows of the embedding matrix are zero at a checkpoint, over steps "
        "0 to 500."
    )
    missing = [row for row in found.rows if row.value is None]
    assert [row.subject for row in missing] == ["run@step0"] * 5
    assert all(row.note for row in missing)


def test_the_ratio_of_a_line_is_not_defined() -> None:
    line = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert singular_ratio(line) is None
    assert singular_ratio(np.ones((1, 1))) is None
    assert singular_ratio(np.diag([4.0, 1.0, 9.0])) == pytest.approx(1.5)


def test_checkpoints_are_asked_for() -> None:
    nothing: Any = None
    with pytest.raises(MissingError, match="needs checkpoints: a folder of them, or --revis"):
        DRIFT.explain(Question(nothing))
    one = Training("run", (Checkpoint("run", "step7", Path("run/step7")),), 1)
    with pytest.raises(MissingError, match="at least two checkpoints, and run has one: step7"):
        DRIFT.explain(Question(nothing, training=one))
