"""What clusters of tokens contain: shares of punctuation, stop words and other tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name
from isoscope.report.figures.layer_order import FITTED
from isoscope.report.figures.standing_records import entries_of, of, standing_tables
from isoscope.report.vega import chart, name, number, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Table

CLUSTERS = "clusters"
KINDS = {"punctuation": "punctuation", "stop_words": "stop words", "special": "special tokens"}
OTHER = "other"
NEEDED = ("cluster", "size", "punctuation", "stop_words")
MOST_CLUSTERS = 60
STEP = 16
MOSTLY = 0.5


def cluster_figures(result: Result) -> list[Figure]:
    """Draw the clusters of each layer that a result looks into."""
    return [
        figure
        for table in standing_tables(result, CLUSTERS)
        if (figure := drawn(table)) is not None
    ]


def drawn(table: Table) -> Figure | None:
    """Draw the clusters of one layer; nothing where a table of this name holds something else."""
    clusters = entries_of(table, NEEDED)
    if not clusters:
        return None
    more = len(clusters) - MOST_CLUSTERS
    clusters = sorted(clusters, key=lambda row: -row["size"])[:MOST_CLUSTERS]
    clusters.sort(key=lambda row: (-row["punctuation"], -row["stop_words"]))
    kinds = [key for key in KINDS if any(row.get(key) for row in clusters)]
    marks = [mark for place, row in enumerate(clusters) for mark in bars_of(row, place, kinds)]
    where = of(table.subject, table.part)
    counts = [sum(row[key] > MOSTLY for row in clusters) for key in ("punctuation", "stop_words")]
    left = f" The {more:,} smallest are left out." if more > 0 else ""
    return Figure(
        file_name("cluster-contents", table.subject, table.part),
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
                "tooltip": told(
                    {"cluster": "cluster", "kind": "kind", "tokens": "commonest tokens"},
                    {"share": "share", "size": "tokens"},
                ),
            },
            height=STEP * len(clusters),
            **FITTED,
        ),
        ["cluster", "tokens", *(KINDS[key] for key in kinds), OTHER, "commonest tokens"],
        [
            [
                str(row["cluster"]), f"{row['size']:,}", *(f"{row[key]:.1%}" for key in kinds),
                f"{rest_of(row, kinds):.1%}", str(row.get("tokens", "")),
            ]
            for row in clusters
        ],
    )  # fmt: skip


def bars_of(row: dict[str, Any], place: int, kinds: list[str]) -> list[dict[str, Any]]:
    """Return the pieces of a cluster's bar."""
    shares = {KINDS[key]: row[key] for key in kinds} | {OTHER: rest_of(row, kinds)}
    return [
        {
            "cluster": f"{row['cluster']} ({row['size']:,})", "place": place, "kind": kind,
            "order": order, "share": share, "size": row["size"],
            "tokens": str(row.get("tokens", "")),
        }
        for order, (kind, share) in enumerate(shares.items())
    ]  # fmt: skip


def rest_of(row: dict[str, Any], kinds: list[str]) -> float:
    """Return the share of tokens that are of no other kind."""
    return max(0.0, 1.0 - sum(float(row[key]) for key in kinds))
