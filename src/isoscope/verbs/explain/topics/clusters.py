"""What the clusters of a layer contain: kinds of tokens, positions, frequencies.

Removing directions cluster by cluster rests on clusters that mean something. Here they are looked
into: how far the cluster tells the kind of a token (punctuation, stop word, other), as the mutual
information of the two, adjusted for chance; and how much of the variance of position and of log10
frequency lies between clusters. With n tokens in K clusters, SSW the sum of squares within clusters
and SST that around the mean of all, it is

    ε² = 1 − SSW / SST · (n − 1) / (n − K),

which is η² = 1 − SSW / SST adjusted for the number of clusters: 0 is expected of clusters that have
nothing to do with it. It may be below 0.

Occurrences of one token have one kind and one frequency, and lie near each other in most layers:
clusters that only keep them together would seem to go with both. So kinds and frequencies are also
dealt to the tokens of the vocabulary at random; where the real ones do no better than the best of
39 deals, clusters go with tokens, and with nothing more.

References
----------
Rajaee & Pilehvar (2021), sections 3 and 5.1: 27 clusters for BERT, many of punctuation and stop
words. Kelley (1935), An unbiased correlation ratio measure. Vinh, Epps & Bailey (2010), Information
theoretic measures for clusterings comparison.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope import corrections
from isoscope.errors import DataError
from isoscope.results.result import Row, Table
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic, word_file
from isoscope.wording import and_list

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from numpy.typing import NDArray

    from isoscope.models.token_table import TokenSample
    from isoscope.typing import Vector

    Labels = NDArray[np.intp]
    Relation = Callable[[Vector, Labels], float | None]


# Function words of English: articles, pronouns, prepositions, conjunctions, auxiliaries, and
# adverbs that say little by themselves.
STOP_WORDS = frozenset(word_file("function_words.txt").split())

PUNCTUATION, STOP_WORD, OTHER, SPECIAL = "punctuation", "stop word", "other", "special"
AROUND = re.compile(r"^\W+|\W+$")
# What vocabularies write before the first token of a word.
MARKERS = "▁Ġ"


def kind_of(token: str, word: str) -> str:
    """Return the kind of a token: of the word that it is a part of, unless it is a mark itself.

    Some tokenizers count a mark to the word before it, and some take whole texts for words; the
    token then tells.
    """
    bare = token.lstrip(MARKERS)
    marks = not any(letter.isalnum() for letter in bare)
    if (bare and marks) or (word and not any(letter.isalnum() for letter in word)):
        return PUNCTUATION
    name = AROUND.sub("", bare if " " in word else word)
    return STOP_WORD if name.casefold() in STOP_WORDS else OTHER


# Of clusters: as many as the paper has for BERT and RoBERTa.
NUMBER = 27

# Tokens for each cluster; of short texts fewer clusters are made.
FEWEST_TOKENS = 10

# From a tenth on, clusters go with something. Both figures are about 0 for clusters that do not,
# with an error of about a hundredth for a thousand tokens.
LEAST_INFORMATION = 0.1
LEAST_VARIANCE = 0.1

# Being above all of so many deals happens by chance once in forty times.
DEALS = 39

# Tokens that are listed of a cluster.
LISTED = 10

NONE = "none"
INFORMATION = "adjusted_mutual_information/kind"
MOSTLY_PUNCTUATION, MOSTLY_STOP_WORDS = "clusters_mostly_punctuation", "clusters_mostly_stop_words"
HELD = "punctuation_in_such_clusters"
DEALT = "/dealt"
POSITION, FREQUENCY = "variance_explained/position", "variance_explained/log_frequency"


@dataclass(frozen=True)
class TokenTable:
    """What is known of every token, beside its cluster.

    Attributes
    ----------
    clusters : array
        Numbers from 0 on, all of them used.
    ids : array
        Row of the vocabulary.
    kinds, tokens : array of str
        Kind of token, and how the vocabulary writes it.
    positions, log_counts : array
        Place in the text, and log10 of how often the token is among these.
    """

    clusters: Labels
    ids: NDArray[np.int64]
    kinds: NDArray[np.object_]
    tokens: NDArray[np.object_]
    positions: Vector
    log_counts: Vector


def explain_clusters(question: Question) -> Explanation:
    """Answer what the topic asks."""
    sample, layer = question.sample, question.chosen_layer
    wanted = min(NUMBER, len(sample) // FEWEST_TOKENS)
    if wanted < 2:
        raise DataError(
            f"clusters take at least {2 * FEWEST_TOKENS} tokens, and the text has {len(sample)}"
        )
    labels = clusters_of(sample.layers[layer], wanted, question.seed)
    special = question.model.tokenizer.all_special_ids if question.special_tokens else ()
    tokens = token_table(sample, labels, special)
    protocol = (
        f"{sample.protocol}; {layer}; k-means with {tokens.clusters.max() + 1} clusters, "
        f"seed {question.seed}"
    )
    rows = cluster_rows(tokens, layer, protocol, question.seed)
    found, sentence = finding(rows, int(tokens.clusters.max()) + 1, layer)
    brief, figures = in_brief(rows, layer)
    table = Table("", layer, NONE, "clusters", cluster_table(tokens), protocol)
    return Explanation(found, sentence, rows, [table], brief, figures)


def clusters_of(vectors: NDArray[Any], clusters: int, seed: int) -> Labels:
    """Return the cluster of every vector: those that cluster-pc-removal finds with this seed."""
    removal = corrections.ClusterRemoval(clusters, 0, random_state=seed)
    with warnings.catch_warnings():
        # Fewer clusters, where vectors repeat, are seen by their number.
        warnings.filterwarnings("ignore", message=".*clusters are used", category=UserWarning)
        found = removal.fit(vectors).assign(vectors)
    return np.unique(found, return_inverse=True)[1].astype(np.intp)


def token_table(sample: TokenSample, clusters: Labels, special_ids: Container[int]) -> TokenTable:
    """Put together what is known of every token of a sample."""
    every = zip(sample.ids.tolist(), sample.tokens, sample.words, strict=True)
    kinds = np.empty(len(sample), object)
    kinds[:] = [
        SPECIAL if not word and number in special_ids else kind_of(token, word)
        for number, token, word in every
    ]
    _, where, counts = np.unique(sample.ids, return_inverse=True, return_counts=True)
    positions = sample.positions.astype(np.float64)
    return TokenTable(
        clusters, sample.ids, kinds, sample.tokens, positions, np.log10(counts[where])
    )


def cluster_rows(tokens: TokenTable, layer: str, protocol: str, seed: int) -> list[Row]:
    """Return what all clusters together show."""
    sizes = np.bincount(tokens.clusters)
    marks, stops = tokens.kinds == PUNCTUATION, tokens.kinds == STOP_WORD
    in_cluster = np.bincount(tokens.clusters, marks)
    full = 2 * in_cluster > sizes
    stop_full = 2 * np.bincount(tokens.clusters, stops) > sizes
    blank = Row("", layer, NONE, "", None, n=len(marks), protocol=protocol)

    def row(measure: str, value: float | None, n: int, note: str = "") -> Row:
        return replace(blank, measure=measure, value=value, n=n, note=note)

    held = float(in_cluster[full].sum() / marks.sum()) if marks.any() else None
    why = "" if marks.any() else "undefined: the text has no punctuation"
    return [
        row("punctuation_share", float(marks.mean()), len(marks)),
        row("stop_word_share", float(stops.mean()), len(marks)),
        *relation_rows(tokens, blank, seed),
        row(MOSTLY_PUNCTUATION, float(full.sum()), len(sizes)),
        row(MOSTLY_STOP_WORDS, float(stop_full.sum()), len(sizes)),
        row("share_of_clusters_with_punctuation", float((in_cluster > 0).mean()), len(sizes)),
        row(HELD, held, int(marks.sum()), why),
    ]


def relation_rows(tokens: TokenTable, blank: Row, seed: int) -> list[Row]:
    """Return how far clusters go with kind, position and frequency, and with dealt ones.

    Parameters
    ----------
    tokens : TokenTable
        What is known of the tokens.
    blank : Row
        What all these rows have in common.
    seed : int
        Of the dealing.
    """
    kinds = np.unique(tokens.kinds.astype(str), return_inverse=True)[1].astype(np.float64)
    rows = []
    for measure, values, relation in (
        (INFORMATION, kinds, kind_information),
        (POSITION, tokens.positions, variance_explained),
        (FREQUENCY, tokens.log_counts, variance_explained),
    ):
        found = relation(values, tokens.clusters)
        note = "undefined: it is the same for all tokens" if found is None else ""
        rows.append(replace(blank, measure=measure, value=found, note=note))
        if measure == POSITION or found is None:
            continue
        dealt = permuted_relations(values, tokens, relation, seed)
        note = f"mean, least and most of {DEALS} times dealt to the vocabulary at random"
        mean, low, high = float(np.mean(dealt)), min(dealt), max(dealt)
        rows.append(
            replace(blank, measure=measure + DEALT, value=mean, low=low, high=high, note=note)
        )
    return rows


def permuted_relations(
    values: Vector, tokens: TokenTable, relation: Relation, seed: int
) -> list[float]:
    """Return what clusters would have to do with values that were dealt to the vocabulary."""
    vocabulary, where = np.unique(tokens.ids, return_inverse=True)
    # What is dealt belongs to kinds of tokens, so that occurrences of one still go together.
    of_token = np.empty(len(vocabulary))
    of_token[where] = values
    drawn = np.random.default_rng(seed)
    deals = (drawn.permutation(of_token)[where] for _ in range(DEALS))
    # Kinds may differ between occurrences of one token alone: then there is nothing to deal.
    return [relation(dealt, tokens.clusters) or 0.0 for dealt in deals]


def kind_information(kinds: Vector, clusters: Labels) -> float | None:
    """Return the adjusted mutual information of kind and cluster; None for a single kind."""
    from sklearn.metrics import adjusted_mutual_info_score

    if np.ptp(kinds) == 0:
        return None
    return float(adjusted_mutual_info_score(kinds.astype(np.intp), clusters))


def variance_explained(values: Vector, clusters: Labels) -> float | None:
    """Return ε², the variance between clusters, adjusted for their number; None without any."""
    centred = values - values.mean()
    total = float(centred @ centred)
    sizes = np.bincount(clusters)
    if np.ptp(values) == 0:
        return None
    away = centred - (np.bincount(clusters, centred) / sizes)[clusters]
    return 1 - float(away @ away) / total * (len(values) - 1) / (len(values) - len(sizes))


def cluster_table(tokens: TokenTable) -> list[dict[str, Any]]:
    """List what every cluster contains, the largest first."""
    sizes = np.bincount(tokens.clusters)
    rows = []
    for cluster in np.argsort(-sizes, kind="stable").tolist():
        own = tokens.clusters == cluster
        kinds = Counter(tokens.kinds[own])
        rows.append(
            {
                "cluster": cluster,
                "size": int(sizes[cluster]),
                "punctuation": kinds[PUNCTUATION] / int(sizes[cluster]),
                "stop_words": kinds[STOP_WORD] / int(sizes[cluster]),
                "special": kinds[SPECIAL] / int(sizes[cluster]),
                "mean_position": float(tokens.positions[own].mean()),
                "mean_log10_frequency": float(tokens.log_counts[own].mean()),
                "tokens": commonest(tokens.tokens[own]),
            }
        )
    return rows


def commonest(tokens: NDArray[np.object_]) -> str:
    """Return the commonest tokens, with spaces between them; of equals the first by letters."""
    counts = sorted(Counter(tokens).items(), key=lambda item: (-item[1], item[0]))
    return " ".join(token for token, _ in counts[:LISTED])


@dataclass(frozen=True)
class Going:
    """Whether clusters go with something, and by how much."""

    what: str
    of: str
    short: str
    value: float
    dealt: float | None
    least: float

    @property
    def together(self) -> bool:
        """Whether they do, by more than labels that are dealt at random."""
        return self.value >= self.least and (self.dealt is None or self.value > self.dealt)


def going_with(rows: Sequence[Row]) -> list[Going]:
    """Return with what clusters may go, as far as that is defined."""
    by_measure = {row.measure: row for row in rows}
    found = []
    share = "variance share"
    for what, of, short, measure, least in (
        ("the kind of token", "adjusted mutual information", "mutual information", INFORMATION,
         LEAST_INFORMATION),
        ("position", "share of its variance", share, POSITION, LEAST_VARIANCE),
        ("frequency", "share of the variance of its logarithm", share, FREQUENCY, LEAST_VARIANCE),
    ):  # fmt: skip
        value, dealt = by_measure[measure].value, by_measure.get(measure + DEALT)
        if value is not None:
            high = None if dealt is None else dealt.high
            found.append(Going(what, of, short, value, high, least))
    return found


def in_brief(rows: Sequence[Row], layer: str) -> tuple[str, tuple[KeyFigure, ...]]:
    """Return the finding as a clause, with a number for everything that clusters may go with."""
    every = going_with(rows)
    found = sorted(every, key=lambda one: (not one.together, -one.value))
    figures = tuple(
        KeyFigure(f"{one.short}, clusters and {one.what}", one.value, one.dealt,
                  "" if one.dealt is None else "at most, at random")
        for one in found
    )  # fmt: skip
    names = [one.what for one in every if one.together]
    if not names:
        return (
            f"clusters of {layer} are related to none of kind of token, position and frequency",
            figures,
        )
    return f"clusters of tokens in {layer} are related to {and_list(names)}", figures


def finding(rows: list[Row], clusters: int, layer: str) -> tuple[bool, str]:
    """Return whether clusters go with anything, and the finding in a sentence."""
    by_measure = {row.measure: row for row in rows}
    with_these: list[str] = []
    others: list[str] = []
    for one in going_with(rows):
        at_random = "" if one.dealt is None else f"; dealt at random up to {one.dealt:.2f}"
        said = f"{one.what} ({one.of} {one.value:.2f}{at_random})"
        (with_these if one.together else others).append(said)
    start = f"The {clusters} clusters of {layer}"
    if not with_these:
        nothing = (
            f"are not related to {' or '.join(others)}"
            if others
            else "contain tokens that are all alike"
        )
        return False, f"{start} {nothing}."
    sentence = f"{start} are related to {and_list(with_these)}"
    if others:
        sentence += f", not to {' or '.join(others)}"
    held = by_measure[HELD].value
    if held is not None:
        marks = by_measure[MOSTLY_PUNCTUATION].value or 0
        words = by_measure[MOSTLY_STOP_WORDS].value or 0
        sentence += (
            f"; {mostly(marks, 'punctuation')} ({100 * held:.1f} % of it), "
            f"{mostly(words, 'stop words')}"
        )
    return True, f"{sentence}."


def mostly(clusters: float, kind: str) -> str:
    """Say how many clusters contain mostly one kind of token."""
    return f"{clusters:.0f} {'is' if clusters == 1 else 'are'} mostly {kind}"


CLUSTERS = Topic("clusters", "what clusters of tokens contain", "a text", explain_clusters)
