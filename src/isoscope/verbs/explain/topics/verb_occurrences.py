"""Verbs of SemCor with their sense and tense, and their vectors.

A verb is here if at least two of its senses have ten occurrences or more, as in Rajaee & Pilehvar
(2021); only these senses count. A sentence is its forms with spaces between them; a multiword
(looked_up) is a verb of its own and takes its place with all its words.

The tense is told from form and lemma. Classes are what a form can tell: *base* (walk: infinitive,
imperative and present), *s* (walks), *ing* (walking), and *past* (walked, wrote, written). An
infinitive and a present share a form, and so do most pasts and past participles: what no form tells
apart is one class. A few verbs have a past like their base (put, cut): it counts as base.

Regular forms follow the rules of spelling, irregular ones a list, also behind a prefix (undertook).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from isoscope.corrections.named import named
from isoscope.data.sampling import lowest_indices
from isoscope.errors import DataError
from isoscope.models.sentences.pooling import token_batches
from isoscope.models.tokens import Mention
from isoscope.progress import Progress, report
from isoscope.results.tables import grouped
from isoscope.tasks.datasets.semcor import token_fields
from isoscope.tasks.registry import find_task
from isoscope.verbs.explain.topics.base import word_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.typing import Matrix


Tense: TypeAlias = Literal["base", "s", "ing", "past"]

VOWELS = frozenset("aeiou")

IRREGULAR: dict[tuple[str, str], Tense] = {
    ("be", "is"): "s", ("be", "am"): "base", ("be", "are"): "base",
    ("be", "was"): "past", ("be", "were"): "past", ("be", "been"): "past",
    ("have", "has"): "s", ("have", "had"): "past",
}  # fmt: skip

IRREGULAR |= {
    (base, past): "past"
    for base, *pasts in (verb.split() for verb in word_file("irregular_verbs.txt").split(","))
    for past in pasts
}


def tense_of(form: str, lemma: str) -> Tense | None:
    """Return the tense of a verb's form; None where form and lemma do not tell it.

    Contractions ('s, 're) and spellings that follow no rule are not told. Of a multiword, joined
    by ``_``, the first word carries the tense. Case does not matter.

    Examples
    --------
    >>> tense_of("tries", "try"), tense_of("dying", "die"), tense_of("Looked_up", "look_up")
    ('s', 'ing', 'past')
    >>> tense_of("'s", "be") is None
    True
    """
    word, base = (text.casefold().partition("_")[0] for text in (form, lemma))
    if not word or not base:
        return None
    if word == base:
        return "base"
    for tense, endings in (("s", ("s", "es")), ("ing", ("ing",)), ("past", ("ed",))):
        if any(word in spelled(base, ending) for ending in endings):
            return tense  # type: ignore[return-value]
    return irregular(word, base)


def spelled(base: str, ending: str) -> set[str]:
    """Return the ways in which a verb and an ending may be put together.

    Which verbs double their last letter is a matter of stress: both spellings are taken, as no two
    forms of a verb are alike by that.
    """
    found = {base + ending}
    if ending[0] not in VOWELS:
        return found
    last, before = base[-1], base[-2:-1]
    if last == "e":
        found.add(base[:-1] + ending)
    elif last == "y" and before not in VOWELS and ending != "ing":
        found.add(base[:-1] + "i" + ending)
    elif last not in VOWELS and last != "y":
        found.add(base + last + ending)
    if last == "c":
        found.add(base + "k" + ending)
    if base.endswith("ie") and ending == "ing":
        found.add(base[:-2] + "y" + ending)
    return found


def irregular(word: str, base: str) -> Tense | None:
    """Look a form up in the list, with any prefix that form and lemma share."""
    for start in range(len(base)):
        if word[:start] != base[:start]:
            break
        tense = IRREGULAR.get((base[start:], word[start:]))
        if tense is not None:
            return tense
    return None


# The task that reads the same file.
SEMCOR = "semcor-pos"

SENSES_OF_A_VERB = 2
OCCURRENCES_OF_A_SENSE = 10
# More of a verb are drawn at random: *be* alone is more than a quarter of all, and tells no more of
# verbs than another.
OCCURRENCES_OF_A_VERB = 100

# What marks a verb in the keys of WordNet.
VERB_KEY = "%2:"

SEVERAL = "tagged with several senses"
UNTOLD = "tense not told by the form"
FEW_SENSES = "of a rare sense, or of a verb with a single frequent one"
NOT_DRAWN = "not drawn"
CUT_OFF = "beyond the longest text that the model reads"


@dataclass(frozen=True)
class Occurrence:
    """A verb where it stands: in a text, from one character to another."""

    lemma: str
    sense: str
    tense: Tense
    text: int
    start: int
    end: int


@dataclass(frozen=True)
class Verbs:
    """Occurrences of verbs, the texts in which they stand, and how many were left out and why."""

    texts: tuple[str, ...]
    occurrences: tuple[Occurrence, ...]
    left_out: Mapping[str, int]

    @property
    def lemmas(self) -> int:
        """How many verbs there are."""
        return len({one.lemma for one in self.occurrences})

    def only(self, kept: Sequence[Occurrence], why: str) -> Verbs:
        """Keep some occurrences and their texts, and count the others."""
        numbers = {text: k for k, text in enumerate(sorted({one.text for one in kept}))}
        left_out = Counter(self.left_out)
        left_out[why] += len(self.occurrences) - len(kept)
        return Verbs(
            tuple(self.texts[text] for text in numbers),
            tuple(replace(one, text=numbers[one.text]) for one in kept),
            dict(left_out),
        )

    def labels(self, which: str) -> NDArray[np.int64]:
        """Number the lemmas, senses or tenses of the occurrences."""
        values = [getattr(one, which) for one in self.occurrences]
        return np.unique(np.array(values, dtype=str), return_inverse=True)[1]


def semcor_verbs(folder: Path | None, most: int | None, seed: int) -> Verbs:
    """Return verbs of SemCor with several senses, drawn up to a number of occurrences.

    Parameters
    ----------
    folder : Path or None
        Folder of benchmarks, where SemCor is.
    most : int or None
        Occurrences at most.
    seed : int
        Of the draw.
    """
    path = find_task(SEMCOR).find(folder)
    return drawn(with_several_senses(read_verbs(path)), most, seed)


def read_verbs(path: Path) -> Verbs:
    """Read every verb that people gave one sense and whose form tells its tense."""
    texts: list[str] = []
    occurrences: list[Occurrence] = []
    left_out = Counter({SEVERAL: 0, UNTOLD: 0})
    every = (fields for _, fields in token_fields(path))
    for _, tokens in groupby(every, key=lambda fields: fields[:2]):
        words: list[str] = []
        start = 0
        for _, _, _, form, lemma, _, sense in tokens:
            word = form.replace("_", " ")
            if VERB_KEY in sense:
                tense = tense_of(form, lemma)
                if ";" in sense:
                    left_out[SEVERAL] += 1
                elif tense is None:
                    left_out[UNTOLD] += 1
                else:
                    place = (len(texts), start, start + len(word))
                    occurrences.append(Occurrence(lemma, sense, tense, *place))
            words.append(word)
            start += len(word) + 1
        texts.append(" ".join(words))
    return Verbs(tuple(texts), tuple(occurrences), dict(left_out))


def with_several_senses(verbs: Verbs) -> Verbs:
    """Keep senses with enough occurrences, of verbs that have enough such senses."""
    counts = Counter((one.lemma, one.sense) for one in verbs.occurrences)
    senses = {key for key, count in counts.items() if count >= OCCURRENCES_OF_A_SENSE}
    of_verb = Counter(lemma for lemma, _ in senses)
    kept = [
        one
        for one in verbs.occurrences
        if (one.lemma, one.sense) in senses and of_verb[one.lemma] >= SENSES_OF_A_VERB
    ]
    if not kept:
        raise DataError(
            f"no verb of SemCor has {SENSES_OF_A_VERB} senses of {OCCURRENCES_OF_A_SENSE} "
            "occurrences; is the file complete?"
        )
    return verbs.only(kept, FEW_SENSES)


def drawn(verbs: Verbs, most: int | None, seed: int, each: int = OCCURRENCES_OF_A_VERB) -> Verbs:
    """Draw occurrences of frequent verbs, and whole verbs up to a number of occurrences.

    Parameters
    ----------
    verbs : Verbs
        What is drawn from.
    most : int or None
        Occurrences at most; the first verb is kept in any case.
    seed : int
        Of both draws.
    each : int
        Occurrences of a verb at most.
    """
    every = verbs.occurrences
    of_verb = list(grouped(range(len(every)), lambda place: every[place].lemma).values())
    order = np.random.default_rng(seed).permutation(len(of_verb))
    kept: list[int] = []
    for number in order:
        own = np.array(of_verb[number])
        chosen = own[lowest_indices(len(own), min(each, len(own)), seed)].tolist()
        # Verbs are whole: of a part of one, senses and tenses would lack their partners.
        if kept and most is not None and len(kept) + len(chosen) > most:
            break
        kept += chosen
    return verbs.only([every[place] for place in sorted(kept)], NOT_DRAWN)


def verb_spaces(
    model: Model,
    verbs: Verbs,
    layer: str,
    corrections: Sequence[str],
    *,
    special: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Verbs, dict[str, Matrix]]:
    """Return the vectors of verbs in a layer, before and after corrections, in one forward pass.

    Corrections are fitted on all tokens of the verbs' texts (those that do not follow from sums on
    a sample, see `isoscope.tasks.fits`) and change a verb's tokens before their mean is
    taken.

    Returns
    -------
    tuple of Verbs and dict
        The verbs that have tokens, and for each correction, with ``none`` before them, a row for
        every occurrence.
    """
    from isoscope.tasks.fits import TokenFits  # imports scikit-learn

    fits = TokenFits(named(corrections), seed=seed)
    mentions = [Mention(one.text, one.start, one.end) for one in verbs.occurrences]
    rows, counts, parts, done = [], [], [], 0
    for batch in token_batches(
        model, verbs.texts, [layer], mentions=mentions, special_tokens=special
    ):
        tokens = batch.layers[layer]
        fits.add(layer, tokens)
        rows.append(batch.rows)
        counts.append(batch.counts)
        parts.append(tokens[batch.chosen].double().cpu().numpy())
        done += batch.texts
        report(progress, "texts", done, len(verbs.texts))
    if not sum(map(len, rows)):
        raise DataError(f"{model.name}: no verb of SemCor has a token")
    # Texts are read by length; occurrences are put back into their order.
    occurrences = np.concatenate(rows)
    order = np.argsort(occurrences)
    kept = [verbs.occurrences[k] for k in occurrences[order]]
    tokens_of = np.concatenate(counts)
    raw = np.concatenate(parts)
    spaces = {"none": means(raw, tokens_of)[order]}
    for fitted in fits.fit(layer):
        spaces[fitted.name] = means(fitted.apply(raw), tokens_of)[order]
    return verbs.only(kept, CUT_OFF), spaces


def means(tokens: Matrix, counts: NDArray[np.int64]) -> Matrix:
    """Return the mean of every verb's tokens, which stand one verb after the other."""
    sums = np.add.reduceat(tokens, np.cumsum(counts) - counts, axis=0)
    return np.asarray(sums / counts[:, None])
