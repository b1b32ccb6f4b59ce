"""Sentence vectors of every layer, as they are and corrected.

A correction is fitted on tokens and applied to tokens before they are pooled, or fitted on and
applied to the pooled vectors. Picking one token commutes with any correction, and the mean with any
affine one, mean(x A + b) = mean(x) A + b: then the pooled vectors are corrected, and the model does
not run again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from isoscope.corrections.affine import AffineCorrection
from isoscope.corrections.named import NONE, NamedCorrection, fitted
from isoscope.data.arrays import ArrayCloud
from isoscope.errors import DataError, UsageError
from isoscope.models.encode import WORD_POOLING, Encoder
from isoscope.models.sentences.pooling import pooled_spaces
from isoscope.tasks.fits import TokenFits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.models.tokens import Mention
    from isoscope.progress import Progress
    from isoscope.tasks.protocol import FitTexts
    from isoscope.typing import Places


Level = Literal["token", "sentence"]


@dataclass(frozen=True)
class Space:
    """The vectors of all texts in one layer under one correction."""

    layer: str
    correction: str
    vectors: NDArray[Any]
    """A row for every text; NaN for one without a token that counts."""
    seconds: float
    """What fitting and applying the correction took; for ``none`` what encoding took."""
    stored: np.dtype[Any] | None = None
    """The type of the vectors before they were corrected in double precision, in which a file of
    corrected vectors would be stored; None if it is that of ``vectors``."""


def sentence_spaces(
    encoder: Encoder,
    texts: Sequence[str],
    corrections: Sequence[NamedCorrection],
    *,
    mentions: Sequence[Mention] | None = None,
    queries: Places | None = None,
    layers: Iterable[str] | None = None,
    level: Level = "token",
    fit: FitTexts | None = None,
    scored: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Iterator[list[Space]]:
    """Yield the spaces of every layer, in the order of the corrections.

    Parameters
    ----------
    encoder : Encoder
        Model, pooling and cache.
    texts : sequence of str
        The distinct texts whose vectors are wanted.
    corrections : sequence of NamedCorrection
        What is wanted; ``none`` is the vectors as they are.
    mentions : sequence of Mention, optional
        Words in the texts, if vectors of those are wanted; corrections are then of tokens.
    queries : array of int, optional
        Which of the texts are queries, with a prompt of their own.
    layers : iterable of str, optional
        Names of layers; all by default.
    level : {"token", "sentence"}
        Whether tokens are corrected before they are pooled, or pooled vectors.
    fit : FitTexts, optional
        What corrections are fitted on; needed where there are any.
    scored : sequence of str, optional
        Those of the texts that may not be fitted on unless that was asked for; all by default.
    seed : int
        Of the sample of tokens that some corrections are fitted on.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """
    if level not in get_args(Level):
        raise UsageError(f"a correction is at the level of token or sentence, not {level!r}")
    if mentions is not None and level != "token":
        raise UsageError("corrections of words in texts are at the level of tokens")
    wanted = [one for one in corrections if one.transformer is not None]
    if wanted:
        if fit is None:
            raise UsageError("say which texts the corrections are fitted on")
        fit.check(texts if scored is None else scored)
    names = encoder.model.layer_names(layers)
    began = time.perf_counter()
    learn: Any
    if not wanted or fit is None:
        learn = None
        raw = encoder.encode(texts, names, mentions=mentions, queries=queries, progress=progress)
    elif level == "token":
        fits = TokenFits(wanted, seed=seed)
        if fit.transductive and set(fit.texts) == set(texts):
            raw = encoder.encode(
                texts, names, mentions=mentions, queries=queries, watch=fits.add, progress=progress
            )
        else:
            encoder.encode(fit.texts, names, watch=fits.add, progress=progress)
            raw = encoder.encode(
                texts, names, mentions=mentions, queries=queries, progress=progress
            )
        learn = fits.fit
    else:
        # In one pass: texts that are both fitted on and wanted are encoded once.
        both = encoder.encode([*texts, *fit.texts], names, queries=queries, progress=progress)
        raw = {layer: rows[: len(texts)] for layer, rows in both.items()}
        known = {layer: rows[len(texts) :] for layer, rows in both.items()}

        def learn(layer: str) -> tuple[NamedCorrection, ...]:
            rows = known[layer][~np.isnan(known[layer]).any(axis=1)]
            if not len(rows):
                raise DataError("the texts to fit on have no token that counts")
            return fitted(wanted, ArrayCloud(rows, layer, fewest=1), None)

    encoding = time.perf_counter() - began
    # Fit the corrections of every layer, and apply them before or after pooling.
    pooling = encoder.pooling if mentions is None else WORD_POOLING
    ready: dict[str, dict[str, NamedCorrection]] = {}
    again: dict[str, dict[str, Any]] = {}
    seconds: dict[str, float] = {}
    for layer in raw:
        began = time.perf_counter()
        ready[layer] = {one.name: one for one in (learn(layer) if learn else ())}
        seconds[layer] = (time.perf_counter() - began) / max(len(ready[layer]), 1)
        for name, one in ready[layer].items():
            if level == "token" and not commutes(one.transformer, pooling):
                again.setdefault(layer, {})[name] = one.transformer
    began = time.perf_counter()
    pooled: dict[str, dict[str, NDArray[Any]]] = {}
    if again:
        pooled = pooled_spaces(
            encoder.model, encoder.prompted(texts, mentions, queries), list(again), pooling,
            encoder.special_tokens, again, mentions=mentions, longest=encoder.longest,
            progress=progress,
        )  # fmt: skip
    # One pass serves all these corrections, which share its time.
    passed = (time.perf_counter() - began) / max(sum(map(len, again.values())), 1)
    for layer, vectors in raw.items():
        spaces = []
        for one in corrections:
            if one.name == NONE:
                spaces.append(Space(layer, NONE, vectors, encoding))
            elif one.name in again.get(layer, {}):
                took = seconds[layer] + passed
                spaces.append(Space(layer, one.name, pooled[layer][one.name], took, vectors.dtype))
            else:
                began = time.perf_counter()
                rows = applied(ready[layer][one.name], vectors)
                took = seconds[layer] + time.perf_counter() - began
                spaces.append(Space(layer, one.name, rows, took, vectors.dtype))
        yield spaces


def commutes(correction: Any, pooling: str) -> bool:
    """Whether correcting pooled vectors is the same as pooling corrected tokens."""
    # One token is picked: correcting it before or after makes no difference.
    if pooling in ("cls", "last"):
        return True
    affine = isinstance(correction, AffineCorrection) and not correction.renormalize
    return pooling == "mean" and affine


def applied(correction: NamedCorrection, vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Correct the rows that there are; a text without a vector stays without one."""
    good = ~np.isnan(vectors).any(axis=1)
    rows = correction.apply(np.asarray(vectors[good], np.float64))
    if good.all():
        return rows
    found = np.full((len(vectors), rows.shape[1]), np.nan)
    found[good] = rows
    return found
