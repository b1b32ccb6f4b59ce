"""Layers as rows of a result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.measures.context.definitions import persistence
from isoscope.measures.diagnosis import judge
from isoscope.measures.intervals import IntervalEstimator
from isoscope.measures.registry import choose_measures
from isoscope.measures.space import Dimensions
from isoscope.measures.views import NONE
from isoscope.models.layer_names import EVERYTHING, ORDINARY, SUFFIX, without_suffix
from isoscope.results.model_rows import norm_ranks
from isoscope.results.result import Result, Row, Table
from isoscope.results.spaces import add
from isoscope.verbs.profile.text import MOVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.verbs.profile.layer_reads import Layer, LayerProfile


# Measures by which it is judged whether massive tokens matter, and whether by their ratio.
JUDGED = {
    "mean_cosine": False,
    "top_variance_share": False,
    "effective_rank": True,
    "participation_ratio": True,
    "mean_norm": True,
}
# Change of a number, or of its share, from which on massive tokens matter.
TENTH = 0.1
# Outlier dimensions that are looked up in every norm.
RANKED = 8


def layer_rows(profile: LayerProfile, layers: Sequence[Layer], protocol: str) -> Result:
    """Evaluate every measure on every layer."""
    found = Result([])
    model, options = profile.group.model.name, profile.options
    names, context = options.chosen
    items = choose_measures(names) if names else ()
    dimensions: dict[str, Dimensions] = {}
    main = EVERYTHING if options.max_norm_multiple is None else ORDINARY
    for layer in layers:
        # Without massive tokens there is one set of tokens only, whatever it is called.
        chosen = main if main in layer.described else EVERYTHING
        for which, (described, reads) in layer.described.items():
            part = layer.name if which == chosen else layer.name + SUFFIX[which]
            estimator = IntervalEstimator(
                described.reads, profile.request.dealer is not None, given=options.intervals
            )
            words = f"{protocol}; {reads}"
            if profile.request.dealer is not None:
                words += "; intervals over documents, whose tokens are counted together"
            for space in described.spaces:
                for item in items:
                    add(item, space, estimator, (model, part), words, found.rows, found.tables)
                if space.correction != NONE or which != chosen:
                    continue
                if space.dimensions is not None:
                    dimensions[layer.name] = space.dimensions
                if space.spectrum is not None and space.dimensions is not None:
                    verdict = judge(space, estimator).to_dict()
                    found.verdicts.append({"subject": model, "part": part, **verdict})
        add_context(layer, context, model, protocol, found)
    if dimensions and "persistence" in context:
        table = persistence(dimensions)
        found.tables.append(Table(model, "", NONE, "persistence", table.rows, table.note))
        outliers = [row["dimension"] for row in table.rows[:RANKED]]
        if outliers:
            found.tables.append(norm_ranks(profile.group.model, outliers))
    return found


def add_context(
    layer: Layer, wanted: Sequence[str], model: str, protocol: str, found: Result
) -> None:
    """Add the requested measures of context of a layer to the result."""
    if layer.contextual is None:
        return
    for name, value in layer.contextual.values.items():
        if name.split("/")[0] in wanted:
            found.rows.append(
                Row.of(
                    value, model, layer.name, NONE, name,
                    n=value.rows, protocol=protocol, extra=dict(value.extra),
                )
            )  # fmt: skip
    for name, table in layer.contextual.tables.items():
        if name.split("/")[0] in wanted:
            found.tables.append(Table(model, layer.name, NONE, name, table.rows, table.note))


def flag_moved(rows: Sequence[Row]) -> list[Row]:
    """Mark the rows of layers that massive tokens move by more than a tenth.

    Both sets of tokens are in the result either way; the mark says which ones to show.
    """
    moved = moved_layers(rows)
    return [
        replace(row, extra={**row.extra, MOVED: True})
        if (row.subject, without_suffix(row.part)) in moved
        else row
        for row in rows
    ]


def moved_layers(rows: Sequence[Row]) -> set[tuple[str, str]]:
    """Return models and layers where the other set of tokens gives quite another value."""
    known = {
        (row.subject, row.part, row.measure): row.value
        for row in rows
        if row.measure in JUDGED and row.correction == NONE and row.value is not None
    }
    moved = set()
    for (subject, part, measure), value in known.items():
        for suffix in SUFFIX.values():
            other = known.get((subject, part + suffix, measure), value)
            scale = max(abs(value), abs(other)) if JUDGED[measure] else 1
            if abs(value - other) > TENTH * scale:
                moved.add((subject, part))
    return moved
