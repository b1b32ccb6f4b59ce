"""Studies side by side: claim by claim, and measured numbers beside printed ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.results.numbers import cell
from isoscope.results.render import markdown_table
from isoscope.verbs.study.claims import FAILS, HOLDS, OUTCOMES, UNJUDGED, what_of
from isoscope.verbs.study.registry import all_studies
from isoscope.verbs.study.text import DESCRIPTIVE, case_lines, misprint_lines, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.results.result import Row
    from isoscope.verbs.study.api import StudyRun


# Figures that a page shows of a claim; the page of the study has more.
CASES = 3

# Measured numbers beside printed ones that a page shows of a study; JSON has all.
SHOWN = 10


@dataclass(frozen=True)
class Beside:
    """A number that a paper prints, and what was measured."""

    what: str
    measured: float | None
    printed: float
    row: Row

    @property
    def difference(self) -> float | None:
        """Measured less printed."""
        return None if self.measured is None else self.measured - self.printed


def beside_printed(run: StudyRun) -> list[Beside]:
    """Return every number of the paper's own models with the printed one."""
    return [
        Beside(f"{row.subject}: {what_of(row)} ({row.correction})", row.value,
               float(row.extra["printed"]), row)
        for row in run.result.rows
        if "printed" in row.extra
    ]  # fmt: skip


def subjects_of(run: StudyRun) -> list[str]:
    """Return the models that a study looked at."""
    return list(dict.fromkeys(row.subject for row in run.result.rows if row.subject))


def outcomes_of(*runs: StudyRun) -> Counter[str]:
    """Count what became of the claims of studies."""
    return Counter(verdict.outcome for run in runs for verdict in run.verdicts)


def last_verdict(run: StudyRun) -> str:
    """Return what became of all claims of a study, in a few words."""
    counts = outcomes_of(run)
    plural = {HOLDS: "hold", FAILS: "fail", UNJUDGED: UNJUDGED}
    said = [f"{counts[name]} {words}" for name, words in plural.items() if counts[name]]
    return ", ".join(said) or "shows figures, claims nothing"


def summary(run: StudyRun) -> dict[str, Any]:
    """Return a study in short, as JSON holds it."""
    return {
        "id": run.study.id,
        "title": run.study.title,
        "document": run.study.document,
        "models": subjects_of(run),
        "last_verdict": last_verdict(run),
        "claims": [
            {
                "text": verdict.text,
                "outcome": verdict.outcome,
                "reason": verdict.reason,
                "other_models": list(verdict.other_models),
            }
            for verdict in run.verdicts
        ],
        "printed": [
            {
                "what": one.what,
                "measured": one.measured,
                "printed": one.printed,
                "difference": one.difference,
            }
            for one in beside_printed(run)
        ],
        "misprints": run.study.misprints,
        "command": run.result.command,
        "seeds": run.result.seeds,
    }


def outcome_table(runs: Sequence[StudyRun]) -> list[list[str]]:
    """Return a line per study: how many claims hold, fail, or cannot be judged."""
    body = []
    for run in runs:
        counts = outcomes_of(run)
        numbers = [str(counts[outcome]) if run.verdicts else "" for outcome in OUTCOMES]
        models = ", ".join(subjects_of(run))
        body.append([run.study.id, run.study.title, *numbers, models])
    return [["study", "what it looks at", *OUTCOMES, "models"], *body]


def compared_markdown(runs: Iterable[StudyRun], about: str = "") -> str:
    """Return a page: all studies in a table, then each claim by claim."""
    every = list(runs)
    counts = outcomes_of(*every)
    missing = [study.id for study in all_studies() if study.id not in {r.study.id for r in every}]
    opening = (
        f"{len(every)} of {len(all_studies())} studies; of {sum(counts.values())} claims "
        f"{counts[HOLDS]} hold, {counts[FAILS]} fail, {counts[UNJUDGED]} cannot be judged on these "
        "models."
    )
    parts = ["# The papers' experiments, claim by claim", opening]
    parts += [about] if about else []
    parts += [f"Not run: {', '.join(missing)}."] if missing else []
    parts.append(markdown_table(outcome_table(every), left=2))
    parts += [study_part(run) for run in every]
    return "\n\n".join(parts)


def study_part(run: StudyRun) -> str:
    """Return one study: its claims with what became of them, and printed numbers."""
    study = run.study
    lines = [f"## {study.id}: {study.title}", study.paper]
    rows = [
        [verdict.text, verdict.outcome, reason_of(verdict),
         "; ".join(case_lines(verdict, CASES, "{} more"))]
        for verdict in run.verdicts
    ]  # fmt: skip
    lines.append(
        markdown_table([["claim", "verdict", "because", "figures"], *rows], left=4)
        if rows
        else DESCRIPTIVE
    )  # fmt: skip
    found = beside_printed(run)
    if found:
        body = [
            [one.what, cell(one.row), f"{one.printed:g}",
             "" if one.difference is None else f"{one.difference:+.3g}"]
            for one in found[:SHOWN]
        ]  # fmt: skip
        lines.append(markdown_table([["number", "measured", "printed", "difference"], *body]))
        if len(found) > SHOWN:
            lines.append(f"And {len(found) - SHOWN} more printed numbers, all in JSON.")
    elif study.printed():
        lines.append("The models differ from the paper's: its printed numbers stand for others.")
    lines += [f"Misprint: {line}" for line in misprint_lines(study)]
    if run.result.command:
        seeds = ", ".join(f"{name} {value}" for name, value in run.result.seeds.items())
        lines.append(f"Command: `{run.result.command}`; seeds: {seeds}.")
    return "\n\n".join(lines)
