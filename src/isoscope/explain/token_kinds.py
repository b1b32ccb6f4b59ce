"""What kind of token it is: punctuation, a stop word, or another."""

from __future__ import annotations

import re

FUNCTION_WORDS = (
    "a an the this that these those such each every either neither both all any some no none "
    "few many much more most other another own same several "
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him "
    "his himself she her hers herself it its itself they them their theirs themselves one "
    "oneself who whom whose which what whoever whatever whichever somebody someone something "
    "anybody anyone anything nobody nothing everybody everyone everything "
    "of in to for on at by with from as into about over under after before between among "
    "against through during without within upon toward towards across behind beyond beneath "
    "beside besides above below off out up down near since until till per via despite except "
    "throughout along around onto "
    "and or but nor so yet if because although though unless while whereas whether than then "
    "when where why how whenever wherever therefore thus hence however "
    "be am is are was were been being have has had having do does did doing done will would "
    "shall should can could may might must ought cannot "
    "not never ever very too also only just even still again once here there now quite rather "
    "almost already always often perhaps else"
)
"""Function words of English: articles, pronouns, prepositions, conjunctions, auxiliaries, and
adverbs that say little by themselves."""

STOP_WORDS = frozenset(FUNCTION_WORDS.split())

PUNCTUATION, STOP_WORD, OTHER, SPECIAL = "punctuation", "stop word", "other", "special"
AROUND = re.compile(r"^\W+|\W+$")
MARKERS = "▁Ġ"
"""What vocabularies write before the first token of a word."""


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
