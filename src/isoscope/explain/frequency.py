"""The topic of frequency: bands, directions and lengths by how frequent tokens are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.explain.contract import Explanation, Topic
from isoscope.explain.counting import token_counts, word_counts
from isoscope.explain.coverage import Coverage
from isoscope.explain.frequency_bands import band_rows
from isoscope.explain.frequency_directions import MEASURE, NORM, frequency_directions
from isoscope.explain.known_frequencies import from_text, from_wordfreq
from isoscope.explain.unused import DIFFERENCE, UNUSED_TOKENS, WITH_FREQUENCY, unused_rows
from isoscope.measures.views import NONE
from isoscope.models.weights.embeddings import token_texts
from isoscope.results.result import Row, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.explain.contract import Question


STRONG = 0.3
"""A correlation that is worth a sentence: below it frequency explains less than a tenth of what
varies."""
SURELY = 0.1
"""The interval must stay above this: several relations are looked at, and the strongest of them is
above 0 by chance."""
FEWEST_KINDS = 100
"""Over fewer kinds of tokens a few frequent ones decide."""

FIRST_WORDS = 100
HALF = 0.5


def explain_frequency(question: Question) -> Explanation:
    """Say whether components, lengths and unused tokens go with frequency, and where."""
    from isoscope.profiles.weights import EMBEDDING  # imports torch

    model, texts = question.model, question.some_texts
    cloud = model.embedding_cloud("input")
    counts = token_counts(model.tokenizer, texts, cloud.rows)
    words = Coverage.of(word_counts(texts).values())
    found = [covered("words", words, texts.name)]
    found.append(covered("tokens", Coverage.of(counts.tolist()), texts.name))
    frequencies = (
        from_wordfreq(model.tokenizer, len(counts))
        if question.frequencies == "wordfreq"
        else from_text(model.tokenizer, counts, texts.name)
    )
    rows = [row for some, _ in found for row in some]
    tables = [table for _, table in found]
    # No larger than the network that reads the text.
    matrix = np.concatenate([np.asarray(batch.vectors, np.float32) for batch in cloud.read()])
    everything = np.arange(len(matrix))
    tokens = np.array(token_texts(model.tokenizer, len(matrix)), dtype=object)
    sample, layer = question.sample, question.chosen_layer
    for where, vectors, ids, names, of_texts in (
        (EMBEDDING, matrix, everything, tokens, None),
        (layer, sample.layers[layer], sample.ids, sample.tokens, sample.sentences),
    ):
        rows += band_rows(where, vectors, ids, frequencies, of_texts)
        directions = frequency_directions(where, vectors, ids, names, frequencies, question.seed)
        rows += directions.rows
        tables.append(directions.scatter)
    rows += unused_rows(cloud, frequencies, EMBEDDING)
    return Explanation(any(map(is_strong, relations(rows))), sentence_of(rows), rows, tables)


def covered(part: str, coverage: Coverage, name: str) -> tuple[list[Row], Table]:
    """Return how much of a text its most frequent words cover, and how steeply they fall."""
    how = f"{coverage.total:,} {part} of {len(coverage.counts):,} kinds in {name}, punctuation in"
    exponent = coverage.zipf_exponent()
    values = {
        f"share_of_first_{FIRST_WORDS}": coverage.share_of(FIRST_WORDS),
        f"needed_for_{HALF:g}": float(coverage.needed_for(HALF)),
        "zipf_exponent": exponent,
    }
    note = "" if exponent is not None else "one kind of words only"
    rows = [
        Row(
            "", part, NONE, measure, value,
            n=coverage.total, protocol=how, note="" if value is not None else note,
        )
        for measure, value in values.items()
    ]  # fmt: skip
    return rows, Table("", part, NONE, "coverage", coverage.curve(), how)


def relations(rows: Sequence[Row]) -> list[Row]:
    """Return the correlations with frequency that the topic judges."""
    return [
        row
        for row in rows
        if row.correction == NONE
        and row.value is not None
        and (row.measure in (NORM, WITH_FREQUENCY) or row.measure.startswith(f"{MEASURE}/"))
    ]


def is_strong(row: Row) -> bool:
    """Whether a correlation is large, surely not small, and of enough kinds of tokens."""
    assert row.value is not None
    assert row.n is not None
    # Only a perfect correlation of so many has no interval.
    low, high = (row.value if end is None else end for end in (row.low, row.high))
    surely = min(abs(low), abs(high)) >= SURELY and low * high > 0
    return abs(row.value) >= STRONG and surely and row.n >= FEWEST_KINDS


def sentence_of(rows: Sequence[Row]) -> str:
    """Say the strongest relations with their figures, and where unused tokens lie."""
    known = [row for row in relations(rows) if row.measure != WITH_FREQUENCY]
    components = [row for row in known if row.measure != NORM]
    told = []
    for where in dict.fromkeys(row.part for row in known):
        of_place = [row for row in components if row.part == where and is_strong(row)]
        told += sorted(of_place, key=size_of)[-1:]
        told += [row for row in known if row.part == where and row.measure == NORM]
    told = [row for row in told if is_strong(row)]
    if told:
        main = f"Frequency explains a part: {'; '.join(map(clause, told))}."
    elif known:
        main = (
            f"Frequency explains neither components nor lengths: no correlation is {STRONG:g} or "
            f"more and surely above {SURELY:g} over at least {FEWEST_KINDS} kinds of tokens; the "
            f"strongest: {clause(max(known, key=size_of))}."
        )
    else:
        main = "Frequency explains nothing: too few tokens have one to correlate anything with it."
    return f"{main} {about_unused(rows)}"


def size_of(row: Row) -> float:
    """Return how strong a correlation is."""
    assert row.value is not None
    return abs(row.value)


def clause(row: Row) -> str:
    """Say what one correlation means."""
    assert row.value is not None
    if row.measure == NORM:
        longer = "longer" if row.value > 0 else "shorter"
        return (
            f"in {place_of(row)} frequent tokens are {longer} than rare ones (ρ = {figures(row)})"
        )
    number = row.measure.rpartition("_")[2]
    return f"component {number} of {place_of(row)} goes with log frequency (|r| = {figures(row)})"


def place_of(row: Row) -> str:
    """Return where a correlation is, as sentences say it: the matrix, block 6."""
    return row.part if row.part[-1].isdigit() else f"the {row.part}"


def figures(row: Row) -> str:
    """Return a correlation with its interval and number of kinds."""
    between = "" if row.low is None else f", 95 % interval {row.low:.2f} to {row.high:.2f}"
    return f"{row.value:.2f}{between}, {row.n:,} kinds of tokens"


def about_unused(rows: Sequence[Row]) -> str:
    """Say whether unused tokens are closer to rare tokens or to frequent ones."""
    found = [row for row in rows if row.measure == WITH_FREQUENCY and row.correction == NONE]
    if not found:
        return "No unused tokens are known: no token is named as one."
    row = found[0]
    count = f"{row.extra[UNUSED_TOKENS]:,} unused tokens"
    if row.value is None:
        return f"How close {count} are to rare ones is {row.note}."
    if is_strong(row):
        rare = row.value < 0
        closer = "rare tokens than to frequent" if rare else "frequent tokens than to rare"
        said = f"The {count} are closer to {closer} ones"
    else:
        said = f"The {count} are not clearly closer to rare tokens or to frequent ones"
    difference = next(
        row for row in rows if row.measure == DIFFERENCE and row.correction == NONE
    )  # fmt: skip
    bins = (
        "" if difference.value is None
        else f"; mean cosines, {difference.note}: {difference.value:+.2f}"
    )  # fmt: skip
    return f"{said} (ρ of their cosine with frequency = {figures(row)}{bins})."


FREQUENCY = Topic(
    "frequency", "Do directions and lengths follow how frequent tokens are?",
    "a text, whose tokens are counted; --frequencies wordfreq takes those of English instead",
    explain_frequency,
)  # fmt: skip
