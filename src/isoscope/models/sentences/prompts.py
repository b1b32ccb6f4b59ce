"""Prompts: what some models want in front of a text, by name or as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.models.sentences.sentence_pipeline import SETTINGS, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.models.model import Model

# What texts are to each other: any texts, or the documents and the queries of a search.
Role: TypeAlias = Literal["text", "document", "query"]

# What cannot be a prompt but only the name of one: prompts end with a space or a colon.
NAME = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class Prompts:
    """The prompts of one model.

    Attributes
    ----------
    model : str
        What messages call the model.
    known : mapping of str to str
        The prompts by name.
    default : str, optional
        The name of the one that texts get unless another is named.
    """

    model: str
    known: Mapping[str, str]
    default: str | None = None

    def find(self, given: str) -> str:
        """Return the prompt with this name, or the text itself where it cannot be a name.

        Examples
        --------
        >>> prompts = Prompts("e5", {"query": "query: "})
        >>> prompts.find("query")
        'query: '
        >>> prompts.find("passage: ")
        'passage: '
        >>> prompts.find("querry")
        Traceback (most recent call last):
            ...
        isoscope.errors.UsageError: no prompt of e5 is called 'querry'; did you mean query? known: query; a prompt of your own must contain a space or a colon, as in 'querry: '
        """  # noqa: E501
        if given in self.known:
            return self.known[given]
        if NAME.fullmatch(given):
            known = unknown_name(f"prompt of {self.model}", given, self.known)
            own = f"a prompt of your own must contain a space or a colon, as in '{given}: '"
            raise UsageError(f"{known}; {own}")
        return given

    def usual(self, role: Role) -> str:
        """Return the prompt that sentence-transformers gives texts of this kind.

        ``encode`` takes the default; ``encode_query`` and ``encode_document`` take the prompt of
        that name or none, whatever the default is.
        """
        name = self.default if role == "text" else role
        return "" if name is None else self.known.get(name, "")


def prompts_of(model: Model) -> Prompts:
    """Read the prompts of a model; most have none."""
    if not model.has_pipeline:
        return Prompts(model.name, {})
    source = model.source
    settings: dict[str, Any] = read_settings(source)
    known, default = settings.get("prompts") or {}, settings.get("default_prompt_name")
    texts = isinstance(known, dict) and all(
        text is None or isinstance(text, str) for text in known.values()
    )
    if not texts or not (default is None or isinstance(default, str)):
        raise DataError(f"{source.folder / SETTINGS}: prompts should map names to texts")
    if default is not None and default not in known:
        raise DataError(f"{source.folder / SETTINGS}: there is no prompt {default}, its default")
    return Prompts(source.name, {name: text or "" for name, text in known.items()}, default)
