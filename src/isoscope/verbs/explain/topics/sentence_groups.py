"""Groups of sentences that share their structure and no meaning: made from frames, or from a file.

Frames are clauses with open places; these and the words to put there are in
``words/sentences.toml``. A frame is a subject, a predicate and a further clause or phrase before or
behind them. Every further part holds a comma and an *of* between two *the*, so that all sentences
have all four words. Apart from the open places, frames hold function words alone.

An open place is ``{kind}`` or ``{kind:form}``. Kinds are the keys of ``LEXICON``; forms are ``s``
(plural), ``ed`` (past and participle) and ``ing``. ``BE`` becomes *was* or *were*, as the subject
demands.

A group is one frame whose open places are filled six times, each time with other content words: no
two content words of a group begin with the same four letters, so that none is derived from another.
No two frames share both subject and predicate.

Sentences of a group share their function words too, and nearly their lengths: what tells groups
apart is structure as words and order show it, not syntax alone.

References
----------
Rajaee & Pilehvar (2021), section 5.1, take 200 groups of six sentences from the data of Ravfogel et
al. (2020), Unsupervised distillation of syntactic information from contextualized word
representations. These here are made anew, after the same idea.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoscope.errors import DataError
from isoscope.tasks.datasets.lines import JSON_ENDINGS, check_texts, json_rows, json_text, tab_rows
from isoscope.verbs.explain.topics.base import word_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


FOUND = tomllib.loads(word_file("sentences.toml"))
# Content words by what they can stand for; verbs with forms in their base form, regular ones.
LEXICON: dict[str, tuple[str, ...]] = {
    kind: tuple(words.split()) for kind, words in FOUND["lexicon"].items()
}


@dataclass(frozen=True)
class Subject:
    """Who a sentence is about."""

    text: str
    be: Literal["was", "were"] = "was"


SUBJECTS = tuple(Subject(**about) for about in FOUND["subjects"])
PREDICATES: tuple[str, ...] = tuple(FOUND["predicates"])
# Sentences around a clause of a subject and a predicate.
WHOLES: tuple[str, ...] = tuple(FOUND["wholes"])


def frame(subject: Subject, predicate: str, whole: str) -> str:
    """Put the parts of a sentence together; its open places stay open."""
    clause = f"{subject.text} {predicate.replace('BE', subject.be)}"
    return whole.replace("CLAUSE", clause)


# As many as the paper has.
GROUPS = 200
SENTENCES = 6

# Letters in which content words of a group differ: *paint* and *painted* share them.
STEM = 4

OPEN = re.compile(r"\{(\w+)(?::(\w+))?\}")
ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")


@dataclass(frozen=True)
class SentenceGroup:
    """Sentences of one structure.

    Attributes
    ----------
    name : str
        What the group is called; of made ones the frame.
    sentences : tuple of str
        Two or more.
    words : tuple of tuple of str
        The content words of every sentence in their base form; empty for groups of a file.
    """

    name: str
    sentences: tuple[str, ...]
    words: tuple[tuple[str, ...], ...] = ()


def made_groups(
    seed: int = 0, groups: int = GROUPS, sentences: int = SENTENCES
) -> list[SentenceGroup]:
    """Make groups of sentences, the same ones for the same seed.

    Parameters
    ----------
    seed : int
        Of frames and words.
    groups, sentences : int
        How many groups, and how many sentences each.

    Examples
    --------
    >>> len(made_groups()), len(made_groups()[0].sentences)
    (200, 6)
    """
    drawn = random.Random(seed)
    frames = list(all_frames(drawn))
    drawn.shuffle(frames)
    return [filled(text, sentences, drawn) for text in frames[:groups]]


def all_frames(drawn: random.Random) -> Iterator[str]:
    """Yield a frame for every pair of a subject and a predicate.

    The sentences around them are dealt in turn, so that each comes about as often as any other.
    """
    subjects, predicates, wholes = list(SUBJECTS), list(PREDICATES), list(WHOLES)
    for parts in (subjects, predicates, wholes):
        drawn.shuffle(parts)
    for i, subject in enumerate(subjects):
        for j, predicate in enumerate(predicates):
            yield frame(subject, predicate, wholes[(i + j) % len(wholes)])


def filled(text: str, sentences: int, drawn: random.Random) -> SentenceGroup:
    """Fill the open places of a frame several times, each time with other words."""
    kinds = [kind for kind, _ in OPEN.findall(text)]
    # Small kinds choose first: they have the fewest words that share no stem with others.
    order = sorted(range(len(kinds)), key=lambda place: len(LEXICON[kinds[place]]))
    chosen: list[list[str]] = [[] for _ in kinds]
    stems: set[str] = set()
    for place in order:
        for word in drawn.sample(LEXICON[kinds[place]], len(LEXICON[kinds[place]])):
            if len(chosen[place]) < sentences and word[:STEM] not in stems:
                stems.add(word[:STEM])
                chosen[place].append(word)
        if len(chosen[place]) < sentences:
            raise DataError(f"too few words for {sentences} sentences like {text!r}; ask for fewer")
    rows = list(zip(*chosen, strict=True))
    return SentenceGroup(text, tuple(sentence(text, words) for words in rows), tuple(rows))


def sentence(text: str, words: tuple[str, ...]) -> str:
    """Put words into the open places of a frame, in order."""
    rest = iter(words)
    whole = OPEN.sub(lambda place: inflected(next(rest), place[2] or ""), text)
    whole = ARTICLE.sub(r"\1n ", whole)
    return whole[0].upper() + whole[1:]


def inflected(word: str, form: str) -> str:
    """Return a form of a regular word: ``s``, ``ed``, ``ing`` or none."""
    if form in ("ed", "ing") and word.endswith("e"):
        return word[:-1] + form
    return word + form


def read_groups(path: Path) -> list[SentenceGroup]:
    """Read groups from a file: a sentence a line, with the name of its group.

    Parameters
    ----------
    path : Path
        JSON lines with ``group`` and ``text``, by its ending, or lines of group, tab and sentence.
        Sentences of a group need not stand together.
    """
    found: dict[str, list[str]] = {}
    rows = json_groups(path) if path.suffix.lower() in JSON_ENDINGS else tab_groups(path)
    for name, text in rows:
        found.setdefault(name, []).append(text)
    if len(found) < 2:
        raise DataError(f"{path} holds {len(found)} groups of sentences; it takes at least two")
    for name, texts in found.items():
        if len(texts) < 2:
            raise DataError(f"{path}: group {name!r} has one sentence; every group has two or more")
        repeated, times = Counter(texts).most_common(1)[0]
        if times > 1:
            raise DataError(
                f"{path}: group {name!r} holds {repeated!r} {times} times; it would find itself"
            )
    return [SentenceGroup(name, tuple(texts)) for name, texts in found.items()]


def json_groups(path: Path) -> Iterator[tuple[str, str]]:
    """Yield group and sentence of every object."""
    for number, row in json_rows(path):
        where = f"{path}: line {number}"
        name = row.get("group")
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise DataError(f"{where} needs a name or a number under 'group'")
        text = json_text(row, "text", where)
        check_texts([str(name), text], where)
        yield str(name), text


def tab_groups(path: Path) -> Iterator[tuple[str, str]]:
    """Yield group and sentence of every line."""
    for number, fields in tab_rows(path, (2, 2), "group and sentence"):
        check_texts(fields, f"{path}: line {number}")
        yield fields[0], fields[1]
