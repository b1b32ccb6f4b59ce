"""What a terminal shows of an explanation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from screens_for_tests import screen_lines, words_of

from isoscope.models.token_table import TokenSample
from isoscope.results.result import Result, Row
from isoscope.verbs.explain.api import TOPICS, labelled
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure
from isoscope.verbs.explain.topics.outliers import OUTLIERS, outliers_in

RANDOM = np.random.default_rng(6)
NO_TEXTS = np.zeros(400, np.int64)


def as_result(found: dict[str, Explanation], **extra: Any) -> Result:
    """Put explanations together as ``explain`` does."""
    return Result(
        [labelled(row, "m", TOPICS[name]) for name, one in found.items() for row in one.rows],
        verdicts=[
            {"subject": "m", "part": name, "sentence": one.sentence, "found": one.found,
             "title": TOPICS[name].title, "topic": name, "brief": one.brief,
             "figures": [figure.to_dict() for figure in one.figures], "lacks": one.lacks}
            for name, one in found.items()
        ],
        command="isoscope explain package:minilm --text texts.txt",
        extra={"kind": "explanation", "remarks": ["Not examined: senses (needs SemCor)"], **extra},
    )  # fmt: skip


def spoiled(size: float) -> Explanation:
    """Explain three layers, of which one has a dimension of some size."""
    layers = {}
    for k, name in enumerate(("embedding", "block 1", "block 2")):
        layers[name] = RANDOM.normal(size=(400, 48)).astype(np.float32)
        layers[name][:, 7] += size * (k == 1)
    words = np.full(400, "w", dtype=object)
    sample = TokenSample(layers, NO_TEXTS, words, words, NO_TEXTS, NO_TEXTS, "400 tokens")
    return outliers_in(sample)


def other(name: str, *, found: bool) -> Explanation:
    figure = KeyFigure(f"share of {name}", 0.25, 0.01, "by chance")
    sentence = f"A long sentence on {name}."
    return Explanation(found, sentence, brief=f"{name} matters", figures=(figure,))


def test_the_contribution_comes_first_with_its_size() -> None:
    outliers = spoiled(9.0)
    assert outliers.found
    found = {
        "position": other("position", found=True),
        "clusters": other("clusters", found=False),
        OUTLIERS.name: outliers,
    }
    result = as_result(found)
    lines = screen_lines(result)
    text = words_of(lines)
    (figure, _) = outliers.figures
    assert figure.value is not None
    assert figure.against is not None
    fall = figure.against - figure.value
    assert f"dimensions: {fall:.2f} of a mean cosine of {figure.against:.2f}." in text
    assert text.index("outlier dimensions") < text.index("Also: position matters.")
    assert "No effect: clusters matters." in text
    assert any(line.split()[-3:] == ["as", "it", "is"] for line in lines)
    assert "Not examined: senses (needs SemCor)." in text
    assert "the other topics say what vectors are related to" in text
    drawn = [line for line in lines if "▁" in line]
    assert len(drawn) == 2
    assert drawn[0].count("█") == 1
    assert "█" not in drawn[1]  # on the scale of the first line
    assert "isoscope explain package:minilm --text texts.txt --topic outliers" in text
    assert "".join(screen_lines(result, plain=True)).isascii()


def test_nothing_is_claimed_where_clipping_does_nothing() -> None:
    outliers = spoiled(0.0)
    assert not outliers.found
    text = words_of(screen_lines(as_result({OUTLIERS.name: outliers})))
    assert "contribution" not in text
    several = as_result({"position": other("position", found=True), OUTLIERS.name: outliers})
    text = words_of(screen_lines(several))
    assert "No dimension explains the mean cosine" in text
    assert "contribution" not in text


def test_a_topic_alone_says_what_it_found_and_the_figures() -> None:
    result = as_result({"frequency": other("frequency", found=True)})
    lines = screen_lines(result)
    assert lines[0] == "m · explain · frequency"
    assert "Frequency matters." in words_of(lines)
    assert "A long sentence on frequency." in result.to_markdown()
    assert any(line.split()[2:] == ["frequency", "0.25", "0.01", "by", "chance"] for line in lines)
    assert "all topics" in words_of(lines)


@pytest.mark.parametrize("cells", [40, 60, 80, 200])
@pytest.mark.parametrize("name", ["m" * 60, "多语言模型", "نموذج"])
def test_any_name_and_width(cells: int, name: str) -> None:
    found = {topic: other(topic, found=bool(k % 2)) for k, topic in enumerate(TOPICS)}
    found["outliers"] = spoiled(9.0)
    result = as_result(found)
    verdicts = [{**one, "subject": name} for one in result.verdicts]
    screen_lines(replace(result, verdicts=verdicts), cells)


def test_files_of_before_are_shown() -> None:
    verdicts = [
        {"subject": "m", "part": topic, "sentence": f"{topic} tells.", "found": True,
         "title": TOPICS[topic].title, "topic": topic}
        for topic in ("outliers", "position")
    ]  # fmt: skip
    rows = [Row("m", "block 1", "none", "mean_cosine", 0.5, extra={"topic": "outliers"})]
    text = words_of(screen_lines(Result(rows, verdicts=verdicts, extra={"kind": "explanation"})))
    assert "outliers tells." in text
    assert "position (do vectors encode the position" in text
    alone = Result(rows, verdicts=verdicts[:1], extra={"kind": "explanation"})
    assert "outliers tells." in words_of(screen_lines(alone))


def test_what_was_not_given_is_not_an_answer() -> None:
    """A topic that looked at half of its question does not say that it found nothing."""
    found = {
        "senses": Explanation(True, "Tense moves verbs.", brief="tense moves verbs"),
        "layernorm": Explanation(
            False, "Without a text …", brief="whether norms matter", lacks="needs --text FILE"
        ),
    }
    text = words_of(screen_lines(as_result(found)))
    assert (
        "Found: tense moves verbs. Not examined: whether norms matter (needs --text FILE)." in text
    )
    assert "No effect" not in text
    alone = words_of(screen_lines(as_result({"layernorm": found["layernorm"]})))
    assert "Without a text" in alone
