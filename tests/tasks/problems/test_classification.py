"""Examples of data sets as problems: which rows are whose."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.errors import DataError
from isoscope.models.tokens import Mention
from isoscope.tasks import find_task
from isoscope.tasks.probes import MlpProbe
from isoscope.tasks.problems.classification import TextClassification, text_problem
from isoscope.tasks.problems.word_senses import sense_problem
from isoscope.tasks.registry import LabelledText, WordInContext


def task(name: str) -> TextClassification:
    found = find_task(name)
    assert isinstance(found, TextClassification)
    return found


def test_single_texts() -> None:
    examples = [
        LabelledText("good", None, "1", "train"),
        LabelledText("", None, "0", "train"),
        LabelledText("good", None, "0", "dev"),
    ]
    problem = text_problem(task("cola"), examples)
    assert problem.texts == ("good", "")
    assert problem.second is None
    np.testing.assert_array_equal(problem.first, [0, 1, 0])
    np.testing.assert_array_equal(problem.codes, [1, 0, 0])
    assert list(problem.parts) == ["train", "train", "dev"]
    assert (problem.task, problem.unit, len(problem)) == ("cola", "sentences", 3)
    assert problem.main == "logistic/matthews"
    np.testing.assert_array_equal(problem.rows_of(np.array([0, 2])), [0])


def test_pairs_of_texts() -> None:
    examples = [
        LabelledText("a", "b", "entailment", "train"),
        LabelledText("b", "c", "not_entailment", "dev"),
    ]
    problem = text_problem(task("rte"), examples, MlpProbe(), pairs="symmetric")
    assert problem.texts == ("a", "b", "c")
    assert [problem.texts[k] for k in problem.first] == ["a", "b"]
    assert problem.second is not None
    assert [problem.texts[k] for k in problem.second] == ["b", "c"]
    assert problem.main == "mlp/accuracy"
    assert "[|u − v|, u ∘ v]" in str(problem)
    assert problem.positive == 0


def test_words_in_two_sentences() -> None:
    def example(first: str, second: str, a: tuple[int, int], b: tuple[int, int], same: bool):
        return WordInContext("bank", "N", first, second, 0, 0, a, b, same, "train")

    problem = sense_problem(
        "wic",
        [
            example("the bank", "a bank", (4, 8), (2, 6), True),
            example("a bank", "bank of a bank", (2, 6), (10, 14), False),
            example("bank of a bank", "a bank", (0, 4), (2, 6), True),
        ],
    )
    assert problem.mentions is not None
    assert len(problem.texts) == 3
    assert len(set(problem.mentions)) == len(problem.mentions) == 4
    assert problem.second is not None
    spans = [
        [problem.texts[m.text] + f"@{m.start}" for m in (problem.mentions[a], problem.mentions[b])]
        for a, b in zip(problem.first, problem.second, strict=True)
    ]
    assert spans == [
        ["the bank@4", "a bank@2"],
        ["a bank@2", "bank of a bank@10"],
        ["bank of a bank@0", "a bank@2"],
    ]
    assert problem.mentions[0] == Mention(0, 4, 8)
    np.testing.assert_array_equal(problem.codes, [1, 0, 1])
    assert problem.labels[problem.positive or 0] == "T"
    assert problem.main == "logistic/accuracy"


def test_no_examples_are_refused() -> None:
    with pytest.raises(DataError, match="cola has no sentences"):
        text_problem(task("cola"), [])
    with pytest.raises(DataError, match="wic has no pairs"):
        sense_problem("wic", [])
