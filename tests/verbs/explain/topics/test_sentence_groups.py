"""Made groups keep their promises, and files of groups are read or refused in one line."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from isoscope.errors import DataError, UsageError
from isoscope.verbs.explain.topics.clusters import STOP_WORDS
from isoscope.verbs.explain.topics.sentence_groups import (
    LEXICON,
    PREDICATES,
    SUBJECTS,
    WHOLES,
    inflected,
    made_groups,
    read_groups,
    sentence,
)

SUFFIXES = ("ing", "ed", "er", "ly", "ist", "or", "s", "e", "y")


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.casefold())


def stem(word: str) -> str:
    """Take endings off a word, as long as four letters are left."""
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return stem(word.removesuffix(suffix))
    return word


@pytest.mark.parametrize("seed", [0, 1, 2, 12345])
def test_groups_share_a_frame_and_no_content_word(seed: int) -> None:
    groups = made_groups(seed)
    assert len({group.name for group in groups}) == 200
    assert len({text for group in groups for text in group.sentences}) == 1200
    for group in groups:
        assert len(group.sentences) == 6
        fixed = set(tokens(re.sub(r"\{.*?\}", "", group.name))) | {"an"}
        content = [word for words in group.words for word in words]
        assert len(content) == len(set(content)) == 6 * group.name.count("{")
        assert len({word[:4] for word in content}) == len(content)
        # Words as they stand in the sentences, by what is not in the frame.
        stems = [stem(w) for text in group.sentences for w in tokens(text) if w not in fixed]
        assert len(stems) == len(content)
        assert max(Counter(stems).values()) == 1
        for text in group.sentences:
            assert {".", ",", "the", "of"} <= set(tokens(text))
            assert re.fullmatch(r"[A-Z][^{}:A-Z]*\.", text), text
            assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|,,|,\.|  ", text, re.IGNORECASE), text


def test_subjects_and_predicates_meet_once() -> None:
    clauses = [f"{s.text} {p.replace('BE', s.be)}" for s in SUBJECTS for p in PREDICATES]
    groups = made_groups(3)
    # A short clause may be a part of a long one.
    found = [max((one for one in clauses if one in group.name), key=len) for group in groups]
    assert len(set(found)) == 200
    around = Counter(
        group.name.replace(c, "CLAUSE") for group, c in zip(groups, found, strict=True)
    )
    assert set(around) == set(WHOLES)
    assert min(around.values()) >= 15


def test_frames_hold_function_words_alone() -> None:
    known = STOP_WORDS | {"two", "according", "far", "s", "be", "clause"}
    for text in (*(subject.text for subject in SUBJECTS), *PREDICATES, *WHOLES):
        assert set(re.findall(r"\w+", re.sub(r"\{.*?\}", "", text).casefold())) <= known, text
    for text in WHOLES:
        assert "," in text
        assert re.search(r"the \{\w+\} of the \{\w+\}", text)


def test_the_lexicon_has_no_word_twice_in_a_kind() -> None:
    for kind, words in LEXICON.items():
        assert len(set(words)) == len(words) >= 6, kind


def test_seeds_decide() -> None:
    assert made_groups(5) == made_groups(5)
    assert made_groups(5) != made_groups(6)
    assert [len(group.sentences) for group in made_groups(0, groups=3, sentences=2)] == [2, 2, 2]
    with pytest.raises(DataError, match="too few words for 40 sentences like"):
        made_groups(0, sentences=40)


def test_words_are_inflected_and_articles_fit() -> None:
    assert [inflected("dance", form) for form in ("", "ed", "ing", "s")] == [
        "dance", "danced", "dancing", "dances",
    ]  # fmt: skip
    assert [inflected("wash", form) for form in ("ed", "ing")] == ["washed", "washing"]
    assert sentence("a {person} {gave} a {thing}", ("umpire", "sold", "jar")) == (
        "An umpire sold a jar"
    )


def test_groups_from_files(tmp_path: Path) -> None:
    rows = [("a", "One."), ("b", "Two."), ("a", "Three."), ("b", "Four, five.")]
    tabbed = tmp_path / "groups.tsv"
    tabbed.write_text("".join(f"{name}\t{text}\n\n" for name, text in rows), "utf-8")
    lines = tmp_path / "groups.jsonl"
    lines.write_text(
        "\n".join(json.dumps({"group": name, "text": text}) for name, text in rows), "utf-8"
    )
    for path in (tabbed, lines):
        found = read_groups(path)
        assert [(group.name, group.sentences) for group in found] == [
            ("a", ("One.", "Three.")), ("b", ("Two.", "Four, five.")),
        ]  # fmt: skip
    numbered = tmp_path / "numbered.jsonl"
    numbered.write_text(
        "\n".join(json.dumps({"group": k % 2, "text": f"Number {k}."}) for k in range(4)), "utf-8"
    )
    assert [group.name for group in read_groups(numbered)] == ["0", "1"]


GOOD = '{"group": 1, "text": "x"}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.tsv", "a\tone\nno tab\n", "line 2 has 1 columns"),
        ("g.tsv", "a\tone\na\t\n", "line 2 has an empty text"),
        ("g.tsv", "a\tone\n\tx\n", "line 2 has an empty text"),
        ("g.tsv", "a\tone\na\ttwo\nb\tthree\n", "group 'b' has one sentence"),
        ("g.tsv", "a\tone\na\ttwo\n", "holds 1 groups"),
        ("g.tsv", "\n", "holds 0 groups"),
        ("g.tsv", "a\tone\na\tone\nb\tx\nb\ty\n", "group 'a' holds 'one' 2 times"),
        ("g.jsonl", GOOD + "nonsense\n", "line 2 is not valid JSON"),
        ("g.jsonl", GOOD + "[1]\n", "line 2 should be a JSON object"),
        ("g.jsonl", GOOD + '{"text": "x"}\n', "line 2 needs a name or a number under 'group'"),
        ("g.jsonl", GOOD + '{"group": true, "text": "x"}\n', "line 2 needs a name or a number"),
        ("g.jsonl", GOOD + '{"group": 1}\n', "line 2 needs a text under 'text'"),
        ("g.jsonl", GOOD + '{"group": 1, "text": " "}\n', "line 2 has an empty text"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message) as error:
        read_groups(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_groups(tmp_path / "none.tsv")
