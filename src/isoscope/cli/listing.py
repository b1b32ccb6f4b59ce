"""``isoscope list``: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding

from isoscope.measures.registry import Measure, all_measures

list_app = typer.Typer(help="Show what there is to choose from.", no_args_is_help=True)

BETTER = {
    "higher": "higher is more even",
    "lower": "lower is more even",
    "neither": "neither way",
}


@list_app.callback()
def choose() -> None:
    """Show what there is to choose from."""


@list_app.command("measures", epilog="Example: isoscope list measures --json")
def list_measures(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every measure: formula, range, direction, dependence on length, reference."""
    if as_json:
        rows = [describe(item) for item in all_measures()]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False, markup=False)
    for item in all_measures():
        kind = " (table)" if item.table else ""
        alias = f", also {item.alias}" if item.alias else ""
        console.print(f"{item.name}{alias}{kind}", style="bold")
        for title, text in (
            ("formula", item.formula),
            ("range", item.range),
            ("direction", BETTER[item.direction]),
            ("depends on vector length", "yes *" if item.length_dependent else "no"),
            ("reference", item.reference),
        ):
            if text:
                console.print(Padding(f"{title}: {text}", (0, 0, 0, 4)))


def describe(item: Measure) -> dict[str, object]:
    """Return what is known about a measure as a plain dictionary."""
    return {
        "name": item.name,
        "alias": item.alias or None,
        "formula": item.formula,
        "range": item.range,
        "direction": item.direction,
        "length_dependent": item.length_dependent,
        "reference": item.reference,
        "table": item.table,
    }
