"""The pages of studies, made from records and from nothing else, so that they cannot disagree."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.output import write_atomically
from isoscope.results.render import escaped, markdown_table
from isoscope.verbs.study.judgement.verdicts import NOT_APPLICABLE, NOT_RUN, NOT_RUN_FIELD
from isoscope.verbs.study.records.complete import completed, transformers
from isoscope.verbs.study.records.costs import in_words
from isoscope.verbs.study.records.debate import paper_part
from isoscope.verbs.study.records.matrix import (
    claim_lines,
    columns_of,
    matrix_picture,
    matrix_table,
)
from isoscope.verbs.study.records.provenance import MADE
from isoscope.verbs.study.records.questions import questions_part
from isoscope.verbs.study.reference import catalogue
from isoscope.verbs.study.text import (
    command_for,
    counted,
    given_source,
    millions,
    outcomes_of,
    printed_part,
    study_markdown,
    study_part,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.verbs.study.api import StudyRun

SUMMARY, PICTURE = "studies.md", "studies.svg"

LEGEND = (
    "A claim is judged only on models that it is about (– marks the others), with an interval that "
    "fits the data, at a level of 5 % that is corrected for the number of claims that a study "
    "makes about a model (Holm's method). *Holds*: the data support the claim. *Fails*: they "
    "contradict it. *Reversed*: they support its opposite. *Undecided*: they neither support nor "
    "contradict it. *Not run*: data or a model were missing, or the study was not started; the "
    "page of the study has the reason and the command. *Mixed*: several trainings of our own "
    "differ. A star marks a verdict with a qualification, such as quantised weights."
)

BRACKETS = (
    "In the lists of the papers below, the brackets contain the figure that a claim was judged on, "
    "or the number of cases (sets, layers, methods) in which it is true."
)

HOLM = (
    "Verdicts are at a level of 5 %, corrected for the number of claims that the study makes about "
    "a model (Holm's method)."
)


def pages(runs: Sequence[StudyRun]) -> dict[str, str]:
    """Return every page by its name: the summary, its picture, and one page for each study."""
    every = completed(runs)
    found = {SUMMARY: summary_page(every, runs), PICTURE: picture(every)}
    for run in every:
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
    """Return the page of one study: figures, claims, what did not run, and how it was made."""
    there = bool(run.result.rows)
    study, result = run.study, run.result
    # How it was made, below, has the commands.
    shown = replace(result, command="")
    parts = [study_markdown(study, shown, run.verdicts, figures_too=there)]
    parts += [HOLM] if run.verdicts else []
    parts += printed_part(run) if there else []
    parts += [part for part in (not_run_part(run), made_part(run)) if part]
    return "# " + "\n\n".join(parts).removeprefix("## ") + "\n"


def not_run_part(run: StudyRun) -> str:
    """Say on which models a study was not run, why, and with which command it would be."""
    failed = run.result.extra.get(NOT_RUN_FIELD, {})
    # Where no claim is about a model, nobody misses it.
    applicable = {one.subject for one in run.verdicts if one.outcome != NOT_APPLICABLE}
    wanted = {name: why for name, why in failed.items() if name in applicable or not run.verdicts}
    if not wanted:
        return ""
    lines = [
        f"- {name}: {escaped(why)}. Command: "
        f"`{command_for(run.study, given_source(run.result, name))}`"
        for name, why in wanted.items()
    ]
    return "**Not run**\n\n" + "\n".join(lines)


def made_part(run: StudyRun) -> str:
    """Return how the parts of a record were made, and what it takes to make them again."""
    made: dict[str, dict[str, Any]] = run.result.extra.get(MADE, {})
    if not made:
        return ""
    names = ("model", "digest of the model", "of the data", "seed", "isoscope", "date", "machine",
             "time", "memory")  # fmt: skip
    body = [[name, *made_cells(about)] for name, about in made.items()]
    commands = dict.fromkeys(str(about["command"]) for about in made.values() if "command" in about)
    parts = ["**How it was made**", markdown_table([list(names), *body], left=len(names))]
    if commands:
        parts.append("```sh\n" + "\n".join(commands) + "\n```")
    return "\n\n".join(parts)


def made_cells(about: dict[str, Any]) -> list[str]:
    """Return how one part was made, cell by cell."""
    commit = f" ({about['commit']})" if "commit" in about else ""
    digests = [about.get("digest", ""), about.get("data") or about.get("text", "")]
    return [
        *map(str, digests),
        str(about.get("seed", "")),
        f"{about.get('isoscope', '')}{commit}",
        str(about.get("date", "")),
        str(about.get("machine", "")),
        in_words(about["seconds"]) if "seconds" in about else "",
        f"{about['memory']} GiB" if "memory" in about else "",
    ]


def picture(runs: Sequence[StudyRun]) -> str:
    """Return the matrix of claims and models as SVG."""
    lines = [line for line in claim_lines(runs) if line.concerns]
    return matrix_picture(lines, columns_of(runs))


def summary_page(runs: Sequence[StudyRun], recorded: Sequence[StudyRun]) -> str:
    """Return the debate on one page: claims by models, papers in words, then every study."""
    counts, columns, lines = outcomes_of(*runs), columns_of(runs), claim_lines(runs)
    concerning = [line for line in lines if line.concerns]
    parts = [
        "# The papers' experiments, claim by claim",
        opening(runs, recorded, counts, len(lines), len(concerning)),
        models_table(runs),
        f"![Claims by models, coloured by outcome; the table below has the same]({PICTURE})",
        LEGEND,
        questions_part(lines),
        "## Every claim",
        BRACKETS,
        markdown_links(matrix_table(concerning, columns)),
    ]
    parts += [paper_part(letter, lines) for letter in catalogue()["papers"]]
    parts += ["## Every study", *(study_part(run).replace("## ", "### ", 1) for run in runs)]
    return "\n\n".join(parts) + "\n"


def opening(
    runs: Sequence[StudyRun], recorded: Sequence[StudyRun], counts: Counter[str], claims: int,
    concerning: int,
) -> str:  # fmt: skip
    """Return what there is, in numbers."""
    ran = sum(bool(run.result.rows) for run in recorded)
    judged = Counter({k: v for k, v in counts.items() if k not in (NOT_APPLICABLE, NOT_RUN)})
    return (
        f"Five papers disagree about how evenly language models use their embedding space. Their "
        f"{len(runs)} experiments make {claims} claims that data can contradict; {ran} experiments "
        f"were run here. {concerning} claims are about at least one of the models below. Counted "
        f"once for each model that it is about, a claim was judged {sum(judged.values())} times: "
        f"{counted(judged) or 'never'}; {counts[NOT_RUN]} were not run, and "
        f"{counts[NOT_APPLICABLE]} do not apply. Everything on this page is generated from the "
        "records of the runs by `isoscope study compare`; no verdict is written by hand."
    )


def models_table(runs: Sequence[StudyRun]) -> str:
    """Return the models with what the scopes of claims look at."""
    header = ["model", "family", "objective", "parameters", "unembedding", "positions",
              "sentence encoder", "weights"]  # fmt: skip
    body = [
        [
            name, facts["family"], facts["objective"], millions(round(facts["parameters"], -6)),
            "none" if not facts["unembedding"] else "tied" if facts["tied"] else "not tied",
            ", ".join(facts["positions"]) or "none",
            "yes" if facts["sentence_encoder"] else "no",
            "as trained" if facts["quantisation"] == "none" else facts["quantisation"],
        ]
        for name, facts in transformers(runs).items()
    ]  # fmt: skip
    return markdown_table([header, *body], left=len(header))


def markdown_links(table: list[list[str]]) -> str:
    """Return a table of the summary, whose first column holds links."""
    return markdown_table(table, left=2)
