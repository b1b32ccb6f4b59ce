"""Texts and what is to be written from them: translations, summaries.

Line-aligned files: line k of one language says what line k of the other does.

    train.de  train.en  val.de  val.en  test_2016_flickr.de  test_2016_flickr.en

as Multi30k has them, plain or compressed; or a single part such as WMT16's ``newsdev2016.en`` and
``newsdev2016.ro``, the end of which is then held out.

Articles and their summaries: CNN/DailyMail as a table.

    text,y          or          article,highlights

in ``cnn_dailymail.csv``, a sample whose end is held out, or in ``train.csv`` and ``test.csv`` (and
``validation.csv``), as the whole set is given out. Fields may be quoted and hold line ends.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from isoscope.data.location import Location
from isoscope.data.texts.readers import records, text_lines
from isoscope.errors import DataError, UsageError
from isoscope.tasks.registry import VARIABLE, data_folder, find_file, lookup
from isoscope.verbs.train.finetune.run import first_shuffled


class WrittenPair(NamedTuple):
    """A text, and what a model should write when it reads it."""

    source: str
    target: str


@dataclass(frozen=True)
class PairData:
    """The pairs of a task: those that are learned from, and those that are scored.

    ``dev`` is to choose settings on, and empty where the data have no such part. Notes say what was
    left out, and what is scored where the data have no test set. Languages are those of sources and
    of targets, where they differ.
    """

    train: tuple[WrittenPair, ...]
    scored: tuple[WrittenPair, ...]
    dev: tuple[WrittenPair, ...] = ()
    notes: tuple[str, ...] = ()
    languages: tuple[str, str] | None = None

    def first(self, limit: int | None) -> tuple[WrittenPair, ...]:
        """Return so many training pairs after shuffling them once, or all in their order."""
        return tuple(first_shuffled(self.train, limit))


Pairs: TypeAlias = tuple[WrittenPair, ...]
Notes: TypeAlias = tuple[str, ...]


def whole_pairs(pairs: Iterable[tuple[str, str]], name: str, nothing: str) -> tuple[Pairs, Notes]:
    """Keep the pairs that have both texts, and say how many have not.

    Parameters
    ----------
    pairs : iterable of tuple of str
        Sources and targets.
    name : str
        What the note calls their file.
    nothing : str
        The error where no pair has both.
    """
    stripped = [WrittenPair(source.strip(), target.strip()) for source, target in pairs]
    kept = tuple(pair for pair in stripped if pair.source and pair.target)
    if not kept:
        raise DataError(nothing)
    count = len(stripped) - len(kept)
    what = "pair that has" if count == 1 else "pairs that have"
    return kept, (f"{count:,} {what} an empty side left out of {name}",) if count else ()


def hold_out(pairs: Pairs, one_in: int, where: str) -> tuple[Pairs, Pairs]:
    """Cut off the last pairs, one in so many; they are scored, and never learned from."""
    count = len(pairs) // one_in
    if not count:
        raise DataError(
            f"{where} has {len(pairs)} pairs: too few to hold out one in {one_in} of them for "
            "scoring"
        )
    return pairs[:-count], pairs[-count:]


TRANSLATE = "translate"

# Names of files, without the language behind them, in the order of preference.
PARTS = {"train": ("train",), "dev": ("val", "dev", "valid", "newsdev*"), "test": ("test*",)}

ENDINGS = ("", ".gz", ".zst")

# One in so many pairs is scored where there is no second part.
HELD_OUT_TRANSLATIONS = 10


class Sides(NamedTuple):
    """Two files whose lines belong together."""

    source: Path
    target: Path


def languages_of(task: str) -> tuple[str, str]:
    """Return the two languages of ``translate:de-en``: from the first to the second."""
    _, _, languages = task.partition(":")
    source, dash, target = languages.partition("-")
    if not (source and dash and target) or source == target or "/" in languages:
        raise UsageError(
            f"{task}: name the languages as the files end on them, from one to the other, as in "
            f"{TRANSLATE}:de-en"
        )
    return source, target


def translation_data(task: str, data: str | Path | None = None) -> PairData:
    """Read the pairs of a translation task.

    Parameters
    ----------
    task : str
        Such as ``translate:de-en``.
    data : str or Path, optional
        The folder, or the one above it; by default what ``ISOSCOPE_DATA`` names.
    """
    languages = languages_of(task)
    parts = find_parts(task, data_folder(data), languages)
    learned, *others = parts
    train, notes = aligned(parts[learned])
    # What is learned from comes first and what is scored last: all that lies between is dev.
    if others:
        scored, more = aligned(parts[others[-1]])
        notes += more
    else:
        place = parts[learned].source.name
        train, scored = hold_out(train, HELD_OUT_TRANSLATIONS, str(parts[learned].source))
        notes += (
            f"{place} is the only part there is: its last {len(scored):,} pairs are scored, the "
            f"{len(train):,} before them are used for training",
        )
    if others and (learned, others[-1]) != ("train", "test"):
        here, there = parts[learned].source.name, parts[others[-1]].source.name
        notes += (f"trained on {here}, scored on {there}",)
    dev, more = aligned(parts["dev"]) if others[:-1] else ((), ())
    return PairData(train, scored, dev, notes + more, languages)


def find_parts(task: str, folder: Path | None, languages: tuple[str, str]) -> dict[str, Sides]:
    """Find the parts that have both languages: in the folder itself, or in one inside it."""
    source, target = languages
    expected = (
        f"{task} needs line-aligned files such as train.{source} and train.{target}, and "
        f"test.{source} and test.{target}, plain or .gz"
    )
    if folder is None:
        raise UsageError(
            f"{expected}; name the folder that holds them with --data (data=) or {VARIABLE}"
        )
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    for places in ([folder], inside):
        found = {place: parts for place in places if (parts := parts_in(place, languages))}
        if len(found) > 1:
            listed = ", ".join(map(str, found))
            raise UsageError(f"{task} is there more than once: {listed}; name one with --data")
        for place, parts in found.items():
            # Without this, another split would be scored in the place of one that lacks a side.
            for path, said in lone_sides(place, languages, parts):
                raise UsageError(f"{said}; add it, or take {path.name} away")
            return parts
    lone = [f"; {said}" for place in [folder, *inside] for _, said in lone_sides(place, languages)]
    raise UsageError(
        f"{expected}; there are none in {folder} or in a folder directly inside it"
        + "".join(lone[:1])
    )


def parts_in(place: Path, languages: tuple[str, str]) -> dict[str, Sides]:
    """Return the parts of a folder that have both languages."""
    found = {}
    for part, names in PARTS.items():
        sides = [stems(place, names, language) for language in languages]
        both = [stem for stem in sides[0] if stem in sides[1]]
        if both:
            found[part] = Sides(sides[0][both[0]], sides[1][both[0]])
    return found


def stems(place: Path, names: tuple[str, ...], language: str) -> dict[str, Path]:
    """Return files of a part by their name without the language, the preferred one first."""
    found: dict[str, Path] = {}
    for name in names:
        for ending in ENDINGS:
            for path in sorted(place.glob(f"{name}.{language}{ending}")):
                found.setdefault(path.name.removesuffix(f".{language}{ending}"), path)
    return found


def lone_sides(
    place: Path, languages: tuple[str, str], complete: Container[str] = ()
) -> Iterator[tuple[Path, str]]:
    """Go through files of which the other language is missing, and say which file that is.

    Of a part that is complete, some other file has both languages.
    """
    for part, names in PARTS.items():
        for language, missing in (languages, languages[::-1]):
            other = stems(place, names, missing)
            for stem, path in stems(place, names, language).items():
                if part not in complete and stem not in other:
                    yield path, f"{path} has no {stem}.{missing} beside it"


def aligned(sides: Sides) -> tuple[Pairs, Notes]:
    """Read the lines of two files that belong together; return pairs, and notes about them."""
    texts = [lines_of(path) for path in sides]
    if len(texts[0]) != len(texts[1]):
        raise DataError(
            f"{sides.source} has {len(texts[0]):,} lines, but {sides.target} has "
            f"{len(texts[1]):,}: they are not aligned"
        )
    nothing = f"{sides.source} and {sides.target} have no line with a text in both"
    return whole_pairs(zip(*texts, strict=True), sides.source.name, nothing)


def lines_of(path: Path) -> list[str]:
    """Read all lines of a file."""
    with text_lines(Location(str(path)), str(path)) as lines:
        found = list(lines)
    if not found:
        raise DataError(f"{path} is empty")
    return found


SUMMARIZE = "summarize"
SAMPLE = "cnn_dailymail.csv"

# The folder of the whole set, so that no other task's ``train.csv`` is taken for it.
WHOLE = "cnn_dailymail"

COLUMNS = (("text", "y"), ("article", "highlights"))

# One in so many pairs of a sample is scored.
HELD_OUT_SUMMARIES = 5


def summary_data(data: str | Path | None = None) -> PairData:
    """Read articles and summaries.

    Parameters
    ----------
    data : str or Path, optional
        The folder, or the one above it; by default what ``ISOSCOPE_DATA`` names.
    """
    folder = data_folder(data)
    if folder is not None and lookup(folder, f"{WHOLE}/train.csv"):
        return whole_set(folder)
    path = find_file(
        folder,
        SAMPLE,
        f"summarize needs {SAMPLE}, or {WHOLE}/train.csv and {WHOLE}/test.csv, with columns text "
        "and y, or article and highlights",
    )
    pairs, notes = summaries(path)
    train, scored = hold_out(pairs, HELD_OUT_SUMMARIES, str(path))
    said = (
        f"{path.name} has one part only: its last {len(scored):,} pairs are scored, the "
        f"{len(train):,} before them are used for training"
    )
    return PairData(train, scored, notes=(*notes, said))


def whole_set(folder: Path) -> PairData:
    """Read train, validation and test."""
    expected = f"summarize needs it beside {WHOLE}/train.csv"
    paths = {part: find_file(folder, f"{WHOLE}/{part}.csv", expected) for part in ("train", "test")}
    dev = lookup(folder, f"{WHOLE}/validation.csv")[:1]
    (train, notes), (scored, more) = (summaries(path) for path in paths.values())
    chosen, rest = summaries(dev[0]) if dev else ((), ())
    return PairData(train, scored, chosen, (*notes, *more, *rest))


def summaries(path: Path) -> tuple[Pairs, Notes]:
    """Read the pairs of one table, and notes about them."""
    with records(Location(str(path))) as table:
        _, header = next(table, (0, []))
        columns = next((both for both in COLUMNS if set(both) <= set(header)), None)
        if columns is None:
            raise DataError(
                f"{path} has the columns {', '.join(filter(None, header)) or '(none)'}; it needs "
                "text and y, or article and highlights"
            )
        places = [header.index(name) for name in columns]
        found = []
        for line, fields in table:
            if not fields:
                continue
            if len(fields) != len(header):
                raise DataError(
                    f"{path}: line {line} has {len(fields)} fields, the header has {len(header)}"
                )
            found.append((fields[places[0]], fields[places[1]]))
    nothing = f"{path} has no row with both {columns[0]} and {columns[1]}"
    return whole_pairs(found, path.name, nothing)
