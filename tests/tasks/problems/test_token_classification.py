"""Words of sentences as problems: their places in texts, and documents on one side."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.errors import DataError, UsageError
from isoscope.tasks import find_task
from isoscope.tasks.probes import LogisticProbe
from isoscope.tasks.problems.classification import (
    ClassProblem,
    TokenClassification,
    tagged_words,
    with_splits,
    word_problem,
)
from isoscope.tasks.registry import TaggedSentence

TASK = find_task("semcor-pos")


def sentences(documents: int = 20, each: int = 5) -> list[TaggedSentence]:
    return [
        TaggedSentence(
            f"brown1/{document}",
            (f"dogs{document}", "bark_out", f"loudly{k}", "um", "."),
            ("NOUN", "VERB", "ADV", None, "."),
        )
        for document in range(documents)
        for k in range(each)
    ]


def made(given: list[TaggedSentence], **settings: int) -> ClassProblem:
    assert isinstance(TASK, TokenClassification)
    return word_problem(TASK, given, **settings)


def test_words_stand_where_they_are_said_to() -> None:
    sentence = TaggedSentence(
        "a/b", ("_", "Fulton_County", "'s", "um", ","), ("X", "NOUN", "PRT", None, ".")
    )
    found = list(tagged_words(sentence))
    assert [(text[start:end], tag) for text, start, end, tag in found] == [
        ("_", "X"),
        ("Fulton County", "NOUN"),
        ("'s", "PRT"),
    ]
    assert found[0][0] == "_ Fulton County 's um ,"


def test_every_tagged_word_is_an_item() -> None:
    problem = made(sentences())
    assert len(problem) == 300
    assert len(problem.texts) == 100
    words = {(problem.texts[m.text][m.start : m.end]) for m in problem.mentions or ()}
    assert {"dogs0", "bark out", "loudly4"} <= words
    assert not {"um", "."} & words
    assert [problem.labels[code] for code in problem.codes[:3]] == ["NOUN", "VERB", "ADV"]
    assert problem.main == "logistic/accuracy"


def test_no_document_is_on_two_sides() -> None:
    problem = made(sentences(), seed=4)
    documents = [int(problem.texts[m.text].split()[0][4:]) for m in problem.mentions or ()]
    parts = [
        {document for document, one in zip(documents, problem.parts, strict=True) if one == part}
        for part in ("train", "dev", "test")
    ]
    assert [len(part) for part in parts] == [14, 2, 4]
    assert len(set.union(*parts)) == 20
    ready = with_splits(problem)
    assert "settings chosen on dev, scored on test" in ready.words[0]
    assert "100 of 100 sentences drawn (seed 4), punctuation left out" in ready.words[0]


def test_a_sample_is_drawn_by_seed() -> None:
    first, again, other = (made(sentences(), most=30, seed=seed) for seed in (0, 0, 1))
    assert len(first.texts) == 30
    assert first.texts == again.texts
    assert list(first.parts) == list(again.parts)
    assert first.texts != other.texts
    untagged = TaggedSentence("brown1/99", ("um", "."), (None, "."))
    assert made([*sentences(), untagged] * 3).drawn.startswith("300 of 300")


def test_planted_classes_are_found_in_other_documents() -> None:
    problem = made(sentences())
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(len(problem.labels), 4))
    vectors = centres[problem.codes] + 0.1 * rng.normal(size=(len(problem), 4))
    ((learn, held, _),) = with_splits(problem).splits
    found = problem.outputs(vectors, learn, held)
    np.testing.assert_array_equal(found, problem.codes[held])
    assert set(problem.scores(found, held, 0.95)) == {
        f"{LogisticProbe().name}/{metric}" for metric in ("accuracy", "f1", "matthews")
    }


def test_bad_samples_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one sentence, got 0"):
        made(sentences(), most=0)
    with pytest.raises(DataError, match="sentences of 2 documents; three are needed"):
        made(sentences(documents=2))
