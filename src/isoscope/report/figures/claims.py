"""What became of a paper's claims: each holds, fails, or cannot be judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from isoscope.measures.registry import counted
from isoscope.report.figure import Figure, file_name
from isoscope.report.figures.label_lines import IN_LINES, in_lines, step_for
from isoscope.report.figures.printed_numbers import study_name
from isoscope.report.theme import CATEGORIES
from isoscope.report.vega import chart, name, told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.report.vega import Spec
    from isoscope.results.result import Result

CLAIMS = "claims"
HOLDS, FAILS, UNJUDGED = OUTCOMES = ("holds", "fails", "cannot be judged")
LINE, BETWEEN = 30, 14
"""Letters of a line of a claim, and pixels between two claims."""

OUTCOME_STEP = 58
MOST_CLAIMS = 25
MOST_TOLD = 6
"""Claims in one chart, and those that words tell one by one."""


def claim_figures(result: Result) -> list[Figure]:
    """Draw the claims of a study by outcome."""
    found = result.extra.get(CLAIMS)
    claims = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if not claims:
        return []
    marks = [claim_mark(place, claim) for place, claim in enumerate(claims, start=1)]
    drawn = marks[:MOST_CLAIMS]
    counts = Counter(mark["outcome"] for mark in marks)
    study = study_name(result)
    title = f"What became of the claims{f' of {study}' if study else ''}"
    many = ", ".join(f"{one} {counts[one]}" for one in OUTCOMES if counts[one])
    told_here = [f"{mark['outcome']}: {mark['text']} ({mark['reason']})" for mark in marks]
    listed = "; ".join(told_here[:MOST_TOLD]) + ("; …" if len(marks) > MOST_TOLD else "")
    more = len(marks) - len(drawn)
    left = f" {more} more in the table only." if more else ""
    return [
        Figure(
            file_name("claims", study),
            title,
            f"{counted(len(marks), 'claim')} of a paper by outcome: {many}. {listed}.{left}",
            strip(drawn),
            ["claim", "outcome", "because", "models that the paper did not look at"],
            [[mark["text"], mark["outcome"], mark["reason"], mark["others"]] for mark in marks],
        )
    ]


def claim_mark(place: int, claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim as a mark; its number tells it apart from others with the same words."""
    text = str(claim.get("text", ""))
    others, outcome = claim.get("other_models"), claim.get("outcome")
    return {
        "claim": in_lines(f"{place}. {text}", LINE),
        "text": text,
        "outcome": outcome if outcome in OUTCOMES else UNJUDGED,
        "reason": str(claim.get("reason", "")),
        "others": ", ".join(map(str, others)) if isinstance(others, list) else "",
    }


def strip(marks: Sequence[dict[str, Any]]) -> Spec:
    """Return claims down and outcomes across, also told by shape and colour."""
    styles: dict[str, Sequence[str]] = {
        # Blue, orange and grey: no pair of red and green.
        "color": (CATEGORIES[0], CATEGORIES[1], CATEGORIES[-1]),
        "shape": ("circle", "triangle-down", "diamond"),
    }  # fmt: skip
    return chart(
        list(marks),
        {"type": "point", "size": 170},
        {
            "y": name(
                "claim", "claim",
                axis={**IN_LINES, "grid": True},
            ),
            "x": name(
                "outcome", "outcome",
                scale={"domain": list(OUTCOMES)},
                axis={"labelExpr": "split(datum.label, ' ')", "labelAngle": 0},
            ),
            **{
                key: name("outcome", "outcome", legend=None,
                          scale={"domain": list(OUTCOMES), "range": list(values)})
                for key, values in styles.items()
            },
            "tooltip": told({"text": "claim", "outcome": "outcome", "reason": "because",
                             "others": "models that the paper did not look at"}),
        },
        width={"step": OUTCOME_STEP},
        height=step_for([mark["claim"] for mark in marks], BETWEEN),
    )  # fmt: skip
