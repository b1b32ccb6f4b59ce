"""What the weights of a model say without a text: embeddings, positions, norms."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.measures.layer_norm import NormWeights
from isoscope.measures.views import NONE
from isoscope.models.structure.norm_layers import LAYER_NORM
from isoscope.results.joining import joined
from isoscope.results.layered import KIND, PARTS, PROFILE
from isoscope.results.measuring import measure, versions
from isoscope.results.result import Result, Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.models.model import Model
    from isoscope.models.structure.norm_layers import Norm
    from isoscope.models.structure.parts import PositionTable
    from isoscope.profiles.request import ProfileOptions


EMBEDDING, UNEMBEDDING = "embedding matrix", "unembedding matrix"
POSITIONS = "positional embeddings"
UNUSED = re.compile(
    r"\[unused\d+\]|<unused\d+>|<reserved[\w-]*\d+>|<\|(reserved|extra)[\w-]*\d+\|>", re.IGNORECASE
)
"""Tokens that were put into a vocabulary for later and never trained; T5's ``<extra_id_0>`` was."""

FAR = 6.0
"""Deviations from which on an entry of a positional embedding stands out: of a thousand normal
numbers the largest is at three and a half."""
FIRST_POSITIONS = 8


def weights_profile(
    model: Model, options: ProfileOptions, progress: Progress | None = None
) -> Result:
    """Measure the embeddings, positions and norms of one model, reading these tensors alone."""
    found = joined(
        [
            *embedding_results(model, options, progress),
            *position_results(model, options, progress),
            norm_result(model),
        ]
    )
    return replace(
        found,
        tables=[parts_table(model), *found.tables],
        verdicts=[weights_verdict(model, found)],
        seeds={"seed": options.seed},
        versions=versions() | {name: model.provenance[name] for name in ("transformers", "torch")},
        extra={KIND: PROFILE, "models": {model.name: model.provenance}},
    )


def embedding_results(
    model: Model, options: ProfileOptions, progress: Progress | None
) -> Iterator[Result]:
    """Measure the input embedding, and the unembedding where that is another matrix."""
    for which, part in (("input", EMBEDDING), ("output", UNEMBEDDING)):
        if which == "output" and (model.parts.unembedding is None or model.tied):
            continue
        cloud = model.embedding_cloud(which, padding_rows=options.padding_rows)
        names, _ = options.chosen
        found = measure(
            cloud, names, options.corrections,
            intervals=False, seed=options.seed, progress=progress,
        )  # fmt: skip
        tied = "; also the unembedding: both are one tensor" if model.tied else ""
        left = f"; {cloud.left_out:,} padding rows out" if cloud.left_out else ""
        note = cloud.note or ""
        rows = [
            replace(
                row, subject=model.name, part=part,
                protocol=f"{cloud.rows:,} rows{left}{tied}; {row.protocol}",
                note="; ".join(filter(None, (row.note, note))),
                extra={**row.extra, PARTS: "matrix"},
            )
            for row in found.rows
        ]  # fmt: skip
        tables = [replace(table, subject=model.name, part=part) for table in found.tables]
        unused = unused_tokens(cloud)
        if unused:
            tables.append(
                Table(model.name, part, NONE, "unused_tokens", unused, f"{len(unused):,} by name")
            )
        verdicts = [{**verdict, "subject": model.name, "part": part} for verdict in found.verdicts]
        left_out = {f"padding rows of the {part}": cloud.left_out} if cloud.left_out else {}
        yield Result(rows, tables, verdicts, left_out)


def unused_tokens(cloud: Any) -> list[dict[str, Any]]:
    """Find the tokens that are there for later by their names, with their lengths."""
    found = []
    for batch in cloud.read():
        if "word" not in batch.labels:
            return []
        words = batch.labels["word"]
        for k in [k for k, word in enumerate(words) if UNUSED.fullmatch(str(word))]:
            vector = np.asarray(batch.vectors[k], dtype=np.float64)
            found.append(
                {
                    "token": str(words[k]),
                    "row": batch.first_row + k,
                    "norm": float(np.linalg.norm(vector)),
                }
            )
    return found


def position_results(
    model: Model, options: ProfileOptions, progress: Progress | None
) -> Iterator[Result]:
    """Measure every table of positions, and find the entries that stand out in it."""
    names, _ = options.chosen
    tables = model.parts.positions.tables
    for table in tables:
        matrix = np.asarray(model.tensor(table.path))
        side = table.path.split(".")[0] if len(tables) > 1 else ""
        part = f"{side} {POSITIONS}".strip()
        cloud = ArrayCloud(matrix, part)
        cloud.population = True
        found = measure(
            cloud, names, options.corrections,
            intervals=False, seed=options.seed, progress=progress,
        )  # fmt: skip
        yield Result(
            [
                replace(
                    row, subject=model.name, part=part,
                    protocol=f"all {len(matrix):,} rows; {row.protocol}",
                    extra={**row.extra, PARTS: "matrix"},
                )
                for row in found.rows
            ],
            [
                *(replace(one, subject=model.name, part=part) for one in found.tables),
                position_extremes(model.name, part, matrix, table),
            ],
        )  # fmt: skip


def position_extremes(model: str, part: str, matrix: NDArray[Any], table: PositionTable) -> Table:
    """List the entries of each position that are far from the others of the same row.

    The first positions are listed one by one, then those where other dimensions stand out than in
    the row before.
    """
    wide = matrix.astype(np.float64)
    rows = []
    before: list[int] = []
    for number, row in enumerate(deviations(wide)):
        far = [int(k) for k in np.flatnonzero(np.abs(row) > FAR)]
        if number < FIRST_POSITIONS or far != before:
            rows.append(
                {
                    "row": number,
                    "position": number - table.first_row if number >= table.first_row else None,
                    "outliers": far,
                    "minimum_at": int(row.argmin()),
                    "minimum": float(wide[number].min()),
                    "maximum_at": int(row.argmax()),
                    "maximum": float(wide[number].max()),
                }
            )
        before = far
    note = (
        f"entries more than {FAR:g} deviations from the mean of their row; rows as stored, of "
        f"which {table.first_row} come before the first position"
    )
    return Table(model, part, NONE, "position_extremes", rows, note)


def deviations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each entry is from the mean of its row, in the row's standard deviations."""
    spread = matrix.std(axis=1, keepdims=True)
    apart = matrix - matrix.mean(axis=1, keepdims=True)
    return np.asarray(np.divide(apart, spread, out=np.zeros_like(matrix), where=spread > 0))


def norm_result(model: Model) -> Result:
    """Measure gain and bias of every norm, in the order in which they compute."""
    rows, outliers = [], []
    for norm in model.parts.norms:
        weights = norm_weights(model, norm)
        if weights is None:
            continue
        part = norm_name(norm)
        rows += [
            Row(
                model.name, part, NONE, name, value.value,
                n=value.rows, protocol=f"{norm.kind}, {norm.path}", note=value.note,
                extra={PARTS: "norm"},
            )
            for name, value in weights.values().items()
        ]  # fmt: skip
        far = weights.outliers()
        rows.append(
            Row(
                model.name, part, NONE, "outliers_3sd", float(len(far)),
                n=len(weights.gain), protocol=f"{norm.kind}, {norm.path}", extra={PARTS: "norm"},
            )
        )  # fmt: skip
        outliers += [{"norm": part, **row} for row in far]
    note = "entries of gain or bias more than 3 deviations from their mean (Kovaleva et al. 2021)"
    return Result(rows, [Table(model.name, "", NONE, "norm_outliers", outliers, note)])


def norm_weights(model: Model, norm: Norm) -> NormWeights | None:
    """Read gain and bias of a norm; None where it has no weights."""
    if norm.gain is None:
        return None
    gain = np.asarray(model.tensor(norm.gain), dtype=np.float64) + norm.gain_offset
    bias = None if norm.bias is None else np.asarray(model.tensor(norm.bias), dtype=np.float64)
    return NormWeights(gain, bias, centres=norm.kind == LAYER_NORM)


def norm_name(norm: Norm) -> str:
    """Return what results call a norm: its layer, and its path within."""
    # Behind the number of the block: T5 numbers the parts inside a block as well.
    inner = re.sub(r"^.*?\.\d+\.", "", norm.path)
    return norm.where if inner == norm.path else f"{norm.where}, {inner}"


def norm_ranks(model: Model, dimensions: Sequence[int]) -> Table:
    """Rank some dimensions in every norm's gain and bias: 1 is the largest."""
    rows = []
    for norm in model.parts.norms:
        weights = norm_weights(model, norm)
        if weights is None:
            continue
        for name, ranks in weights.ranks([k for k in dimensions if k < len(weights.gain)]).items():
            rows += [
                {"norm": norm_name(norm), "of": name, "dimension": k, "rank": rank}
                for k, rank in ranks.items()
            ]
    return Table(model.name, "", NONE, "outlier_ranks_in_norms", rows, "1 is the largest |value|")


def parts_table(model: Model) -> Table:
    """List what the model is made of."""
    parts = model.parts
    entries = [("input embedding", parts.input_embedding)]
    if parts.unembedding is not None:
        entries.append(("unembedding", parts.unembedding))
    entries += [(POSITIONS, table.path) for table in parts.positions.tables]
    rows = [
        {"part": name, "tensor": path, "shape": list(model.weights.shape(path))}
        for name, path in entries
    ]
    tied = {None: "no unembedding", True: "tied", False: "untied"}[model.tied]
    blocks = "; ".join(f"{stack.name} {len(stack.blocks)} blocks".strip() for stack in parts.stacks)
    note = (
        f"{blocks}; positions: {', '.join(parts.positions.kinds)}; {tied}; {len(parts.norms)} norms"
    )
    return Table(model.name, "", NONE, "parts", rows, note)


def weights_verdict(model: Model, found: Result) -> dict[str, Any]:
    """Say in a few sentences what the weights show."""
    known = {
        (row.part, row.measure, row.correction): row.value
        for row in found.rows
        if row.value is not None
    }
    said = []
    for part in (EMBEDDING, UNEMBEDDING):
        raw, centred = (known.get((part, "mean_cosine", name)) for name in (NONE, "center"))
        if raw is not None:
            after = "" if centred is None else f", {centred:.2f} after centring"
            said.append(f"The {part} has a mean cosine of {raw:.2f}{after}.")
    if model.tied:
        said.append("Embedding and unembedding are one matrix.")
    elif model.tied is None:
        said.append("There is no unembedding: the model was saved without a head for tokens.")
    said.append(f"Positions: {', '.join(model.parts.positions.kinds)}.")
    final = model.parts.final_norm("decoder" if model.is_seq2seq else "")
    if final is None:
        said.append("No norm of the whole model stands behind the last block.")
    else:
        ratio = known.get((norm_name(final), "bias_over_gain", NONE))
        said.append(
            f"The final norm is a {final.kind}"
            + (" without a bias." if ratio is None else f" with ‖b‖/‖g‖ = {ratio:.2g}.")
        )
    return {"subject": model.name, "part": "", "sentence": " ".join(said)}
