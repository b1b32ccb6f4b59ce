from __future__ import annotations

from typing import Any

from isoscope.results.fields import KIND, PROFILE
from isoscope.results.kinds import grids
from isoscope.results.result import Result, Row, Table
from isoscope.results.tables import previews
from isoscope.verbs.profile.names import telling_parts


def row(step: int | None, part: str, value: float | None = 0.5, **extra: Any) -> Row:
    revision = "main" if step is None else f"step{step}"
    fields = {"model": "tiny", "revision": revision, "step": step, **extra}
    return Row(
        f"tiny@{revision}", part, "none", "mean_cosine", value,
        protocol="9 tokens; 2 of 3 checkpoints", extra=fields,
    )  # fmt: skip


def result(rows: list[Row], *tables: Table) -> Result:
    return Result(rows, list(tables), extra={KIND: PROFILE})


def test_steps_down_for_the_last_layer() -> None:
    rows = [
        row(step, part, step / 10)
        for step in (0, 1, 1000)
        for part in ("embedding", "block 1", "final norm", "final norm, ordinary tokens")
    ]
    table = Table("tiny", "", "none", "checkpoints", [], "3 of 3 checkpoints: steps 0, 1, 1000")
    (grid,) = grids(result(rows, table))
    assert grid.title == "tiny, final norm: 9 tokens"
    assert grid.header == ["step", "mean_cosine"]
    assert grid.rows == [["0", "0"], ["1", "0.100"], ["1,000", "100"]]
    assert grid.notes == [
        "3 of 3 checkpoints: steps 0, 1, 1000",
        "the other parts are in the JSON",
    ]


def test_a_grid_per_matrix_and_the_final_norm() -> None:
    parts = {
        "embedding matrix": "matrix",
        "unembedding matrix": "matrix",
        "positional embeddings": "matrix",
        "block 1, ln_1": "norm",
        "final norm": "norm",
        "pooler norm": "norm",
    }
    rows = [row(step, part, parts=kind) for step in (0, 1) for part, kind in parts.items()]
    assert telling_parts(rows) == [
        ("matrix", "embedding matrix"),
        ("matrix", "unembedding matrix"),
        ("norm", "final norm"),
    ]
    without = [one for one in rows if one.part != "final norm"]
    assert telling_parts(without)[-1] == ("norm", "pooler norm")
    assert [len(grid.rows) for grid in grids(result(rows))] == [2, 2, 2]


def test_revisions_where_steps_do_not_tell_them_apart() -> None:
    rows = [row(5, "block 1"), row(None, "block 1")]
    (grid,) = grids(result(rows))
    assert [line[0] for line in grid.rows] == ["5", "main"]
    twin = Row("tiny@b-step5", *("block 1", "none", "mean_cosine"), 0.1,
               extra={"model": "tiny", "revision": "b-step5", "step": 5})  # fmt: skip
    (grid,) = grids(result([*rows, twin]))
    assert [line[0] for line in grid.rows] == ["step5", "main", "b-step5"]


def test_a_duplicate_is_a_note_and_no_line() -> None:
    same = row(1, "", None, duplicate_of="step0")
    (grid,) = grids(result([row(0, "block 1"), same, row(2, "block 1")]))
    assert [line[0] for line in grid.rows] == ["0", "2"]
    assert grid.notes[0] == "step1 has the weights of step0: no numbers of its own"


def test_tables_of_single_checkpoints_are_not_shown() -> None:
    lines = [{"dimension": 3}]
    extra = {"model": "tiny", "revision": "step0", "step": 0}
    of_one = Table("tiny@step0", "", "none", "persistence", lines, extra=extra)
    of_all = Table("other", "", "none", "persistence", lines)
    shown = previews(result([row(0, "block 1")], of_one, of_all))
    assert len(shown) == 1


def test_two_models_and_one_without_a_training() -> None:
    plain = Row("gpt2", "block 1", "none", "mean_cosine", 0.3, protocol="9 tokens")
    other = Row("big@step0", "block 1", "none", "mean_cosine", 0.3,
                extra={"model": "big", "revision": "step0", "step": 0})  # fmt: skip
    titles = [grid.title for grid in grids(result([row(0, "block 1"), plain, other]))]
    assert titles == ["gpt2: 9 tokens", "tiny, block 1: 9 tokens", "big, block 1: 1 checkpoint"]


def test_the_table_of_a_quantised_model_says_so() -> None:
    models = {
        "small": {"quantisation": "dequantised from Q4_K_M (tensors: 9 Q4_K, 4 F32)"},
        "whole": {"quantisation": "none (tensors: 13 F16)"},
        "packed": {"quantisation": "gptq"},
        "plain": {"quantisation": "none"},
    }
    rows = [
        Row(name, part, "none", "mean_cosine", 0.5, protocol="9 tokens")
        for name in models
        for part in ("embedding", "block 1")
    ]
    found = Result(rows, extra={KIND: PROFILE, "models": models})
    *own, depth = grids(found)
    assert [grid.title for grid in own] == [
        "small (dequantised from Q4_K_M): 9 tokens",
        "whole: 9 tokens",
        "packed (quantised: gptq): 9 tokens",
        "plain: 9 tokens",
    ]
    assert depth.notes[1:] == ["small: dequantised from Q4_K_M", "packed: quantised: gptq"]
