"""The page of all error rates, from what is kept."""

from __future__ import annotations

import math
from typing import Any

from scenarios.scenario import DESCRIPTIONS, VERBS

ENOUGH = 500
"""Draws that every scenario should have."""

HEAD = """\
# How often sentences are wrong

`python benchmarks/sentences.py` draws data for which the truth is known, runs a command on them,
and counts how often it makes a wrong statement. The counts are kept in `sentences.json`, from
which this page is written. Draws have the seeds 0, 1, 2 and so on.

*Rate* has a 95 % interval (Wilson's). *Allowed* is 5 % for statements that are based on a test or
an interval, and 0 % for those that do not depend on chance. A rate is marked with **!** if its
whole interval is above what is allowed.
"""

Kept = dict[str, Any]

Case = tuple[list[str], float, int, float]
"""Names of data, how often a statement was made, in how many draws, and the rate allowed."""


def wilson(times: float, draws: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate."""
    z = 1.96
    middle = (times + z * z / 2) / (draws + z * z)
    reach = z / (draws + z * z) * math.sqrt(times * (draws - times) / draws + z * z / 4)
    # The ends are exact where nothing or everything was counted.
    low = 0.0 if times == 0 else middle - reach
    return low, 1.0 if times == draws else middle + reach


def above_allowed(one: Kept, decision: str) -> bool:
    """Whether the whole interval of a rate lies above what is allowed."""
    low, _ = wilson(one["counts"].get(decision, 0), one["draws"])
    return low > float(one["wrong"][decision])


def page(kept: dict[str, Kept]) -> str:
    """Write what is kept as tables: wrong statements with what is allowed, then all answers."""
    parts = [HEAD, summary(kept)]
    for verb in VERBS:
        description = DESCRIPTIONS[verb]
        some = [one for one in kept.values() if one["verb"] == verb]
        if some:
            parts += [
                f"## {verb}\n", f"{description.text}\n",
                "### Wrong statements\n", wrong_table(some),
                "### All answers\n", "Rates in percent.\n", answer_table(some, description.answers),
            ]  # fmt: skip
    return "\n".join(parts).rstrip() + "\n"


def summary(kept: dict[str, Kept]) -> str:
    """Say how many rates there are, and which are above what is allowed."""
    rates = [(one, decision) for one in kept.values() for decision in one["wrong"]]
    above = [
        f"- {one['verb']}, {one['name']}: {decision}"
        for one, decision in rates
        if above_allowed(one, decision)
    ]
    short: dict[int, list[str]] = {}
    for one in kept.values():
        if one["draws"] < ENOUGH:
            short.setdefault(one["draws"], []).append(f"{one['verb']}, {one['name']}")
    fewest = min(one["draws"] for one in kept.values())
    lines = [
        f"{len(kept)} scenarios with at least {fewest} draws each have {len(rates)} rates of wrong "
        f"statements. "
        + ("None is above what is allowed." if not above else "These are above what is allowed:"),
    ]
    lines += ["", *above] if above else []
    if short:
        lines += ["", f"Scenarios with fewer than {ENOUGH} draws so far:", ""]
        lines += [f"- {draws} draws: {'; '.join(names)}" for draws, names in short.items()]
    return "\n".join(lines) + "\n"


def wrong_table(some: list[Kept]) -> str:
    """List every statement with the data where it is wrong; statements are in groups."""
    rows = []
    for decision in dict.fromkeys(what for one in some for what in one["wrong"]):
        shown = decision
        for names, times, draws, allowed in cases_of(decision, some):
            low, high = wilson(times, draws)
            mark = " **!**" if low > allowed else ""
            rows.append([
                shown, "; ".join(names), f"{times:g} of {draws}{' each' * (len(names) > 1)}",
                f"{percent(times / draws)} ({percent(low)} to {percent(high)}){mark}",
                f"{100 * allowed:g} %",
            ])  # fmt: skip
            shown = "″"
    head = ["statement", "data", "wrong", "rate", "allowed"]
    return table(head, rows, [":--", ":--", "--:", "--:", "--:"])


def cases_of(decision: str, some: list[Kept]) -> list[Case]:
    """Return where a statement is wrong, with counts and what is allowed.

    Data for which it was never made are put together, behind the others.
    """
    found: list[Case] = []
    never: dict[tuple[int, float], list[str]] = {}
    for one in some:
        if decision not in one["wrong"]:
            continue
        times, draws = one["counts"].get(decision, 0), int(one["draws"])
        allowed = float(one["wrong"][decision])
        if times:
            found.append(([one["name"]], times, draws, allowed))
        else:
            never.setdefault((draws, allowed), []).append(one["name"])
    return found + [(names, 0.0, draws, allowed) for (draws, allowed), names in never.items()]


def answer_table(some: list[Kept], answers: dict[str, tuple[str, ...]]) -> str:
    """Show how often each answer was given, for every scenario."""
    rows = []
    for one in some:
        cells = [
            " / ".join(whole(one["counts"].get(what, 0), one["draws"]) for what in decisions)
            if any(what in one["counts"] for what in decisions)
            else ""
            for decisions in answers.values()
        ]
        rows.append([one["name"], one["truth"], *cells])
    head = ["data", "what is true", *answers]
    return table(head, rows, [":--", ":--", *["--:"] * len(answers)])


def percent(rate: float) -> str:
    """Write a rate in percent, with one digit."""
    return f"{100 * rate:.1f} %"


def whole(times: float, draws: int) -> str:
    """Write a rate in percent without digits, but never 0 or 100 where it is not."""
    rate = 100 * times / draws
    if 0 < rate < 0.5:
        return "<1"
    return ">99" if 99.5 <= rate < 100 else f"{rate:.0f}"


def table(head: list[str], rows: list[list[str]], rules: list[str]) -> str:
    """Lay a Markdown table."""
    return "".join("| " + " | ".join(line) + " |\n" for line in [head, rules, *rows])
