"""Records of studies that are there at once, and readers of the pages that are made from them."""

from __future__ import annotations

import re
from typing import Any

from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import StudyRun, judged
from isoscope.verbs.study.judgement.scope import CAUSAL, MADE, MASKED, VECTORS, Facts
from isoscope.verbs.study.registry import find_study

FACTS = {
    "bert": Facts("transformer", "bert", MASKED, 110_000_000, None, ("learned",)),
    "gpt": Facts(
        "transformer", "gpt_neox", CAUSAL, 70_000_000, False, ("rotary",), True,
        final_norm="LayerNorm", quantisation="Q4_K_M",
    ),
    "glove": VECTORS,
    "pretrain:tiny": MADE,
}  # fmt: skip


def a_record(study: str, rows: list[Row], **extra: Any) -> StudyRun:
    """Return a record of some figures, as a run would leave it."""
    names = {row.subject for row in rows} | {*extra.get("not_run", {})}
    made = {
        name: {"isoscope": "0.3.0", "commit": "abc", "date": "2026-11-18", "seconds": 61.0,
               "memory": 0.5, "machine": "2 cores", "seed": 0, "digest": "00ff", "data": "11ee",
               "command": f"isoscope study run {study} --model /home/me/models/{name}"}
        for name in sorted(names)
    }  # fmt: skip
    facts = {name: FACTS[name].to_dict() for name in sorted(names) if name in FACTS}
    known = find_study(study)
    about = {"id": study, "title": known.title, "paper": known.paper}
    result = Result(
        rows, seeds={"seed": 0}, command="isoscope study run …",
        extra={"study": about, "facts": facts, "made": made, "asked": {"x": "/home/me"}, **extra},
    )  # fmt: skip
    return judged(known, result)


def exact(subject: str, correction: str, measure: str, value: float) -> Row:
    """Return a figure without any error."""
    return Row(subject, "", correction, measure, value, extra={"exact": True})


def some_records() -> list[StudyRun]:
    """Return records of two studies: of one claim models differ, on one the study failed."""
    norms = [
        exact(name, correction, "mean_norm", value)
        for name, values in (("bert", (2.0, 1.0)), ("gpt", (1.0, 2.0)), ("glove", (2.0, 1.0)))
        for correction, value in zip(("none", "center"), values, strict=True)
    ]
    isotropy = [
        exact("bert", correction, "i1", value)
        for correction, value in (("none", 0.5), ("center", 0.9), ("all-but-the-top", 0.97))
    ]
    failed = {"gpt": "there is no file /home/me/models/gpt/weights"}
    return [a_record("B-T1", isotropy, not_run=failed), a_record("B-F6", norms)]


MODEL = re.compile(r"    - (.*?): \*\*(.+?)\*\* ")


def verdicts_of_page(page: str) -> dict[tuple[str, str], str]:
    """Read the verdicts of a study's page: by claim and model."""
    found, claim = {}, ""
    for line in page.partition("**Claims**")[2].splitlines():
        model = MODEL.match(line)
        if model:
            found[claim, model[1]] = model[2]
        elif line.startswith("- "):
            claim = line.removeprefix("- ").rpartition(" (about ")[0]
    return found


def verdicts_of_summary(summary: str) -> dict[str, dict[tuple[str, str], str]]:
    """Read the verdicts of the parts of the summary, study by study."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for part in summary.partition("## Every study")[2].split("\n### ")[1:]:
        study = part.partition(":")[0]
        rows = [line[2:].split(" | ") for line in part.splitlines() if line.startswith("| ")]
        body = [row for row in rows if len(row) == 5 and row[2] not in ("verdict", "---")]
        found[study] = {(row[0], row[1]): row[2] for row in body}
    return found


def disagreements(pages: dict[str, str]) -> list[str]:
    """Return where the summary says something else than a study's page."""
    summary = verdicts_of_summary(pages["studies.md"])
    wrong = []
    for name, page in pages.items():
        if not name.startswith("studies/"):
            continue
        study = name.removeprefix("studies/").removesuffix(".md")
        own, short = verdicts_of_page(page), summary.get(study, {})
        wrong += [f"{study}: {key}" for key in {*own, *short} if own.get(key) != short.get(key)]
    return wrong
