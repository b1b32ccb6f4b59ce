"""The contextual measures of a layer as values with notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isoscope.measures.contextual.explained import MINIMUM
from isoscope.measures.contextual.massive import LISTED, MASSIVE
from isoscope.measures.registry import TableValue, Value, counted

if TYPE_CHECKING:
    from isoscope.measures.contextual.explained import Explained
    from isoscope.measures.contextual.grouped_sums import WithinGroups
    from isoscope.measures.contextual.massive import LongestTokens
    from isoscope.measures.contextual.sentences import SentenceCosines

NO_MEAN_COSINE = "the mean cosine of the layer is not known"


@dataclass(frozen=True)
class Contextual:
    """The contextual measures of one layer."""

    values: Mapping[str, Value]
    tables: Mapping[str, TableValue] = field(default_factory=dict)


def less_mean_cosine(value: Value, mean_cosine: float | None) -> Value:
    """Subtract what any two vectors of the layer have in common (Ethayarajh 2019)."""
    if value.value is None:
        return value
    if mean_cosine is None:
        return replace(value, value=None, note=NO_MEAN_COSINE)
    note = f"less the mean cosine of the layer, {mean_cosine:.4g}"
    return replace(
        value, value=value.value - mean_cosine, note="; ".join(filter(None, (note, value.note)))
    )


def type_values(within: WithinGroups, share_kept: float) -> dict[str, Value]:
    """Return ``intra_sim`` and what belongs to it."""
    note = sampled_note("token types", within.groups, share_kept)
    extra = {
        "types": within.groups,
        "types_seen_twice": within.groups_seen_twice,
        "share_kept": share_kept,
    }
    if within.mean is None:
        note = "no token type was seen twice"
    common = Value(None, note=note, rows=within.members, extra=extra)
    return {
        "intra_sim": replace(common, value=within.mean),
        "intra_sim/by_count": replace(common, value=within.mean_by_count),
        "intra_sim/types_seen_twice": replace(
            common,
            value=within.share_seen_twice,
            note=note if within.groups else "no vector that is not zero",
        ),
    }


def word_values(
    within: WithinGroups, share_kept: float, subwords: str, mean_cosine: float | None
) -> dict[str, Value]:
    """Return ``self_similarity``, as it is and corrected."""
    notes = (subwords_note(subwords), sampled_note("words", within.groups, share_kept))
    note = "; ".join(filter(None, notes))
    if within.mean is None:
        note = "no word was seen twice"
    extra = {
        "words": within.groups,
        "words_seen_twice": within.groups_seen_twice,
        "share_kept": share_kept,
    }
    value = Value(within.mean, note=note, rows=within.members, extra=extra)
    return {
        "self_similarity": value,
        "self_similarity/corrected": less_mean_cosine(value, mean_cosine),
    }


def sentence_values(found: SentenceCosines, mean_cosine: float | None) -> dict[str, Value]:
    """Return ``intra_sentence_similarity``, as it is and corrected."""
    notes = []
    if found.one_token:
        notes.append(f"{counted(found.one_token, 'text')} of fewer than two vectors left out")
    if found.no_mean:
        notes.append(f"{counted(found.no_mean, 'text')} with a mean of zero left out")
    if found.mean is None and not notes:
        notes.append("there are no texts")
    extra = {"sentences": found.sentences, "left_out": found.one_token + found.no_mean}
    value = Value(found.mean, note="; ".join(notes), rows=found.tokens, extra=extra)
    return {
        "intra_sentence_similarity": value,
        "intra_sentence_similarity/corrected": less_mean_cosine(value, mean_cosine),
    }


def explained_values(
    found: Explained, subwords: str, per_word: int, memory_bytes: int
) -> dict[str, Value]:
    """Return ``max_explainable_variance``, as it is and corrected."""
    note = (
        f"{counted(found.words, 'word')} chosen by hash, {MINIMUM} to {per_word} occurrences each, "
        f"within {memory_bytes / 2**20:,.0f} MB for all layers; {subwords_note(subwords)}"
    )
    if found.mean is None:
        note = (
            f"no word with {MINIMUM} occurrences within {memory_bytes / 2**20:,.0f} MB "
            "for all layers"
        )
    extra = {"words": found.words, "random": found.random}
    value = Value(found.mean, note=note, rows=found.occurrences, extra=extra)
    if found.mean is None:
        corrected = value
    elif found.random is None:
        corrected = replace(value, value=None, note="too few word occurrences to compare with")
    else:
        corrected = replace(
            value,
            value=found.mean - found.random,
            note=f"less that of as many random word occurrences, {found.random:.4g}; {note}",
        )
    return {"max_explainable_variance": value, "max_explainable_variance/corrected": corrected}


def massive_values(found: LongestTokens) -> dict[str, Value]:
    """Return how many tokens are massive, and how long the longest is."""
    massive, median = found.massive, found.median
    if massive is None or median is None:
        why = "no vector that is not zero" if not found.counted else "no finite median length"
        missing = Value(None, note=why, rows=found.counted)
        return {f"massive_activations/{name}": missing for name in ("share", "count", "largest")}
    note = f"longer than {MASSIVE:g} times the median, {median:.4g}, to within a bin of 4.4 %"
    extra = {"median": median}
    return {
        "massive_activations/share": Value(
            massive / found.counted, note=note, rows=found.counted, extra=extra
        ),
        "massive_activations/count": Value(
            float(massive), note=note, rows=found.counted, extra=extra
        ),
        "massive_activations/largest": Value(
            found.tokens[0].norm / median, rows=found.counted, extra=extra
        ),
    }


def massive_table(found: LongestTokens) -> TableValue:
    """Return the longest vectors by name."""
    note = f"the {LISTED} longest" if found.counted > LISTED else ""
    return TableValue(found.rows(), note)


def subwords_note(subwords: str) -> str:
    """Say which vector stands for a word."""
    return f"of a word's tokens the {subwords}"


def sampled_note(things: str, kept: int, share: float) -> str:
    """Say that only some groups were kept, where that is so."""
    if share >= 1:
        return ""
    return f"{kept:,} {things} chosen by hash, about {share:.2g} of all, to stay within memory"
