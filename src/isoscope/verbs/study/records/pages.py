"""Records of studies, small enough to be kept with a project, and the pages made from them.

A record is a result without its long tables and without what only says where files were on the
machine that made it. The summary and every page come from records and from nothing else, so that
they cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.data.output import write_atomically
from isoscope.results.render import markdown_table
from isoscope.verbs.study.claims import (
    ALL_MODELS,
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    NOT_RUN,
    OUTCOMES,
    REVERSED,
    UNDECIDED,
    Verdict,
)
from isoscope.verbs.study.records.provenance import MADE
from isoscope.verbs.study.reference import catalogue
from isoscope.verbs.study.registry import all_studies
from isoscope.verbs.study.text import counted, outcomes_of, study_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.verbs.study.api import StudyRun

# What stands in the cell of a claim and a model.
SHORT = {
    HOLDS: "holds",
    FAILS: "fails",
    REVERSED: "reversed",
    UNDECIDED: "undecided",
    NOT_APPLICABLE: "–",
    NOT_RUN: "not run",
}

LEGEND = (
    "A claim is judged only on models that it is about (– elsewhere), with an interval that fits "
    "the data, at a level of 5 % that is corrected for the number of claims of a study (Holm). "
    "*Undecided* means that the data do not say; *reversed* that the opposite is significant; *not "
    "run* that data or a model were missing. The pages of the studies have the figures."
)


def pages(runs: Sequence[StudyRun]) -> dict[str, str]:
    """Return every page by its name: the summary, and one page a study."""
    found = {"studies.md": summary_page(runs)}
    for run in runs:
        found[f"studies/{run.study.id}.md"] = study_page(run)
    return found


def write_pages(runs: Sequence[StudyRun], folder: Path) -> list[Path]:
    """Write every page into a folder."""
    written = []
    for name, text in pages(runs).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        written.append(path)
    return written


def study_page(run: StudyRun) -> str:
    """Return the page of one study: how it was made, figures and claims."""
    return f"{run.to_markdown()}\n\n{made_line(run)}\n"


def made_line(run: StudyRun) -> str:
    """Say with what a record was made."""
    made = run.result.extra.get(MADE, {})
    seeds = ", ".join(f"{name} {value}" for name, value in run.result.seeds.items())
    parts = [
        f"isoscope {made['isoscope']}" if "isoscope" in made else "",
        str(made.get("date", "")),
        str(made.get("machine", "")),
        f"{made['seconds']:,.0f} s" if "seconds" in made else "",
        seeds,
    ]
    return f"Made with {'; '.join(part for part in parts if part)}."


def summary_page(runs: Sequence[StudyRun]) -> str:
    """Return the debate on one page: claims by models, papers in words, then every study."""
    counts = outcomes_of(*runs)
    models = models_of(runs)
    missing = [study.id for study in all_studies() if study.id not in {r.study.id for r in runs}]
    parts = [
        "# The papers' experiments, claim by claim",
        f"{len(runs)} of {len(all_studies())} studies on {len(models)} models; of "
        f"{sum(counts.values())} claims, each counted once a model, {counted(counts)}.",
        LEGEND,
        markdown_table(matrix(runs, models), left=2),
    ]
    parts += [paper_part(letter, runs) for letter in catalogue()["papers"]]
    if missing:
        parts.append(f"Not run at all: {', '.join(missing)}.")
    parts += ["## Every study", *(study_part(run).replace("## ", "### ", 1) for run in runs)]
    return "\n\n".join(parts) + "\n"


def models_of(runs: Iterable[StudyRun]) -> list[str]:
    """Return the subjects of all verdicts, in the order in which they come."""
    names = dict.fromkeys(verdict.subject for run in runs for verdict in run.verdicts)
    return [
        *(name for name in names if name != ALL_MODELS),
        *([ALL_MODELS] * (ALL_MODELS in names)),
    ]


def matrix(runs: Sequence[StudyRun], models: Sequence[str]) -> list[list[str]]:
    """Return claims down and models across."""
    body = []
    for run in runs:
        for text in dict.fromkeys(verdict.text for verdict in run.verdicts):
            said = {one.subject: one for one in run.verdicts if one.text == text}
            body.append([run.study.id, text, *(short(said.get(model)) for model in models)])
    return [["study", "claim", *models], *body]


def short(verdict: Verdict | None) -> str:
    """Return an outcome in a word, with a mark where flags stand beside it."""
    if verdict is None:
        return ""
    return SHORT[verdict.outcome] + ("*" if verdict.flags and verdict.is_decided else "")


def paper_part(letter: str, runs: Sequence[StudyRun]) -> str:
    """Return what was observed of a paper, what is undecided, and what would decide it."""
    own = [run for run in runs if run.study.id[0] == letter]
    document = catalogue()["papers"][letter]["document"]
    verdicts = [(run, one) for run in own for one in run.verdicts]
    counts = Counter(one.outcome for _, one in verdicts)
    lines = [f"## {document}"]
    if not own:
        return "\n\n".join([*lines, "None of its studies has been run."])
    about = sum(counts[name] for name in OUTCOMES if name != NOT_APPLICABLE)
    lines.append(
        f"{len(own)} studies; {about} claims about these models, each counted once a model: "
        f"{counted(Counter({k: v for k, v in counts.items() if k != NOT_APPLICABLE})) or 'none'}."
    )
    for outcome, opening in (
        (HOLDS, "Observed"),
        (REVERSED, "The opposite was observed"),
        (FAILS, "Not observed"),
        (UNDECIDED, "Undecided"),
    ):
        listed = listed_claims(verdicts, outcome)
        if listed:
            lines.append(f"**{opening}**: {'; '.join(listed)}.")
    if counts[UNDECIDED]:
        lines.append(
            "More texts, pairs or seeds would narrow the intervals of what is undecided; a trend "
            "over layers needs a deeper model, and a correlation over models more models."
        )
    elsewhere = [text for text, models in by_claim(verdicts, NOT_APPLICABLE).items()
                 if models == by_claim(verdicts, None)[text]]  # fmt: skip
    if elsewhere:
        lines.append(
            f"{len(elsewhere)} claims are about none of these models; the paper's own models "
            "(--scale paper) would decide them."
        )
    return "\n\n".join(lines)


def listed_claims(verdicts: Iterable[tuple[StudyRun, Verdict]], outcome: str) -> list[str]:
    """Return claims with an outcome, each with the models that had it."""
    return [f"{text} ({', '.join(models)})" for text, models in by_claim(verdicts, outcome).items()]


def by_claim(
    verdicts: Iterable[tuple[StudyRun, Verdict]], outcome: str | None
) -> dict[str, list[str]]:
    """Return the models of every claim with an outcome; with None those of any."""
    found: dict[str, list[str]] = {}
    for run, one in verdicts:
        if outcome is None or one.outcome == outcome:
            found.setdefault(f"{run.study.id}, {one.text}", []).append(one.subject)
    return found
