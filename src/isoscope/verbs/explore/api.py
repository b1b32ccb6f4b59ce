"""``explore()``: a page of this machine on which vectors are looked at."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError, require
from isoscope.verbs.explore.session import Spaces
from isoscope.verbs.explore.word_rows import MOST_TOKENS, read_model, read_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.progress import Progress


def explore(
    source: Any,
    text: Any = None,
    *,
    column: str | None = None,
    words: str | None = None,
    layers: str | None = None,
    tokens: int | None = None,
    drop_invalid: bool = False,
    sample: int = 4_000,
    seed: int = 0,
    port: int = 0,
    open_browser: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a page on which vectors are looked at, until Ctrl-C.

    It listens on 127.0.0.1 and answers only to the address that ``tell`` is given. Nothing is
    uploaded or written.

    Parameters
    ----------
    source : str, Path, array, CloudGroup or Model
        Vectors, as ``measure`` takes them; with ``text`` a model, as ``profile`` takes it.
    text : str, Path, list of str or TextSource, optional
        Texts that the model reads.
    column : str, optional
        Array, column or field, if the file has several; with ``text``, which column of it.
    words : str, optional
        Which label holds the words; by default ``word``, or the only one.
    layers : str, optional
        Layers of the model, with commas.
    tokens : int, optional
        Tokens of the text to read, at most; 20,000 by default.
    drop_invalid : bool
        Exclude rows with NaN or infinity.
    sample : int
        Number of random points to draw; neighbours are those of all rows.
    seed : int
        Of all that is drawn at random.
    port : int
        Port to listen on; 0 is any free one.
    open_browser : bool
        Open the page in a browser.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    tell : callable
        Called with the address of the page, once it is served.
    """
    if text is None and not (layers is None and tokens is None):
        raise UsageError("--layers and --tokens are of a model that reads texts: add --text")
    if text is not None and (words is not None or drop_invalid):
        raise UsageError("--words and --drop-invalid are of a source of vectors: leave out --text")
    server = load_server()
    sock = server.listen(port)  # a port that is taken is told before anything long is read
    try:
        if text is None:
            explored = read_vectors(
                source, column=column, words=words, drop_invalid=drop_invalid, seed=seed,
                progress=progress,
            )  # fmt: skip
        else:
            explored = read_model(
                source, text, column=column, layers=layers, tokens=tokens or MOST_TOKENS,
                seed=seed, progress=progress,
            )  # fmt: skip
        server.serve(Spaces(explored, sample, seed), sock, browser=open_browser, tell=tell)
    finally:
        sock.close()


def load_server() -> Any:
    """Load the server; say in one line what is missing, before anything long is done."""
    for package in ("starlette", "uvicorn"):
        require(package, "explore needs starlette and uvicorn; pip install 'isoscope[report]'")
    return import_module("isoscope.verbs.explore.server")
