"""What every explanation gets and gives: a question about a model, and a finding in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.errors import DataError, MissingError, unknown_name
from isoscope.models.frequencies import Frequencies, from_text, from_wordfreq, token_counts
from isoscope.models.token_table import TokenSample, read_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.data.texts.base import TextSource
    from isoscope.models.checkpoints import Training
    from isoscope.models.model import Model
    from isoscope.progress import Progress
    from isoscope.results.result import Row, Table
    from isoscope.typing import Vector


# What topics that compare before and after compare, unless a user says otherwise.
CORRECTION = "cluster-pc-removal"

# Tokens that topics look at together, where memory allows.
MOST_TOKENS = 20_000

# Tokens below which a dimension stands out by chance.
FEWEST_TOKENS = 50


def word_file(name: str) -> str:
    """Return a file with words of English that topics need."""
    return resources.files(__package__).joinpath("words", name).read_text("utf-8")


def cosine(one: Vector, other: Vector) -> float | None:
    """Return the cosine of two vectors, None where one is zero."""
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / norms if norms else None


@dataclass
class Question:
    """A model, and what a user brings to explain it.

    Attributes
    ----------
    model : Model
        What is explained.
    texts : TextSource, optional
        What it reads.
    data : Path, optional
        Folder with benchmarks, for SemCor.
    training : Training, optional
        Checkpoints of the model, the last of which is ``model``.
    layer : str, optional
        The layer that topics of one layer look at; by default the last.
    correction : str
        What topics that compare before and after compare, as corrections are written.
    frequencies : {"text", "wordfreq"}
        Whose frequencies count.
    groups : Path, optional
        A file of groups of sentences, for structure.
    tokens : int
        How many tokens are looked at, at most.
    special_tokens : bool
        Whether tokens that the tokenizer adds count.
    seed : int
        Of all that is drawn at random.
    """

    model: Model
    texts: TextSource | None = None
    data: Path | None = None
    training: Training | None = None
    layer: str | None = None
    correction: str = CORRECTION
    frequencies: Literal["text", "wordfreq"] = "text"
    groups: Path | None = None
    tokens: int = MOST_TOKENS
    special_tokens: bool = False
    seed: int = 0
    progress: Progress | None = None

    def enough(self, topic: str) -> TokenSample:
        """Return the tokens, where they are enough for shares of a tenth to mean something."""
        if len(self.sample) < FEWEST_TOKENS:
            raise DataError(
                f"{topic} take at least {FEWEST_TOKENS} tokens, and the text has {len(self.sample)}"
            )
        return self.sample

    @cached_property
    def sample(self) -> TokenSample:
        """Tokens of the text in every layer, read once for all topics."""
        return read_tokens(
            self.model, self.some_texts, self.tokens, self.seed,
            special=self.special_tokens, progress=self.progress,
        )  # fmt: skip

    @property
    def some_texts(self) -> TextSource:
        """The text; it is missed where there is none."""
        if self.texts is None:
            raise MissingError("needs a text: --text FILE")
        return self.texts

    @cached_property
    def token_counts(self) -> NDArray[np.int64]:
        """How often every token of the vocabulary is in the text."""
        rows = self.model.embedding_cloud("input").rows
        return token_counts(self.model.tokenizer, self.some_texts, rows)

    @cached_property
    def token_frequencies(self) -> Frequencies:
        """How frequent tokens are, in the text or in English."""
        if self.frequencies == "wordfreq":
            return from_wordfreq(self.model.tokenizer, len(self.token_counts))
        return from_text(self.model.tokenizer, self.token_counts, self.some_texts.name)

    @cached_property
    def chosen_layer(self) -> str:
        """The layer that topics of one layer look at."""
        known = self.model.stacks[0].layers
        if self.layer is None:
            return known[-1]
        if self.layer not in known:
            raise unknown_name(f"layer of {self.model.name}", self.layer, known)
        return self.layer


@dataclass(frozen=True)
class KeyFigure:
    """A number that carries a finding, with its meaning and what it is to be compared with.

    Attributes
    ----------
    meaning : str
        What it is, in words that need no table around them.
    value : float, optional
        The number; None where it is undefined.
    against : float, optional
        What it would be otherwise.
    otherwise : str
        What ``against`` is, such as "by chance".
    digits : str
        How both are written.
    """

    meaning: str
    value: float | None
    against: float | None = None
    otherwise: str = ""
    digits: str = ".2f"

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as a plain dictionary."""
        return asdict(self)


@dataclass(frozen=True)
class Explanation:
    """What a topic found.

    Attributes
    ----------
    found : bool
        Whether the topic explains anything about this model.
    sentence : str
        What was found, with the figures that carry it, or that nothing was.
    rows, tables : list
        The figures; subject and topic are filled in by whoever puts topics together.
    brief : str
        The finding beside those of other topics: a clause without figures.
    figures : tuple of KeyFigure
        The few numbers that carry it, the most important first.
    lacks : str
        What was not given, so that nothing is known of what ``brief`` says; usually empty.
    """

    found: bool
    sentence: str
    rows: list[Row] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    brief: str = ""
    figures: tuple[KeyFigure, ...] = ()
    lacks: str = ""


@dataclass(frozen=True)
class Topic:
    """One kind of explanation.

    Attributes
    ----------
    name : str
        What ``--topic`` takes.
    title : str
        What it asks, in a few words.
    needs : str
        What a user must bring.
    explain : callable
        Answers a question; raises `MissingError` where something is missing.
    """

    name: str
    title: str
    needs: str
    explain: Callable[[Question], Explanation]
