"""The sentence that ranks causes, and the ranking of a model's layer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from screens_for_tests import screen_lines, words_of

from isoscope.compute.stats.estimates import Score
from isoscope.verbs.explain.api import explain
from isoscope.verbs.explain.contributions import Comparison, Contribution
from isoscope.verbs.explain.ranking import rank_causes, sentence_of
from isoscope.verbs.explain.topics.base import Question

RANDOM = np.random.default_rng(3)
SPREAD = RANDOM.normal(size=50)
SENTENCE = "the cat sat on a bank and dog saw old tree it was small new red boat in of that ran"


def score(value: float, half: float = 0.02) -> Score:
    return Score(value, value - half, value + half, 50, influences=SPREAD * half)


def compared(
    uneven: float = 0.1, n: int = 50, **values: float | tuple[float, float] | str
) -> Comparison:
    found = []
    for cause, value in values.items():
        if isinstance(value, str):
            found.append(Contribution(cause, Score(None, None, None, n, value)))
        elif isinstance(value, tuple):
            noise = RANDOM.permutation(SPREAD) * value[1] * 3.5
            around = Score(value[0], value[0] - value[1], value[0] + value[1], n, influences=noise)
            found.append(Contribution(cause, around, 0.01))
        else:
            found.append(Contribution(cause, score(value), 0.01))
    found.sort(key=lambda one: (one.score.value is None, -(one.score.value or 0.0)))
    around = score(uneven) if n >= 20 else Score(uneven, None, None, n)
    return Comparison(uneven + 0.02, 0.02, around, tuple(found))


def test_the_first_cause_and_then_the_others_are_named() -> None:
    said = sentence_of("block 5", compared(outliers=0.7, frequency=0.1, position=0.01))
    assert said == (
        "Of three causes, outlier dimensions contribute most to the unevenness of block 5: "
        "removing them lowers it by 70 % (95 % interval: 68 to 72 %). Token frequency (10 %) "
        "contributes less. Position in the text contributes less than 5 %."
    )
    said = sentence_of("embedding", compared(position=0.3, layernorm=-0.5))
    assert said == (
        "Of two causes, position in the text contributes most to the unevenness of the "
        "embedding: removing the part related to it lowers it by 30 % (95 % interval: 28 to 32 "
        "%). The gains and biases of the norm make the layer more even: without them it would be "
        "1.5 times as uneven. No single one of them makes half of it."
    )
    alone = sentence_of("block 5", compared(outliers=0.7, position="the texts are too short"))
    assert alone.startswith("Outlier dimensions contribute to the unevenness of block 5: removing")


def test_no_first_cause_is_named_where_it_is_not_known() -> None:
    level = compared(outliers=(0.5, 0.2), frequency=(0.45, 0.2), position=0.0)
    assert len(level.largest) == 2
    said = sentence_of("block 5", level)
    assert said.startswith(
        "Outlier dimensions (50 %) and token frequency (45 %) contribute most to the unevenness of "
        "block 5; the difference between them is not significant."
    )
    none = sentence_of("block 5", compared(outliers=0.03, position=0.0))
    assert none == (
        "None of the causes that were compared (outlier dimensions, position in the text) can be "
        "shown to make as much as 5 % of the unevenness of block 5."
    )
    assert "fill their space evenly" in sentence_of("block 5", compared(0.001, outliers=0.9))
    few = sentence_of("block 5", compared(n=7, outliers=0.9))
    assert few == (
        "Which cause contributes most to the unevenness of block 5 is not known: that takes at "
        "least 20 texts, and these tokens are from 7 different texts."
    )
    nothing = sentence_of("block 5", compared(position="the texts are too short"))
    assert nothing == "No cause of the unevenness of block 5 could be measured."


def test_what_chance_could_make_is_not_called_small() -> None:
    made = compared(outliers=0.4, layernorm=0.1, position=0.01)
    outliers = replace(made.contributions[0], by_chance=0.6)
    made = replace(made, contributions=(outliers, *made.contributions[1:]))
    assert made.largest == []
    assert sentence_of("block 5", made) == (
        "The gains and biases of the norm (10 %) contribute to the unevenness of block 5, but "
        "which cause contributes most is not known. Outlier dimensions (40 %) contribute no more "
        "than chance could. Position in the text contributes less than 5 %."
    )
    alone = replace(made, contributions=(outliers,))
    assert sentence_of("block 5", alone) == (
        "Outlier dimensions cannot be shown to make as much as 5 % of the unevenness of block 5. "
        "Outlier dimensions (40 %) contribute no more than chance could."
    )


@pytest.fixture
def texts() -> list[str]:
    random = np.random.default_rng(1)
    return [" ".join(random.choice(SENTENCE.split(), 12)) for _ in range(60)]


def test_a_gain_that_makes_a_dimension_large_is_named(
    tiny_model: Callable[[str], Path], tmp_path: Path, texts: list[str]
) -> None:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    network = transformers.AutoModelForMaskedLM.from_pretrained(tiny_model("bert"))
    with torch.no_grad():
        network.bert.encoder.layer[-1].output.LayerNorm.bias[5] = 30.0
    network.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny_model("bert")).save_pretrained(tmp_path)
    result = explain(
        tmp_path,
        texts,
        topics="position,layernorm,outliers",
        command=f"isoscope explain {tmp_path}",
    )
    ranking = result.verdicts[0]
    assert ranking["topic"] == ""
    assert ranking["part"] == "block 3"
    # One and the same: the bias makes the outlier, so that neither contributes more.
    assert {line["cause"] for line in ranking["contribution"] if line["largest"]} <= {
        "layernorm", "outliers"
    }  # fmt: skip
    assert ranking["found"]
    lines = {line["cause"]: line for line in ranking["contribution"]}
    assert lines["layernorm"]["value"] > 0.5
    assert lines["outliers"]["value"] > 0.5
    assert not lines["position"]["found"]
    rows = {row.measure: row for row in result.rows if row.part == "block 3"}
    assert rows["mean_squared_cosine"].value == pytest.approx(ranking["mean_squared_cosine"])
    assert rows["contribution/outliers"].n == 60 * 12
    text = words_of(screen_lines(result))
    assert ranking["sentence"] in text
    assert "unevenness of block 3 due to outliers" in text
    assert ranking["sentence"] in result.to_markdown()


def test_one_topic_has_its_contribution_beside_it(
    tiny_model: Callable[[str], Path], texts: list[str]
) -> None:
    result = explain(tiny_model("bert"), texts, topics="position")
    (verdict,) = result.verdicts
    assert verdict["topic"] == "position"
    assert re.search(
        "unevenness of block 3 (due to|without) position", words_of(screen_lines(result))
    )
    assert "contribution/position" in result.to_markdown()


def test_copies_of_a_text_count_as_one(tiny_model: Callable[[str], Path], texts: list[str]) -> None:
    result = explain(tiny_model("bert"), texts[:1] * 60, topics="layernorm,outliers")
    assert result.verdicts[0]["sentence"].endswith("these tokens are from 1 different text.")


def test_a_layer_without_a_norm_at_its_end_has_none_to_undo(
    tiny_model: Callable[[str], Path], texts: list[str]
) -> None:
    from isoscope.data.texts.open import open_texts
    from isoscope.models.model import open_model

    model = open_model(str(tiny_model("gpt2")))
    inner = Question(model, open_texts(texts), layer="block 2")
    (one,) = rank_causes(inner, ["layernorm"]).comparison.contributions
    assert one.score.value is None
    assert one.score.note == "no norm with gains that can be undone ends this layer"
    last = Question(model, open_texts(texts))
    assert last.chosen_layer == "final norm"
    (one,) = rank_causes(last, ["layernorm"]).comparison.contributions
    assert one.score.value is not None
