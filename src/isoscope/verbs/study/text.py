"""Studies for people: figures with printed values beside them, claims with their verdicts.

One study by itself, and several side by side: claim by claim, and measured numbers beside printed.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.models.model import MODELS
from isoscope.results.fields import REMARKS, SETTINGS, STAR
from isoscope.results.numbers import cell, with_spread
from isoscope.results.render import escaped, markdown_table
from isoscope.results.tables import grouped, grouped_notes, option_notes, pivot
from isoscope.verbs.study.judgement.rows import what_of
from isoscope.verbs.study.judgement.scope import Scope
from isoscope.verbs.study.judgement.verdicts import NOT_APPLICABLE, OUTCOMES, Case, Verdict
from isoscope.verbs.study.records.provenance import MADE
from isoscope.verbs.study.records.seeds import SEED_COUNT, SEED_MEAN, SEED_SD
from isoscope.verbs.study.registry import Study, all_studies, called
from isoscope.wording import counted as counted_noun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from isoscope.results.result import Result, Row
    from isoscope.verbs.study.api import StudyRun


DESCRIPTIVE = "The paper shows this and claims nothing that could fail."

# Field of a result: where models come from that it was not run on, by name.
SOURCES = "sources"

# Field of rows whose value is a whole number, such as a rank.
WHOLE = "whole"

# Fields of rows about one of several layers or thresholds: which one.
LAYER, ABOVE = "layer", "above"

# Parts of a model that are named one by one.
SHOWN_PARTS = 3

# Figures shown under a claim; JSON has all.
SHOWN_CASES = 12


def study_markdown(
    study: Study, result: Result, verdicts: Sequence[Verdict], *, figures_too: bool = True
) -> str:
    """Return a whole study as Markdown."""
    parts = [f"## {study.id}: {study.title}", study.paper]
    parts += [markdown_table(figures(result))] if figures_too else ["No model was run."]
    remarks = study_notes(study, result)
    if remarks:
        parts.append("\n".join(f"- {remark}" for remark in remarks))
    parts.append("**Claims**" if verdicts else DESCRIPTIVE)
    about = {claim.text: scope_words(claim.about) for claim in study.claims}
    for text, own in grouped(verdicts, lambda verdict: verdict.text).items():
        scope = f" (about {about[text]})" if text in about else ""
        parts.append("\n".join([f"- {escaped(text)}{escaped(scope)}", *claim_items(own)]))
    if result.command:
        parts.append(f"Command: `{result.command}`")
    return "\n\n".join(parts)


def claim_items(verdicts: Sequence[Verdict]) -> list[str]:
    """Return what became of a claim on every model, with figures, as items of a list.

    Items are indented by four blanks: with two, Python-Markdown sees no list within a list.
    """
    lines = []
    for verdict in verdicts:
        if verdict.outcome == NOT_APPLICABLE:
            continue
        subject = f"{verdict.subject}: " if verdict.subject else ""
        lines.append(f"    - {subject}**{verdict.outcome}** ({escaped(reason_of(verdict))})")
        lines += [f"        - {escaped(line)}" for line in case_lines(verdict)]
    outside = [f"{one.subject} ({one.reason})" for one in verdicts if one.outcome == NOT_APPLICABLE]
    return [*lines, *([f"    - not applicable: {', '.join(outside)}"] if outside else [])]


def figures(result: Result) -> list[list[str]]:
    """Return one table of all figures: models, parts and measures down, corrections across."""
    header, body = pivot(
        result.rows,
        lambda row: f"{row.subject}: {what_of(row)}",
        "correction",
        lambda row: "" if row is None else figure(row),
        corner="model and measure",
    )
    return [header, *body]


def figure(row: Row) -> str:
    """Return a number, what it is of (dimensions, a layer, a threshold), and the printed one."""
    whole = row.extra.get(WHOLE) and row.value is not None
    number = f"{row.value:,.0f}" if whole else cell(row)
    about = ""
    if "dimension" in row.extra:
        about = f" (dimension {row.extra['dimension']})"
    elif LAYER in row.extra or ABOVE in row.extra:
        chosen = [str(row.extra[LAYER])] if LAYER in row.extra else []
        chosen += [f"above {row.extra[ABOVE]:g}"] if ABOVE in row.extra else []
        about = f" ({', '.join(chosen)})"
    elif "dimensions" in row.extra:
        listed = ", ".join(map(str, row.extra["dimensions"]))
        about = f" (dimensions {listed})" if listed else " (no dimension)"
    spread = row.extra.get("sd")
    if spread is not None and row.value is not None:
        number = with_spread(row.value, spread)
    about += STAR * bool(row.extra.get("star"))
    if SEED_SD in row.extra:
        over = with_spread(row.extra[SEED_MEAN], row.extra[SEED_SD])
        about += f" (over {row.extra[SEED_COUNT]} seeds {over})"
    printed = f", printed {row.extra['printed']:g}" if "printed" in row.extra else ""
    return number + about + printed


def study_notes(study: Study, result: Result) -> list[str]:
    """Return how the figures were made, and what is odd about them or the paper's."""
    subjects = grouped(result.rows, lambda row: row.subject)
    protocols: dict[str, dict[str, dict[str, None]]] = {}
    for row in result.rows:
        if row.protocol:
            parts = protocols.setdefault(row.protocol, {}).setdefault(row.subject, {})
            parts[row.part] = None
    quantised = {
        name: about["quantisation"]
        for name, about in result.extra.get(MODELS, {}).items()
        if about["quantisation"] != "none"
    }
    return [
        *(f"{name}: weights {kind}" for name, kind in quantised.items()),
        *(f"{', '.join(named(parts))}: {protocol}" for protocol, parts in protocols.items()),
        *(f"{name}: {note}" for name in subjects for note in grouped_notes(subjects[name])),
        *(
            f"{name}: {note}"
            for name, settings in result.extra.get(SETTINGS, {}).items()
            for note in option_notes(settings)
        ),
        *map(str, result.extra.get(REMARKS, [])),
        *(f"left out, {why}: {n:,}" for why, n in result.left_out.items()),
        *(f"misprint: {line}" for line in misprint_lines(study)),
    ]


def misprint_lines(study: Study) -> list[str]:
    """Return what is known to be misprinted in the table of a study."""
    return [f"{one['cell']}, printed {one['printed']}: {one['note']}" for one in study.misprints]


def named(subjects: Mapping[str, Mapping[str, None]]) -> Iterator[str]:
    """Name the parts of each model, of many the first and the last."""
    for subject, parts in subjects.items():
        every = list(parts)
        if len(every) > SHOWN_PARTS:
            yield f"{subject} {every[0]} to {every[-1]}".lstrip()
        else:
            yield from (f"{subject} {part}".strip() for part in every)


def verdict_line(verdict: Verdict) -> str:
    """Return a claim with what became of it on a model, and what to know beside it."""
    subject = f"{verdict.subject}: " if verdict.subject else ""
    return f"{subject}{verdict.outcome}: {verdict.text} ({reason_of(verdict)})"


def not_applicable_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a line for each model with the number of claims that are not about it, and why."""
    outside = grouped(
        (one for one in verdicts if one.outcome == NOT_APPLICABLE), lambda one: one.subject
    )
    lines = []
    for subject, found in outside.items():
        reasons = Counter(one.reason for one in found)
        listed = ", ".join(f"{reason}: {count}" for reason, count in reasons.items())
        said = counted_noun(len(found), "claim")
        before = f"{subject}: " if subject else ""
        lines.append(f"{before}not applicable: {said} ({listed})")
    return lines


def scope_words(scope: Scope) -> str:
    """Say which models a claim is about.

    Examples
    --------
    >>> scope_words(Scope(objectives=("causal",), smallest=410_000_000))
    'causal transformers with at least 410M parameters'
    """
    but = f", except {', '.join(names.split('|')[0] for names in scope.but)}" if scope.but else ""
    if scope.models:
        return " and ".join(names.replace("|", " or ") for names in scope.models) + but
    kinds = {"transformer": "transformers", "vectors": "word vectors",
             "made": "small models that isoscope trains"}  # fmt: skip
    named_kinds = [kinds[kind] for kind in scope.kinds if kind in kinds]
    listed = " and ".join([", ".join(named_kinds[:-1]), named_kinds[-1]]).removeprefix(" and ")
    said = {True: "with", False: "without"}
    more = [
        *([f"of the families {', '.join(scope.families)}"] if scope.families else []),
        *([f"with {' or '.join(scope.positions)} positions"] if scope.positions else []),
        *([f"with at least {millions(scope.smallest)} parameters"] if scope.smallest else []),
        *([f"with at most {millions(scope.largest)} parameters"] if scope.largest else []),
        *([f"{said[scope.unembedding]} an unembedding"] if scope.unembedding is not None else []),
        *([] if scope.tied is None else [f"whose matrices are {'' if scope.tied else 'not '}tied"]),
        *(["with unused tokens"] if scope.unused_tokens else []),
        *([f"with a final {scope.final_norm}"] if scope.final_norm else []),
    ]
    encoders = {None: "", True: "that encode sentences", False: "that are no sentence encoders"}
    more += [encoders[scope.sentence_encoder]] if scope.sentence_encoder is not None else []
    before = f"{' or '.join(scope.objectives)} " if scope.objectives else ""
    every = "" if before or more else "all "
    return " ".join([f"{every}{before}{listed}", *more]) + but


def millions(count: int) -> str:
    """Return a number of parameters in short."""
    return f"{count / 1e9:g}B" if count >= 10**9 else f"{count / 1e6:g}M"


def given_source(result: Result, name: str) -> str:
    """Return how a model was named on the command line, as NAME=SOURCE where the two differ.

    Examples
    --------
    >>> from isoscope.results.result import Result
    >>> given_source(Result([], extra={"made": {"smol": {"source": "package:smollm2"}}}), "smol")
    'smol=package:smollm2'
    """
    known = result.extra.get(SOURCES, {}).get(name, "")
    known = result.extra.get(MODELS, {}).get(name, {}).get("source", known)
    source = str(result.extra.get(MADE, {}).get(name, {}).get("source", known))
    if not source:
        return name
    return source if called(source) == name else f"{name}={source}"


def command_for(study: Study, model: str = "") -> str:
    """Return the command that runs a study, on a model where one is named."""
    takes = study.sources and not model
    source = f" --model {model}" if model else " --model MODEL" if takes else ""
    return f"isoscope study run {study.id}{source} --data DATA --out studies"


def reason_of(verdict: Verdict) -> str:
    """Return why a claim was judged so, and on whose models."""
    others = verdict.other_models if verdict.cases else ()
    about = [verdict.reason, *verdict.flags, *(["not a model of the paper"] if others else [])]
    return "; ".join(part for part in about if part)


def case_lines(
    verdict: Verdict, most: int = SHOWN_CASES, rest: str = "and {} more, all in JSON"
) -> list[str]:
    """Return some figures that a claim was judged on, those against it first."""
    ordered = sorted(verdict.cases, key=lambda case: case.true is True)
    more = [rest.format(len(ordered) - most)] if len(ordered) > most else []
    return [*map(case_line, ordered[:most]), *more]


def case_line(case: Case) -> str:
    """Return one comparison."""
    other = f"{case.right_subject}: " if case.right_subject else ""
    right = f"{other}{case.right} " if case.right else ""
    if case.bounds is not None:
        right = " and ".join(map(figure_number, case.bounds))
    mark = {True: "", False: " (false)", None: " (undefined)"}[case.true]
    subject = f"{case.subject}: " if case.subject else ""
    return (
        f"{subject}{case.left} {figure_number(case.left_value)} {case.op} {right}"
        f"{'' if case.bounds is not None else figure_number(case.right_value)}{mark}"
    )


def figure_number(value: float | None) -> str:
    """Return a figure with four digits."""
    return "undefined" if value is None or not math.isfinite(value) else f"{value:.4g}"


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
    return counted(counts) or "shows figures and makes no claim"


# What stands behind a number of claims.
SINGULARS = {"reversed": "is reversed"}
PLURALS = {"holds": "hold", "fails": "fail", "reversed": "are reversed"}


def counted(counts: Counter[str]) -> str:
    """Return how many claims hold, fail and so on; outcomes that no claim has are left out."""
    return ", ".join(
        f"{counts[name]} {(SINGULARS if counts[name] == 1 else PLURALS).get(name, name)}"
        for name in OUTCOMES
        if counts[name]
    )


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
                "model": verdict.subject,
                "outcome": verdict.outcome,
                "reason": verdict.reason,
                "p": verdict.p,
                "flags": list(verdict.flags),
                "other_models": list(verdict.other_models),
            }
            for verdict in run.verdicts
        ],
        "printed": [
            {name: getattr(one, name) for name in ("what", "measured", "printed", "difference")}
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
        f"{len(every)} of {len(all_studies())} studies; of {sum(counts.values())} claims, each "
        f"counted once a model, {counted(counts)}."
    )
    parts = ["# The papers' experiments, claim by claim", opening]
    parts += [about] if about else []
    parts += [f"Not run: {', '.join(missing)}."] if missing else []
    parts.append(markdown_table(outcome_table(every), left=2))
    parts += [study_part(run) for run in every]
    return "\n\n".join(parts)


def printed_part(run: StudyRun, most: int | None = None) -> list[str]:
    """Return the numbers of the paper's own models beside those that it prints."""
    found = beside_printed(run)
    if not found:
        other = "The paper's own models were not run, so its printed numbers cannot be compared."
        return [other] if run.study.printed() else []
    body = [
        [one.what, cell(one.row), f"{one.printed:g}",
         "" if one.difference is None else f"{one.difference:+.3g}"]
        for one in found[:most]
    ]  # fmt: skip
    more = len(found) - len(body)
    rest = [f"And {more} more printed numbers, all on the page of the study."] if more else []
    return [markdown_table([["number", "measured", "printed", "difference"], *body]), *rest]


def study_part(run: StudyRun) -> str:
    """Return one study: its claims with what became of them, and printed numbers."""
    study = run.study
    lines = [f"## {study.id}: {study.title}", study.paper]
    rows = [
        [verdict.text, verdict.subject, verdict.outcome, reason_of(verdict),
         "; ".join(case_lines(verdict, CASES, "{} more"))]
        for verdict in run.verdicts
        if verdict.outcome != NOT_APPLICABLE
    ]  # fmt: skip
    if rows:
        header = ["claim", "model", "verdict", "because", "figures"]
        lines.append(markdown_table([header, *rows], left=5))
    outside = not_applicable_lines(run.verdicts)
    if outside:
        lines.append("\n".join(f"- {line}" for line in outside))
    if not run.verdicts:
        lines.append(DESCRIPTIVE)
    lines += printed_part(run, SHOWN)
    lines += [f"Misprint: {line}" for line in misprint_lines(study)]
    if run.result.command:
        seeds = ", ".join(f"{name} {value}" for name, value in run.result.seeds.items())
        lines.append(f"Command: `{run.result.command}`; seeds: {seeds}.")
    return "\n\n".join(lines)
