"""Which tokens those that were never used lie close to: mean cosines by ids, raw and centred."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.panels import (
    Cloud,
    Sheet,
    cloud_of,
    reach,
    sheets,
    telling_apart,
    told_of,
)
from isoscope.report.vega import Spec, number, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

COSINE = "cosine_with_unused"
DIFFERENCE = f"{COSINE}/rare_minus_frequent"
BIN = re.compile(r"ids ([\d,]+) to ([\d,]+)")
AXIS = {"format": ",d", "tickCount": 4, "labelFlush": False}

Found = dict[tuple[Cloud, str], list["Row"]]


def unused_bin_figures(result: Result) -> list[Figure]:
    """Draw a line per space through bins of ids in order, rare tokens last."""
    found: Found = {}
    for row in result.rows:
        if row.measure == COSINE and BIN.fullmatch(row.part) and row.value is not None:
            found.setdefault(((cloud_of(row)[0], ""), row.correction), []).append(row)
    differences = {
        (cloud_of(row)[0], row.correction): row
        for row in result.rows
        if row.measure == DIFFERENCE and row.value is not None
    }
    return [drawn(sheet, found, differences) for sheet in sheets(found)]


def drawn(sheet: Sheet, found: Found, differences: dict[tuple[str, str], Row]) -> Figure:
    """Draw one figure."""
    chosen = {key: rows for key, rows in found.items() if sheet.shows(*key)}
    points = [
        {**sheet.place(*key), "space": key[1], **point}
        for key, rows in chosen.items()
        for point in points_of(rows)
    ]
    line = telling_apart(points, "series", sheet.legend)
    axes = {
        "x": number(
            "middle", "token id, bins of 1,000", axis=AXIS,
            scale={"domain": reach([0, *(p["middle"] for p in points)], 1_000)},
        ),
        "y": number("cosine", "mean cosine with unused tokens"),
        "color": line["color"],
    }  # fmt: skip
    hover = told(
        {"panel": sheet.apart, "space": "correction", "ids": "bin"},
        {"cosine": "mean cosine", "count": "tokens"},
    )
    layers: list[Spec] = [
        {"transform": [{"filter": "!datum.extra"}], "mark": "line",
         "encoding": {**axes, "strokeDash": line["strokeDash"]}},
        {"transform": [{"filter": "!datum.extra"}], "mark": "point",
         "encoding": {**axes, "tooltip": hover}},
        {"transform": [{"filter": "datum.extra"}],
         "mark": {"type": "point", "shape": "diamond", "size": 110},
         "encoding": {**axes, "tooltip": hover}},
    ]  # fmt: skip
    said = told_of([sentence(sheet, key, chosen[key], differences) for key in chosen])
    beside = " A diamond is a bin that lies across others." * any(p["extra"] for p in points)
    return Figure(
        file_name("unused-tokens", sheet.of),
        f"Cosine of unused tokens with others in {sheet.of}",
        f"Mean cosine of unused tokens with tokens of {sheet.of}, in bins of 1,000 ids. {said}."
        f"{beside}{sheet.left_out}",
        sheet.spec(points, layers),
        [sheet.apart, "correction", "bin", "mean cosine", "tokens"],
        [[p["panel"], p["space"], p["ids"], shown(p["cosine"]), shown(p["count"])] for p in points],
    )


def points_of(rows: list[Row]) -> list[dict[str, Any]]:
    """Return bins as points in their middle; one that lies across others is an extra."""
    found: list[dict[str, Any]] = []
    end = -1
    for row in rows:
        low, high = ids_of(row.part)
        extra = low <= end
        end = max(end, high)
        found.append(
            {"ids": row.part, "middle": (low + high) / 2, "cosine": row.value, "count": row.n,
             "extra": extra}
        )  # fmt: skip
    return found


def ids_of(part: str) -> tuple[int, int]:
    """Return the first and the last id of a bin."""
    match = BIN.fullmatch(part)
    assert match
    return int(match[1].replace(",", "")), int(match[2].replace(",", ""))


def sentence(
    sheet: Sheet,
    key: tuple[Cloud, str],
    rows: list[Row],
    differences: dict[tuple[str, str], Row],
) -> str:
    """Say how much closer unused tokens are to rare than to frequent ones."""
    cloud, space = key
    difference = differences.get((cloud[0], space))
    if difference is None:
        first, last = rows[0], rows[-1]
        said = f"{shown(first.value)} ({first.part}), {shown(last.value)} ({last.part})"
    else:
        said = f"{difference.note or 'rare less frequent'} {shown(difference.value)}"
    return f"{sheet.named(cloud, space)}: {said}"
