"""``isoscope list``: what there is to choose from."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.cli.contents import contents
from isoscope.cli.options import Data, Details, PrintJson, command_group
from isoscope.cli.streams import console, print_facts
from isoscope.errors import UsageError
from isoscope.registry import load
from isoscope.results.screen.cells import padded, wrapped

if TYPE_CHECKING:
    from isoscope.tasks.registry import Task

MEASURES_EXAMPLES = "Examples:\n\nisoscope list measures\n\nisoscope list measures --details"

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


@list_app.command(
    "measures", epilog="Examples:\n\nisoscope list measures\n\nisoscope list measures --details"
)
def list_measures(as_json: PrintJson = False, details: Details = False) -> None:
    """List every measure: title, key, symbol, range, direction, and when to look at it."""
    measures = contents()["measures"]
    if as_json:
        print_facts(measures)
        return
    of_vectors = [item for item in measures if "of" not in item]
    of_layers = [item for item in measures if "of" in item]
    if not details:
        show_measure_table({"Of vectors": of_vectors, "Of layers": of_layers})
        return
    screen = console()
    screen.print(SYMBOLS)
    for item in of_vectors:
        alias = f", also {item['alias']}" if item["alias"] else ""
        by_name = "" if item["default"] else ", by name or with all"
        show_measure(item, alias, by_name, interval_of(item))
    screen.print("\nFor the layers of a model over a text, computed by isoscope profile:")
    for item in of_layers:
        show_measure(item, f", and /{', /'.join(item['also'])}" if item["also"] else "")


# Which way is more even, as a sign.
ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def show_measure_table(measures: dict[str, list[dict[str, Any]]]) -> None:
    """Print a line or two for every measure, under headings."""
    screen = console()
    room = max(min(screen.width, 120), 40)
    screen.print("Title, key, symbol and range of every measure, and when to look at it.")
    legend = "↑ ↓ the more even direction   * depends on the norm   --details has formulas"
    screen.print(legend, style="dim", soft_wrap=True)
    for heading, items in measures.items():
        screen.print(f"\n{heading}", style="bold", soft_wrap=True)
        for item in items:
            facts = [item["name"] + " *" * item["length_dependent"], item["symbol"], item["range"]]
            facts.append(ARROWS[item["direction"]])
            about = "  ".join(fact for fact in facts if fact)
            screen.print(f"  {padded(item['title'], 36)}  {about}".rstrip(), soft_wrap=True)
            for line in wrapped(item["when"], room - 6):
                screen.print(f"      {line}", style="dim", soft_wrap=True)


def show_measure(item: dict[str, Any], also: str, by_name: str = "", interval: str = "") -> None:
    """Print what there is to know about a measure."""
    facts = {
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


@list_app.command("corrections", epilog="Example: isoscope list corrections")
def list_corrections(as_json: PrintJson = False) -> None:
    """Show every correction with its options, written NAME:option=value:option=value."""
    corrections = contents()["corrections"]
    if as_json:
        print_facts(corrections)
        return
    for item in corrections:
        text = ", ".join(f"{key}={written(value)}" for key, value in item["options"].items())
        show_entry(item["name"], item["about"], {"options": text})


def written(value: Any) -> str:
    """Write the default of an option as Python does."""
    return str(tuple(value)) if isinstance(value, list) else str(value)


@list_app.command("tasks", epilog="Example: isoscope list tasks --data benchmarks/")
def list_tasks(data: Data = None, as_json: PrintJson = False) -> None:
    """Show every task: its files, size, protocol, scores, citation, and whether it is there."""
    folder = None if data is None else load("isoscope.tasks.registry:data_folder")(data)
    everything = contents()["tasks"]
    named = [item for item in everything if "written" not in item]
    rows = [describe_task(item, folder) for item in named]
    if as_json:
        print_facts(rows)
        return
    for row in rows:
        size = f"{row['size']:,} {row['unit']}"
        shown = {**row, "metrics": ", ".join(row["metrics"])}
        titles = ("data", "layout", "parts", "protocol", "metrics", "citation", "licence")
        facts = {title: shown[title] for title in titles}
        show_entry(f"{row['name']} ({row['family']}, {size})", "", facts)
    for item in everything[len(named) :]:
        show_entry(item["written"], item["about"], {})


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
