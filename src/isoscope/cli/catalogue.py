"""``isoscope list``: what there is to choose from."""

from __future__ import annotations

import inspect
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from isoscope.cli.options import Data, Details, PrintJson, command_group
from isoscope.cli.streams import console, indented, print_facts
from isoscope.errors import UsageError
from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES, ContextualMeasure
from isoscope.measures.registry import Measure, all_measures
from isoscope.registry import load
from isoscope.tasks.registry import Task, all_tasks, data_folder, own_kinds

MEASURES_EXAMPLES = "Examples:\n\nisoscope list measures\n\nisoscope list measures --details"

list_app = command_group("List measures, corrections and tasks.")

BETTER = {
    "higher": "higher is more even",
    "lower": "lower is more even",
    "neither": "neither way",
}


SYMBOLS = (
    "x: a vector, one of n with d dimensions; u = x/‖x‖; μ: their mean; X: all of them, a row "
    "each; λ: eigenvalues of their covariance, falling; Z(c) = Σ exp(c·x) over all x, for the unit "
    "eigenvectors c of XᵀX. * changes with the length of the vectors."
)


@list_app.command(
    "measures", epilog="Examples:\n\nisoscope list measures\n\nisoscope list measures --details"
)
def list_measures(as_json: PrintJson = False, details: Details = False) -> None:
    """List every measure: title, key, symbol, range, direction, and when to look at it."""
    if as_json:
        rows = [describe(item) for item in all_measures()]
        rows += [{**asdict(item), "of": "layers"} for item in CONTEXTUAL_MEASURES]
        print_facts(rows)
        return
    if not details:
        show_measure_table()
        return
    screen = console()
    screen.print(SYMBOLS)
    for item in all_measures():
        alias = f", also {item.alias}" if item.alias else ""
        by_name = "" if item.default else ", by name or with all"
        show_measure(item, alias, by_name, interval_of(item))
    screen.print("\nOf the layers of a model over a text, by isoscope profile:")
    for context in CONTEXTUAL_MEASURES:
        show_measure(context, f", and /{', /'.join(context.also)}" if context.also else "")


# Which way is more even, as a sign.
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def show_measure_table() -> None:
    """Print a line or two for every measure."""
    # By name, as the help needs neither.
    padded, wrapped = (
        load(f"isoscope.results.screen.cells:{one}") for one in ("padded", "wrapped")
    )
    screen = console()
    room = max(min(screen.width, 120), 40)
    screen.print("Title, key, symbol and range of every measure, and when to look at it.")
    legend = "↑ ↓ which way is more even   * depends on the norm   --details has formulas"
    screen.print(legend, style="dim", soft_wrap=True)
    for heading, items in (("Of vectors", all_measures()), ("Of layers", CONTEXTUAL_MEASURES)):
        screen.print(f"\n{heading}", style="bold", soft_wrap=True)
        for item in items:
            facts = [item.name + " *" * item.length_dependent, item.symbol, item.range]
            facts.append(ARROWS[item.direction])
            about = "  ".join(fact for fact in facts if fact)
            screen.print(f"  {padded(item.title, 36)}  {about}".rstrip(), soft_wrap=True)
            for line in wrapped(item.when, room - 6):
                screen.print(f"      {line}", style="dim", soft_wrap=True)


def show_measure(
    item: Measure | ContextualMeasure, also: str, by_name: str = "", interval: str = ""
) -> None:
    """Print what there is to know about a measure."""
    facts = {
        "formula": item.formula,
        "range": item.range,
        "direction": BETTER[item.direction],
        "depends on vector length": "yes *" if item.length_dependent else "no",
        "interval": interval,
        "reference": item.reference,
    }
    kind = " (table)" if item.table else ""
    show_entry(f"{item.name}{also}{kind}{by_name}", item.summary, facts)


def show_entry(name: str, about: str, facts: dict[str, str]) -> None:
    """Print a name, and below it what there is to know; empty facts are left out."""
    screen = console()
    screen.print(name, style="bold")
    if about:
        indented(screen, about)
    for title, text in facts.items():
        if text:
            indented(screen, f"{title}: {text}")


@list_app.command("corrections", epilog="Example: isoscope list corrections")
def list_corrections(as_json: PrintJson = False) -> None:
    """Show every correction with its options, written NAME:option=value:option=value."""
    kinds = load("isoscope.corrections.registry:all_corrections")()  # imports scikit-learn
    everything: dict[str, tuple[str, dict[str, Any]]] = {
        "none": ("The cloud as it is.", {}),
        **{name: described(kind) for name, kind in kinds.items()},
    }
    if as_json:
        print_facts(
            [
                {"name": name, "about": about, "options": options}
                for name, (about, options) in everything.items()
            ]
        )
        return
    for name, (about, options) in everything.items():
        text = ", ".join(f"{key}={value}" for key, value in options.items())
        show_entry(name, about, {"options": text})


def described(kind: type[Any]) -> tuple[str, dict[str, Any]]:
    """Return the first paragraph of a class's description and its options with their defaults."""
    paragraph = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return " ".join(paragraph.split()), kind().get_params()


@list_app.command("tasks", epilog="Example: isoscope list tasks --data benchmarks/")
def list_tasks(data: Data = None, as_json: PrintJson = False) -> None:
    """Show every task: its files, size, protocol, scores, citation, and whether it is there."""
    folder = data_folder(data)
    rows = [describe_task(task, folder) for task in all_tasks()]
    if as_json:
        print_facts(rows)
        return
    for row in rows:
        size = f"{row['size']:,} {row['unit']}"
        named = {**row, "metrics": ", ".join(row["metrics"])}
        titles = ("data", "layout", "parts", "protocol", "metrics", "citation", "licence")
        facts = {title: named[title] for title in titles}
        show_entry(f"{row['name']} ({row['family']}, {size})", "", facts)
    for kind in own_kinds():
        show_entry(kind.written, kind.about, {})


def describe_task(task: Task, folder: Path | None) -> dict[str, Any]:
    """Return what is known about a task, and where its data are."""
    row = {field.name: getattr(task, field.name) for field in fields(Task)}
    row["files"] = [asdict(file) for file in task.files]
    row["file"], row["size"], row["parts"] = task.file, task.size, parts_of(task)
    row["metrics"] = [f"{task.name}/{metric}" for metric in task.metrics]
    absent = task.absent(folder)
    row["present"] = not absent
    if folder is None:
        row["data"] = f"{task.file}, not looked for, as no --data folder is named"
    elif absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        row["data"] = f"{absent[0]}{more}, not in {folder}"
    else:
        row["data"] = ", ".join(places(task, folder))
    return row


def places(task: Task, folder: Path) -> list[str]:
    """Name the file that a task reads, or the folders of its files."""
    try:
        paths = list(task.paths(folder).values())
    except UsageError as error:
        return [str(error)]
    if len(paths) == 1:
        return [str(paths[0])]
    return list(dict.fromkeys(str(path.parent) for path in paths))


def parts_of(task: Task) -> str:
    """Tell how large the parts of a task are."""
    sized = [(file.part, file.size) for file in task.files if file.part and file.size]
    return ", ".join(f"{part} {size:,}" for part, size in sized)


def describe(item: Measure) -> dict[str, object]:
    """Return what is known about a measure as a plain dictionary."""
    names = (
        "name", "alias", "summary", "formula", "range", "direction", "length_dependent",
        "reference", "table", "default", "interval", "no_interval", "title", "symbol", "when",
    )  # fmt: skip
    known = {name: getattr(item, name) for name in names}
    return {**known, **{name: known[name] or None for name in ("alias", "no_interval")}}


def interval_of(item: Measure) -> str:
    """Say whether a measure comes with an interval."""
    if item.table:
        return ""
    return f"none: {item.no_interval}" if item.no_interval else "95 %"
