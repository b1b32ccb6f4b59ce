"""What a terminal shows of an explanation: the cause that contributes most, then the others.

Causes are ranked by what they contribute to the unevenness of one layer. Files of before that was
measured have no ranking: there only outlier dimensions say how much of the mean cosine they make.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from isoscope.results.fields import REMARKS, REVISION, TITLE, TOPIC
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen
from isoscope.results.screen.commands import next_step
from isoscope.results.screen.lines import line_of
from isoscope.results.tables import grouped
from isoscope.verbs.explain.names import (
    ACCURACY,
    BRIEF,
    CHANGE,
    CONTRIBUTION,
    FIGURES,
    LACKS,
    SHIFT,
)
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.results.result import Result, Row

    Verdict = Mapping[str, Any]

# The topic whose figures are parts of the mean cosine.
CONTRIBUTING = "outliers"
MEAN_COSINE = "mean_cosine"
MOST_NUMBERS = 8
# Shares below the negative of this make a layer more even.
EVENER = 0.05
# A mean cosine that is higher by this makes another layer worth a look.
FAR_MORE = 0.05

AMONG_OTHERS = (
    "Only outliers is measured by what it adds to the mean cosine; the other topics say what "
    "vectors are related to, not how much of the unevenness it causes"
)


def explanation_screen(result: Result) -> Screen:
    """Return the screen of an explanation of one topic or of several."""
    verdicts = [one for one in result.verdicts if one.get(TOPIC)]
    ranking = next((one for one in result.verdicts if CONTRIBUTION in one), None)
    subjects = list(dict.fromkeys(str(one.get("subject")) for one in verdicts))
    alone = len(verdicts) == 1
    about = verdicts[0][TOPIC] if alone else counted(len(verdicts), "topic")
    title = " · ".join([", ".join(subjects), "explain", str(about), *tokens_of(result)])
    if ranking is not None:
        answer = [str(ranking["sentence"]), *findings(verdicts, "Found")]
    else:
        answer = [finding_of(verdicts[0])] if alone else about_topics(verdicts)
    numbers = figure_table(result, verdicts, ranking)
    body: list[list[Block]] = [[numbers]] if numbers.rows else []
    if pictures := pictures_of(result, verdicts):
        body.append(pictures)
    return Screen(title, answer, body, facts_of(result, verdicts, ranking))


def tokens_of(result: Result) -> list[str]:
    """Return how many tokens of a text were looked at, where some were."""
    read = [row for row in of_topic(result, CONTRIBUTING) if row.n]
    return [counted(read[0].n or 0, "token")] if read else []


def of_topic(result: Result, topic: str) -> list[Row]:
    """Return the rows of a topic."""
    return [row for row in result.rows if row.extra.get(TOPIC) == topic]


def about_topics(verdicts: Sequence[Verdict]) -> list[str]:
    """Say what contributes most to the mean cosine, then what else was found, and what was not."""
    asked = {str(one[TOPIC]): one for one in verdicts}
    first = asked.get(CONTRIBUTING)
    answer = []
    if first is not None and first.get("found"):
        answer.append(f"{contribution(first)}{first['sentence']}")
    elif first is not None:
        answer.append(f"No dimension explains the mean cosine: {clause(first)}.")
    others = [one for one in verdicts if one is not first]
    return [*answer, *findings(others, "Also" if answer else "Found")]


def finding_of(verdict: Verdict) -> str:
    """Say what one topic found; its figures follow, and the whole sentence is with --details."""
    brief = "" if verdict.get(LACKS) else str(verdict.get(BRIEF) or "")
    return f"{brief[:1].upper()}{brief[1:]}." if brief else str(verdict["sentence"])


def findings(verdicts: Sequence[Verdict], start: str) -> list[str]:
    """Say what was found and what was not, a clause for every topic."""
    found = [clause(one) for one in verdicts if one.get("found")]
    known = [one for one in verdicts if not one.get(LACKS)]
    rest = [clause(one) for one in known if not one.get("found")]
    unknown = [f"{clause(one)} ({one[LACKS]})" for one in verdicts if one.get(LACKS)]
    told = [f"{start}: {'; '.join(found)}."] if found else []
    told += [f"No effect: {'; '.join(rest)}."] if rest else []
    told += [f"Not examined: {'; '.join(unknown)}."] if unknown else []
    return [" ".join(told)] if told else []


def contribution(verdict: Verdict) -> str:
    """Say how much of the mean cosine the outlier dimensions make; nothing in files of before."""
    for figure in list(verdict.get(FIGURES) or [])[:1]:
        after, before = (figure.get(name) for name in ("value", "against"))
        if after is not None and before is not None:
            return (
                f"The largest measured contribution is that of outlier dimensions: "
                f"{before - after:.2f} of a mean cosine of {before:.2f}. "
            )
    return ""


def clause(verdict: Verdict) -> str:
    """Return a finding as a clause; of files of before, which topic it is."""
    return str(verdict.get(BRIEF) or f"{verdict[TOPIC]} ({verdict.get(TITLE, '')})")


def figure_table(result: Result, verdicts: Sequence[Verdict], ranking: Verdict | None) -> Numbers:
    """Arrange the numbers that carry the findings, with their meaning; of several topics one each.

    Contributions come first, then topics that are not ranked, then the others; those that found
    something before those that did not.
    """
    most = MOST_NUMBERS if len(verdicts) == 1 else 1
    lines = contributions_of(result, verdicts, ranking)
    ranked = {str(line["cause"]) for line in (ranking or {}).get(CONTRIBUTION, [])}
    every = sorted(
        verdicts,
        key=lambda one: (one[TOPIC] != CONTRIBUTING if ranking is None else one[TOPIC] in ranked,
                         not one.get("found")),
    )  # fmt: skip
    body = [
        *([] if ranking is None else [cosine_cells(ranking)]),
        *map(contribution_cells, lines),
        *(figure_cells(one) for each in every for one in list(each.get(FIGURES) or [])[:most]),
    ]
    return Numbers(["", "", "compare with"], body[:MOST_NUMBERS], left=frozenset({2}), turn=False)


def contributions_of(
    result: Result, verdicts: Sequence[Verdict], ranking: Verdict | None
) -> list[Mapping[str, Any]]:
    """Return what is known of contributions: of several topics the ranking, of one its own."""
    if ranking is not None:
        measured = [line for line in ranking[CONTRIBUTION] if line["low"] is not None]
        return [{"layer": ranking["part"], **line} for line in measured]
    return [
        {"layer": row.part, "cause": verdicts[0][TOPIC],
         "value": row.value, "low": row.low, "high": row.high,
            **row.extra}
        for row in result.rows
        if len(verdicts) == 1 and row.measure == f"{CONTRIBUTION}/{verdicts[0][TOPIC]}"
        and row.low is not None
    ]  # fmt: skip


def cosine_cells(ranking: Verdict) -> list[str]:
    """Return the mean squared cosine, beside that of an even space."""
    meaning = f"mean squared cosine of two tokens, {ranking['part']}"
    return [meaning, f"{ranking['mean_squared_cosine']:.3f}", f"{ranking['even']:.3f} if even"]


def contribution_cells(line: Mapping[str, Any]) -> list[str]:
    """Return the contribution of a cause, and its interval."""
    value, low, high = line["value"], line["low"], line["high"]
    around = "" if low is None else f"interval {percent(low)} to {percent(min(high, 1.0))} %"
    if high is not None and high < -EVENER:
        return [f"unevenness of {line['layer']} without {line['cause']}", f"{1 - value:.1f} ×",
                "1 × as it is"]  # fmt: skip
    if line.get("undecided"):
        around = f"up to {percent(line['by_chance'])} % by chance"
    return [f"unevenness of {line['layer']} due to {line['cause']}", f"{percent(value)} %", around]


def percent(share: float) -> str:
    """Write a share in percent, and nothing as 0 on either side."""
    return f"{round(100 * share) + 0:d}"


def figure_cells(figure: Mapping[str, Any]) -> list[str]:
    """Return a number: its meaning, its value, and what it is to be compared with."""
    digits = str(figure.get("digits") or ".2f")
    value, against = (figure.get(name) for name in ("value", "against"))
    shown = "–" if value is None else f"{value:{digits}}"
    beside = "" if against is None else f"{against:{digits}} {figure.get('otherwise', '')}"
    return [str(figure["meaning"]), shown, beside]


def pictures_of(result: Result, verdicts: Sequence[Verdict]) -> list[Block]:
    """Draw the mean cosine and the accuracy of positions along the layers, and drift over steps."""
    found = cosine_lines(of_topic(result, CONTRIBUTING))
    if len(verdicts) == 1:
        accuracies = [row for row in of_topic(result, "position") if row.measure == ACCURACY]
        found += lines_along(accuracies, "accuracy of position", lambda row: row.part)
    shifts = [row for row in of_topic(result, "drift") if row.measure == SHIFT]
    for part, rows in grouped(shifts, lambda row: row.part).items():
        found += lines_along(rows, f"mean of the {part}", lambda row: str(row.extra.get(REVISION)))
    return found


def cosine_lines(rows: Sequence[Row]) -> list[Block]:
    """Draw the mean cosine along the layers, as it is and without outliers, on one scale."""
    own = [row for row in rows if (row.measure, row.correction) == (MEAN_COSINE, "none")]
    clipped = without_outliers(rows)
    values = [row.value for row in (*own, *clipped) if row.value is not None]
    if len(own) < 2 or len(values) < 2 * len(own):
        return []
    ends = min(values), max(values)
    return [
        line_of("mean cosine, as it is", own, lambda row: row.part, ends),
        line_of("… without outliers", clipped, lambda row: row.part, ends),
    ]


def lines_along(rows: Sequence[Row], label: str, name: Callable[[Row], str]) -> list[Block]:
    """Draw numbers along layers or checkpoints, where there are several."""
    known = [row for row in rows if row.value is not None]
    return [line_of(label, known, name)] if len(known) > 1 else []


def without_outliers(rows: Sequence[Row]) -> list[Row]:
    """Return for every layer the mean cosine without its outliers, or as it is if it has none."""
    clips = {(row.part, row.correction) for row in rows if row.measure == CHANGE}
    found = {}
    for row in rows:
        if row.measure == MEAN_COSINE and (
            row.correction == "none" or (row.part, row.correction) in clips
        ):
            found[row.part] = row
    return list(found.values())


def facts_of(result: Result, verdicts: Sequence[Verdict], ranking: Verdict | None) -> list[Fact]:
    """Say what could not be answered, what the numbers do not say, and what to do next."""
    remarks = map(str, result.extra.get(REMARKS) or [])
    facts = [Fact("Note", f"{line[:1].upper()}{line[1:]}.") for line in remarks]
    asked = {str(one[TOPIC]): bool(one.get("found")) for one in verdicts}
    if ranking is None and CONTRIBUTING in asked and len(asked) > 1:
        facts.append(Fact("Note", f"{AMONG_OTHERS}."))
    return [
        *facts,
        *(step_of(result, asked) if ranking is None else steps_after(result, ranking)),
        Fact("More", "--details  all numbers and notes     --html FILE  a page"),
    ]


def steps_after(result: Result, ranking: Verdict) -> list[Fact]:
    """Return the command to run after a ranking: another layer, or the largest cause by itself."""
    cosines = {
        row.part: row.value
        for row in of_topic(result, CONTRIBUTING)
        if (row.measure, row.correction) == (MEAN_COSINE, "none") and row.value is not None
    }
    first = max(cosines, key=lambda layer: cosines[layer], default=None)
    here = cosines.get(str(ranking["part"]))
    if first is not None and here is not None and cosines[first] - here > FAR_MORE:
        remark = f"the layer with the highest mean cosine, {cosines[first]:.2f}"
        return [next_step(result, "explain", "--layer", shlex.quote(first), remark=remark)]
    largest = [str(line["cause"]) for line in ranking[CONTRIBUTION] if line["largest"]]
    if largest:
        about = f"{largest[0]} in detail"
        return [next_step(result, "explain", "--topic", largest[0], remark=about)]
    return [next_step(result, "profile", remark="layer by layer")]


def step_of(result: Result, asked: Mapping[str, bool]) -> list[Fact]:
    """Return the command to run next: a topic that found something, by itself, or all of them."""
    found = [topic for topic, there in asked.items() if there]
    if len(asked) > 1 and found:
        topic = CONTRIBUTING if CONTRIBUTING in found else found[0]
        return [next_step(result, "explain", "--topic", topic, remark=f"{topic} in detail")]
    if list(asked) == [CONTRIBUTING] and found:
        return [next_step(result, "explain", "--topic", "layernorm,position",
                          remark="where do these dimensions come from?")]  # fmt: skip
    if len(asked) == 1:
        return [next_step(result, "explain", remark="all topics")]
    return [next_step(result, "profile", remark="layer by layer")]
