"""What a terminal shows of a profile."""

from __future__ import annotations

import pytest
from screens_for_tests import screen_lines, words_of

from isoscope.results.result import Result, Row
from isoscope.results.sentences import Sentence, as_verdict
from isoscope.verbs.profile.names import CONTEXT, COSINES, OUTLIERS

HOW = "900 tokens of 9 texts (x, 9 of 10 drawn, seed 0), special tokens out; 64 dimensions"


def layered(count: int, subject: str = "minilm") -> Result:
    """Return a profile of a model whose cosines rise to the middle."""
    rows, verdicts = [], []
    for k in range(count):
        part = "embedding" if k == 0 else f"block {k}"
        cosine = 0.3 * min(k, count - k) / count
        uneven = cosine >= 0.1
        numbers = {"mean_cosine": cosine, "effective_rank": 60 - k, "i1_scaled": 1 - cosine}
        rows += [Row(subject, part, "none", name, value, n=900, protocol=HOW)
                 for name, value in numbers.items()]  # fmt: skip
        rows.append(Row(subject, part, "center", "mean_cosine", 0.0, n=900, protocol=HOW))
        cause = {
            "cause": "common offset" if uneven else "none",
            "grade": "mild" if uneven else "none",
        }
        verdicts.append({"subject": subject, "part": part, "sentence": "A sentence.", **cause})
    where = "The mean cosine is lowest in the embedding (0.00) and highest in block 3 (0.13)."
    which = "7 in 3 of 7 layers (the minimum in 20% of all vectors)."
    words = "Words are most contextual in block 5: occurrences are 0.55 more alike than tokens."
    sentences = [
        Sentence(COSINES, where),
        Sentence(OUTLIERS, f"Outlier dimensions: {which}", f"Dimension {which}"),
        Sentence(CONTEXT, words),
    ]
    verdicts.append({"subject": subject, "part": "", **as_verdict(sentences)})
    return Result(rows, verdicts=verdicts, extra={"kind": "profile"},
                  command="isoscope profile package:minilm --text texts.txt")  # fmt: skip


def test_where_the_space_becomes_uneven() -> None:
    lines = screen_lines(layered(7))
    text = words_of(lines)
    assert lines[0] == "minilm · 7 layers · 900 tokens of 9 texts"
    assert "Nothing stands out in the embedding, blocks 1–2 and blocks 5–6." in text
    assert "Mild common offset in blocks 3–4." in text
    assert "highest in block 3 (0.13)" in text
    assert "Outliers Dimension 7 in 3 of 7 layers" in text
    assert "isoscope explain package:minilm --text texts.txt" in text
    (row,) = [line for line in lines if line.startswith("  block 3 ")]
    assert "██" in row
    assert "".join(screen_lines(layered(7), plain=True)).isascii()
    assert "".join(screen_lines(layered(31), plain=True)).isascii()


@pytest.mark.parametrize("name", ["m" * 60, "多语言模型", "نموذج"])
@pytest.mark.parametrize("cells", [60, 80, 140])
def test_thirty_layers_are_lines_of_blocks(name: str, cells: int) -> None:
    lines = screen_lines(layered(31, name), cells)
    assert any("▁" in line and "█" in line for line in lines)
    assert "block 15" in "\n".join(lines)


def test_several_models() -> None:
    one, two = layered(7, "one"), layered(13, "two")
    both = Result([*one.rows, *two.rows], verdicts=[*one.verdicts, *two.verdicts],
                  extra={"kind": "profile"})  # fmt: skip
    text = words_of(screen_lines(both))
    assert "one: Nothing stands out" in text
    assert "two mean cosine" in text


def test_weights_alone() -> None:
    extra = {"parts": "matrix"}
    rows = [
        Row("m", "embedding matrix", "none", "mean_cosine", 0.4, n=99, extra=extra),
        *(Row("m", f"block {k}, norm", "none", "bias_over_gain", k / 9, extra={"parts": "norm"})
          for k in range(9)),
    ]  # fmt: skip
    told = {
        "subject": "m",
        "part": "",
        "sentence": "The embedding matrix has a mean cosine of 0.4.",
    }
    lines = screen_lines(Result(rows, verdicts=[told], extra={"kind": "profile"}))
    assert lines[0] == "m · weights · 1 matrix · 9 norms"
    assert any("bias over gain" in line and "▁" in line for line in lines)


def test_a_training() -> None:
    rows = [
        Row(f"m@step{k}", "embedding matrix", "none", "mean_cosine", 0.1 * k, n=9,
            extra={"parts": "matrix", "revision": f"step{k}", "step": k, "model": "m"})
        for k in range(5)
    ]  # fmt: skip
    told = {"subject": "m", "part": "embedding matrix", "sentence": "mean_cosine rises."}
    lines = screen_lines(Result(rows, verdicts=[told], extra={"kind": "profile"}))
    assert lines[0] == "m · 5 checkpoints"
    assert any("▁" in line and "0.40 at step 4" in line for line in lines)
