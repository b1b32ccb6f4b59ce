"""``isoscope list``: what there is to choose from."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.cli.contents import contents
from isoscope.cli.options import Data, Details, PrintJson, command_group
from isoscope.cli.streams import console, print_facts
from isoscope.errors import UsageError, check_name
from isoscope.registry import load
from isoscope.results.screen.cells import padded, width, wrapped

if TYPE_CHECKING:
    from isoscope.results.screen.blocks import Screen
    from isoscope.tasks.registry import Task

MEASURES_EXAMPLES = "Examples:\n\nisoscope list measures\n\nisoscope list measures hubness"
CORRECTIONS_EXAMPLES = "Examples:\n\nisoscope list corrections\n\nisoscope list corrections whiten"
TASKS_EXAMPLES = "Examples:\n\nisoscope list tasks\n\nisoscope list tasks sts-b"

list_app = command_group("List measures, corrections and tasks.")

BETTER = {
    "higher": "higher is more even",
    "lower": "lower is more even",
    "neither": "neither way",
}


SYMBOLS = (
    "x: a vector, one of n with d dimensions; u = x/‖x‖; μ: their mean; X: all of them, one per "
    "row; λ: eigenvalues of their covariance, in falling order; Z(c) = Σ exp(c·x) over all x, "
    "for the unit eigenvectors c of XᵀX. * changes with the norm of the vectors."
)

# Which way is more even, as a sign.
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}

INDENT, GAP = 2, 2


def names_argument(one: str) -> Any:
    """Return the argument with names of what is shown in full."""
    return typer.Argument(
        metavar="[NAMES]...",
        help=f"Show everything about these only, such as {one}.",
        show_default=False,
    )


def chosen(kind: str, items: list[dict[str, Any]], names: list[str] | None) -> list[dict[str, Any]]:
    """Return the items with some names, or all."""
    if not names:
        return items
    known = {item.get("name") or item["written"]: item for item in items}
    for name in names:
        check_name(kind, name, known)
    return [known[name] for name in dict.fromkeys(names)]


@list_app.command("measures", epilog=MEASURES_EXAMPLES)
def list_measures(
    names: Annotated[list[str] | None, names_argument("hubness")] = None,
    as_json: PrintJson = False,
    details: Details = False,
) -> None:
    """List every measure with its direction, and when to look at it."""
    measures = chosen("measure", contents()["measures"], names)
    if as_json:
        print_facts(measures)
        return
    of_vectors = [item for item in measures if "of" not in item]
    of_layers = [item for item in measures if "of" in item]
    if not (details or names):
        show_measure_table({"Of vectors": of_vectors, "Of layers": of_layers})
        return
    screen = console()
    screen.print(SYMBOLS)
    for item in of_vectors:
        alias = f", also {item['alias']}" if item["alias"] else ""
        by_name = "" if item["default"] else ", by name or with all"
        show_measure(item, alias, by_name, interval_of(item))
    if of_layers:
        screen.print("\nFor the layers of a model over a text, computed by isoscope profile:")
    for item in of_layers:
        show_measure(item, f", and /{', /'.join(item['also'])}" if item["also"] else "")


def show_measure_table(measures: dict[str, list[dict[str, Any]]]) -> None:
    """Print a line for every measure, under headings, with as many columns as the screen has."""
    screen = console()
    every = [item for items in measures.values() for item in items]
    columns = measure_columns(every, screen.width)
    rooms = [max(map(width, column)) for column in columns]
    wide = len(columns) > LEAST_COLUMNS
    more = "formula and reference" if wide else "title, symbol, range, formula"
    legend = "↑ ↓ the more even direction   * depends on the norm"
    screen.print(legend, style="dim", soft_wrap=True)
    lines = iter(zip(*columns, strict=True))
    for heading, items in measures.items():
        screen.print(f"\n{heading}", style="bold", soft_wrap=True)
        for _ in items:
            *cells, when = next(lines)
            shown = [padded(cell, room) for cell, room in zip(cells, rooms, strict=False)]
            before = " " * INDENT + (" " * GAP).join(shown) + " " * GAP
            for line in wrapped(when, max(screen.width - width(before), 20)):
                screen.print(f"{before}{line}", soft_wrap=True)
                before = " " * width(before)
    screen.print()
    for line in (
        f"isoscope list measures hubness   {more} of one",
        "isoscope list measures --details   the same for all",
    ):
        screen.print(f"{' ' * INDENT}{line}", style="cyan", soft_wrap=True)


# Columns that every table of measures has: key, direction, and when to look at it.
LEAST_COLUMNS = 3


def measure_columns(items: list[dict[str, Any]], cells: int) -> list[list[str]]:
    """Return the columns of the table of measures that have room side by side."""
    keys = [item["name"] + " *" * item["length_dependent"] for item in items]
    arrows = [ARROWS[item["direction"]] for item in items]
    when = [item["when"] for item in items]
    titles = [item["title"] for item in items]
    ranges = [item["range"] for item in items]
    symbols = [item["symbol"] for item in items]
    fewest = [keys, arrows, when]
    for columns in (
        [titles, keys, symbols, ranges, arrows, when],
        [titles, keys, ranges, arrows, when],
        [titles, *fewest],
        fewest,
    ):
        taken = sum(max(map(width, column)) + GAP for column in columns) - GAP + INDENT
        if taken <= cells:
            return columns
    return fewest


def show_measure(item: dict[str, Any], also: str, by_name: str = "", interval: str = "") -> None:
    """Print what there is to know about a measure."""
    facts = {
        "title": item["title"],
        "symbol": item["symbol"],
        "when": item["when"],
        "formula": item["formula"],
        "range": item["range"],
        "direction": BETTER[item["direction"]],
        "depends on the norm": "yes *" if item["length_dependent"] else "no",
        "interval": interval,
        "reference": item["reference"],
    }
    kind = " (table)" if item.get("table") else ""
    show_entry(f"{item['name']}{also}{kind}{by_name}", item["summary"], facts)


def show_entry(name: str, about: str, facts: dict[str, str]) -> None:
    """Print a name, and below it what there is to know; empty facts are left out."""
    screen = console()
    screen.print(name, style="bold")
    texts = [about, *(f"{title}: {text}" for title, text in facts.items() if text)]
    lines = [line for text in texts if text for line in wrapped(text, max(screen.width - 4, 1))]
    if lines:
        screen.print("\n".join(f"    {line}" for line in lines), soft_wrap=True)


@list_app.command("corrections", epilog=CORRECTIONS_EXAMPLES)
def list_corrections(
    names: Annotated[list[str] | None, names_argument("whiten")] = None,
    as_json: PrintJson = False,
) -> None:
    """Show every correction with its options, written NAME:option=value:option=value."""
    corrections = chosen("correction", contents()["corrections"], names)
    if as_json:
        print_facts(corrections)
        return
    for item in corrections:
        text = ", ".join(f"{key}={written(value)}" for key, value in item["options"].items())
        show_entry(item["name"], item["about"], {"options": text})


def written(value: Any) -> str:
    """Write the default of an option as Python does."""
    return str(tuple(value)) if isinstance(value, list) else str(value)


@list_app.command("tasks", epilog=TASKS_EXAMPLES)
def list_tasks(
    names: Annotated[list[str] | None, names_argument("sts-b")] = None,
    data: Data = None,
    as_json: PrintJson = False,
    details: Details = False,
) -> None:
    """List the tasks by family, and which of them --data has."""
    folder = None if data is None else load("isoscope.tasks.registry:data_folder")(data)
    everything = chosen("task", contents()["tasks"], names)
    own = [item for item in everything if "written" in item]
    rows = [describe_task(item, folder) for item in everything if "written" not in item]
    if as_json:
        print_facts(rows)
        return
    if not (details or names):
        load("isoscope.cli.output:print_screen")(task_screen(rows, own, folder), console())
        return
    for row in rows:
        size = f"{row['size']:,} {row['unit']}"
        shown = {**row, "metrics": ", ".join(row["metrics"])}
        titles = ("data", "layout", "parts", "protocol", "metrics", "citation", "licence")
        facts = {title: shown[title] for title in titles}
        show_entry(f"{row['name']} ({row['family']}, {size})", "", facts)
    for item in own:
        show_entry(item["written"], item["about"], {})


# What the tasks of a family score, in the order of the list.
FAMILIES = {
    "word-similarity": "pairs of words, for word vectors",
    "sts": "pairs of sentences, for models",
    "wic": "a word in two sentences, for models",
    "classification": "texts with a class, for models",
    "token-classification": "words of texts with a class, for models",
}


def task_screen(
    rows: list[dict[str, Any]], own: list[dict[str, Any]], folder: Path | None
) -> Screen:
    """Return the tasks of every family, and what is there of them."""
    from isoscope.results.screen.blocks import Block, Fact, Screen, Text

    body: list[list[Block]] = []
    for family, about in FAMILIES.items():
        names = " ".join(row["name"] for row in rows if row["family"] == family)
        body.append([Text(f"{family}: {about}"), Fact("", names)])
    of_own = "tasks whose name includes a file or folder of your own, or another task"
    body.append([Text(of_own), Fact("", " ".join(item["written"] for item in own))])
    facts = []
    if folder is None:
        facts.append(Fact("Data", "--data FOLDER says which of them a folder has"))
    else:
        found = [row["name"] for row in rows if row["present"]]
        absent = [row["name"] for row in rows if not row["present"]]
        if absent and found:
            facts.append(Fact("Data", f"{folder} lacks {', '.join(absent)}"))
        else:
            facts.append(Fact("Data", f"{folder} has {'all' if found else 'none'} of them"))
    return Screen(
        f"tasks · {len(rows)} in {len(FAMILIES)} families",
        [],
        body,
        [
            *facts,
            Fact("Next", "isoscope list tasks sts-b", "files, protocol and scores of one",
                 command=True),
            Fact("More", "--details  the same for all"),
        ],
    )  # fmt: skip


def describe_task(stored: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return what is known about a task, and where its data are."""
    if folder is None:
        sought = f"{stored['file']}, not searched for, because no --data folder is given"
        return {**stored, "present": False, "data": sought}
    from isoscope.tasks.registry import DataFile, Task

    known = {field.name: stored[field.name] for field in fields(Task)}
    task = Task(**{**known, "files": tuple(DataFile(**file) for file in known["files"])})
    absent = task.absent(folder)
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        data = f"{absent[0]}{more}, not in {folder}"
    else:
        data = ", ".join(places(task, folder))
    return {**stored, "present": not absent, "data": data}


def places(task: Task, folder: Path) -> list[str]:
    """Name the file that a task reads, or the folders of its files."""
    try:
        paths = list(task.paths(folder).values())
    except UsageError as error:
        return [str(error)]
    if len(paths) == 1:
        return [str(paths[0])]
    return list(dict.fromkeys(str(path.parent) for path in paths))


def interval_of(item: dict[str, Any]) -> str:
    """Say whether a measure comes with an interval."""
    if item["table"]:
        return ""
    return f"none: {item['no_interval']}" if item["no_interval"] else "95 %"
