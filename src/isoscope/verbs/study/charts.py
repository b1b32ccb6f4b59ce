"""Charts of studies.

- Measured numbers beside those that a paper prints: two marks and a line between them.
- What became of a paper's claims: each holds, fails, is reversed or undecided on a model, or is
  not about it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.results.charts.chart import Figure
from isoscope.results.charts.marks import Mark, finite
from isoscope.results.charts.vega import (
    CATEGORIES,
    IN_LINES,
    chart,
    in_lines,
    layer,
    layered,
    logarithmic,
    name,
    number,
    step_for,
    tooltip,
)
from isoscope.results.numbers import UNDEFINED, shown
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.verdicts import NOT_RUN, OUTCOMES
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.results.charts.vega import Spec
    from isoscope.results.result import Result, Row


PRINTED, MEASURED = "printed", "measured"
WHAT = {"what": "number"}
NUMBERS = {"from": MEASURED, "to": PRINTED, "difference": "difference"}
STUDY = "study"
VALUE = "value"
# Numbers in one chart.
MOST_NUMBERS = 40

# Times the smallest number that the largest must be for both to stand by their logarithms.
WIDE = 1_000

# Letters of a line of the name of a number, and pixels between two.
LONG_LINE, CLOSE = 40, 5


def study_name(result: Result) -> str:
    """Return the study that a result is of."""
    study = result.extra.get(STUDY)
    return str(study.get("id", "")) if isinstance(study, dict) else ""


def kind_of(measure: str) -> str:
    """Return what kind of number it is, such as accuracy; each kind has a chart."""
    return measure if "(" in measure else measure.rpartition("/")[2]


def printed_figures(result: Result) -> list[Figure]:
    """Draw measured beside printed numbers, a chart for every kind of number."""
    rows = (row for row in result.rows if finite(row.extra.get(PRINTED)) is not None)
    kinds = grouped(rows, lambda row: kind_of(row.measure))
    return [figure for kind, own in kinds.items() for figure in dumbbell(result, kind, own)]


def dumbbell(result: Result, kind: str, rows: Sequence[Row]) -> list[Figure]:
    """Draw two marks and a line between them for every number."""
    pairs = [number_mark(what, row) for what, row in zip(different(rows, kind), rows, strict=True)]
    known = [pair for pair in pairs if pair["from"] is not None]
    if not known:
        return []
    drawn = known[:MOST_NUMBERS]
    study = study_name(result)
    furthest = max(known, key=lambda pair: abs(float(pair["difference"])))
    more, undefined = len(known) - len(drawn), len(pairs) - len(known)
    left = f" {more} more in the table only." if more else ""
    left += f" {undefined} undefined." if undefined else ""
    return [
        Figure.of(
            ("printed", study, kind),
            f"{kind}: measured and printed{f' in {study}' if study else ''}",
            f"{counted(len(known), 'measured number')} beside what the paper prints, with a line "
            f"between the two. Furthest apart: {furthest['what']}, measured "
            f"{shown(furthest['from'])}, printed {shown(furthest['to'])}.{left}",
            bells([{**pair, "what": in_lines(pair["what"], LONG_LINE)} for pair in drawn]),
            ({**pair, "difference": signed(pair["difference"])} for pair in pairs),
            {**WHAT, **NUMBERS},
        )
    ]


def number_mark(what: str, row: Row) -> Mark:
    """Return a measured number with the printed one; None where it is undefined."""
    value, printed = finite(row.value), float(row.extra[PRINTED])
    apart = None if value is None else value - printed
    return {"what": what, "from": value, "to": printed, "difference": apart}


def signed(difference: float | None) -> str:
    """Return a difference with its sign."""
    return UNDEFINED if difference is None else f"{difference:+.3g}"


def different(rows: Sequence[Row], kind: str) -> list[str]:
    """Name numbers by what they differ in; the same names get numbers."""
    rows = [replace(row, measure=row.measure.removesuffix(f"/{kind}")) for row in rows]
    fields = ("subject", "part", "correction", "measure")
    telling = [field for field in fields if len({getattr(row, field) for row in rows}) > 1]
    names = [
        ", ".join(str(getattr(row, field)) for field in telling or ("subject",)) for row in rows
    ]
    seen: Counter[str] = Counter()
    found = []
    for one in names:
        seen[one] += 1
        found.append(one if seen[one] == 1 else f"{one} ({seen[one]})")
    return found


def bells(values: list[Mark]) -> Spec:
    """Return dumbbells: measured a blue dot, printed an orange square."""
    ends = [one[end] for one in values for end in ("from", "to")]
    wide = min(ends) > 0 and max(ends) > WIDE * min(ends)
    scale = logarithmic() if wide else {"zero": False}
    down = name("what", "number", axis=IN_LINES)
    hover = tooltip(WHAT, NUMBERS)
    looks = {"color": [CATEGORIES[0], CATEGORIES[1]], "shape": ["circle", "square"]}
    names = [MEASURED, PRINTED]

    def style(words: str) -> Spec:
        return {
            key: {"datum": words, "type": "nominal", "title": "number",
                  "scale": {"domain": names, "range": look}}
            for key, look in looks.items()
        }  # fmt: skip

    layers = [
        layer(
            {"type": "rule", "opacity": 0.6},
            y=down, x=number("from", VALUE, scale=scale), x2={"field": "to"}, tooltip=hover,
        ),
        *(
            layer(
                {"type": "point", "size": 60},
                y=down, x=number(field, VALUE, scale=scale), **style(words), tooltip=hover,
            )
            for field, words in (("from", MEASURED), ("to", PRINTED))
        ),
    ]  # fmt: skip
    return layered(values, layers, height=step_for([one["what"] for one in values], CLOSE))


CLAIMS = "claims"
COLUMNS = {
    "text": "claim", "outcome": "outcome", "reason": "because",
    "others": "models that the paper did not look at",
}  # fmt: skip
# Letters of a line of a claim, and pixels between two claims.
LINE, BETWEEN = 30, 14

OUTCOME_STEP = 58
# Claims in one chart, and those that words tell one by one.
MOST_CLAIMS = 25
MOST_TOLD = 6


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
    many = ", ".join(f"{one} {counts[one]}" for one in OUTCOMES if counts[one])
    told_here = [f"{mark['outcome']}: {mark['text']} ({mark['reason']})" for mark in marks]
    listed = "; ".join(told_here[:MOST_TOLD]) + ("; …" if len(marks) > MOST_TOLD else "")
    more = len(marks) - len(drawn)
    left = f" {more} more in the table only." if more else ""
    return [
        Figure.of(
            ("claims", study),
            f"Outcomes of the claims{f' of {study}' if study else ''}",
            f"{counted(len(marks), 'claim')} of a paper by outcome: {many}. {listed}.{left}",
            strip(drawn),
            marks,
            COLUMNS,
        )
    ]


def claim_mark(place: int, claim: Mapping[str, Any]) -> Mark:
    """Return a claim as a mark; its number tells it apart from others with the same words."""
    model = str(claim.get("subject", ""))
    text = f"{model}: {claim.get('text', '')}" if model else str(claim.get("text", ""))
    others, outcome = claim.get("other_models"), claim.get("outcome")
    return {
        "claim": in_lines(f"{place}. {text}", LINE),
        "text": text,
        "outcome": outcome if outcome in OUTCOMES else NOT_RUN,
        "reason": str(claim.get("reason", "")),
        "others": ", ".join(map(str, others)) if isinstance(others, list) else "",
    }


def strip(marks: Sequence[Mark]) -> Spec:
    """Return claims down and outcomes across, also told by shape and colour."""
    styles: dict[str, Sequence[str]] = {
        # No pair of red and green. What was not judged is grey.
        "color": tuple(CATEGORIES[k] for k in (0, 4, 1, 3, -1, -1)),
        "shape": ("circle", "triangle-down", "triangle-up", "diamond", "stroke", "cross"),
    }  # fmt: skip
    return chart(
        list(marks),
        {"type": "point", "size": 170},
        {
            "y": name("claim", "claim", axis={**IN_LINES, "grid": True}),
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
            "tooltip": tooltip(COLUMNS),
        },
        width={"step": OUTCOME_STEP},
        height=step_for([mark["claim"] for mark in marks], BETWEEN),
    )  # fmt: skip
