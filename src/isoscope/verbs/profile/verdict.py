"""What a profile shows of layers, weights and training, in sentences with their numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isoscope.measures.context.massive_tokens import FEW_SHARE
from isoscope.measures.context.outlier_rule import OUTLIER_SHARE
from isoscope.measures.layer_norm import FAR
from isoscope.measures.views import NONE
from isoscope.models.layer_names import (
    EMBEDDING_MATRIX,
    EVERYTHING,
    FINAL_NORM,
    ORDINARY,
    SUFFIX,
    UNEMBEDDING_MATRIX,
    in_words,
)
from isoscope.models.model import unstored_head
from isoscope.models.structure.norm_layers import norm_name
from isoscope.results.result import Result, Row
from isoscope.results.sentences import Sentence, as_verdict, with_role
from isoscope.verbs.profile.layer_reads import TENTH, moved_layers
from isoscope.verbs.profile.names import (
    CONTEXT,
    COSINES,
    LAST_LAYER,
    MASSIVE_TOKENS,
    OTHER_OUTLIERS,
    OUTLIERS,
    WEIGHTS,
    telling_parts,
)
from isoscope.verbs.profile.text import (
    MASSIVE,
    columns_of,
    curve_of,
    heading,
    part_rows,
    short,
    step_name,
)
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.models.model import Model


# Share of the layers in which a dimension stands out, from which it is worth a sentence.
PERSISTENT = 0.5
# Dimensions that a sentence names.
MOST_OUTLIERS = 3

# Values of a model's layers as they are, by layer and measure.
Known = dict[tuple[str, str], float]


def profile_verdict(model: str, layers: Sequence[str], found: Result) -> dict[str, Any]:
    """Return the verdict on the layers of a model."""
    known = {
        (row.part, row.measure): row.value
        for row in found.rows
        if row.correction == "none" and row.value is not None
    }
    sentences = [
        *with_role(COSINES, cosine_sentences(layers, known)),
        *outlier_sentences(found),
        *with_role(MASSIVE_TOKENS, massive_sentences(layers, known, found)),
        *with_role(CONTEXT, context_sentences(layers, known)),
    ]
    last = next((one for one in found.verdicts if one["part"] == layers[-1]), {})
    if last:
        sentences.append(Sentence(LAST_LAYER, f"At {layers[-1]}: {last['sentence']}"))
        sentences += with_role(OTHER_OUTLIERS, other_outliers(layers[-1], last, found))
    return {
        "subject": model,
        "part": "",
        **as_verdict(sentences, "Nothing was measured that a sentence could summarise."),
        # What follows is for whoever uses the vectors that come out.
        **{name: last[name] for name in ("implies", "does_not_imply") if name in last},
    }


def by_layer(layers: Sequence[str], known: Known, measure: str) -> dict[str, float]:
    """Return the values of a measure in the layers that have one, from the input on."""
    return {layer: known[layer, measure] for layer in layers if (layer, measure) in known}


def cosine_sentences(layers: Sequence[str], known: Known) -> list[str]:
    """Describe where the mean cosine is low and high, and what the final norm does to it."""
    cosines = by_layer(layers, known, "mean_cosine")
    if len(cosines) < 2:
        return [f"The mean cosine of {layer} is {value:.2f}." for layer, value in cosines.items()]
    low, high = min(cosines, key=cosines.__getitem__), max(cosines, key=cosines.__getitem__)
    said = [
        f"The mean cosine is lowest in {in_words(low)} ({cosines[low]:.2f}) and highest in "
        f"{in_words(high)} ({cosines[high]:.2f})."
    ]
    for before, layer in pairwise(cosines):
        if layer.endswith(FINAL_NORM):
            said.append(f"The {layer} takes it from {cosines[before]:.2f} to {cosines[layer]:.2f}.")
    return said


def outlier_sentences(found: Result) -> list[Sentence]:
    """Describe the dimensions that stand out in many layers."""
    table = next((one for one in found.tables if one.measure == "persistence"), None)
    if table is None:
        return []
    often = [row for row in table.rows if row["layers"] >= PERSISTENT * row["of_layers"]]
    said = [
        f"{row['dimension']} in {row['layers']} of {row['of_layers']} layers ({extreme_share(row)})"
        for row in often[:MOST_OUTLIERS]
    ]
    if said:
        listed = ", ".join(said)
        return [Sentence(OUTLIERS, f"Outlier dimensions: {listed}.", f"Dimension {listed}.")]
    return [Sentence(OUTLIERS, "No dimension is an outlier in half of the layers.")]


def extreme_share(row: Mapping[str, Any]) -> str:
    """Describe on which side a dimension is extreme and how often, or how far its mean is."""
    side = "minimum" if row["share_minimum"] > row["share_maximum"] else "maximum"
    share = row[f"share_{side}"]
    if share < OUTLIER_SHARE and abs(row["largest_deviations"]) > FAR:
        return f"its mean is up to {abs(row['largest_deviations']):.1f} deviations from the others"
    return f"the {side} in {100 * share:.0f} % of all vectors"


def other_outliers(layer: str, verdict: Mapping[str, Any], found: Result) -> list[str]:
    """Say why the verdict on the last layer names other dimensions than stand out in most layers.

    The verdict is about dimensions that carry variance or the mean cosine of that layer.
    """
    named = verdict.get("dimensions") or []
    table = next((one for one in found.tables if one.measure == "persistence"), None)
    if not named or table is None or not table.rows or table.rows[0]["dimension"] in named:
        return []
    first = table.rows[0]
    also = (
        "stands out there as well, but carries less of the variance and of the mean cosine"
        if layer in first["which"]
        else "does not stand out there"
    )
    return [
        f"Dimension {first['dimension']}, which stands out in {first['layers']} of "
        f"{first['of_layers']} layers, {also}."
    ]


def massive_sentences(layers: Sequence[str], known: Known, found: Result) -> list[str]:
    """Describe the layer that massive tokens change most, and whether they are few there."""
    parts = {part for _, part in moved_layers(found.rows)}
    moved = [layer for layer in layers if layer in parts]
    decided = {}
    for layer in moved:
        with_them, without = (of_tokens(layer, which, known) for which in (EVERYTHING, ORDINARY))
        if with_them is not None and without is not None and with_them - without > TENTH:
            decided[layer] = with_them, without
    if not decided:
        return []
    worst = max(decided, key=lambda layer: decided[layer][0] - decided[layer][1])
    with_them, without = decided[worst]
    example = longest_token(worst, found)
    shares = massive_shares(found)
    few = all(
        shares[layer][0] <= FEW_SHARE * shares[layer][1] for layer in decided if layer in shares
    )
    them = massive_count(*shares[worst]) if worst in shares else "them"
    return [
        f"In {len(decided)} of {len(layers)} layers {'a few ' * few}massive tokens dominate the "
        f"variance: in {in_words(worst)} the top component holds {with_them:.3f} of it with "
        f"{them} and {without:.3f} without{f'; the longest is {example}' if example else ''}."
    ]


def massive_shares(found: Result) -> dict[str, tuple[float, int]]:
    """Return how many tokens of each layer are massive, and of how many."""
    return {
        row.part: (row.value, row.n)
        for row in found.rows
        if row.measure == f"{MASSIVE}/count" and row.value is not None and row.n
    }


def massive_count(count: float, tokens: int) -> str:
    """Say how many of the tokens are massive, and whether that is more than a few."""
    more = "" if count <= FEW_SHARE * tokens else ", more than a few"
    return f"{counted(int(count), 'such token')} of {tokens:,} ({100 * count / tokens:.2g} %{more})"


def of_tokens(layer: str, which: str, known: Known) -> float | None:
    """Return the top variance share of all or of ordinary tokens, whichever is the main set."""
    name = "top_variance_share"
    return known.get((layer + SUFFIX[which], name), known.get((layer, name)))


def longest_token(layer: str, found: Result) -> str:
    """Describe the token with the largest norm in a layer."""
    for table in found.tables:
        if (table.measure, table.part) == (MASSIVE, layer) and table.rows:
            first = table.rows[0]
            return f"{first['token']!r} at position {first['position']}"
    return ""


def context_sentences(layers: Sequence[str], known: Known) -> list[str]:
    """Describe where occurrences of a word differ most, once the mean cosine is subtracted."""
    values = by_layer(layers, known, "self_similarity/corrected")
    if len(values) < 2:
        return []
    least = min(values, key=values.__getitem__)
    return [
        f"Words are most contextual in {in_words(least)}: the mean cosine of two occurrences of a "
        f"word is {values[least]:.2f} above that of two tokens."
    ]


# Measures of a part that the sentences are about, where it has one of them.
SAID = ("mean_cosine", "intra_sim", "i1_scaled", "gain_avgnorm", "bias_over_gain")


def training_verdicts(model: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Describe for each part that is shown how its measures change over the training."""
    own = [row for row in rows if row.extra.get("model") == model]
    found = []
    for kind, part in telling_parts(own):
        of_part = part_rows(own, kind, part)
        said = [
            sentence
            for column in said_columns(columns_of(of_part))
            if (sentence := course(heading(*column), curve_of(of_part, *column)))
        ]
        if said:
            found.append({"subject": model, "part": part, "sentence": " ".join(said)})
    return found


def said_columns(columns: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return measures and corrections that are worth a sentence: the first, if none is known."""
    return [(name, "none") for name in SAID if (name, "none") in columns] or columns[:1]


def course(name: str, curve: Sequence[Row]) -> str:
    """Describe where a curve begins and ends, and where it is highest or lowest in between."""
    if len(curve) < 2:
        return ""
    first, last = curve[0], curve[-1]
    said = f"{name} goes from {at(first)} to {at(last)}"
    seen = {short(first), short(last)}
    for word, row in (("highest", max(curve, key=size)), ("lowest", min(curve, key=size))):
        if short(row) not in seen:  # else nobody would see a difference
            said += f", {word} with {at(row)}"
    return f"{said}."


def at(row: Row) -> str:
    """Return a value and its step."""
    return f"{short(row)} at {step_name(row)}"


def size(row: Row) -> float:
    """Return what values are compared by: the logarithm of what may be below any double."""
    return float((row.value if row.log10 is None else row.log10) or 0.0)


def weights_verdict(model: Model, found: Result) -> dict[str, Any]:
    """Describe in a few sentences what the weights show."""
    known = {
        (row.part, row.measure, row.correction): row.value
        for row in found.rows
        if row.value is not None
    }
    said = []
    for part in (EMBEDDING_MATRIX, UNEMBEDDING_MATRIX):
        raw, centred = (known.get((part, "mean_cosine", name)) for name in (NONE, "center"))
        if raw is not None:
            after = "" if centred is None else f", {centred:.2f} after centring"
            said.append(f"The {part} has a mean cosine of {raw:.2f}{after}.")
    if model.tied:
        said.append("Embedding and unembedding are one matrix.")
    elif model.tied is None:
        said.append("There is no unembedding: the model was saved without a language-model head.")
    if model.not_stored:
        said.append(f"{unstored_head(model)}.")
    said.append(f"Positions: {', '.join(model.parts.positions.kinds)}.")
    final = model.parts.final_norm("decoder" if model.is_seq2seq else "")
    if final is None:
        said.append("There is no final norm after the last block.")
    else:
        ratio = known.get((norm_name(final), "bias_over_gain", NONE))
        said.append(
            f"The final norm is a {final.kind}"
            + (" without a bias." if ratio is None else f" with ‖b‖/‖g‖ = {ratio:.2g}.")
        )
    return {"subject": model.name, "part": "", **as_verdict(with_role(WEIGHTS, said))}
