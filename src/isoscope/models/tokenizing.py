"""A model's tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError
from isoscope.models.quiet import first_line, library, quietly

if TYPE_CHECKING:
    from isoscope.models.sources import Source

VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model", "tekken.json")
"""Files of which a tokenizer needs one."""


def read_tokenizer(source: Source) -> Any:
    """Read a fast tokenizer, which alone tells where in a text a token stands."""
    source.fetch_tokenizer()
    # Without a vocabulary, transformers makes a tokenizer that knows special tokens only.
    if source.gguf is None and not any(any(source.folder.glob(file)) for file in VOCABULARIES):
        raise DataError(
            f"{source.name} has no tokenizer: put its tokenizer.json and tokenizer_config.json "
            f"into {source.folder}"
        )
    transformers = library("transformers")
    try:
        with quietly():
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                source.folder, **source.arguments
            )
    except Exception as error:
        raise DataError(
            f"{source.name}: its tokenizer cannot be loaded: {first_line(error)}"
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise DataError(
            f"{source.name} has no fast tokenizer, which alone tells where in a text a token "
            f"stands; put a tokenizer.json into {source.folder}"
        )
    return tokenizer
