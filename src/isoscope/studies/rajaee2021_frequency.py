"""Rajaee & Pilehvar (2021), figure 5: the first components of tokens follow their frequency.

The figure is a scatter plot with colours, without a number. The correlation of the first component
with log frequency stands for it. The paper's frequencies are those of a Wikipedia dump.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.data.arrays import ArrayCloud
from isoscope.explain.counting import token_counts
from isoscope.explain.frequency_directions import FIRST, frequency_directions
from isoscope.explain.known_frequencies import from_text, from_wordfreq, has_wordfreq
from isoscope.explain.token_sample import read_tokens
from isoscope.results.measuring import versions
from isoscope.results.result import Result
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST, about_layer, last_layer_of
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_layers import MODELS
from isoscope.studies.rajaee2021_layers import NEED as MODELS_AND_TEXT
from isoscope.studies.rajaee2021_sts import CLUSTER, GLOBAL, NONE, over_seeds, settings_of
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.scale_tables import TOKENS
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject, provenance_of
from isoscope.studies.texts import STS_B

if TYPE_CHECKING:
    from isoscope.data.texts.base import TextSource
    from isoscope.explain.frequency_directions import Directions
    from isoscope.explain.known_frequencies import Frequencies
    from isoscope.explain.token_sample import TokenSample
    from isoscope.models.model import Model
    from isoscope.studies.rajaee2021_sts import Settings


ALL_TOKENS = 10**9
"""More than any text has that fits into memory."""


def figure_5(request: Request) -> Result:
    """Correlate components of the last layer with log frequency, before and after removal."""
    assert request.text is not None
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        layer = last_layer_of(model)
        sample = read_tokens(
            model, request.text, ALL_TOKENS, request.seed,
            layers=[layer], progress=request.progress,
        )  # fmt: skip
        frequencies = frequencies_of(model, request.text)
        provenance = provenance_of(model)
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        settings, whose = settings_of(subject.name)
        found = in_spaces(sample, layer, frequencies, settings, request.seed)
        how = f"{sample.protocol}, {about_layer(layer)}; {settings.describe(whose, request.seed)}"
        rows = [replace(row, protocol=f"{how}; {row.protocol}") for row in found.rows]
        named = renamed(replace(found, rows=rows), subject=subject.name, part=LAST)
        results.append(replace(named, extra=provenance))
    return joined(results)


def frequencies_of(model: Model, text: TextSource) -> Frequencies:
    """Return frequencies of English where wordfreq is installed, else those of the text."""
    path = model.parts.input_embedding
    size = max(len(model.tokenizer), model.weights.shape(path)[0])
    if has_wordfreq():
        return from_wordfreq(model.tokenizer, size)
    return from_text(model.tokenizer, token_counts(model.tokenizer, text, size), text.name)


def in_spaces(
    sample: TokenSample, layer: str, frequencies: Frequencies, settings: Settings, seed: int
) -> Result:
    """Look at tokens as they are, without global directions, and without those of clusters.

    Figures of clusters are means over seeds; their picture is that of the first.
    """
    from isoscope.corrections.registry import make_correction  # imports scikit-learn

    tokens = sample.layers[layer]

    def directions(correction: str) -> Directions:
        vectors = tokens
        if correction != NONE:
            vectors = make_correction(correction).fit_cloud(ArrayCloud(tokens)).transform(tokens)
        return frequency_directions(layer, vectors, sample.ids, sample.tokens, frequencies, seed)

    raw, without_global = directions(NONE), directions(settings.global_name())
    runs = [directions(name) for name in settings.cluster_names(seed)]
    together = [over_seeds(rows) for rows in zip(*(run.rows for run in runs), strict=True)]
    return Result(
        [
            *raw.rows,
            *(replace(row, correction=GLOBAL) for row in without_global.rows),
            *together,
        ],
        [
            raw.scatter,
            replace(without_global.scatter, correction=GLOBAL),
            replace(runs[0].scatter, correction=CLUSTER),
        ],
        seeds={"seed": seed},
        versions=versions(),
    )


register(
    Study(
        "R-F5", "Components of the last layer and word frequency, before and after removal",
        PAPER + ", figure 5", MODELS_AND_TEXT, figure_5,
        (
            Claim("removing directions of clusters lowers the correlation of the first component "
                  "with log frequency",
                  {"measure": FIRST}, {"correction": CLUSTER}, "<", {"correction": NONE}),
        ),
        MODELS, text=STS_B, scales=TOKENS,
    )
)  # fmt: skip
