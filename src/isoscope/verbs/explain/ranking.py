"""The causes of the unevenness of a layer, ranked by what each contributes, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.measures.views import NONE
from isoscope.models.layer_names import in_words
from isoscope.models.structure.norm_layers import norm_weights
from isoscope.results.fields import TITLE, TOPIC
from isoscope.results.result import Row
from isoscope.verbs.explain.contributions import (
    DEALS,
    FEWEST_TEXTS,
    FREQUENCY,
    LEAST,
    NORMS,
    OUTLIERS,
    POSITION,
    Comparison,
    Contribution,
    LayerTokens,
    compare_causes,
)
from isoscope.verbs.explain.names import CONTRIBUTION, MEAN_SQUARED_COSINE
from isoscope.verbs.explain.topics.base import Question
from isoscope.verbs.explain.topics.outliers import clipped_layer
from isoscope.verbs.explain.topics.position_probe import different_texts
from isoscope.wording import and_list, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.layer_norm import NormWeights

COMPARABLE = (FREQUENCY, POSITION, NORMS, OUTLIERS)

# What sentences call a cause.
CALLED = {
    FREQUENCY: "token frequency",
    POSITION: "position in the text",
    NORMS: "the gains and biases of the norm",
    OUTLIERS: "outlier dimensions",
}
PLURAL = (NORMS, OUTLIERS)

# How sentences say that a cause is taken out.
WITHOUT = {
    FREQUENCY: "removing the part related to it",
    POSITION: "removing the part related to it",
    NORMS: "undoing them",
    OUTLIERS: "removing them",
}
WORDS = ("no", "one", "two", "three", "four")
HALF = 0.5

# Why the other topics have no place among the causes.
NOT_COMPARABLE = {
    "clusters": "clusters are made from the vectors themselves, so that removing them always "
    "removes unevenness",
    "structure": "structure reads sentences of its own instead of the text",
    "senses": "senses reads verbs of SemCor instead of the text",
    "drift": "drift compares checkpoints instead of the causes within one",
}

# A norm gives out values of this mean and variance, but for its epsilon.
NEAR = 0.1
CHECKED = 200


@dataclass(frozen=True)
class Ranking:
    """The causes in their order, and what a result says of them.

    Attributes
    ----------
    layer : str
        Whose unevenness it is.
    comparison : Comparison
        The contributions.
    protocol : str
        What was measured, and how.
    tokens : int
        How many there are.
    """

    layer: str
    comparison: Comparison
    protocol: str
    tokens: int

    @property
    def sentence(self) -> str:
        """Name the cause that contributes most, then the others, or say that there is none."""
        return sentence_of(self.layer, self.comparison)

    def rows(self) -> list[Row]:
        """Return the mean squared cosine, and the contribution of every cause."""
        even = f"in a space that is filled evenly: {self.comparison.even:.3g}"
        value, around = self.comparison.mean_squared_cosine, self.comparison.unevenness
        shifted = replace(around, value=value)
        if around.low is not None and around.high is not None:
            by = self.comparison.even
            shifted = replace(shifted, low=around.low + by, high=around.high + by)
        first = Row.of(
            shifted, "", self.layer, NONE, MEAN_SQUARED_COSINE,
            n=self.tokens, protocol=self.protocol,
            note="; ".join(filter(None, (even, around.note))),
        )  # fmt: skip
        return [
            first,
            *(
                Row.of(
                    one.score, "", self.layer, NONE, f"{CONTRIBUTION}/{one.cause}",
                    n=self.tokens, protocol=self.protocol,
                    extra={
                        "found": one in self.comparison.found,
                        "undecided": one in self.comparison.undecided,
                        "by_chance": one.by_chance,
                    },
                )
                for one in self.comparison.contributions
            ),
        ]  # fmt: skip

    def verdict(self) -> dict[str, Any]:
        """Return the ranking as a verdict: the sentence, and a line for every cause."""
        largest = [one.cause for one in self.comparison.largest]
        lines = [
            {
                "cause": one.cause,
                **{name: getattr(one.score, name) for name in ("value", "low", "high", "note")},
                "by_chance": one.by_chance,
                "found": self.comparison.uneven and one.found,
                "undecided": one in self.comparison.undecided,
                "evens_out": one.evens_out,
                "largest": one.cause in largest,
            }
            for one in self.comparison.contributions
        ]
        about = {"mean_squared_cosine": self.comparison.mean_squared_cosine}
        even = {"even": self.comparison.even}
        return {
            "part": self.layer, "sentence": self.sentence, "found": bool(self.comparison.found),
            TOPIC: "", TITLE: "what contributes to the unevenness",
            **about, **even, CONTRIBUTION: lines,
        }  # fmt: skip


def rank_causes(question: Question, causes: Sequence[str]) -> Ranking:
    """Measure what causes contribute to the unevenness of the chosen layer."""
    sample, layer = question.enough("contributions"), question.chosen_layer
    vectors = sample.layers[layer]
    norm = ending_norm(question, vectors) if NORMS in causes else None
    frequencies = question.token_frequencies if FREQUENCY in causes else None
    tokens = LayerTokens(
        # Copies of a text tell no more than one of them.
        vectors, sample.ids, sample.positions, different_texts(sample.sentences, sample.ids),
        None if frequencies is None else frequencies.log10(sample.ids),
        clipped_layer(vectors, layer).dimensions if OUTLIERS in causes else (),
        None if norm is None else undone(vectors, norm),
    )  # fmt: skip
    comparison = compare_causes(tokens, causes, question.seed)
    source = "" if frequencies is None else f"; frequencies: {frequencies.source}"
    return Ranking(
        layer, comparison,
        f"{sample.protocol}; share of the mean squared cosine beyond an even space; chance: "
        f"{DEALS} deals, of outliers one direction in a hundred; intervals by text{source}",
        len(sample),
    )  # fmt: skip


def ending_norm(question: Question, vectors: NDArray[np.float32]) -> NormWeights | None:
    """Return the norm whose output the vectors of the chosen layer are, if there is one.

    Where a block ends in something else, as in GPT-2, undoing gain and bias of a norm does not give
    values of mean square 1.
    """
    model, width = question.model, vectors.shape[1]
    for norm in reversed(model.parts.norms):
        if norm.where != question.chosen_layer:
            continue
        weights = norm_weights(model, norm)
        if weights is None or len(weights.gain) != width or not weights.gain.all():
            continue
        bare = undone(vectors[:CHECKED], weights)
        bare = bare[vectors[:CHECKED].any(axis=1)]
        middle = np.abs(bare.mean(axis=1)) if weights.centres else np.zeros(1)
        if len(bare) and max(np.abs((bare**2).mean(axis=1) - 1).max(), middle.max()) < NEAR:
            return weights
    return None


def undone(vectors: NDArray[np.float32], norm: NormWeights) -> NDArray[np.float64]:
    """Return vectors without gain and bias of the norm that made them."""
    shifted = np.asarray(vectors, np.float64)
    return np.asarray((shifted if norm.bias is None else shifted - norm.bias) / norm.gain)


def sentence_of(layer: str, found: Comparison) -> str:
    """Name the cause that contributes most, then the others; say so where none can be named."""
    where = in_words(layer)
    measured = found.measured
    if not measured:
        return f"No cause of the unevenness of {where} could be measured."
    if found.unevenness.low is None:
        return (
            f"Which cause contributes most to the unevenness of {where} is not known: that takes "
            f"at least {FEWEST_TEXTS} texts, and these tokens are from "
            f"{counted(found.unevenness.n, 'different text')}."
        )
    if not found.uneven:
        return (
            f"The tokens of {where} fill their space evenly (mean squared cosine "
            f"{found.mean_squared_cosine:.3g}, at least {found.even:.3g}), so there is no "
            "unevenness to explain."
        )
    largest = leading(where, found) if found.found else nothing(where, found)
    return " ".join([largest, *following(found)])


def nothing(where: str, found: Comparison) -> str:
    """Say that no cause contributes."""
    names = [CALLED[one.cause] for one in found.measured]
    least = f"as much as {100 * LEAST:.0f} %"
    if len(names) == 1:
        return f"{capital(names[0])} cannot be shown to make {least} of the unevenness of {where}."
    return (
        f"None of the causes that were compared ({', '.join(names)}) can be shown to make {least} "
        f"of the unevenness of {where}."
    )


def leading(where: str, found: Comparison) -> str:
    """Say which cause contributes most, or which of several may."""
    if not found.largest:
        known = and_list([f"{CALLED[one.cause]} ({amount(one)})" for one in found.found])
        verb = agreed("contribute", found.found)
        return (
            f"{capital(known)} {verb} to the unevenness of {where}, but which cause contributes "
            "most is not known."
        )
    first, *level = found.largest
    several = len(found.measured) > 1
    if not level:
        verb = agreed("contribute", [first])
        start = f"Of {WORDS[len(found.measured)]} causes, " if several else ""
        name = CALLED[first.cause] if several else capital(CALLED[first.cause])
        return (
            f"{start}{name} {verb}{' most' * several} to the unevenness of {where}: "
            f"{WITHOUT[first.cause]} lowers it by {amount(first)} "
            f"(95 % interval: {between(first)})."
        )
    shares = [f"{CALLED[one.cause]} ({amount(one)})" for one in (first, *level)]
    return (
        f"{capital(and_list(shares))} contribute most to the unevenness of {where}; the difference "
        "between them is not significant."
    )


def following(found: Comparison) -> list[str]:
    """Name the other causes: those that contribute less, those that do not, and what is left."""
    said = []
    less = [one for one in found.found if one not in found.largest]
    if less and found.largest:
        shares = and_list([f"{CALLED[one.cause]} ({amount(one)})" for one in less])
        said.append(f"{capital(shares)} {agreed('contribute', less)} less.")
    if found.undecided:
        shares = and_list([f"{CALLED[one.cause]} ({amount(one)})" for one in found.undecided])
        verb = agreed("contribute", found.undecided)
        said.append(f"{capital(shares)} {verb} no more than chance could.")
    rest = [one for one in found.measured if not one.large and not one.evens_out]
    if rest and found.found:
        names = and_list([CALLED[one.cause] for one in rest])
        verb = agreed("contribute", rest)
        said.append(f"{capital(names)} {verb} less than {100 * LEAST:.0f} %.")
    said += [
        f"{capital(CALLED[one.cause])} {'make' if one.cause in PLURAL else 'makes'} the layer more "
        f"even: without {'them' if one.cause in PLURAL else 'it'} it would be {times(one)} as "
        "uneven."
        for one in found.measured
        if one.evens_out
    ]
    if found.largest and (found.largest[0].score.value or 0.0) < HALF:
        said.append("No single one of them makes half of it.")
    return said


def agreed(verb: str, causes: Sequence[Contribution]) -> str:
    """Return a verb in the number of its subject."""
    plural = len(causes) > 1 or causes[0].cause in PLURAL
    return verb if plural else f"{verb}s"


def times(one: Contribution) -> str:
    """Say how many times as uneven a layer would be without what evens it out."""
    assert one.score.value is not None
    return f"{1 - one.score.value:.1f} times"


def amount(one: Contribution) -> str:
    """Write a contribution as a percentage."""
    assert one.score.value is not None
    return f"{100 * one.score.value:.0f} %"


def between(one: Contribution) -> str:
    """Write an interval in percent; nothing can fall by more than all of it."""
    assert one.score.low is not None
    assert one.score.high is not None
    return f"{100 * one.score.low:.0f} to {100 * min(one.score.high, 1.0):.0f} %"


def capital(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]


def reasons(topics: Collection[str], ranking: Ranking) -> list[str]:
    """Say why topics that were answered are not ranked."""
    named = [why for topic, why in NOT_COMPARABLE.items() if topic in topics]
    named += [
        f"{one.cause}: {one.score.note}"
        for one in ranking.comparison.contributions
        if one.score.value is None
    ]
    return [f"not ranked: {'; '.join(named)}"] if named else []
