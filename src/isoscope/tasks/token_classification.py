"""Words in sentences, to be classified on frozen features: parts of speech."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError, UsageError
from isoscope.models.tokens import Mention
from isoscope.tasks.class_problem import CHOSEN_ON, TEST, TRAIN, ClassProblem, numbered
from isoscope.tasks.probes.logistic import LogisticProbe
from isoscope.tasks.semcor_data import PUNCTUATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.tasks.examples import TaggedSentence
    from isoscope.tasks.probes.contract import Probe
    from isoscope.tasks.text_tasks import TokenClassification


SENTENCES = 1_000
"""Sentences that are drawn."""

TENTHS = ((TEST, 2), (CHOSEN_ON[0], 1))
"""Tenths of the documents that are scored and chosen on; the others are learned from."""


@dataclass(frozen=True)
class WordProblem(ClassProblem):
    """Words of sentences that were drawn from documents."""

    drawn: str = ""
    """How, for a protocol."""

    def __str__(self) -> str:
        return f"{super().__str__()}; {self.drawn}"


def word_problem(
    task: TokenClassification,
    sentences: Sequence[TaggedSentence],
    probe: Probe | None = None,
    *,
    most: int = SENTENCES,
    seed: int = 0,
) -> WordProblem:
    """Return the tagged words of some sentences, to be classified.

    Punctuation is left out: its class is to be seen in the token itself, and would lift every
    score. Seven tenths of the documents are ``train``, one ``dev`` and two ``test``, so that no
    document is on two sides.

    Parameters
    ----------
    task : TokenClassification
        Whose classes.
    sentences : sequence of TaggedSentence
        As the task loads them.
    probe : Probe, optional
        Logistic regression by default.
    most : int
        Sentences that are drawn at random, of those with a tagged word.
    seed : int
        Of the sentences and of the documents' parts.
    """
    if most < 1:
        raise UsageError(f"{task.name} draws one sentence or more, not {most}")
    tagged = [sentence for sentence in sentences if any(map(is_word, sentence.tags))]
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.permutation(len(tagged))[:most])
    chosen = [tagged[k] for k in drawn]
    part_of = parts_of_documents(task.name, [sentence.document for sentence in chosen], rng)
    words = [
        (text, start, end, tag, sentence.document)
        for sentence in chosen
        for text, start, end, tag in tagged_words(sentence)
    ]
    texts, text_of = numbered([word[0] for word in words])
    codes = {label: code for code, label in enumerate(task.labels)}
    return WordProblem(
        task.name,
        "words",
        tuple(texts),
        task.labels,
        np.arange(len(words)),
        None,
        np.array([codes[word[3]] for word in words], np.intp),
        np.array([part_of[word[4]] for word in words], object),
        task.metrics[0],
        tuple(
            Mention(int(text), word[1], word[2]) for text, word in zip(text_of, words, strict=True)
        ),
        LogisticProbe() if probe is None else probe,
        documents=np.unique([word[4] for word in words], return_inverse=True)[1],
        drawn=(
            f"{len(chosen):,} of {len(tagged):,} sentences drawn (seed {seed}), punctuation left "
            "out, no document on two sides"
        ),
    )


def is_word(tag: str | None) -> bool:
    """Whether a token has a class and is no punctuation."""
    return tag is not None and tag != PUNCTUATION


def tagged_words(sentence: TaggedSentence) -> Iterator[tuple[str, int, int, str]]:
    """Give out every tagged word: the text, where it begins and ends there, and its class.

    The text is the tokens with blanks between them, within multiwords too.
    """
    forms = [form.replace("_", " ").strip() or form for form in sentence.tokens]
    text, start = " ".join(forms), 0
    for form, tag in zip(forms, sentence.tags, strict=True):
        if tag is not None and is_word(tag):
            yield text, start, start + len(form), tag
        start += len(form) + 1


def parts_of_documents(
    task: str, documents: Sequence[str], rng: np.random.Generator
) -> dict[str, str]:
    """Say of every document which part it is, at random."""
    names = sorted(set(documents))
    if len(names) < 3:
        raise DataError(
            f"{task}: sentences of {len(names)} documents; three are needed to learn, to choose "
            "and to score on"
        )
    order = [names[k] for k in rng.permutation(len(names))]
    parts = dict.fromkeys(order, TRAIN)
    begin = 0
    for part, tenths in TENTHS:
        size = max(1, len(order) * tenths // 10)
        parts.update(dict.fromkeys(order[begin : begin + size], part))
        begin += size
    return parts
