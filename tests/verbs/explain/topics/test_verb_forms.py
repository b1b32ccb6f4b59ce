"""The tense of verbs by their forms, against a list made by hand."""

from __future__ import annotations

from typing import get_args

import pytest

from isoscope.verbs.explain.topics.verb_occurrences import IRREGULAR, Tense, spelled, tense_of

FORMS: dict[Tense, str] = {
    "base": """
        run/run say/Say put/put see/see bring/bring pass/pass be/be be/am be/are go_on/go_on
        need/need lay/lay find/find found/found bless/bless
    """,
    "s": """
        run/runs go/goes try/tries have/has be/is do/does pass/passes say/says box/boxes
        watch/watches play/plays die/dies quiz/quizzes use/uses fly/flies consist_of/consists_of
        look/LOOKS agree/agrees undergo/undergoes
    """,
    "ing": """
        run/running die/dying be/being make/making see/seeing have/having lie/lying try/trying
        stop/stopping travel/travelling travel/traveling panic/panicking dye/dyeing sing/singing
        bring/bringing look_up/looking_up age/aging age/ageing tie/tying age/Aging free/freeing
    """,
    "past": """
        walk/walked stop/stopped try/tried use/used die/died play/played panic/panicked feed/fed
        agree/agreed travel/travelled need/needed embed/embedded be/was be/were be/been have/had
        do/did do/done go/went go/gone write/wrote write/written say/said lie/lay lay/laid lie/lied
        lie/lain see/saw saw/sawed think/thought find/found found/founded look_up/looked_up
        go_on/went_on be_born/was_born undertake/undertook overcome/overcame foresee/foreseen
        misunderstand/misunderstood withdraw/withdrew get/Got ring/rang ring/rung bear/borne
        hang/hung hang/hanged show/shown prove/proven learn/learnt lead/led strike/stricken
    """,
}
CASES = [
    (form, lemma, tense)
    for tense, words in FORMS.items()
    for lemma, form in (word.split("/") for word in words.split())
]


@pytest.mark.parametrize(("form", "lemma", "tense"), CASES)
def test_forms_that_tell_their_tense(form: str, lemma: str, tense: Tense) -> None:
    assert tense_of(form, lemma) == tense


def test_there_are_enough_of_every_tense() -> None:
    assert len(CASES) >= 60
    assert {tense for *_, tense in CASES} == set(get_args(Tense))


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("'s", "be"), ("'re", "be"), ("'m", "be"), ("'ve", "have"), ("'d", "have"), ("ai", "be"),
        ("sea", "see"), ("though", "think"), ("goin", "go"), ("up", "pop_up"), ("", "go"),
        ("go", ""), ("wrote", "read"), ("miswrote", "outwrite"), ("went", "undertake"),
        ("effect", "affect"), ("_up", "up"),
    ],
)  # fmt: skip
def test_forms_that_do_not(form: str, lemma: str) -> None:
    assert tense_of(form, lemma) is None


def test_spelling() -> None:
    assert spelled("try", "es") == {"tryes", "tries"}
    assert spelled("play", "ed") == {"played"}
    assert "triing" not in spelled("try", "ing")
    assert spelled("make", "ing") == {"makeing", "making"}
    assert spelled("run", "s") == {"runs"}


def test_no_form_of_the_list_is_regular_or_like_its_lemma() -> None:
    for base, form in IRREGULAR:
        assert form != base
        assert not any(form in spelled(base, ending) for ending in ("s", "es", "ing", "ed"))
