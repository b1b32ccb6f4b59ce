"""Layers as papers number them, and the recipes' way to profile them."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.models.structure.stacks import Stack
    from isoscope.results.result import Result
    from isoscope.studies.registry import Request


ORDINARY = {"part": "*, ordinary tokens"}
"""Rows of layers without their massive tokens, which no claim is about."""


def numbered_layers(stacks: Sequence[Stack]) -> dict[str, str]:
    """Number the layers as transformers' ``hidden_states`` does: the input is layer 0.

    The last one is behind the final norm, where there is one, so that the last block's own output
    has no number. Of a sequence-to-sequence model the encoder is numbered.
    """
    layers = list(stacks[0].layers)
    if layers[-1].endswith("final norm"):
        del layers[-2]
    return {layer: f"layer {number}" for number, layer in enumerate(layers)}


def profiled(
    request: Request, measures: str, corrections: str = "none", **options: Any
) -> Iterator[tuple[tuple[Stack, ...], Result]]:
    """Profile every subject over the text of a study, under the subjects' names."""
    from isoscope.profiles.profiling import profile  # imports torch

    for subject in request.subjects:
        model = open_subject(subject, request)
        result = profile(
            model, request.text, measures=measures, corrections=corrections,
            seed=request.seed, progress=request.progress, **request.readers(), **options,
        )  # fmt: skip
        stacks = model.stacks
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        yield stacks, renamed(result, subject=subject.name)


def numbered(stacks: Sequence[Stack], result: Result) -> Result:
    """Call the layers of a result by their numbers; the last block keeps its name."""
    names = numbered_layers(stacks)

    def named(part: str) -> str:
        layer, comma, rest = part.partition(",")
        return names.get(layer, layer) + comma + rest

    return replace(
        result,
        rows=[replace(row, part=named(row.part)) for row in result.rows],
        tables=[replace(table, part=named(table.part)) for table in result.tables],
    )


def numbered_profiles(
    request: Request, measures: str, corrections: str = "none", **options: Any
) -> Result:
    """Profile every subject with its layers numbered."""
    every = profiled(request, measures, corrections, **options)
    return joined(numbered(stacks, result) for stacks, result in every)
