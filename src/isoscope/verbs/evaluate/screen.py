"""What a terminal shows of scores: what a correction changes, in points, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.fields import (
    BEST,
    DIFFERENCE,
    FITTED_ON,
    KIND,
    MAIN,
    PART_OF_TASK,
    REMARKS,
    SCORES,
    UNCORRECTED,
)  # fmt: skip
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen, Text
from isoscope.results.screen.commands import next_step
from isoscope.results.screen.forest import Entry, forest
from isoscope.results.screen.pictures import bar
from isoscope.results.tables import grouped
from isoscope.verbs.evaluate.text import ALONE, ISOTROPY, LEGEND, RELATION, SCORE, strength
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row

# The score that decides for word vectors, whose rows do not name one.
USUAL = "cosine/spearman"

# Tasks that the sentences and pictures are about; the details have all.
MOST_TASKS, MOST_SENTENCES = 3, 2
BAR_CELLS = 10


def score_screen(result: Result) -> Screen:
    """Return the screen of scores, of one space or of the layers of models."""
    rows = [row for row in result.rows if "unit" in row.extra and PART_OF_TASK not in row.extra]
    if not rows:
        return Screen("scores", ["No task could be scored."])
    tasks = {task: main_rows(some) for task, some in grouped(rows, lambda row: row.family).items()}
    parts = {(row.subject, row.part) for row in rows}
    subjects = list(dict.fromkeys(row.subject for row in rows))
    names = list(tasks)
    title = " · ".join(
        [
            ", ".join(subjects[:2])
            + (f" and {len(subjects) - 2} more" if len(subjects) > 2 else ""),
            *([counted(len(parts), "layer")] if len(parts) > 1 else []),
            ", ".join(names) if len(names) <= MOST_TASKS else counted(len(names), "task"),
        ]
    )
    if len(parts) == 1 and len(tasks) > MOST_TASKS:
        body: list[list[Block]] = [[task_table(tasks)]]
        return Screen(title, about_tasks(tasks), body, facts_of(result, tasks, hidden=0))
    body = layer_blocks(tasks) if len(parts) > 1 else task_blocks(tasks)
    about = about_layers if len(parts) > 1 else about_corrections
    answer = [
        said for task, some in list(tasks.items())[:MOST_TASKS] if (said := about(task, some))
    ]
    return Screen(title, answer, body, facts_of(result, tasks, hidden=len(tasks) - MOST_TASKS))


def about_tasks(tasks: dict[str, list[Row]]) -> list[str]:
    """Say on how many tasks every correction gains, and on how many it loses."""
    changes: dict[str, list[Row]] = {}
    for rows in tasks.values():
        for row in rows:
            if row.measure.endswith(DIFFERENCE) and row.value is not None:
                changes.setdefault(row.correction, []).append(row)
    said = []
    for correction, rows in changes.items():
        gains = sum(is_significant(row) and (row.value or 0.0) > 0 for row in rows)
        losses = sum(is_significant(row) and (row.value or 0.0) < 0 for row in rows)
        found = [f"gains on {gains}"] * (gains > 0) + [f"loses on {losses}"] * (losses > 0)
        said += [f"{correction} {' and '.join(found)}"] if found else []
    if not changes:
        return []
    every = counted(len(tasks), "task")
    if not said:
        return [f"No correction changes a score significantly ({every})."]
    return [f"Significant changes on {every}: {'; '.join(said)}."]


def is_significant(row: Row) -> bool:
    """Whether the interval of a difference excludes 0."""
    return row.low is not None and row.high is not None and (row.low > 0 or row.high < 0)


def task_table(tasks: dict[str, list[Row]]) -> Numbers:
    """Arrange tasks down: the score of the vectors as they are, and what corrections change."""
    every = [row for rows in tasks.values() for row in rows]
    corrections = list(dict.fromkeys(row.correction for row in every))
    body = []
    for task, rows in tasks.items():
        scores = {row.correction: row for row in rows if not row.measure.endswith(DIFFERENCE)}
        changes = {row.correction: row for row in rows if row.measure.endswith(DIFFERENCE)}
        line = [task]
        for one in corrections:
            change = changes.get(one)
            if change is None or change.value is None:
                line.append(score(scores[one].value if one in scores else None))
            else:
                mark = "*" if is_significant(change) else " "
                line.append(f"{round(100 * change.value, 1) + 0.0:+.1f}{mark}".replace("-", "−"))
        body.append(line)
    compared = any(row.measure.endswith(DIFFERENCE) for row in every)
    first = "points, * significant change" if compared else "points"
    header = [first, *("as is" if one == UNCORRECTED else one for one in corrections)]
    return Numbers(header, body, turn=False)


def main_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the score that decides, with those of its differences."""
    flagged = [row.measure for row in rows if row.extra.get(MAIN)]
    usual = [row.measure for row in rows if row.measure.endswith(USUAL)]
    name = next(iter([*flagged, *usual, rows[0].measure]))
    return [row for row in rows if row.measure in (name, name + DIFFERENCE)]


def points(value: float, digits: int = 1) -> str:
    """Return a score, or a difference, in points: hundredths."""
    return f"{100 * value:.{digits}f}"


def about_corrections(task: str, rows: Sequence[Row]) -> str:
    """Say what the corrections change, the largest gain first."""
    scores = {row.correction: row for row in rows if not row.measure.endswith(DIFFERENCE)}
    changes = [row for row in rows if row.measure.endswith(DIFFERENCE) and row.value is not None]
    first = next(iter(scores.values()))
    metric = first.measure.partition("/")[2]
    if UNCORRECTED not in scores or scores[UNCORRECTED].value is None:
        told = [
            f"{one} {points(row.value)}" for one, row in scores.items() if row.value is not None
        ]
        return (
            f"{task}, {metric}: {', '.join(told)}."
            if told
            else f"{task} is undefined: {first.note}."
        )
    said = (
        f"{task}: the vectors as they are score {points(scores[UNCORRECTED].value or 0.0)} points"
    )
    said += f" ({metric})."
    significant = [row for row in changes if is_significant(row)]
    significant.sort(key=lambda row: -(row.value or 0.0))
    told = [change_of(row) for row in significant]
    if told:
        said += f" {'; '.join(told)}."
    rest = [row.correction for row in changes if row not in significant]
    if rest:
        said += f" No significant change: {', '.join(rest)}."
    return said


def change_of(row: Row) -> str:
    """Say what a correction gains or loses, with the interval."""
    value, low, high = row.value or 0.0, row.low or 0.0, row.high or 0.0
    word, ends = ("gains", (low, high)) if value > 0 else ("loses", (-high, -low))
    # An interval that excludes 0 does so on the screen as well.
    digits = next((n for n in (1, 2, 3) if round(100 * ends[0], n) > 0), 4)
    interval = f"{points(ends[0], digits)} to {points(ends[1], digits)}"
    return f"{row.correction} {word} {points(abs(value), digits)} ({interval})"


def task_blocks(tasks: dict[str, list[Row]]) -> list[list[Block]]:
    """Draw the differences to the vectors as they are, a forest plot for every task."""
    found: list[list[Block]] = []
    for task, rows in list(tasks.items())[:MOST_TASKS]:
        changes = [row for row in rows if row.measure.endswith(DIFFERENCE)]
        scores = [row for row in rows if not row.measure.endswith(DIFFERENCE)]
        shown, mark, digits = (changes, 0.0, "+.1f") if changes else (scores, None, ".1f")
        entries = [
            Entry(
                "as is" if row.correction == UNCORRECTED else row.correction,
                in_points(row.value),
                in_points(row.low),
                in_points(row.high),
            )
            for row in shown
        ]
        what = "change in points" if changes else "score in points"
        found.append([Text(f"{task}, {what}:"), forest(entries, mark=mark, digits=digits)])
    return found


def in_points(value: float | None) -> float | None:
    """Return a score in points."""
    return None if value is None else 100 * value


def about_layers(task: str, rows: Sequence[Row]) -> str:
    """Say where the best layer is, as it is and corrected."""
    scores = [row for row in rows if not row.measure.endswith(DIFFERENCE) and row.value is not None]
    if not scores:
        return f"{task} is undefined."
    chosen = [row for row in scores if row.extra.get(BEST)]
    if chosen:
        return f"{task}: " + "; ".join(best_layer(row) for row in chosen[:3]) + "."
    highest = max(scores, key=lambda row: row.value or 0.0)
    return f"{task}: {best_layer(highest)}."


def best_layer(row: Row) -> str:
    """Name the layer with the highest score of a correction."""
    space = "as they are" if row.correction == UNCORRECTED else f"after {row.correction}"
    return f"the vectors {space} score highest at {row.part}, {points(row.value or 0.0)} points"


def layer_blocks(tasks: dict[str, list[Row]]) -> list[list[Block]]:
    """Arrange layers down and corrections across, with a bar for the vectors as they are."""
    found: list[list[Block]] = []
    for task, rows in list(tasks.items())[:2]:
        scores = [row for row in rows if not row.measure.endswith(DIFFERENCE)]
        spaces = list(dict.fromkeys(row.correction for row in scores))
        several = len({row.subject for row in scores}) > 1
        highest = max((row.value or 0.0 for row in scores), default=1.0)
        body = []
        for (subject, part), some in grouped(scores, lambda row: (row.subject, row.part)).items():
            cells = {row.correction: row.value for row in some}
            first = cells.get(spaces[0])
            line = [f"{subject} {part}" if several else part]
            line.append(f"{score(first)} {bar(first, highest, BAR_CELLS)}")
            line += [score(cells.get(space)) for space in spaces[1:]]
            body.append(line)
        header = [task, *("as is" if space == UNCORRECTED else space for space in spaces)]
        found.append([Numbers(header, body, left=frozenset({1}), turn=False)])
    return found


def score(value: float | None) -> str:
    """Return a score in points, or that there is none."""
    return "–" if value is None else points(value)


def facts_of(result: Result, tasks: dict[str, list[Row]], hidden: int) -> list[Fact]:
    """Return what the intervals do not say, and what to do next."""
    notes = [str(line) for line in result.extra.get(REMARKS, [])]
    rows = next(iter(tasks.values()))
    parts = [part.strip() for part in rows[0].protocol.split(";")]
    fitted = next((part for part in parts if FITTED_ON in part), "")
    notes += [f"{fitted[0].upper()}{fitted[1:]}."] if fitted else []
    notes += coverage(tasks)
    compared = any(row.measure.endswith(DIFFERENCE) for rows in tasks.values() for row in rows)
    if compared and result.extra.get(KIND) != RELATION:
        notes.append(f"{ALONE[0].upper()}{ALONE[1:]}.")
    if hidden > 0:
        notes.append(f"{counted(hidden, 'more task')}: --details.")
    return [
        *(Fact("Note", note) for note in notes),
        step_of(result, tasks),
        Fact("More", "--details  all scores and intervals     --html FILE  a page"),
    ]


def coverage(tasks: dict[str, list[Row]]) -> list[str]:
    """Say of which tasks not everything could be scored."""
    found: dict[str, list[str]] = {}
    for task, (row, *_) in tasks.items():
        if row.extra.get("of") and (row.n or 0) < row.extra["of"]:
            text = f"{row.n or 0:,} of {row.extra['of']:,} of {task}"
            found.setdefault(row.extra["unit"], []).append(text)
    return [f"{unit.capitalize()} that could be scored: {', '.join(some)}."
            for unit, some in found.items()]  # fmt: skip


def step_of(result: Result, tasks: dict[str, list[Row]]) -> Fact:
    """Return the command to run next: advice on a task of texts, else the best correction."""
    if result.extra.get(KIND) == SCORES:
        task = next(iter(tasks))
        return next_step(result, "advise", "--task", task, remark="which correction to use?")
    changes = [
        row
        for rows in tasks.values()
        for row in rows
        if row.measure.endswith(DIFFERENCE) and row.low is not None and row.low > 0
    ]
    if not changes:
        return next_step(result, "measure", remark="how evenly is the space filled?")
    best = max(changes, key=lambda row: row.value or 0.0).correction
    out = "correction.safetensors"
    return next_step(result, "correct fit", "--correction", best, "--out", out)


# Correlations that are drawn, the strongest first.
MOST_RELATIONS = 12


def relation_screen(result: Result) -> Screen:
    """Return the screen of how scores go with isotropy: the answers, then the correlations."""
    questions = grouped(result.rows, lambda row: row.subject)
    answer = [str(one["sentence"]) for one in result.verdicts if one.get("sentence")][:MOST_TASKS]
    body: list[list[Block]] = []
    for question, rows in list(questions.items())[:1]:
        known = sorted((row for row in rows if row.value is not None), key=strength, reverse=True)
        entries = [
            Entry(f"{row.extra[ISOTROPY]}, {row.extra[SCORE]}", row.value, row.low, row.high)
            for row in known[:MOST_RELATIONS]
        ]
        if entries:
            body.append([Text(f"{question}, Spearman's ρ:"), forest(entries)])
    rows = result.rows
    models = max((int(row.extra.get("models", 0)) for row in rows), default=0)
    title = f"isotropy and scores · {counted(models, 'model')} · {counted(len(rows), 'relation')}"
    legend = Fact("Note", f"{LEGEND[0].upper()}{LEGEND[1:]}. {ALONE[0].upper()}{ALONE[1:]}.")
    more = Fact("More", "--details  all relations and intervals     --html FILE  a page")
    return Screen(title, answer, body, [legend, more])
