"""Rajaee & Pilehvar (2021): figures of tokens without each block of the texts.

Tokens of one text are alike, so that texts are left out, not tokens. What depends on clusters is
computed again with the first seed, starting from the centres of all tokens: k-means from a new
start may find other clusters that are as good, which would look like an effect of the texts. How
far seeds are apart is a part of the error by itself (`evidence.SEED_VALUES`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isoscope import corrections
from isoscope.data.arrays import ArrayCloud
from isoscope.models.layer_names import numbered_layers
from isoscope.models.token_table import MEMORY, read_tokens
from isoscope.results.result import Row
from isoscope.verbs.measure.api import measure
from isoscope.verbs.study.judgement.replicates import replicated
from isoscope.verbs.study.judgement.rows import row_key
from isoscope.verbs.study.papers.rajaee2021 import CLUSTER, GLOBAL, NONE

if TYPE_CHECKING:
    from isoscope.models.model import Model
    from isoscope.models.token_table import LastLayer
    from isoscope.verbs.study.registry import Request

Kept = NDArray[np.bool_]
TEXTS = "texts"


def i1_of(vectors: NDArray[Any], about: Row) -> Row:
    """Measure I1 of some vectors, in place of that of all of them."""
    found = measure(ArrayCloud(vectors), "i1", "none", intervals=False).row("i1")
    return replace(about, value=found.value, log10=found.log10)


def by_texts(
    whole: Sequence[Row],
    without: Callable[[Kept], Iterable[Row]],
    texts: NDArray[np.int64],
    seed: int,
) -> list[Row]:
    """Give figures their values without each block of the texts.

    Parameters
    ----------
    whole : sequence of Row
        Figures of all tokens.
    without : callable
        Gets a mask of the tokens that count, and returns the same figures, or some of them.
    texts : array
        The text of every token.
    seed : int
        Of how texts are dealt.
    """

    def find(kept: Kept) -> Sequence[Row]:
        if kept.all():
            return whole
        with fewer_clusters_allowed():
            return list(without(kept))

    return replicated(find, texts, seed, TEXTS)


@contextmanager
def fewer_clusters_allowed() -> Iterator[None]:
    """Say nothing about clusters that are empty without a block: all tokens were clustered."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*clusters are used", category=UserWarning)
        yield


def first_clusters(
    tokens: NDArray[Any], clusters: int, components: int, seed: int
) -> corrections.ClusterRemoval:
    """Find the clusters of all tokens with the first seed, from which others start."""
    removal = corrections.ClusterRemoval(clusters, components, random_state=seed)
    with fewer_clusters_allowed():
        return removal.fit_cloud(ArrayCloud(tokens))


def local_i1(
    whole: Mapping[int, Row],
    raw: Row,
    tokens: NDArray[Any],
    texts: NDArray[np.int64],
    seed: int,
) -> list[Row]:
    """Give I1 its error, as it is and with every number of clusters on their own means.

    Parameters
    ----------
    whole : mapping
        I1 of all tokens for every number of clusters.
    raw : Row
        I1 of all tokens as they are.
    tokens, texts
        The vectors, and the text of each.
    seed : int
        Of k-means, and of how texts are dealt.
    """
    firsts = {k: first_clusters(tokens, k, 0, seed) for k in whole}

    def without(kept: Kept) -> Iterator[Row]:
        some = tokens[kept]
        yield i1_of(some, raw)
        for k, first in firsts.items():
            yield i1_of(first.refitted(some).transform(some), whole[k])

    return by_texts([raw, *whole.values()], without, texts, seed)


def corrected_i1(
    whole: Mapping[str, Row],
    global_name: str,
    first: corrections.ClusterRemoval,
    read: LastLayer,
    seed: int,
) -> dict[tuple[str, ...], Row]:
    """Give I1 its error: of tokens as they are, and without directions of all or of clusters.

    Parameters
    ----------
    whole : mapping
        I1 of all tokens by what was removed.
    global_name : str
        The global method as corrections are written.
    first : ClusterRemoval
        The method by clusters as it was fitted with the first seed.
    read : LastLayer
        The tokens and their texts.
    seed : int
        Of how texts are dealt.
    """

    def without(kept: Kept) -> Iterator[Row]:
        some = read.tokens[kept]
        cloud = ArrayCloud(some)
        found = measure(cloud, "i1", [NONE, global_name], intervals=False)
        for name, correction in ((NONE, NONE), (GLOBAL, global_name)):
            row = found.row("i1", correction)
            yield replace(whole[name], value=row.value, log10=row.log10)
        yield i1_of(first.refitted(some).transform(some), whole[CLUSTER])

    rows = by_texts([*whole.values()], without, read.texts, seed)
    return {row_key(row): row for row in rows}


def layers_with_error(request: Request, model: Model, rows: Sequence[Row]) -> list[Row]:
    """Give I1 of every numbered layer its error, from as many texts as memory holds.

    Layers are read in groups whose tokens fit into memory. Of a longer text a part is drawn, whose
    error is larger than that of the whole.
    """
    assert request.text is not None
    names = {
        layer: number for layer, number in numbered_layers(model.stacks).items()
        if layer in model.stacks[0].layers
    }  # fmt: skip
    figures = {row.part: row for row in rows if row.measure == "i1"}
    wanted = [layer for layer, number in names.items() if number in figures]
    counts = [figures[names[layer]].n or 0 for layer in wanted]
    most = min(max(counts, default=0), MEMORY // (4 * model.dimension))
    found: dict[tuple[str, ...], Row] = {}
    at_once = max(1, MEMORY // (4 * model.dimension * max(most, 1)))
    for first in range(0, len(wanted), at_once):
        some = wanted[first : first + at_once]
        sample = read_tokens(
            model, request.text, most, request.seed, layers=some, progress=request.progress
        )
        for layer in some:
            about, tokens = figures[names[layer]], sample.layers[layer]
            find = partial(without_some, tokens, about)
            (row,) = by_texts([about], find, sample.sentences, request.seed)
            found[row_key(row)] = row
    return [found.get(row_key(row), row) for row in rows]


def without_some(tokens: NDArray[Any], about: Row, kept: Kept) -> list[Row]:
    """Measure I1 of the tokens that count."""
    return [i1_of(tokens[kept], about)]
