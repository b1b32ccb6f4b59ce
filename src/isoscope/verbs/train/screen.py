"""What a terminal shows of trainings: what they did first, then the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from isoscope.results.fields import DIFFERENCE, MAIN, RATIO, REMARKS, UNCORRECTED
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen, Text
from isoscope.results.screen.commands import given, quoted
from isoscope.results.screen.forest import Entry, forest
from isoscope.results.screen.pictures import bar
from isoscope.results.tables import grouped
from isoscope.verbs.train import names
from isoscope.verbs.train.names import MATRIX, OF_ITSELF, PERPLEXITY, SECONDS, model_of
from isoscope.verbs.train.text import MATRICES, MOVES, as_printed, metric_of, score_kind
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.results.result import Result, Row

# Tasks that have a sentence and a picture; lines of tables; remarks.
MOST_TASKS, MOST_LINES, MOST_REMARKS, BAR_CELLS = 3, 9, 2, 16

MORE = Fact("More", "--details  all numbers, intervals and notes     --html FILE  a page")

BETTER, WORSE, NEITHER, UNTESTED = "better", "worse", "neither", "untested"


@dataclass(frozen=True)
class Change:
    """What a calibration does to the score of a task, in points where the score is a share."""

    task: str
    calibration: str
    outcome: str
    value: float | None
    low: float | None
    high: float | None


def changes_of(rows: Sequence[Row]) -> list[Change]:
    """Return what every calibration does to the score that decides for each task."""
    deciding = {row.measure + DIFFERENCE for row in rows if row.extra.get(MAIN)}
    found = []
    for row in rows:
        if row.measure not in deciding:
            continue
        if row.extra.get("p") is None:
            outcome = UNTESTED
        else:
            outcome = BETTER if row.extra.get("star") else NEITHER
            outcome = WORSE if row.extra.get("worse") else outcome
        ends = (printed(row, end) for end in (row.value, row.low, row.high))
        found.append(Change(row.part, row.correction, outcome, *ends))
    return found


def printed(row: Row, value: float | None) -> float | None:
    """Return a number of a score as papers print it."""
    return None if value is None else as_printed(row.measure, value)


def fine_tuning_screen(result: Result) -> Screen:
    """Return the screen of fine-tuning: what calibrations change, in points, with intervals."""
    rows = [row for row in result.rows if "constant" in row.extra or DIFFERENCE in row.measure]
    scores = [row for row in rows if row.extra.get(MAIN)]
    changes = changes_of(rows)
    subjects = list(dict.fromkeys(row.subject for row in result.rows))
    tasks = list(dict.fromkeys(row.part for row in scores))
    runs = max((row.n or 0 for row in scores), default=0)
    compared = list(dict.fromkeys(one.calibration for one in changes))
    title = " · ".join(
        [", ".join(subjects), ", ".join(tasks[:4]) + (" …" if len(tasks) > 4 else ""),
         counted(len(compared), "calibration"), f"{counted(runs, 'run')} of each"]
    )  # fmt: skip
    body: list[list[Block]] = []
    for task in tasks[:MOST_TASKS]:
        here = [one for one in changes if one.task == task]
        if here:
            body.append(
                [Text(baseline_words(task, scores)), forest(entries_of(here), digits=DIGITS)]
            )
    table = evenness_table(result.rows, tasks)
    body += [[table]] if table is not None and len(tasks) == 1 else []
    return Screen(title, fine_tuning_answer(changes, scores), body,
                  fine_tuning_facts(result, changes, tasks, runs))  # fmt: skip


DIGITS = "+.1f"


def entries_of(changes: Sequence[Change]) -> list[Entry]:
    """Return the lines of a forest plot."""
    words = {BETTER: "better", WORSE: "worse", NEITHER: "not significant", UNTESTED: ""}
    return [
        Entry(one.calibration, one.value, one.low, one.high, words[one.outcome])
        for one in changes[:MOST_LINES]
    ]


def baseline_words(task: str, scores: Sequence[Row]) -> str:
    """Say what is drawn: the change against the score without calibration."""
    plain = next((r for r in scores if (r.part, r.correction) == (task, UNCORRECTED)), None)
    if plain is None or plain.value is None:
        return f"{task}, change against {UNCORRECTED}:"
    unit = "" if score_kind(plain.measure) in OF_ITSELF else " points"
    return (
        f"{task}, {metric_of(plain.measure)}: change against {UNCORRECTED}, which has "
        f"{as_printed(plain.measure, plain.value):.1f}{unit}:"
    )


def fine_tuning_answer(changes: Sequence[Change], scores: Sequence[Row]) -> list[str]:
    """Say which calibrations are better or worse than none, and which runs learned nothing."""
    by_outcome = grouped(changes, lambda one: one.outcome)
    answer = []
    if not changes:
        answer.append("Nothing was compared: there are runs of one calibration only.")
    elif set(by_outcome) == {UNTESTED}:
        answer.append("One run of each says nothing about chance: repeat it with --seeds 3.")
    else:
        said = [
            f"{word} than {UNCORRECTED}: {changes_words(by_outcome[outcome])}"
            for outcome, word in ((BETTER, "Significantly better"), (WORSE, "significantly worse"))
            if outcome in by_outcome
        ]
        if BETTER not in by_outcome:
            said.insert(0, f"No calibration is significantly better than {UNCORRECTED}")
        answer.append(f"{'; '.join(said)}.")
    constant = [row for row in scores if row.extra["constant"] and row.n]
    every = [row for row in constant if row.extra["constant"] == row.n]
    if every:
        answer.append(f"The same prediction for everything in every run: {places(every)}.")
    return answer


def changes_words(changes: Sequence[Change]) -> str:
    """Name calibrations with tasks, changes and intervals."""
    told = []
    for one in changes[:MOST_LINES]:
        interval = "" if one.low is None else f" ({one.low:+.1f} to {one.high:+.1f})"
        told.append(f"{one.calibration} on {one.task} {one.value or 0.0:+.1f}{interval}")
    rest = len(changes) - MOST_LINES
    return ", ".join(told) + (f" and {rest} more" if rest > 0 else "")


def places(rows: Sequence[Row]) -> str:
    """Name calibrations with the tasks of some rows."""
    return ", ".join(
        f"{name} on {' and '.join(dict.fromkeys(row.part for row in where))}"
        for name, where in grouped(rows, lambda row: row.correction).items()
    )


def evenness_table(rows: Sequence[Row], tasks: Sequence[str]) -> Numbers | None:
    """Return how even the first matrix of a task is after training, and what an epoch takes."""
    task = tasks[0] if tasks else ""
    matrices = [row.part for row in rows if row.part.startswith(f"{task}{MATRIX}")]
    if not matrices:
        return None
    place = matrices[0]
    cells: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if row.part in (place, task) and row.measure in (*EVENNESS, SECONDS, SECONDS + RATIO):
            cells.setdefault(row.correction, {})[row.measure] = row.value
    header = [MATRICES.get(place.rpartition(MATRIX)[2], place), *EVENNESS.values(), "s an epoch"]
    body = [
        [name, *(number(found.get(measure), ".3f") for measure in EVENNESS),
         number(found.get(SECONDS), ".1f")]
        for name, found in cells.items()
    ]  # fmt: skip
    return Numbers(header, body[:MOST_LINES])


EVENNESS = {"i1": "I1", "i1_scaled": "I1 at norm 1", "mean_norm": "mean norm"}


def number(value: float | None, digits: str) -> str:
    """Return a number, or a dash."""
    return "–" if value is None else f"{value:{digits}}"


def fine_tuning_facts(
    result: Result, changes: Sequence[Change], tasks: Sequence[str], runs: int
) -> list[Fact]:
    """Return how large a change must be to show, remarks, and what to do next."""
    facts = []
    reaches = [(one.high - one.low) / 2 for one in changes
               if one.low is not None and one.high is not None]  # fmt: skip
    if reaches:
        facts.append(
            Fact("Note", f"With {counted(runs, 'run')} of each, a change of less than about "
                         f"{median(reaches):.1f} cannot be detected. {CHANCE}")
        )  # fmt: skip
    if len(tasks) > MOST_TASKS:
        facts.append(Fact("Note", f"{counted(len(tasks) - MOST_TASKS, 'more task')}: --details."))
    facts += [Fact("Note", str(one)) for one in result.extra.get(REMARKS, [])[:MOST_REMARKS]]
    _, options = given(result.command)
    study = study_of(tasks[0] if tasks else "")
    if "--out" in options:
        command = f"isoscope study run {study} --from {quoted(options['--out'])}"
        facts.append(Fact("Next", command, "do the paper's claims hold?", command=True))
    elif result.command:
        facts.append(Fact("Next", f"{result.command} --out runs.json", "keep the runs",
                          command=True))  # fmt: skip
    return [*facts, MORE]


CHANCE = "Tests are not corrected for their number."


def study_of(task: str) -> str:
    """Return the study whose claims are about a task."""
    if task.startswith("translate:"):
        return "D-T2"
    return "D-T3" if task == "summarize" else "D-T1"


def pretraining_screen(result: Result) -> Screen:
    """Return the screen of a training from scratch: how far it came, and whether it was done."""
    points = [
        (step_of(row), row.value)
        for row in result.rows
        if row.measure == PERPLEXITY and row.value is not None
    ]
    losses = {step_of(row): row.value for row in result.rows if row.measure == names.LOSS}
    first = result.rows[0]
    end = max((step for step, _ in points), default=0)
    title = f"{first.subject} · trained from scratch · {counted(end, 'step')}"
    highest = max((value for _, value in points), default=1.0)
    shown = points if len(points) <= MOST_LINES else [*points[: MOST_LINES - 2], *points[-2:]]
    table = Numbers(
        ["step", "perplexity on validation", "", "training loss before"],
        [[f"{step:,}", f"{value:,.1f}", bar(value, highest, BAR_CELLS),
          number(losses.get(step), ".3f")] for step, value in shown],
        left=frozenset({2}), turn=False,
    )  # fmt: skip
    body: list[list[Block]] = [[table]]
    moves = moves_words(result)
    return Screen(title, [pretraining_answer(points), *moves], body, pretraining_facts(result))


def step_of(row: Row) -> int:
    """Return the step of a row about a checkpoint."""
    return int(row.part.removeprefix("step"))


# A change of perplexity that counts as one.
CHANGED = 0.01


def pretraining_answer(points: Sequence[tuple[int, float]]) -> str:
    """Say how perplexity went, and whether it was still falling at the end."""
    if len(points) < 2:
        return "There is no second checkpoint to compare with."
    (_, start), (last, end) = points[0], points[-1]
    word = "fell" if end < start else "rose"
    said = f"Perplexity on validation {word} from {start:,.1f} to {end:,.1f} in {last:,} steps"
    best_step, best = min(points, key=lambda point: point[1])
    before_step, before = points[-2]
    if best_step != last and end > best * (1 + CHANGED):
        return f"{said}, but was lowest after step {best_step:,}, with {best:,.1f}."
    if len(points) > 2 and end < before * (1 - CHANGED):
        return f"{said}, and was still falling: {before:,.1f} after step {before_step:,}."
    if len(points) > 2:
        return f"{said}, and hardly changed after step {before_step:,} ({before:,.1f})."
    return f"{said}."


def moves_words(result: Result) -> list[str]:
    """Say what the last recorded step did to rows of the output matrix."""
    table = next((one for one in result.tables if one.measure == names.ENEMIES), None)
    if table is None or not table.rows:
        return []
    step = max(row["step"] for row in table.rows)
    last = [row for row in table.rows if row["step"] == step]
    told: dict[str, Any] = last[-1]
    share = next(iter(MOVES))
    if told.get(share) is None:
        return []
    return [
        f"In step {step:,}, {100 * told[share]:.0f} % of the rows of the output matrix "
        f"({told['update']}, {told['band']}) move against what predicts."
    ]


def pretraining_facts(result: Result) -> list[Fact]:
    """Return how it was trained, how long it took, and what to do next."""
    facts = [Fact("Model", result.rows[0].protocol)] if result.rows[0].protocol else []
    seconds = result.extra.get("seconds") or 0.0
    if seconds >= 1:
        facts.append(Fact("Took ", f"{seconds:,.0f} s of training"))
    _, options = given(result.command)
    folder, text = options.get("--out"), options.get("--text", "TEXT")
    if folder:
        command = f"isoscope profile {quoted(folder)} --text {quoted(text)}"
        facts.append(Fact("Next ", command, "how did its layers become uneven?", command=True))
    return [*facts, Fact("More ", MORE.text)]


# What an ablation is about first: the isotropy of what predicts, and of the last layer.
PLACES = {
    (names.UNEMBEDDING, "i1"): "I1 of the unembedding",
    (names.LAST_LAYER, names.MEAN_COSINE): "the mean cosine of the last layer",
}


@dataclass(frozen=True)
class Moved:
    """What one level of a factor changes against the first, and whether chance may do that."""

    place: tuple[str, str]
    change: str
    value: float
    low: float | None
    high: float | None
    significant: bool


def effects_of(rows: Sequence[Row]) -> list[Moved]:
    """Return the main effects on what an ablation is about."""
    return [
        Moved((row.part, row.measure), row.correction, row.value, row.low, row.high,
              row.low is not None and bool(row.extra.get("excludes_zero")))
        for row in rows
        if row.subject == names.EFFECTS and (row.part, row.measure) in PLACES
        and row.value is not None
    ]  # fmt: skip


def ablation_screen(result: Result) -> Screen:
    """Return the screen of an ablation: what each factor does to evenness, then the models."""
    effects = effects_of(result.rows)
    single = [row for row in result.rows if row.subject != names.EFFECTS]
    end = max((int(row.extra["step"]) for row in single), default=0)
    last = [row for row in single if row.extra["step"] == end]
    models = list(dict.fromkeys(map(model_of, last)))
    runs = max((len(row.extra.get("runs", ())) for row in last), default=0)
    title = (
        f"ablation · {counted(len(models), 'model')} · {counted(runs, 'run')} of each · "
        f"{counted(end, 'step')}"
    )
    answer = [effect_words(place, effects) for place in PLACES
              if any(one.place == place for one in effects)]  # fmt: skip
    body: list[list[Block]] = []
    for place, words in list(PLACES.items())[:1]:
        here = [one for one in effects if one.place == place]
        if here:
            lines = [
                Entry(
                    one.change, one.value, one.low, one.high,
                    "" if one.significant else "not significant",
                )
                for one in here[:MOST_LINES]
            ]  # fmt: skip
            caption = Text(f"Change of {words}, mean over all else:")
            body.append([caption, forest(lines, digits="+.3f")])
    body.append([model_table(models, last)])
    return Screen(title, answer or ["Main effects need every model of the grid."], body,
                  ablation_facts(result, runs))  # fmt: skip


def effect_words(place: tuple[str, str], effects: Sequence[Moved]) -> str:
    """Say what moves a number, with intervals, or that no change is significant."""
    here = [one for one in effects if one.place == place]
    if all(one.low is None for one in here):
        return f"{capital(PLACES[place])}: with one run of each model, no change can be tested."
    moved = [one for one in here if one.significant]
    if not moved:
        return f"No option changes {PLACES[place]} significantly."
    told = [
        f"{one.change} {'raises' if one.value > 0 else 'lowers'} it by {abs(one.value):.3f} "
        f"({ends(one)})"
        for one in sorted(moved, key=lambda one: -abs(one.value))
    ]
    return f"{capital(PLACES[place])}: {', '.join(told)}."


def ends(one: Moved) -> str:
    """Return the interval of an effect, without its sign where it is a loss."""
    low, high = one.low or 0.0, one.high or 0.0
    return f"{low:.3f} to {high:.3f}" if one.value > 0 else f"{-high:.3f} to {-low:.3f}"


def capital(text: str) -> str:
    """Return a text with a capital letter."""
    return text[:1].upper() + text[1:]


# Columns of the table of models.
SHOWN = {
    (names.VALIDATION, PERPLEXITY): ("perplexity", ",.1f"),
    (names.UNEMBEDDING, "i1"): ("I1 of unembedding", ".3f"),
    (names.UNEMBEDDING, "i1_scaled"): ("at norm 1", ".3f"),
    (names.LAST_LAYER, names.MEAN_COSINE): ("mean cosine, last layer", ".2f"),
}


def model_table(models: Sequence[str], rows: Sequence[Row]) -> Numbers:
    """Return a table of models down, and what matters of each across."""
    values: Mapping[tuple[str, str, str], float | None] = {
        (model_of(row), row.part, row.measure): row.value for row in rows
    }
    columns = {place: about for place, about in SHOWN.items()
               if any((model, *place) in values for model in models)}  # fmt: skip
    body = [
        [model, *(number(values.get((model, *place)), digits)
                  for place, (_, digits) in columns.items())]
        for model in models
    ]  # fmt: skip
    return Numbers(["model", *(head for head, _ in columns.values())], body, turn=False)


def ablation_facts(result: Result, runs: int) -> list[Fact]:
    """Return what the intervals are, and what to do next."""
    facts = []
    if runs > 1:
        facts.append(
            Fact("Note", f"Intervals are over {runs} runs, with seeds as blocks. {CHANCE}")
        )
    _, options = given(result.command)
    if "--out" in options:
        grid = options.get("--grid", "tie,positions")
        study = "P-X" if "tie" in grid else "L-F3.10"
        command = f"isoscope study run {study} --from {quoted(options['--out'])}"
        facts.append(Fact("Next", command, "does the paper's claim hold?", command=True))
    return [*facts, MORE]
