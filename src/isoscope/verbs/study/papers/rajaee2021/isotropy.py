"""Rajaee & Pilehvar (2021): isotropy of tokens, by cluster, by layer, and after corrections.

Contextual spaces are clustered: centring every cluster on its own mean does more than centring all
(table 1). All layers behind the input are far from isotropic; where along the depth is another
story for each model (table 5, figure 1). The corrections of table 6 are those of the study of
sentence similarity, fitted on the same tokens. Centring every cluster of GPT-2's tokens on its own
mean leaves them along one line: random tokens have a cosine of about 0, and I1 is tiny all the same
(figure 2).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope import corrections
from isoscope.corrections.named import named
from isoscope.data.arrays import ArrayCloud
from isoscope.data.open import open_cloud
from isoscope.data.sampling import lowest_indices
from isoscope.errors import UsageError
from isoscope.models.model import MODELS, Model
from isoscope.models.token_table import LAST, LastLayer, last_layer_of, read_last_layer
from isoscope.results.merge import joined_without_verdicts, renamed
from isoscope.results.result import Result, Row, Table
from isoscope.tasks.problems.pairs import ScoredPairs, SentenceSimilarity
from isoscope.verbs.measure.api import measure
from isoscope.verbs.profile.api import profile
from isoscope.verbs.study.inputs import (
    ORDINARY,
    STS_B,
    check_single,
    is_a_transformer,
    numbered,
    of_every_model,
    open_subject,
    per_model,
)
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.rows import row_key
from isoscope.verbs.study.papers import rajaee2021 as paper
from isoscope.verbs.study.papers.rajaee2021 import (
    BERT,
    CLUSTER,
    GLOBAL,
    GPT_2,
    NONE,
    ROBERTA,
    blocks,
)
from isoscope.verbs.study.papers.rajaee2021.sets import (
    check_sample,
    pairs_read,
    similarity_sets,
)
from isoscope.verbs.study.reference import Column, Key, printed_numbers
from isoscope.verbs.study.registry import Request, Subject, add_study

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.data.base import Cloud


CLUSTERS = (1, 3, 6, 9, 20)
SEEDS = 5
MEASURE = "local_i1"
RAW = "raw"


def table_1(request: Request) -> Result:
    """I1 after centring every cluster of k-means on its own mean, against their number."""
    # One cluster is the same for every seed.
    names = {k: f"{MEASURE}:n_clusters={k}:seeds={1 if k == 1 else SEEDS}" for k in CLUSTERS}
    rows: list[Row] = []
    tables: list[Table] = []
    known: dict[str, Any] = {}
    for subject in request.subjects:
        read, provenance = tokens_of(request, subject)
        known |= provenance
        found = measure(
            ArrayCloud(read.tokens, subject.name), ["i1", *names.values()], "none",
            intervals=False, seed=request.seed, progress=request.progress,
        )  # fmt: skip
        parts = {RAW: found.row("i1")} | {f"k={k}": found.row(name) for k, name in names.items()}
        raw, *local = (
            replace(
                row, subject=subject.name, part=part, measure=MEASURE,
                protocol="; ".join(filter(None, (read.protocol, row.protocol))),
            )
            for part, row in parts.items()
        )  # fmt: skip
        by_number = dict(zip(names, local, strict=True))
        rows += blocks.local_i1(by_number, raw, read.tokens, read.texts, request.seed)
        runs = [
            {"clusters": k, "seed": int(key.split("_")[1]), "log10_i1": value}
            for k, name in names.items()
            for key, value in found.row(name).extra.items()
            if key.startswith("seed_")
        ]
        tables.append(Table(subject.name, "", "none", MEASURE, runs))
    return joined_without_verdicts([Result(rows, tables, extra={MODELS: known} if known else {})])


def tokens_of(request: Request, subject: Subject) -> tuple[LastLayer, dict[str, Any]]:
    """Take vectors that a user has, or read the last layer of a model over the text.

    Of vectors without a model nobody knows the texts: every row counts as one.
    """
    if not is_a_transformer(subject):
        group = open_cloud(subject.source, column=request.column)
        check_single(subject, group, "R-T1")
        name = group.names[0]
        rows = np.concatenate([np.asarray(batch[name].vectors) for batch in group.batches()])
        return LastLayer(rows, np.arange(len(rows)), ""), {}
    if request.text is None:
        raise UsageError("R-T1 reads a text with a model; name one with --text, or STS-B in --data")
    model = open_subject(subject, request)
    return read_text(request, model), {model.name: model.provenance}


def read_text(request: Request, model: Model) -> LastLayer:
    """Read the last layer of a model over the text of a request."""
    assert request.text is not None
    texts = [text.text for text in request.text.texts()]
    return read_last_layer(model, texts, request.text.name, progress=request.progress)


# What the columns of the printed tables are called.
SHORT_NAMES = ("GPT-2", "BERT", "RoBERTa")

PRINTED_1 = partial(
    printed_numbers, "rajaee2021_table1_cluster_isotropy",
    *(Column(model, (model, "{clusters}", "none", MEASURE)) for model in SHORT_NAMES),
    names={"none": RAW} | {str(k): f"k={k}" for k in CLUSTERS},
)  # fmt: skip

add_study(
    "R-T1", table_1,
    Claim("I1 is higher when the tokens are centred in 20 clusters than when they are centred "
          "in one",
          {"measure": MEASURE}, {"part": "k=20"}, ">", {"part": "k=1"}),
    Claim("BERT's I1 is at least 0.2 with 20 clusters",
          {"measure": MEASURE, "subject": BERT}, {"part": "k=20"}, ">=", 0.2),
    Claim("RoBERTa's I1 is at least 0.5 with 20 clusters",
          {"measure": MEASURE, "subject": ROBERTA}, {"part": "k=20"}, ">=", 0.5),
    Claim("GPT-2's I1 stays below 1e-40 with any number of clusters",
          {"measure": MEASURE, "subject": GPT_2, "part": "k=*"}, {}, "<", 1e-40),
    Claim("GPT-2's I1 is lower with one cluster than before centring",
          {"measure": MEASURE, "subject": GPT_2}, {"part": "k=1"}, "<", {"part": RAW}),
    models=paper.LAYER_MODELS, printed=PRINTED_1, text=replace(STS_B, required=False),
)  # fmt: skip


def table_5(request: Request) -> Result:
    """I1 of every layer; tokens that the tokenizer adds are left out, a decoder's first is in."""

    def one(model: Model, name: str) -> Result:
        found = profile(
            model, request.text, measures="i1,mean_norm", corrections="none", intervals=False,
            seed=request.seed, progress=request.progress, **request.readers(),
        )  # fmt: skip
        found = numbered(model.stacks, renamed(found, subject=name))
        return replace(found, rows=blocks.layers_with_error(request, model, found.rows))

    result = of_every_model(request, one)
    rows = [replace(row, protocol=f"{row.protocol}; first tokens in") for row in result.rows]
    return replace(result, rows=rows)


def figure_1(request: Request) -> Result:
    """I1 of every layer, with the last one called so."""
    result = table_5(request)
    rows = []
    for row in result.rows:
        last = f"layer {highest(result, row.subject)}"
        rows.append(replace(row, part=LAST) if row.part == last else row)
    return replace(result, rows=rows)


def highest(result: Result, subject: str) -> int:
    """Return the number of a model's last layer."""
    numbers = (
        row.part.removeprefix("layer ")
        for row in result.rows
        if row.subject == subject and row.part.startswith("layer ")
    )
    return max(int(number) for number in numbers if number.isdecimal())


PRINTED_5 = partial(
    printed_numbers, "rajaee2021_table5_layer_isotropy",
    *(Column(model, (model, "layer {layer}", "none", "i1")) for model in SHORT_NAMES),
)  # fmt: skip


def printed_figure_1() -> dict[Key, float]:
    """Return the same numbers, with the last layer called so."""
    return {
        (model, LAST if part == "layer 12" else part, correction, measure): value
        for (model, part, correction, measure), value in PRINTED_5().items()
    }


I1_OF_LAYERS = {"measure": "i1", "part": "layer *"}

add_study(
    "R-T5", table_5,
    Claim("the I1 of every layer after the input is below 1e-4",
          I1_OF_LAYERS, {}, "<", 1e-4, excluding=(paper.INPUT, ORDINARY)),
    Claim("BERT's I1 is above RoBERTa's in every layer after the input",
          I1_OF_LAYERS, {"subject": BERT}, ">", {"subject": ROBERTA},
          excluding=(paper.INPUT, ORDINARY)),
    Claim("the input layer of GPT-2 has a higher I1 than those of BERT and RoBERTa",
          {"measure": "i1", "part": "layer 0"}, {"subject": GPT_2}, ">",
          {"subject": f"{BERT}|{ROBERTA}"}),
    models=paper.LAYER_MODELS, printed=PRINTED_5, text=STS_B,
)  # fmt: skip
add_study(
    "R-F1", figure_1,
    Claim("RoBERTa's last layer has the highest I1 of all its layers after the input",
          {"measure": "i1", "subject": ROBERTA}, {"part": LAST}, ">", {"part": "layer *"},
          excluding=(paper.INPUT, ORDINARY)),
    models=paper.LAYER_MODELS, printed=printed_figure_1, text=STS_B,
)  # fmt: skip


I1 = "i1"
SET_MEASURES = ("mean_norm", I1)


def table_6(request: Request) -> Result:
    """I1 of all tokens of every set, as they are and corrected."""
    sets = [(task, texts_of(task, request.data)) for task in similarity_sets(request)]
    return of_every_model(
        request,
        lambda model, subject: joined_without_verdicts(
            renamed(of_one_set(model, subject, task, texts, request), part=LAST)
            for task, texts in sets
        ),
    )


def texts_of(task: SentenceSimilarity, folder: Path | None) -> tuple[str, ...]:
    """Return the distinct texts of the scored pairs of a set."""
    return ScoredPairs.of(task.name, task.load(folder)).texts


def of_one_set(
    model: Model, subject: str, task: SentenceSimilarity, texts: tuple[str, ...], request: Request
) -> Result:
    """Measure the tokens of one set in every space."""
    # Here and not above, because it imports scikit-learn, which a list of studies does not need.
    from isoscope.tasks.fits import MOST_TOKENS, TokenFits

    name, settings = task.name, paper.settings_of(subject)
    fits = TokenFits(named(settings.cluster_names(request.seed)), seed=request.seed)
    read = read_last_layer(
        model, texts, f"both texts of {pairs_read(request, name)}", watch=fits.add,
        progress=request.progress,
    )  # fmt: skip
    check_sample(request, model, subject, len(read.tokens))
    cloud = ArrayCloud(read.tokens, name)
    found = measure(cloud, SET_MEASURES, [NONE, settings.global_name()], intervals=False)
    rows = list(found.rows)
    of_seeds = fits.fit(last_layer_of(model))
    first: Any = of_seeds[0].transformer
    for fitted in of_seeds:
        corrected = measure(
            corrections.CorrectedCloud(cloud, fitted.transformer),  # type: ignore[arg-type]
            SET_MEASURES, NONE, intervals=False,
        )  # fmt: skip
        rows += [replace(row, correction=fitted.name) for row in corrected.rows]
    protocol = (
        f"{read.protocol}; corrections fitted on the same tokens, {CLUSTER} on at most "
        f"{MOST_TOKENS:,} of them, drawn at random; {settings.describe(request.seed)}"
    )
    rows = [replace(row, measure=f"{name}/{row.measure}", protocol=protocol) for row in rows]
    together, tables = settings.together(paper.in_turn(rows), request.seed, [f"{name}/{I1}"])
    with_errors = blocks.corrected_i1(
        {row.correction: row for row in together if row.measure == f"{name}/{I1}"},
        settings.global_name(), first, read, request.seed,
    )  # fmt: skip
    together = [with_errors.get(row_key(row), row) for row in together]
    return replace(found, rows=together, tables=tables, verdicts=[])


OF_SETS = {"measure": f"*/{I1}"}

add_study(
    "R-T6", table_6,
    Claim("removing dominant directions per cluster leaves a higher I1 than removing global "
          "ones, on every set",
          OF_SETS, {"correction": CLUSTER}, ">", {"correction": GLOBAL}),
    Claim("removing global directions raises I1 on every set",
          OF_SETS, {"correction": GLOBAL}, ">", {"correction": NONE}),
    Claim("after removing dominant directions per cluster, I1 is at least 0.47 on every set",
          OF_SETS, {"correction": CLUSTER}, ">=", 0.47),
    models=paper.LAYER_MODELS,
    printed=partial(paper.printed_by_set, "rajaee2021_table6_sts_isotropy", I1),
)  # fmt: skip


# Removing no direction of a cluster but its mean.
CENTRED = f"{CLUSTER}:n_components=0"

COSINE, LOCAL_I1 = "mean_cosine", "i1"
LOCAL_MEASURES = (COSINE, LOCAL_I1, "top_variance_share")
# What counts as about zero.
ABOUT_ZERO = (-0.05, 0.05)
# Tokens of the scatter plots.
POINTS = 2_000


@per_model
def figure_2(request: Request, model: Model, name: str) -> Result:
    """Mean cosine, I1 and two components of the last layer, before and after local centring."""
    read = read_text(request, model)
    clusters = paper.settings_of(name).clusters
    found = measured(read.tokens, read.texts, clusters, request.seed)
    how = (
        f"{read.protocol}; {CENTRED}: {clusters} clusters, as many as for table 2 (the figure "
        f"gives no number); {paper.mean_of_seeds(request.seed)}, points of the first"
    )
    rows = [replace(row, protocol=how) for row in found.rows]
    return renamed(replace(found, rows=rows), part=LAST)


def measured(tokens: NDArray[Any], texts: NDArray[np.int64], clusters: int, seed: int) -> Result:
    """Measure and draw tokens of some texts as they are, and with every cluster on its own mean."""
    cloud = ArrayCloud(tokens)
    names = [
        f"{CLUSTER}:n_clusters={clusters}:n_components=0:random_state={seed + k}"
        for k in range(paper.SIMILARITY_SEEDS)
    ]
    found = measure(cloud, LOCAL_MEASURES, [NONE, *names], intervals=False, seed=seed)
    rows: list[Row] = []
    for name in LOCAL_MEASURES:
        after = paper.over_seeds([found.row(name, correction) for correction in names])
        rows += [found.row(name), replace(after, correction=CENTRED)]
    first = blocks.first_clusters(tokens, clusters, 0, seed)

    def without(kept: NDArray[np.bool_]) -> Iterator[Row]:
        left = tokens[kept]
        spaces = {NONE: left, CENTRED: first.refitted(left).transform(left)}
        for space, vectors in spaces.items():
            again = measure(ArrayCloud(vectors), LOCAL_MEASURES, NONE, intervals=False, seed=seed)
            yield from (replace(row, subject="array", correction=space) for row in again.rows)

    rows = blocks.by_texts(rows, without, texts, seed)
    some = tokens[lowest_indices(len(tokens), min(POINTS, len(tokens)), seed)]
    labels = first.assign(some)
    tables = [
        scatter(cloud, some, labels, NONE),
        scatter(corrections.CorrectedCloud(cloud, first), first.transform(some), labels, CENTRED),
    ]
    return replace(found, rows=rows, tables=tables, verdicts=[])


def scatter(cloud: Cloud, points: NDArray[Any], labels: NDArray[Any], space: str) -> Table:
    """Project some tokens on the first two principal components that all of them have."""
    whole = corrections.Whiten().fit_cloud(cloud)
    coordinates = (points - whole.mean_) @ whole.components_[:2].T
    return Table(
        "", "", space, "projections",
        [
            {"first": float(x), "second": float(y), "cluster": int(label)}
            for (x, y), label in zip(coordinates, labels, strict=True)
        ],
        f"{len(points):,} tokens, drawn at random",
    )  # fmt: skip


OF_GPT_2 = {"subject": GPT_2}
AFTER = {"correction": CENTRED}

add_study(
    "R-F2", figure_2,
    Claim("when every cluster is centred, GPT-2's mean cosine is about 0: between -0.05 and 0.05",
          {**OF_GPT_2, "measure": COSINE}, AFTER, "within", ABOUT_ZERO),
    Claim("when every cluster is centred, GPT-2's I1 is still below 1e-40",
          {**OF_GPT_2, "measure": LOCAL_I1}, AFTER, "<", 1e-40),
    models=paper.LAYER_MODELS, text=STS_B,
)  # fmt: skip
