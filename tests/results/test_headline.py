"""What a page opens with."""

from __future__ import annotations

from isoscope.results.headline import MOST_SENTENCES, headline
from isoscope.results.result import Result, Row


def test_the_three_numbers_that_tell_most() -> None:
    rows = [
        Row("bert", "block 1", "none", "mean_cosine", 0.1),
        Row("bert", "block 2", "none", "mean_cosine", 0.25, low=0.2, high=0.3),
        Row("bert", "block 2", "center", "mean_cosine", 0.0),
        Row("bert", "block 2", "none", "hubness", 3.0),
        Row("bert", "block 2", "none", "i1_scaled", None),
        Row("bert", "block 2", "none", "mean_norm", 12.0),
    ]
    found = headline([Result(rows)])
    assert found.title == "bert"
    assert [(one.label, one.value) for one in found.numbers] == [
        ("mean_cosine", "0.25"),
        ("mean_norm", "12"),
        ("mean_cosine", "0.1"),
    ]
    assert found.numbers[0].note == "bert, block 2, 95 % interval 0.2 to 0.3"


def test_what_is_said_of_a_model_sums_up_its_layers() -> None:
    verdicts = [
        {"subject": "bert", "part": part, "sentence": f"Of {part or 'all'}."}
        for part in ("", "block 1", "block 2")
    ]
    rows = [Row("bert", "", "none", "i1", 0.5)]
    assert headline([Result(rows, verdicts=verdicts)]).sentences == ["Of all."]
    layers = headline([Result(rows, verdicts=verdicts[1:])]).sentences
    assert layers == ["Of block 1.", "Of block 2."]
    many = headline([Result(rows, verdicts=verdicts[1:])] * 5).sentences
    assert len(many) == MOST_SENTENCES + 1
    assert many[-1] == "And 2 more verdicts below."


def test_a_study_opens_with_its_claims() -> None:
    claims = [
        {"text": "centring helps", "outcome": "holds"},
        {"text": "so it is", "outcome": "fails"},
    ]
    study = {"id": "B-T1", "title": "Isotropy"}
    rows = [Row("bert", "", "none", "i1", 0.5)]
    found = headline([Result(rows, extra={"study": study, "claims": claims})])
    assert found.title == "B-T1: Isotropy"
    assert found.sentences == ["Holds: centring helps.", "Fails: so it is."]
    assert [one.value for one in found.numbers] == ["1", "1", "0"]
    nothing = headline([Result(rows, extra={"study": study, "claims": []})])
    assert "claims nothing" in nothing.sentences[0]


def test_many_subjects_are_counted() -> None:
    rows = [Row(name, "", "none", "i1", 0.5) for name in "abcde"]
    assert headline([Result(rows)]).title == "a, b, c and 2 more"
    assert headline([Result([])]).title == "Results"


def test_an_explanation_opens_with_its_topics() -> None:
    verdicts = [
        {"subject": "bert", "part": name, "topic": name, "sentence": "So.", "found": found}
        for name, found in (("outliers", True), ("drift", False), ("senses", True))
    ]
    found = headline([Result([Row("bert", "", "none", "i1", 0.5)], verdicts=verdicts)])
    assert found.sentences == ["Outliers: So.", "Drift: So.", "Senses: So."]
    assert [one.value for one in found.numbers] == ["3", "2", "1"]


def test_damaged_fields_are_none() -> None:
    rows = [Row("bert", "", "none", "i1", 0.5)]
    for extra in ({"study": "B-T1"}, {"study": {}}, {"claims": [{}]}, {"claims": None}):
        assert headline([Result(rows, extra=extra)]).title == "bert"


def test_verdicts_of_several_results_say_whose_they_are() -> None:
    one = Result([Row("bert", "", "none", "i1", 0.5)], verdicts=[{"part": "", "sentence": "So."}])
    claims = [{"text": "it helps", "outcome": "holds"}]
    study = Result(one.rows, extra={"study": {"id": "B-T1", "title": "x"}, "claims": claims})
    assert headline([one, study]).sentences == ["bert: So.", "B-T1: Holds: it helps."]
