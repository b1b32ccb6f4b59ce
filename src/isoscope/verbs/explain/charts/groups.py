"""Charts of tokens in groups: clusters, sentences of one structure, occurrences of a verb.

- What clusters of tokens contain: shares of punctuation, stop words and other tokens.
- Whether words gather by the structure of their sentences, before and after a correction.
- How far apart occurrences of a verb are, by tense and by sense, before and after a correction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.forms import interval_dots
from isoscope.results.charts.layer_axis import FITTED
from isoscope.results.charts.marks import (
    MOST_SERIES,
    NONE,
    Mark,
    Marks,
    chosen_spaces,
    entries_of,
    interval_of,
    left_out_words,
    of,
    series_colours,
    standing_rows,
    standing_tables,
)
from isoscope.results.charts.vega import chart, name, number, tooltip
from isoscope.results.numbers import shown
from isoscope.results.tables import grouped
from isoscope.verbs.explain.names import CHANCE, OTHER_SENSE, OTHER_TENSE, SAME, SHARE

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.results.result import Result, Row, Table


CLUSTERS = "clusters"
KINDS = {"punctuation": "punctuation", "stop_words": "stop words", "special": "special tokens"}
OTHER = "other"
NEEDED = ("cluster", "size", "punctuation", "stop_words")
MOST_CLUSTERS = 60
STEP = 16
MOSTLY = 0.5


def cluster_figures(result: Result) -> list[Figure]:
    """Draw the clusters of each layer that a result looks into."""
    return list(filter(None, map(draw_contents, standing_tables(result, CLUSTERS))))


def draw_contents(table: Table) -> Figure | None:
    """Draw the clusters of one layer; nothing where a table of this name holds something else."""
    clusters = entries_of(table, NEEDED)
    if not clusters:
        return None
    more = len(clusters) - MOST_CLUSTERS
    largest = sorted(clusters, key=lambda row: -row["size"])[:MOST_CLUSTERS]
    clusters = Marks(largest)
    clusters.sort(key=lambda row: (-row["punctuation"], -row["stop_words"]))
    kinds = [key for key in KINDS if any(row.get(key) for row in clusters)]
    marks = [mark for place, row in enumerate(clusters) for mark in bars_of(row, place, kinds)]
    where = of(table.subject, table.part)
    counts = [sum(row[key] > MOSTLY for row in clusters) for key in ("punctuation", "stop_words")]
    left = f" The {more:,} smallest are left out." if more > 0 else ""
    return Figure.of(
        ("cluster-contents", table.subject, table.part),
        of("What the clusters of", where, "contain"),
        f"Shares of kinds of tokens in {len(clusters)} clusters of {where}, those with most "
        f"punctuation first: {counts[0]} are mostly punctuation, {counts[1]} mostly stop words."
        f"{left}",
        chart(
            marks,
            "bar",
            {
                "y": name("cluster", "cluster (number of tokens)",
                          sort={"field": "place", "op": "min"}),
                "x": number("share", "share of the cluster's tokens", stack="zero",
                            scale={"domain": [0, 1]}, axis={"format": ".0%"}),
                "color": name("kind", "kind of token"),
                "order": {"field": "order", "type": "quantitative"},
                "tooltip": tooltip(
                    {"cluster": "cluster", "kind": "kind", "tokens": "commonest tokens"},
                    {"share": "share", "size": "tokens"},
                ),
            },
            height=STEP * len(clusters),
            **FITTED,
        ),
        (
            {**row, "cluster": str(row["cluster"]), "size": f"{row['size']:,}",
             OTHER: rest_of(row, kinds), "tokens": str(row.get("tokens", ""))}
            for row in clusters
        ),
        {"cluster": "cluster", "size": "tokens", **{key: KINDS[key] for key in kinds},
         OTHER: OTHER, "tokens": "commonest tokens"},
        "{:.1%}".format,
    )  # fmt: skip


def bars_of(row: Mark, place: int, kinds: list[str]) -> Marks:
    """Return the pieces of a cluster's bar."""
    shares = {KINDS[key]: row[key] for key in kinds} | {OTHER: rest_of(row, kinds)}
    return Marks(
        {
            "cluster": f"{row['cluster']} ({row['size']:,})", "place": place, "kind": kind,
            "order": order, "share": share, "size": row["size"],
            "tokens": str(row.get("tokens", "")),
        }
        for order, (kind, share) in enumerate(shares.items())
    )  # fmt: skip


def rest_of(row: Mark, kinds: list[str]) -> float:
    """Return the share of tokens that are of no other kind."""
    return max(0.0, 1.0 - sum(float(row[key]) for key in kinds))


BY_CHANCE = "by chance"


def structure_figures(result: Result) -> list[Figure]:
    """Draw the shares of every word, per model."""
    rows = list(standing_rows(result))
    shares = grouped((row for row in rows if row.measure == SHARE), lambda row: row.subject)
    chances = grouped(
        (row for row in rows if (row.measure, row.correction) == (CHANCE, NONE)),
        lambda row: row.subject,
    )
    return [draw_shares(subject, own, chances.get(subject, [])) for subject, own in shares.items()]


def draw_shares(subject: str, rows: list[Row], chances: list[Row]) -> Figure:
    """Draw the shares of one model."""
    words = {row.part: quoted(row.part) for row in rows}
    spaces = chosen_spaces((row.correction for row in rows), MOST_SERIES - 1)
    points = space_marks(rows, spaces, lambda row: row.part, words)
    known = [row for row in chances if row.part in words]
    points += [{"thing": quoted(row.part), "kind": BY_CHANCE, "value": row.value} for row in known]
    of_words = points.by("thing")
    said = "; ".join(
        f"{word} "
        + ", ".join(f"{point['value']:.2%} ({point['kind']})" for point in of_words[word])
        for word in words.values()
    )
    return Figure.of(
        ("structure-shares", subject),
        of("Nearest neighbours from sentences of the same structure in", subject),
        "Share of a word's nearest neighbours that are from sentences of the same structure, in "
        f"{subject}: {said}.{spaces_left_out(rows, spaces)}",
        interval_dots(
            points, "word", "share of neighbours of the same structure", "correction, or chance",
            series_colours([*spaces, BY_CHANCE] if known else spaces),
            axis={"format": "~%", "tickCount": 6},
        ),
        points,
        {"thing": "word", "kind": "correction", "value": "share", **INTERVAL},
        "{:.2%}".format,
    )  # fmt: skip


def space_marks(
    rows: list[Row], spaces: list[str], key: Callable[[Row], str], things: dict[str, str]
) -> Marks:
    """Return a mark for everything in every space, in the order of spaces and things.

    Parameters
    ----------
    rows : list of Row
        The numbers.
    spaces : list of str
        The corrections that are drawn.
    key : callable
        Says of a row what it is about.
    things : dict
        What rows are about, and what a chart calls it.
    """
    return Marks(
        {"thing": words, "kind": space, "value": row.value, **interval_of(row)}
        for space in spaces
        for thing, words in things.items()
        for row in rows
        if (key(row), row.correction) == (thing, space)
    )


def spaces_left_out(rows: list[Row], spaces: list[str]) -> str:
    """Say how many corrections a chart has no room for."""
    return left_out_words(len({row.correction for row in rows}) - len(spaces), "corrections")


def quoted(word: str) -> str:
    """Return a word in quotation marks: a full stop alone is hardly seen on an axis."""
    return f"“{word}”"


DISTANCES = {
    SAME: "same tense, same sense",
    OTHER_SENSE: "same tense, other sense",
    OTHER_TENSE: "other tense, same sense",
}


def verb_figures(result: Result) -> list[Figure]:
    """Draw the three distances per model and layer."""
    rows = (row for row in standing_rows(result) if row.measure in DISTANCES)
    groups = grouped(rows, lambda row: (row.subject, row.part))
    return [draw_distances(subject, part, own) for (subject, part), own in groups.items()]


def draw_distances(subject: str, part: str, rows: list[Row]) -> Figure:
    """Draw the distances of one layer."""
    spaces = chosen_spaces(row.correction for row in rows)
    points = space_marks(rows, spaces, lambda row: row.measure, DISTANCES)
    where = of(subject, part)
    said = "; ".join(
        f"{space}: " + ", ".join(f"{point['thing']} {shown(point['value'])}" for point in several)
        for space, several in points.by("kind").items()
    )
    return Figure.of(
        ("verb-distances", subject, part),
        of("Distances between occurrences of a verb in", where),
        f"Mean distance of an occurrence of a verb to others of that verb, in {where}. {said}."
        f"{spaces_left_out(rows, spaces)}",
        interval_dots(
            points, "occurrences with", "mean Euclidean distance", "correction",
            series_colours(spaces), scale={"zero": False}, axis={"tickCount": 6},
        ),
        points,
        {"kind": "correction", "thing": "occurrences with", "value": "mean distance", **INTERVAL},
    )  # fmt: skip
