"""Write docs/catalogue.md: measures, corrections, topics and studies, as the registries have them.

python docs/make_catalogue.py
"""

from __future__ import annotations

from pathlib import Path

from isoscope.corrections.registry import all_corrections
from isoscope.measures.registry import all_measures
from isoscope.results.render import Markdown, markdown_table
from isoscope.verbs.explain.api import TOPICS
from isoscope.verbs.study.registry import all_studies

PAGE = Path(__file__).parent / "catalogue.md"


def page() -> str:
    """Return the page."""
    parts = [
        "# Catalogue",
        "Made by `python docs/make_catalogue.py` from what is registered; `isoscope list` and "
        "`isoscope study show` have the same in a terminal.",
        "## Measures",
        "Those marked * change with the length of the vectors. An arrow says which way is more "
        "even.",
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


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
