"""What the readers of data sets give out: one example of a task each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextPair:
    """Two texts and how alike people find them.

    Attributes
    ----------
    first, second : str
        The texts, without blanks around them.
    score : float
        What people gave the pair, on the data set's own scale.
    subset : str
        The part of the set that the pair is from: a source of text such as ``MSRvid``, or a split.
    """

    first: str
    second: str
    score: float
    subset: str


@dataclass(frozen=True)
class WordInContext:
    """One word in two sentences, and whether it means the same in both.

    Attributes
    ----------
    word : str
        The word as a dictionary has it.
    part_of_speech : str
        ``N`` or ``V``.
    first, second : str
        The sentences as they stand in the file.
    first_index, second_index : int
        Which token of each sentence the word is; tokens have whitespace between them.
    first_span, second_span : tuple of int
        Where that token begins and ends in its sentence, in characters.
    same : bool
        Whether people find the two meanings the same.
    split : str
        ``train``, ``dev`` or ``test``.
    """

    word: str
    part_of_speech: str
    first: str
    second: str
    first_index: int
    second_index: int
    first_span: tuple[int, int]
    second_span: tuple[int, int]
    same: bool
    split: str


@dataclass(frozen=True)
class LabelledText:
    """A text, or two, with the class that people gave.

    Attributes
    ----------
    first : str
        The text; a few of SentEval's are empty.
    second : str or None
        The other text where the task is about two.
    label : str
        One of the task's ``labels``, as the release writes it.
    split : str
        The part of the set; ``all`` where the release has no splits.
    """

    first: str
    second: str | None
    label: str
    split: str


@dataclass(frozen=True)
class TaggedSentence:
    """The tokens of a sentence with a class each.

    Attributes
    ----------
    document : str
        The text that the sentence is from, such as ``brown1/br-a01``: sentences of a document are
        better kept on one side of a split.
    tokens : tuple of str
        Words as they stand, and punctuation; a multiword is one token, joined by ``_``.
    tags : tuple of (str or None)
        The class of each token, None where the release gives none.
    """

    document: str
    tokens: tuple[str, ...]
    tags: tuple[str | None, ...]

    @property
    def part(self) -> str:
        """The part of the corpus: what stands before the slash."""
        return self.document.partition("/")[0]
