"""Results as one page: verdict, numbers, pictures, tables, and how it was made.

Everything is inside the file: it opens from disk and needs no network. The script that draws charts
in a browser is put together by vl-convert out of Vega, Vega-Lite and vega-embed, which takes
seconds; so it is kept with other things that can be made again, and named by the version that made
it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

from isoscope.compute.vector_cache import open_cache
from isoscope.data.output import write_atomically
from isoscope.errors import IsoscopeError, UsageError, require
from isoscope.results.charts.chart import LONGEST_TABLE, Figure
from isoscope.results.charts.registry import figures_of
from isoscope.results.charts.vega import config
from isoscope.results.headline import headline
from isoscope.results.kinds import grids
from isoscope.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row


NEEDED = "pictures need vl-convert-python; pip install 'isoscope[report]'"

# What the piece does when it is loaded.
GLOBAL = "window.vegaEmbed = vegaEmbed;"

# What would end a script inside a page.
ENDING = "</script"


def vega_script() -> str:
    """Return JavaScript that defines ``vegaEmbed``."""
    vl_convert = require("vl_convert", NEEDED)
    cache = open_cache(True)
    version = metadata.version("vl-convert-python")
    kept = None if cache is None else cache.folder.parent / f"vega-{version}.js"
    if kept is not None and kept.is_file():
        return kept.read_text("utf-8")
    # Browsers read every end of a line as \n, and a policy names the script as they read it.
    made = str(vl_convert.javascript_bundle(GLOBAL)).replace("\r\n", "\n").replace("\r", "\n")
    script = made.replace(ENDING, "<\\/script")
    if kept is not None:
        with contextlib.suppress(OSError, IsoscopeError):  # it is there to save time only
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, script)
    return script


COLUMNS = ("subject", "part", "correction", "measure", "value", "low", "high", "log10", "n", "note")

# Numbers in the table of all: more would make a page that no phone opens.
MOST_ROWS = 5_000

MOST_PROTOCOLS = 30


def page(results: Sequence[Result], title: str = "") -> str:
    """Return a page about one result or several.

    Parameters
    ----------
    results : sequence of Result
        What is shown, in order.
    title : str
        Of the page; by default what the first result is about.
    """
    if not results:
        raise UsageError("a page needs at least one result")
    environment = templates()
    figures = figures_of(*results)
    opening = headline(results)
    rows = [row for result in results for row in result.rows]
    style, script, vega = read("page.css"), read("page.js"), vega_script() if figures else ""
    charts = {
        "specs": [figure.spec for figure in figures],
        "config": {mode: config(mode) for mode in ("light", "dark")},
    }
    return str(
        environment.get_template("page.html").render(
            title=title or opening.title,
            version=__version__,
            verdicts=opening.sentences,
            numbers=opening.numbers,
            figures=[in_page(figure) for figure in figures],
            grids=[grid for result in results for grid in grids(result)],
            every={
                "header": list(COLUMNS),
                "rows": [cells_of(row) for row in rows[:MOST_ROWS]],
                "cut": more_words(len(rows) - MOST_ROWS),
            },
            runs=[run_of(result) for result in results],
            policy=raw(policy([vega, script] if figures else [script], style)),
            style=raw(style),
            script=raw(script),
            vega=raw(vega),
            charts=raw(as_script(charts)),
        )
    )


def policy(scripts: Sequence[str], style: str) -> str:
    """Return a content security policy under which only these scripts run, and nothing is loaded.

    Each is named by its SHA-256, so that markup in a name, were it ever to reach the page as such,
    would be no script; and nothing may be evaluated.
    """
    allowed = " ".join(map(source_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {source_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def source_hash(text: str) -> str:
    """Return how a policy names an inline script or style."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def templates() -> Any:
    """Return the templates; all that is filled in is text, never markup."""
    jinja2 = require(
        "jinja2", "a page needs jinja2 and vl-convert-python; pip install 'isoscope[report]'"
    )
    loader = jinja2.FunctionLoader(read)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True)

    def table(header: list[str], rows: list[list[str]], title: str) -> Any:
        made = environment.get_template("table.html").render(header=header, rows=rows, title=title)
        return raw(made)

    environment.globals["table"] = table
    return environment


def read(name: str) -> str:
    """Return a template."""
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8")


def raw(text: str) -> Any:
    """Mark text as markup that is our own."""
    from markupsafe import Markup

    return Markup(text)


def as_script(value: Any) -> str:
    """Return JSON that cannot end the script that it stands in, whatever its strings hold."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def in_page(figure: Figure) -> dict[str, Any]:
    """Return what the page says of a figure; of a long table, the first rows."""
    more = len(figure.rows) - LONGEST_TABLE
    return {
        "name": figure.name,
        "title": figure.title,
        "alt": figure.alt,
        "header": figure.header,
        "rows": figure.rows[:LONGEST_TABLE],
        "cut": more_words(more),
    }


def more_words(more: int) -> str:
    """Say how many rows a table leaves out."""
    return f"And {more:,} more rows, all in the JSON of the result." if more > 0 else ""


def cells_of(row: Row) -> list[str]:
    """Return a number with all that is known of it, as text."""
    values = row.to_dict()
    return ["" if values.get(name) is None else as_text(values[name]) for name in COLUMNS]


def as_text(value: Any) -> str:
    """Return a cell: numbers with all digits that a person may want."""
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def run_of(result: Result) -> dict[str, Any]:
    """Return how a result was made."""
    protocols = list(dict.fromkeys(row.protocol for row in result.rows if row.protocol))
    more = len(protocols) - MOST_PROTOCOLS
    return {
        "command": result.command,
        "protocols": protocols[:MOST_PROTOCOLS] + ([f"… {more} more"] if more > 0 else []),
        "seeds": ", ".join(f"{name} {value}" for name, value in result.seeds.items()),
        "versions": ", ".join(f"{name} {value}" for name, value in result.versions.items()),
    }
