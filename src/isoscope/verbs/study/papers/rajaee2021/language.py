"""Rajaee & Pilehvar (2021): tense and sense of verbs, sentence structure, and word frequency.

- Table 4: the paper finds occurrences of a verb in another tense further away than those with
  another sense, and after its correction the other way round.
- Figure 3: of the nearest neighbours of ``.``, ``,``, *the* and *of*, the share from sentences of
  the same structure falls when dominant directions of clusters are removed. The paper's sentences
  come from another data set; these are made from frames.
- Figure 5 is a scatter plot with colours, without a number. The correlation of the first component
  with log frequency stands for it. The paper's frequencies are those of a Wikipedia dump.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope import corrections
from isoscope.data.arrays import ArrayCloud
from isoscope.models.frequencies import from_text, from_wordfreq, has_wordfreq, token_counts
from isoscope.models.token_table import LAST, TokenSample, about_layer, last_layer_of, read_tokens
from isoscope.results.merge import renamed
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain import api as explain
from isoscope.verbs.explain.names import FIRST, I1, OTHER_SENSE, OTHER_TENSE, SAME, SHARE, WORDS
from isoscope.verbs.study.inputs import STS_B, of_every_model, per_model
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.papers import rajaee2021 as paper
from isoscope.verbs.study.papers.rajaee2021 import CLUSTER, GLOBAL, NONE, blocks
from isoscope.verbs.study.papers.rajaee2021.sets import check_sample, count_tokens
from isoscope.verbs.study.reference import Column, printed_numbers
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.data.texts.base import TextSource
    from isoscope.models.frequencies import Frequencies
    from isoscope.models.model import Model


def table_4(request: Request) -> Result:
    """Distances of verbs to their occurrences in other tenses and senses, in the last layer."""
    verbs = explain.semcor_verbs(request.data, request.sample, request.seed)

    def one(model: Model, name: str) -> Result:
        settings, layer = paper.settings_of(name), last_layer_of(model)
        check_sample(request, model, name, count_tokens(model, verbs.texts))
        found = explain.verb_distances(
            model, verbs, layer, settings.cluster_names(request.seed),
            most=request.sample, seed=request.seed, replicates=True, progress=request.progress,
        )  # fmt: skip
        about = f"{about_layer(layer)}; {settings.describe_clusters(request.seed)}"
        rows = [replace(row, protocol=f"{row.protocol}; {about}") for row in found.rows]
        together, of_seeds = settings.together(paper.in_turn(rows), request.seed)
        return renamed(Result(together, [found.left_out, *of_seeds]), part=LAST)

    return of_every_model(request, one)


PRINTED_4 = partial(
    printed_numbers, "rajaee2021_table4_verb_tense",
    Column("same_tense_same_meaning", ("{model}", LAST, "{method}", SAME)),
    Column("same_tense_different_meaning", ("{model}", LAST, "{method}", OTHER_SENSE)),
    Column("different_tense_same_meaning", ("{model}", LAST, "{method}", OTHER_TENSE)),
    Column("isotropy", ("{model}", LAST, "{method}", I1)),
    names=paper.NAMES,
)  # fmt: skip

TENSE, SENSE = {"measure": OTHER_TENSE}, {"measure": OTHER_SENSE}

add_study(
    "R-T4", table_4,
    Claim("before the correction, occurrences of a verb in another tense with the same sense "
          "are further away than those in the same tense with another sense",
          {"correction": NONE}, TENSE, ">", SENSE),
    Claim("after removing directions per cluster, occurrences of a verb in another tense with "
          "the same sense are nearer than those in the same tense with another sense",
          {"correction": CLUSTER}, TENSE, "<", SENSE),
    models=paper.LAYER_MODELS, printed=PRINTED_4,
)  # fmt: skip


@per_model
def figure_3(request: Request, model: Model, name: str) -> Result:
    """Share of neighbours of the same structure in the last layer, before and after."""
    settings, layer = paper.settings_of(name), last_layer_of(model)
    names = settings.cluster_names(request.seed)
    found = explain.structure_shares(
        model, layer, names, seed=request.seed, progress=request.progress
    )
    about = f"{about_layer(layer)}; {settings.describe_clusters(request.seed)}"
    rows: list[Row] = []
    tables: list[Table] = []
    for word in WORDS:
        own = [row for row in found if row.part == word]
        together, of_seeds = settings.together(own, request.seed, [SHARE])
        rows += [replace(row, protocol=f"{row.protocol}; {about}") for row in together]
        tables += [replace(table, part=word) for table in of_seeds]
    return Result(rows, tables)


add_study(
    "R-F3", figure_3,
    Claim("removing directions per cluster lowers the share of neighbours from sentences of "
          "the same structure, for each of . , the of",
          {"measure": SHARE}, {"correction": CLUSTER}, "<", {"correction": NONE}),
    models=paper.LAYER_MODELS,
)  # fmt: skip


# More than any text has that fits into memory.
ALL_TOKENS = 10**9


@per_model
def figure_5(request: Request, model: Model, name: str) -> Result:
    """Correlate components of the last layer with log frequency, before and after removal."""
    text, layer = request.text, last_layer_of(model)
    assert text is not None
    sample = read_tokens(
        model, text, ALL_TOKENS, request.seed, layers=[layer], progress=request.progress
    )
    settings = paper.settings_of(name)
    check_sample(request, model, name, len(sample.ids))
    found = in_spaces(sample, layer, frequencies_of(model, text), settings, request.seed)
    how = f"{sample.protocol}, {about_layer(layer)}; {settings.describe(request.seed)}"
    rows = [replace(row, protocol=f"{how}; {row.protocol}") for row in found.rows]
    return renamed(replace(found, rows=rows), part=LAST)


def frequencies_of(model: Model, text: TextSource) -> Frequencies:
    """Return frequencies of English where wordfreq is installed, else those of the text."""
    path = model.parts.input_embedding
    size = max(len(model.tokenizer), model.weights.shape(path)[0])
    if has_wordfreq():
        return from_wordfreq(model.tokenizer, size)
    return from_text(model.tokenizer, token_counts(model.tokenizer, text, size), text.name)


def in_spaces(
    sample: TokenSample,
    layer: str,
    frequencies: Frequencies,
    settings: paper.Settings,
    seed: int,
) -> Result:
    """Look at tokens as they are, without global directions, and without those of clusters.

    Figures of clusters are means over seeds; their picture is that of the first. Errors are those
    of other texts.
    """
    tokens = sample.layers[layer]

    def directions(correction: str) -> explain.Directions:
        vectors = tokens
        if correction != NONE:
            fitted = corrections.make_correction(correction).fit_cloud(ArrayCloud(tokens))
            vectors = fitted.transform(tokens)
        return explain.frequency_directions(
            layer, vectors, sample.ids, sample.tokens, frequencies, seed
        )

    raw, without_global = directions(NONE), directions(settings.global_name())
    runs = [directions(name) for name in settings.cluster_names(seed)]
    together = [paper.over_seeds(rows) for rows in zip(*(run.rows for run in runs), strict=True)]
    rows = [
        *raw.rows,
        *(replace(row, correction=GLOBAL) for row in without_global.rows),
        *together,
    ]
    first = blocks.first_clusters(tokens, settings.clusters, settings.components_of_cluster, seed)

    def without(kept: NDArray[np.bool_]) -> Iterator[Row]:
        some = tokens[kept]
        spaces = {
            NONE: some,
            GLOBAL: corrections.make_correction(settings.global_name()).fit(some).transform(some),
            CLUSTER: first.refitted(some).transform(some),
        }
        for name, vectors in spaces.items():
            found = explain.frequency_directions(
                layer, vectors, sample.ids[kept], sample.tokens[kept], frequencies, seed
            )
            yield from (replace(row, correction=name) for row in found.rows)

    return Result(
        # An interval over kinds of tokens takes the components as given; blocks of texts do not.
        blocks.by_texts(
            [replace(row, low=None, high=None) for row in rows], without, sample.sentences, seed
        ),
        [
            raw.scatter,
            replace(without_global.scatter, correction=GLOBAL),
            replace(runs[0].scatter, correction=CLUSTER),
        ],
    )


add_study(
    "R-F5", figure_5,
    Claim("removing directions per cluster lowers the correlation of the first component "
          "with log frequency",
          {"measure": FIRST}, {"correction": CLUSTER}, "<", {"correction": NONE}),
    models=paper.LAYER_MODELS, text=STS_B,
)  # fmt: skip
