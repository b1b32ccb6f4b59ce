"""Write what the registries have, as a page and as the file that ``isoscope list`` reads.

python docs/make_catalogue.py
"""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from isoscope.cli.contents import FILE
from isoscope.corrections.registry import all_corrections
from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES
from isoscope.measures.registry import Measure, all_measures
from isoscope.results.render import Markdown, markdown_table
from isoscope.tasks.registry import Task, all_tasks, own_kinds
from isoscope.verbs.explain.api import TOPICS
from isoscope.verbs.study.registry import all_studies

PAGE = Path(__file__).parent / "catalogue.md"


def page() -> str:
    """Return the page."""
    parts = [
        "# Catalogue",
        "<!-- Made by `python docs/make_catalogue.py`. -->",
        "All measures, corrections, topics and studies of isoscope. In a terminal, `isoscope list "
        "measures`, `isoscope list corrections` and `isoscope study list` print them.",
        "## Measures",
        "Measures marked * change with the norm of the vectors. The arrow shows which direction "
        "is more even.",
        measures(),
        "## Corrections",
        corrections(),
        "## Topics of `isoscope explain`",
        topics(),
        "## Studies",
        studies(),
    ]
    return "\n\n".join(parts) + "\n"


def measures() -> str:
    """Return every measure with its formula."""
    arrows = {"lower": "lower ↓", "higher": "higher ↑", "neither": "—"}
    rows = [
        [
            f"`{item.name}`" + " *" * item.length_dependent,
            item.summary,
            item.formula,
            item.range,
            arrows.get(item.direction, item.direction),
            item.reference,
        ]
        for item in all_measures()
    ]
    return table(["measure", "what it tells", "formula", "range", "more even", "reference"], rows)


def corrections() -> str:
    """Return every correction with the first sentence about it."""
    rows = [
        [f"`{name}`", (kind.__doc__ or "").strip().splitlines()[0]]
        for name, kind in all_corrections().items()
    ]
    return table(["correction", "what it does"], rows)


def topics() -> str:
    """Return every topic with what it needs."""
    rows = [[f"`{name}`", topic.title, topic.needs] for name, topic in TOPICS.items()]
    return table(["topic", "what it asks", "needs"], rows)


def studies() -> str:
    """Return every study with its claims."""
    rows = [
        [study.id, study.title, study.document, "<br>".join(claim.text for claim in study.claims)]
        for study in all_studies()
    ]
    return table(["study", "what it looks at", "document", "claims"], rows)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table of words that are Markdown; a bar in a cell is no border."""
    cells = [[Markdown(cell) for cell in row] for row in rows]
    return markdown_table([header, *cells], left=len(header))


def contents() -> str:
    """Return what ``isoscope list`` reads, as JSON with an item per line."""
    everything: dict[str, list[dict[str, Any]]] = {
        "measures": [
            *map(described_measure, all_measures()),
            *({**asdict(item), "of": "layers"} for item in CONTEXTUAL_MEASURES),
        ],
        "corrections": [
            {"name": "none", "about": "The cloud as it is.", "options": {}},
            *(described_correction(name, kind) for name, kind in all_corrections().items()),
        ],
        "tasks": [
            *map(described_task, all_tasks()),
            *({"written": kind.written, "about": kind.about} for kind in own_kinds()),
        ],
    }
    lists = []
    for name, items in everything.items():
        lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        lists.append(f'"{name}": [\n{lines}\n]')
    return "{\n" + ",\n".join(lists) + "\n}\n"


def described_measure(item: Measure) -> dict[str, Any]:
    """Return what is known about a measure as a plain dictionary."""
    names = (
        "name", "alias", "summary", "formula", "range", "direction", "length_dependent",
        "reference", "table", "default", "interval", "no_interval", "title", "symbol", "when",
    )  # fmt: skip
    known = {name: getattr(item, name) for name in names}
    return {**known, **{name: known[name] or None for name in ("alias", "no_interval")}}


def described_correction(name: str, kind: type[Any]) -> dict[str, Any]:
    """Return the first paragraph of a class's description and its options with their defaults."""
    paragraph = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return {"name": name, "about": " ".join(paragraph.split()), "options": kind().get_params()}


def described_task(task: Task) -> dict[str, Any]:
    """Return what is known about a task, wherever its data are."""
    sized = [(file.part, file.size) for file in task.files if file.part and file.size]
    return {
        **{field.name: getattr(task, field.name) for field in fields(Task)},
        "files": [asdict(file) for file in task.files],
        "metrics": [f"{task.name}/{metric}" for metric in task.metrics],
        "file": task.file,
        "size": task.size,
        "parts": ", ".join(f"{part} {size:,}" for part, size in sized),
    }


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    FILE.write_text(contents(), "utf-8")
