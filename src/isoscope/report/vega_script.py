"""The script that draws charts in a browser, as one piece that needs no network.

vl-convert puts Vega, Vega-Lite and vega-embed together, which takes seconds; so the piece is kept
with other things that can be made again, and named by the version that made it.
"""

from __future__ import annotations

import contextlib
from importlib import metadata

from isoscope.compute.vector_cache import open_cache
from isoscope.data.output import write_atomically
from isoscope.errors import IsoscopeError, UsageError

GLOBAL = "window.vegaEmbed = vegaEmbed;"
"""What the piece does when it is loaded."""

ENDING = "</script"
"""What would end a script inside a page."""


def vega_script() -> str:
    """Return JavaScript that defines ``vegaEmbed``."""
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError(
            "pictures need vl-convert-python; pip install 'isoscope[report]'"
        ) from error
    cache = open_cache(True)
    version = metadata.version("vl-convert-python")
    kept = None if cache is None else cache.folder.parent / f"vega-{version}.js"
    if kept is not None and kept.is_file():
        return kept.read_text("utf-8")
    script = str(vl_convert.javascript_bundle(GLOBAL)).replace(ENDING, "<\\/script")
    if kept is not None:
        with contextlib.suppress(OSError, IsoscopeError):  # it is there to save time only
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, script)
    return script
