"""Clauses with open places, and words to put there: what groups of sentences are made from.

A frame is a subject, a predicate and a further clause or phrase before or behind them. Every
further part holds a comma and an *of* between two *the*, so that all sentences have all four words.
Apart from the open places, frames hold function words alone.

An open place is ``{kind}`` or ``{kind:form}``. Kinds are the keys of ``LEXICON``; forms are ``s``
(plural), ``ed`` (past and participle) and ``ing``. ``BE`` becomes *was* or *were*, as the subject
demands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LEXICON: dict[str, tuple[str, ...]] = {
    kind: tuple(words.split())
    for kind, words in {
        "person": (
            "farmer nurse judge sailor tailor pianist plumber senator widow soldier lawyer tourist "
            "clerk shepherd poet dentist miner pilot butcher novelist mechanic bishop acrobat "
            "grocer jeweler hunter knight hermit orphan peasant queen rancher sheriff student "
            "surgeon teacher violinist wizard carpenter detective engineer goldsmith historian "
            "journalist magician optician potter sculptor umpire veteran"
        ),
        "role": (
            "owner manager guard founder director caretaker landlord treasurer secretary porter "
            "patron inspector supervisor janitor warden accountant chairman steward"
        ),
        "kin": (
            "nephew cousin daughter uncle sister brother partner rival servant colleague friend "
            "niece apprentice grandson"
        ),
        "person_adjective": (
            "tired young clever cheerful nervous polite lonely wealthy stubborn gentle proud shy "
            "jealous famous curious modest hungry friendly anxious restless generous bald gloomy"
        ),
        "comparative": (
            "taller richer older kinder wiser stronger calmer louder thinner slower shorter weaker"
        ),
        "place": (
            "bakery chapel castle school hotel museum prison theater library hospital station "
            "factory mill tavern barn stable palace cottage academy laboratory monastery brewery "
            "pharmacy cinema embassy temple lighthouse clinic garage restaurant cathedral mansion "
            "gallery studio villa cafeteria convent fortress"
        ),
        "part": (
            "roof gate wall cellar entrance basement doorway courtyard kitchen balcony corridor "
            "attic chimney staircase porch tower"
        ),
        "thing": (
            "lantern basket ladder mirror kettle hammer blanket carpet bottle violin wagon candle "
            "saddle trumpet umbrella barrel bucket camera necklace statue lamp telescope "
            "broom typewriter wallet vase drum pillow bicycle clock curtain dagger envelope "
            "feather flute guitar helmet jar kite medal needle diary parcel pencil puppet quilt "
            "rope sack sword tent towel trunk"
        ),
        "thing_adjective": (
            "heavy rusty wooden fragile dusty cheap priceless small large round ancient empty damp "
            "shiny narrow crooked filthy smooth sturdy hollow plain ugly spotless cold bright soft"
        ),
        "part_adjective": (
            "dark dirty narrow crowded noisy damp cold empty dusty hidden ugly bright"
        ),
        "color": "red green yellow purple brown white black orange blue pink silver crimson",
        "garment": "hat coat scarf apron cloak shawl mask badge necktie ring belt veil",
        "verb_thing": (
            "polish repair borrow paint clean collect deliver discover examine inherit measure "
            "purchase return admire conceal damage decorate describe destroy display donate ignore "
            "inspect lift mention misplace notice photograph recover rescue select sketch smuggle "
            "touch unpack wash weigh"
        ),
        "verb_person": (
            "thank greet follow trust insult question visit warn praise blame annoy amuse "
            "challenge comfort deceive defend dismiss encourage flatter frighten hire interview "
            "mock pursue recognize reward ridicule scold startle summon betray embrace obey"
        ),
        "verb_alone": (
            "laugh wait faint cough sneeze yawn listen shiver smile hesitate dance march rest "
            "stumble tremble wander whisper shout sigh relax gamble snore linger juggle giggle "
            "loiter limp meditate argue pray work whistle"
        ),
        "gave": (
            "gave handed offered sent showed lent sold promised mailed awarded tossed brought"
        ),
        "said": (
            "said claimed hoped feared believed knew announced admitted denied suspected insisted "
            "complained argued dreamed assumed"
        ),
        "wondered": (
            "wondered asked explained forgot remembered understood revealed guessed learned knew"
        ),
        "tried": (
            "tried hoped refused planned wanted promised decided agreed offered managed threatened "
            "attempted needed began"
        ),
        "urged": (
            "urged asked told ordered begged allowed forced invited reminded advised persuaded "
            "helped"
        ),
        "saw": "saw heard watched noticed found caught spotted observed glimpsed",
        "pleased": (
            "pleased worried angered puzzled delighted irritated astonished upset bothered "
            "relieved impressed shocked disturbed"
        ),
        "adverb": (
            "quietly slowly proudly carefully eagerly calmly suddenly gladly patiently loudly "
            "bravely secretly gently nervously hastily reluctantly boldly politely"
        ),
        "day": "morning evening afternoon night day anniversary date weekend",
        "event": (
            "wedding election funeral festival storm race lecture concert parade auction banquet "
            "eclipse flood strike tournament coronation blizzard"
        ),
        "help": (
            "help consent blessing advice approval assistance permission guidance protection "
            "sympathy loyalty support"
        ),
    }.items()
}
"""Content words by what they can stand for; verbs with forms in their base form, regular ones."""


@dataclass(frozen=True)
class Subject:
    """Who a sentence is about."""

    text: str
    be: Literal["was", "were"] = "was"


SUBJECTS = (
    Subject("the {person}"),
    Subject("the {person_adjective} {person}"),
    Subject("the {role} of the {place}"),
    Subject("the {person}, who {verb_alone:ed} in the {place},"),
    Subject("two of the {person:s}", "were"),
    Subject("the {person} and the {person}", "were"),
    Subject("the {person} with the {color} {garment}"),
    Subject("a {person} from the {place}"),
    Subject("the {person}'s {kin}"),
    Subject("the {person} {verb_thing:ing} the {thing}"),
    Subject("the {person}, the {kin} of the {person},"),
    Subject("the {person} whom the {person} {verb_person:ed}"),
    Subject("all of the {person_adjective} {person:s}", "were"),
    Subject("either the {person} or the {person}"),
    Subject("every {person} in the {place}"),
)

PREDICATES = (
    "{verb_thing:ed} the {thing}",
    "BE {verb_person:ed} by the {person}",
    "{gave} the {person} a {thing_adjective} {thing}",
    "{gave} the {thing} to the {person}",
    "{said} that the {thing} was {thing_adjective}",
    "{tried} to {verb_thing} the {thing}",
    "{verb_alone:ed} {adverb} behind the {place}",
    "BE {comparative} than the {person}",
    "did not {verb_thing} the {thing}",
    "must have {verb_thing:ed} the {thing}",
    "{verb_thing:ed} the {thing} that the {person} had {verb_thing:ed}",
    "{wondered} why the {person} had {verb_alone:ed}",
    "{urged} the {person} to {verb_thing} the {thing}",
    "{saw} the {person} {verb_alone:ing}",
)

WHOLES = (
    "on the {day} of the {event}, CLAUSE.",
    "when the {person} {verb_alone:ed} near the {part} of the {place}, CLAUSE.",
    "according to the {role} of the {place}, CLAUSE.",
    "although the {part} of the {place} was {part_adjective}, CLAUSE.",
    "with the {help} of the {person}, CLAUSE.",
    "CLAUSE, and the {person} {verb_alone:ed} near the {part} of the {place}.",
    "CLAUSE, which {pleased} the {role} of the {place}.",
    "CLAUSE, not far from the {part} of the {place}.",
    "CLAUSE, but the {role} of the {place} {verb_alone:ed} {adverb}.",
    "CLAUSE, because the {person} had {verb_person:ed} the {role} of the {place}.",
)
"""Sentences around a clause of a subject and a predicate."""


def frame(subject: Subject, predicate: str, whole: str) -> str:
    """Put the parts of a sentence together; its open places stay open."""
    clause = f"{subject.text} {predicate.replace('BE', subject.be)}"
    return whole.replace("CLAUSE", clause)
