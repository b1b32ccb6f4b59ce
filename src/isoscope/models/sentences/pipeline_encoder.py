"""Vectors of texts as a sentence-transformers folder makes them, looked up or computed once.

Which of the two a call gets, the pipeline of the folder or a pooling of some layer, is decided
here, and said in the words that every protocol begins with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.compute.vector_cache import space_digest
from isoscope.errors import UsageError
from isoscope.models.encode import Encoder, ModelWork
from isoscope.models.model import Model
from isoscope.models.sentences.sentence_modules import MODULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from isoscope.compute.pool import Pool
    from isoscope.compute.vector_cache import VectorCache
    from isoscope.models.sentences.pooling import Watch
    from isoscope.models.tokens import Mention
    from isoscope.progress import Progress
    from isoscope.typing import Places

DEFAULT_POOLING = "mean"


def encoder_for(
    model: Model,
    layers: Sequence[str],
    pooling: str | None = None,
    special_tokens: bool = True,
    *,
    of_tokens: bool = False,
    longest: int | None = None,
    cache: VectorCache | bool = True,
    pool: Pool | None = None,
) -> Encoder:
    """Return what turns texts into vectors: the pipeline of the model, or a pooling of layers.

    Parameters
    ----------
    model : Model
        What ``open_model`` returned.
    layers : sequence of str
        Which layers are asked for.
    pooling : {"mean", "cls", "last", "max"}, optional
        How the tokens of a text become one vector. By default as ``modules.json`` says; the mean
        where there is no such file.
    special_tokens : bool
        Whether tokens that the tokenizer adds count.
    of_tokens : bool
        Whether tokens are changed before they are pooled.
    longest, cache, pool
        As ``Encoder`` takes them.
    """
    given: dict[str, Any] = {"longest": longest, "cache": cache, "pool": pool}
    plain = Encoder(model, pooling or DEFAULT_POOLING, special_tokens, **given)
    if not model.has_pipeline:
        return plain
    last = model.stacks[0].layers[-1]
    reasons = {
        "a pooling is given": pooling is not None,
        "it applies to the last layer only": tuple(layers) != (last,),
        "special tokens are left out": not special_tokens,
        "tokens are corrected": of_tokens,
    }
    reason = next((words for words, holds in reasons.items() if holds), None)
    if reason is None:
        return PipelineEncoder(model, **given)
    plain.remark = f", not the pipeline in {MODULES} ({reason})"
    return plain


@dataclass
class PipelineWork(ModelWork):
    """Takes texts through the pipeline of a model; a worker opens its modules once."""

    layer: str
    prompt: str
    longest: int | None

    def vectors(
        self,
        texts: Sequence[str],
        mentions: Sequence[Mention] | None,
        progress: Progress | None,
        watch: Watch | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return the vectors of texts; words and single tokens have no place in a pipeline."""
        assert mentions is None
        assert watch is None
        found = self.model.pipeline.encode(
            self.model, texts, self.prompt, longest=self.longest, progress=progress
        )
        return {self.layer: found}


class PipelineEncoder(Encoder):
    """Turns texts into vectors as sentence-transformers does: one model, its last layer.

    Words in texts, and tokens that are watched, have no place in a pipeline: they are those of the
    layer itself.

    Parameters
    ----------
    model : Model
        A model whose folder has ``modules.json``.
    longest, cache, pool
        As ``Encoder`` takes them.
    """

    has_usual_prompts = True

    def __init__(
        self,
        model: Model,
        *,
        longest: int | None = None,
        cache: VectorCache | bool = True,
        pool: Pool | None = None,
    ) -> None:
        super().__init__(model, DEFAULT_POOLING, longest=longest, cache=cache, pool=pool)
        self.pipeline = model.pipeline
        self.layer = model.stacks[0].layers[-1]

    def __str__(self) -> str:
        limit = self.pipeline.limit(self.model, self.longest)
        cut = "" if limit is None else f", at most {limit} tokens a text"
        lower = ", lower-cased" if self.pipeline.network.lower_case else ""
        return f"{MODULES}: {self.pipeline}{lower}{cut}, {self.describe_prompts() or 'no prompt'}"

    def encode(
        self,
        texts: Sequence[str],
        layers: Iterable[str] | None = None,
        *,
        mentions: Sequence[Mention] | None = None,
        queries: Places | None = None,
        watch: Watch | None = None,
        progress: Progress | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return a vector of every text, in the order of the texts; see ``Encoder.encode``."""
        if mentions is not None or watch is not None:
            plain = Encoder(
                self.model, self.pooling, longest=self.longest, pool=self.pool,
                cache=False if self.cache is None else self.cache,
            )  # fmt: skip
            return plain.encode(texts, layers, mentions=mentions, watch=watch, progress=progress)
        names = (self.layer,) if layers is None else layers
        return super().encode(texts, names, queries=queries, progress=progress)

    def _work(self, names: tuple[str, ...], *, words: bool) -> ModelWork:
        """Return what takes texts through the pipeline."""
        assert not words
        if names != (self.layer,):
            raise UsageError(f"{MODULES} is for {self.layer} of {self.model.name} alone")
        return PipelineWork(self.model, self.layer, self.prompt, self.longest)

    def space(self, layer: str, *, words: bool = False) -> str:
        """Return the digest of all that decides the vector of a text but the text."""
        assert not words
        return space_digest(
            {
                **self._settings,
                "layer": layer,
                "pipeline": self.pipeline.digest,
                # The prompt is a part of the text; where it ends decides what is pooled.
                "prompt": self.prompt,
                "longest": str(self.longest),
            }
        )
