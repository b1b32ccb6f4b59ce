"""Topics put together: which are answered, which are left out, and what a result says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isoscope.errors import DataError, MissingError, UsageError
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain.api import TOPICS, chosen_topics, explain
from isoscope.verbs.explain.topics.base import Explanation, Question, Topic

TEXTS = ["the cat sat on the bank.", "a dog saw the old tree.", "it was a small, new boat."]


def answer(question: Question) -> Explanation:
    rows = [Row("", question.chosen_layer, "none", "i1", 0.5, protocol="by hand")]
    return Explanation(True, "Something was found (0.5).", rows, [Table("", "", "none", "t", [])])


def miss(question: Question) -> Explanation:
    raise MissingError(f"it needs more than {question.tokens} tokens")


def fail(question: Question) -> Explanation:
    raise DataError(f"{len(question.sample)} tokens tell nothing")


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        name: Topic(name, f"what of {name}?", "nothing", how)
        for name, how in (("answers", answer), ("misses", miss), ("fails", fail))
    }
    monkeypatch.setattr("isoscope.verbs.explain.api.TOPICS", made)


@pytest.mark.usefixtures("topics")
def test_what_cannot_be_answered_is_left_out(tiny_model: Callable[[str], Path]) -> None:
    result = explain(tiny_model("bert"), TEXTS, command="the call", seed=4)
    (row,) = result.rows
    assert (row.subject, row.part, row.extra["topic"]) == ("tiny-bert", "block 3", "answers")
    assert result.tables[0].subject == "tiny-bert"
    (verdict,) = result.verdicts
    assert verdict["sentence"] == "Something was found (0.5)."
    assert verdict["found"] is True
    left_out = result.extra["remarks"]
    assert left_out[0] == "not examined: misses (it needs more than 20000 tokens)"
    assert left_out[1].endswith("tokens tell nothing)")
    assert result.seeds == {"seed": 4}
    assert result.extra["models"]["tiny-bert"]["dtype"] == "float32"
    text = result.to_markdown()
    for words in ("what of answers?", "Something was found", "not examined: misses", "by hand"):
        assert words in text
    assert Result.from_json(result.to_json()).to_markdown() == text


@pytest.mark.usefixtures("topics")
def test_a_topic_that_is_asked_for_must_be_answered(tiny_model: Callable[[str], Path]) -> None:
    folder = tiny_model("bert")
    assert len(explain(folder, TEXTS, topics="Answers").rows) == 1
    with pytest.raises(MissingError, match="misses: it needs more than 7 tokens"):
        explain(folder, TEXTS, topics=["answers", "misses"], tokens=7)
    with pytest.raises(MissingError, match="fails: needs a text: --text FILE"):
        explain(folder, topics="fails")
    with pytest.raises(DataError, match="fails: .* tell nothing"):
        explain(folder, TEXTS, topics="fails")


def test_wrong_calls(tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model("bert")
    with pytest.raises(UsageError, match="no topic is called 'weather'"):
        explain(folder, topics="weather")
    with pytest.raises(UsageError, match="name at least one topic"):
        explain(folder, topics=" , ")
    with pytest.raises(UsageError, match="tokens must be at least 1"):
        explain(folder, tokens=0)
    with pytest.raises(UsageError, match="no layer of tiny-bert is called 'block 9'"):
        explain(folder, TEXTS, topics="clusters", layer="block 9")
    with pytest.raises(UsageError, match="no layer of tiny-bert is called 'block 9'"):
        explain(folder, TEXTS, layer="block 9")
    with pytest.raises(UsageError, match="no correction is called 'bogus'"):
        explain(folder, TEXTS, correction="bogus")
    with pytest.raises(UsageError, match="there is no file of groups nowhere"):
        explain(folder, TEXTS, groups="nowhere")
    with pytest.raises(UsageError, match="--every chooses among checkpoints"):
        explain(folder, every=2)
    with pytest.raises(UsageError, match="give only one of them"):
        explain(folder, revision="a", revisions="step*")
    monkeypatch.setattr(
        "isoscope.verbs.explain.api.TOPICS", {"misses": Topic("misses", "", "", miss)}
    )
    with pytest.raises(UsageError, match="no topic can be answered; not examined: misses"):
        explain(folder)


def test_topics_come_in_their_own_order() -> None:
    assert list(TOPICS) == [
        "frequency", "position", "layernorm", "outliers", "clusters", "structure", "senses", "drift"
    ]  # fmt: skip
    assert [topic.name for topic in chosen_topics("outliers, position")] == ["position", "outliers"]
    assert [topic.name for topic in chosen_topics(None)] == list(TOPICS)
    for name, topic in TOPICS.items():
        assert topic.name == name
        assert topic.title
        assert topic.needs


def test_the_last_checkpoint_of_a_folder_is_explained(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    for step in (0, 10):
        (tmp_path / f"step{step}").symlink_to(tiny_model("gpt2"))
    result = explain(tmp_path, topics="layernorm")
    assert result.verdicts[0]["subject"] == f"{tmp_path.name}@step10"
