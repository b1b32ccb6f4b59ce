"""The tense of an English verb, told from its form and its lemma.

Classes are what a form can tell: *base* (walk: infinitive, imperative and present), *s* (walks),
*ing* (walking), and *past* (walked, wrote, written). An infinitive and a present share a form, and
so do most pasts and past participles: what no form tells apart is one class. A few verbs have a
past like their base (put, cut): it counts as base.

Regular forms follow the rules of spelling, irregular ones a list, also behind a prefix (undertook).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Tense: TypeAlias = Literal["base", "s", "ing", "past"]

VOWELS = frozenset("aeiou")

IRREGULAR: dict[tuple[str, str], Tense] = {
    ("be", "is"): "s", ("be", "am"): "base", ("be", "are"): "base",
    ("be", "was"): "past", ("be", "were"): "past", ("be", "been"): "past",
    ("have", "has"): "s", ("have", "had"): "past",
}  # fmt: skip

PASTS = """
abide abode, arise arose arisen, awake awoke awoken, bear bore born borne, beat beaten, become
became, beget begot begat begotten, begin began begun, bend bent, bereave bereft, beseech besought,
bid bade bidden, bind bound, bite bit bitten, bleed bled, bless blest, blow blew blown, break broke
broken, breed bred, bring brought, build built, burn burnt, buy bought, catch caught, chide chid
chidden, choose chose chosen, cleave cleft clove cloven, cling clung, clothe clad, come came, creep
crept, curse curst, deal dealt, dig dug, dive dove, do did done, draw drew drawn, dream dreamt,
drink drank drunk, drive drove driven, dwell dwelt, eat ate eaten, fall fell fallen, feed fed, feel
felt, fight fought, find found, flee fled, fling flung, fly flew flown, forbid forbade forbad
forbidden, forget forgot forgotten, forsake forsook forsaken, freeze froze frozen, get got gotten,
gild gilt, gird girt, give gave given, go went gone, grind ground, grow grew grown, hang hung, hear
heard, heave hove, hew hewn, hide hid hidden, hold held, keep kept, kneel knelt, know knew known,
lade laden, lay laid, lead led, lean leant, leap leapt, learn learnt, leave left, lend lent, lie
lay lain, light lit, lose lost, make made, mean meant, meet met, melt molten, mow mown, pay paid,
pen pent, plead pled, prove proven, rend rent, ride rode ridden, ring rang rung, rise rose risen,
rive riven, run ran, saw sawn, say said, see saw seen, seek sought, sell sold, send sent, sew sewn,
shake shook shaken, shave shaven, shear shore shorn, shine shone, shoe shod, shoot shot, show
shown, shrink shrank shrunk shrunken, sing sang sung, sink sank sunk sunken, sit sat, slay slew
slain, sleep slept, slide slid slidden, sling slung, slink slunk, smell smelt, smite smote smitten,
sow sown, speak spoke spoken, speed sped, spell spelt, spend spent, spill spilt, spin spun span,
spit spat, spoil spoilt, spring sprang sprung, stand stood, stave stove, steal stole stolen, stick
stuck, sting stung, stink stank stunk, strew strewn, stride strode stridden, strike struck
stricken, string strung, strive strove striven, swear swore sworn, sweep swept, swell swollen, swim
swam swum, swing swung, take took taken, teach taught, tear tore torn, tell told, think thought,
thrive throve thriven, throw threw thrown, tread trod trodden, wake woke woken, wear wore worn,
weave wove woven, weep wept, win won, wind wound, work wrought, wring wrung, write wrote written
"""

IRREGULAR |= {
    (base, past): "past"
    for base, *pasts in (verb.split() for verb in PASTS.split(","))
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
