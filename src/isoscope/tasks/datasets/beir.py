"""Retrieval on the user's own data: queries, documents, and which of them belong together.

The layout is that of BEIR (Thakur et al., 2021, BEIR: A heterogeneous benchmark for zero-shot
evaluation of information retrieval models, NeurIPS): ``corpus.jsonl``, ``queries.jsonl`` and
``qrels/test.tsv``. Where vectors are computed already, ``corpus.ids`` and ``queries.ids`` with an
id a line take the place of the texts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.lines import (
    BLANKS,
    as_number,
    json_rows,
    json_text,
    tab_rows,
    text_lines,
)

LAYOUT = (
    "corpus.jsonl with _id, title and text, queries.jsonl with _id and text, and qrels/test.tsv "
    "with query-id, corpus-id and score; or corpus.ids and queries.ids with one id per line, in "
    "the order of the vectors' rows"
)


# A gain of 2^score must be a number still, and sums of gains exact.
LARGEST_SCORE = 1_000


@dataclass(frozen=True)
class Texts:
    """Queries or documents.

    Attributes
    ----------
    ids : tuple of str
        Their ids, all different, in the order of the file.
    texts : tuple of str or None
        Their texts; None where only vectors are there.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...] | None


@dataclass(frozen=True)
class RetrievalSet:
    """Queries, documents, and what people said of them.

    Attributes
    ----------
    queries, documents : Texts
        What is searched for, and what is searched.
    judgements : mapping of str to mapping of str to int
        For every judged query the documents that people looked at, and how relevant they are; 0 or
        less is not relevant. Queries without judgements are not in it.
    """

    queries: Texts
    documents: Texts
    judgements: Mapping[str, Mapping[str, int]]


def has_texts(folder: str | Path) -> bool:
    """Whether a folder holds the texts of documents and queries, not their ids alone."""
    return all((Path(folder) / f"{name}.jsonl").is_file() for name in ("corpus", "queries"))


def read_retrieval(folder: str | Path, split: str = "test") -> RetrievalSet:
    """Read a folder in BEIR's layout.

    Parameters
    ----------
    folder : str or Path
        The folder.
    split : str
        Which judgements: the name of a file in ``qrels``.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; it should hold {LAYOUT}")
    qrels = folder / "qrels" / f"{split}.tsv"
    if not qrels.is_file():
        there = sorted(path.stem for path in folder.glob("qrels/*.tsv"))
        hint = f"there are {', '.join(there)}; " if there else ""
        raise UsageError(f"there is no {qrels}; {hint}the folder should hold {LAYOUT}")
    queries = read_texts(folder, "queries")
    documents = read_texts(folder, "corpus")
    judgements = read_judgements(qrels, frozenset(queries.ids), frozenset(documents.ids))
    return RetrievalSet(queries, documents, judgements)


def read_texts(folder: Path, name: str) -> Texts:
    """Read queries or documents: their texts, or where there are none, their ids."""
    path = folder / f"{name}.jsonl"
    if not path.is_file():
        ids = folder / f"{name}.ids"
        if not ids.is_file():
            raise UsageError(
                f"there is neither {path.name} nor {ids.name} in {folder}; it should hold {LAYOUT}"
            )
        return Texts(read_ids(ids), None)
    lines: dict[str, int] = {}
    texts = []
    for number, row in json_rows(path):
        where = f"{path}: line {number}"
        own = row.get("_id")  # some releases have numbers in the place of strings
        name_of = str(own) if type(own) is int else json_text(row, "_id", where)
        add_id(lines, name_of, number, path)
        title = json_text(row, "title", where) if row.get("title") is not None else ""
        texts.append(f"{title} {json_text(row, 'text', where)}".strip(BLANKS))
    if not lines:
        raise DataError(f"{path} is empty")
    return Texts(tuple(lines), tuple(texts))


def read_ids(path: Path) -> tuple[str, ...]:
    """Read an id a line, in the order of the rows of a file of vectors."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text_lines(path), start=1):
        add_id(lines, line.strip(BLANKS), number, path)
    return tuple(lines)


def add_id(lines: dict[str, int], own: str, number: int, path: Path) -> None:
    """Note the line of an id, which must have one and be the only one to have it."""
    if not own:
        raise DataError(f"{path}: line {number} has an empty id")
    if own in lines:
        raise DataError(f"{path}: line {number}: the id {own!r} is that of line {lines[own]} too")
    lines[own] = number


def read_judgements(
    path: Path, queries: Collection[str], documents: Collection[str]
) -> dict[str, dict[str, int]]:
    """Read which documents are relevant for which queries; both must exist.

    Parameters
    ----------
    path : Path
        Three columns with tabs between them: query, document and a whole number. A first line whose
        number is none is a header.
    queries, documents : collection of str
        The ids that there are.
    """
    judgements: dict[str, dict[str, int]] = {}
    for number, (query, document, written) in tab_rows(
        path, (3, 3), "query-id, corpus-id and score"
    ):
        where = f"{path}: line {number}"
        score = as_number(written, int)
        if score is None:
            if number == 1:
                continue
            raise DataError(f"{where}: the score should be a whole number, not {written!r:.60}")
        if abs(score) > LARGEST_SCORE:
            raise DataError(
                f"{where}: the score should be at most {LARGEST_SCORE:,}, not {written!r:.60}"
            )
        if query not in queries:
            raise DataError(f"{where}: there is no query {query!r}")
        if document not in documents:
            raise DataError(f"{where}: there is no document {document!r}")
        judged = judgements.setdefault(query, {})
        if judged.setdefault(document, score) != score:
            raise DataError(
                f"{where}: query {query!r} and document {document!r} have the score "
                f"{judged[document]} on another line"
            )
    if not any(score > 0 for judged in judgements.values() for score in judged.values()):
        raise DataError(f"{path} marks no document as relevant")
    return judgements
