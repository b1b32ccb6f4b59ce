"""Sentences with roles: there and back, and without roles in files of before."""

from __future__ import annotations

from isoscope.results.result import Result
from isoscope.results.sentences import (
    UNKNOWN_ROLE,
    Sentence,
    as_remarks,
    as_verdict,
    of_roles,
    remarks_of,
    sentences_of,
    with_role,
)

SAID = [Sentence("warning", "Too few (p = 0.2).", "Too few."), Sentence("norms", "All are 1.")]


def test_roles_survive_a_file() -> None:
    result = Result([], extra=as_remarks(SAID))
    assert result.extra["remarks"] == ["Too few (p = 0.2).", "All are 1."]
    assert remarks_of(Result.from_json(result.to_json())) == SAID
    verdict = as_verdict(SAID)
    assert verdict["sentence"] == "Too few (p = 0.2). All are 1."
    assert sentences_of(verdict) == SAID
    assert of_roles(SAID, "warning", "norms") == ["Too few.", "All are 1."]
    assert of_roles(SAID, "norms") == ["All are 1."]


def test_files_of_before_have_sentences_without_roles() -> None:
    assert remarks_of(Result([], extra={"remarks": ["One.", "Two."]})) == with_role(
        UNKNOWN_ROLE, ["One.", "Two."]
    )
    assert sentences_of({"sentence": "One. Two."}) == [Sentence("", "One. Two.")]
    assert sentences_of({}) == []
    assert as_verdict([], "Nothing.")["sentence"] == "Nothing."


def test_what_does_not_fit_the_texts_does_not_count() -> None:
    extra = {**as_remarks(SAID), "remarks": ["Changed.", "All are 1."]}
    assert [one.text for one in remarks_of(Result([], extra=extra))] == ["Changed.", "All are 1."]
    for damaged in (None, "x", [1], [{"role": "norms"}]):
        extra = {"remarks": ["One."], "sentences": damaged}
        assert remarks_of(Result([], extra=extra)) == [Sentence("", "One.")]
