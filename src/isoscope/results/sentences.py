"""Sentences of a result with what each of them is about, so that no screen goes by its words.

Whoever makes a sentence knows what it is about and says so: its role. A screen places sentences by
their roles, so that a sentence may be worded anew without being lost. Files of before this have
sentences without roles; a screen shows these with its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.results.fields import REMARKS

if TYPE_CHECKING:
    from isoscope.results.result import Result

# Field of a result, and of a verdict: its sentences with their roles.
SENTENCES = "sentences"

# Role of sentences of which no role is known.
UNKNOWN_ROLE = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence, and what it is about.

    Attributes
    ----------
    role : str
        What it is about, in the words of the room that makes it.
    text : str
        The sentence.
    brief : str
        The sentence as a screen has room for it, without limits and p-values; by default ``text``.
    """

    role: str
    text: str
    brief: str = ""

    @property
    def short(self) -> str:
        """The sentence for a screen."""
        return self.brief or self.text

    def to_dict(self) -> dict[str, str]:
        """Return the sentence as a plain dictionary."""
        brief = {"brief": self.brief} if self.brief else {}
        return {"role": self.role, "text": self.text, **brief}


def with_role(role: str, texts: Iterable[str]) -> list[Sentence]:
    """Return sentences of one role."""
    return [Sentence(role, text) for text in texts]


def as_remarks(sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return the fields of a result that its sentences stand in: as texts, and with their roles."""
    return {
        REMARKS: [one.text for one in sentences],
        SENTENCES: [one.to_dict() for one in sentences],
    }


def as_verdict(sentences: Sequence[Sentence], otherwise: str = "") -> dict[str, Any]:
    """Return the fields of a verdict that its sentences stand in; ``otherwise`` without any."""
    return {
        "sentence": " ".join(one.text for one in sentences) or otherwise,
        SENTENCES: [one.to_dict() for one in sentences],
    }


def remarks_of(result: Result) -> list[Sentence]:
    """Return the sentences about a result as a whole."""
    return read(result.extra, [str(text) for text in result.extra.get(REMARKS) or []])


def sentences_of(verdict: Mapping[str, Any]) -> list[Sentence]:
    """Return the sentences of a verdict."""
    whole = str(verdict.get("sentence") or "")
    return read(verdict, [whole] if whole else [])


def read(fields: Mapping[str, Any], texts: Sequence[str]) -> list[Sentence]:
    """Return sentences with their roles; where those are others than the texts, the texts count.

    Examples
    --------
    >>> read({}, ["Nothing stands out."])
    [Sentence(role='', text='Nothing stands out.', brief='')]
    """
    stored = fields.get(SENTENCES)
    known = [
        Sentence(str(one["role"]), str(one["text"]), str(one.get("brief", "")))
        for one in (stored if isinstance(stored, list) else [])
        if isinstance(one, Mapping) and {"role", "text"} <= set(one)
    ]
    if known and " ".join(one.text for one in known) == " ".join(texts):
        return known
    return with_role(UNKNOWN_ROLE, texts)


def of_roles(sentences: Iterable[Sentence], *roles: str) -> list[str]:
    """Return the sentences of some roles, as a screen has room for them."""
    return [one.short for one in sentences if one.role in roles]
