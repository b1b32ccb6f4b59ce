"""The topic on models that are made with and without what it looks for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from isoscope.data.texts import open_texts
from isoscope.errors import MissingError
from isoscope.models.frequencies import from_text, token_counts
from isoscope.models.model import Model, open_model
from isoscope.results.result import Row
from isoscope.verbs.explain.names import DIFFERENCE, FIRST, NORM, WITH_FREQUENCY
from isoscope.verbs.explain.topics.base import Explanation, Question
from isoscope.verbs.explain.topics.frequency import (
    FREQUENCY,
    IN_TEXT,
    KINDS,
    is_strong,
    relations,
    sentence_of,
)
from isoscope.verbs.explain.topics.unused import UNUSED_TOKENS

Folder = Callable[[str], Path]
WORDS, UNUSED, WIDTH = 500, 20, 24


def zipf_texts(seed: int) -> list[str]:
    """Texts of words whose frequencies follow Zipf's law; the last words are hardly there."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, WORDS + 1)
    drawn = rng.choice(WORDS, (250, 20), p=shares / shares.sum())
    return [" ".join(f"w{k}" for k in text) for text in drawn]


def made_model(folder: Path, seed: int, hole: int = 0) -> Path:
    """Save a BERT with random weights whose vocabulary is the words of `zipf_texts`.

    Before the last word there may be rows that no token has.
    """
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    names = [*special, *(f"[unused{k}]" for k in range(UNUSED)), *(f"w{k}" for k in range(WORDS))]
    rows = {name: k for k, name in enumerate(names)} | {names[-1]: len(names) - 1 + hole}
    core = Tokenizer(models.WordLevel(rows, "[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip
    config = transformers.BertConfig(
        vocab_size=len(names) + hole, hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=WIDTH, max_position_embeddings=40,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = transformers.BertForMaskedLM(config)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def with_matrix(folder: Path, change: Callable[[np.ndarray], np.ndarray]) -> Model:
    """Change the rows of words and unused tokens in a saved model."""
    from safetensors.numpy import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    key = "bert.embeddings.word_embeddings.weight"
    tensors[key] = change(tensors[key]).astype(np.float32)
    save_file(tensors, path, metadata={"format": "pt"})
    return open_model(str(folder))


def explained(model: Model, seed: int) -> Explanation:
    return FREQUENCY.explain(Question(model, open_texts(zipf_texts(seed))))


def value_of(found: Explanation, measure: str, part: str = "embedding matrix") -> float:
    rows = [row for row in found.rows if (row.measure, row.part) == (measure, part)]
    assert rows[0].value is not None
    return rows[0].value


@pytest.mark.parametrize("seed", range(5))
def test_a_random_model_has_nothing_to_do_with_frequency(tmp_path: Path, seed: int) -> None:
    found = explained(open_model(str(made_model(tmp_path, seed))), seed)
    assert not found.found, found.sentence
    assert found.sentence.startswith("Frequency explains neither components nor norms")
    assert "the strongest: " in found.sentence
    assert "The 20 unused tokens are not clearly closer" in found.sentence
    bands = {row.part: row for row in found.rows if row.measure == "mean_cosine"}
    assert bands["embedding matrix, ranks 1 to 100"].low is None
    assert bands["block 1, ranks 1 to 100"].low is not None
    assert "rows of one text" in bands["block 1, ranks 1 to 100"].protocol


def test_rows_without_a_token_have_no_frequency(tmp_path: Path) -> None:
    found = explained(open_model(str(made_model(tmp_path, 0, hole=40))), 0)
    row = next(row for row in found.rows if (row.part, row.measure) == ("embedding matrix", NORM))
    assert row.n == WORDS


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_direction_is_found(tmp_path: Path, seed: int) -> None:
    logs = np.log10(np.arange(1, WORDS + 1))

    def towards_rare(matrix: np.ndarray) -> np.ndarray:
        matrix[5 + UNUSED :, 3] += 0.1 * (logs - logs.mean())
        matrix[5 : 5 + UNUSED, 3] += 0.1 * (logs.max() - logs.mean())
        return matrix

    found = explained(with_matrix(made_model(tmp_path, seed), towards_rare), seed)
    assert found.found
    r = value_of(found, FIRST, IN_TEXT)
    assert r > 0.5
    where = "the embedding matrix (tokens in the text)"
    told = f"component 1 of {where} is correlated with log frequency"
    assert f"{told} (|r| = {r:.2f}, " in found.sentence
    rho = value_of(found, WITH_FREQUENCY)
    assert rho < -0.3
    assert "The 20 unused tokens are closer to rare tokens than to frequent ones" in found.sentence
    assert f"= {rho:.2f}, 95 % interval" in found.sentence


@pytest.mark.parametrize("seed", range(3))
def test_planted_lengths_are_found(tmp_path: Path, seed: int) -> None:
    def frequent_are_short(matrix: np.ndarray) -> np.ndarray:
        matrix[5 + UNUSED :] *= np.linspace(0.5, 1.5, WORDS)[:, None]
        return matrix

    found = explained(with_matrix(made_model(tmp_path, seed), frequent_are_short), seed)
    assert found.found
    assert value_of(found, NORM) < -0.6
    for tokens in ("all tokens", "tokens in the text"):
        told = f"in the embedding matrix ({tokens}) frequent tokens are shorter than rare ones"
        assert f"{told} (ρ = -0." in found.sentence


def test_every_figure_of_a_tiny_model(tiny_model: Folder) -> None:
    model = open_model(str(tiny_model("bert")))
    texts = ["the cat sat on the old tree.", "a small dog ran.", "it was the river bank"] * 5
    found = FREQUENCY.explain(Question(model, open_texts(texts)))
    assert not found.found  # far fewer than a hundred kinds of tokens
    assert "No unused" not in found.sentence
    parts = {row.part for row in found.rows}
    last = model.stacks[0].layers[-1]
    assert {"words", "tokens", "embedding matrix", last, f"{last}, ranks 1 to 100"} <= parts
    assert f"{last}, not in the text" not in parts
    assert all(row.subject == "" and (row.value is not None or row.note) for row in found.rows)
    assert {(table.part, table.measure) for table in found.tables} == {
        ("words", "coverage"), ("tokens", "coverage"),
        (IN_TEXT, "frequency_projections"), (last, "frequency_projections"),
    }  # fmt: skip
    words = {row.measure: row for row in found.rows if row.part == "words"}
    assert words["share_of_first_100"].value == 1.0
    assert words["needed_for_0.5"].value == 6.0  # of 18: the 3, a full stop 2, and four of 1
    matrix = next(row for row in found.rows if (row.part, row.measure) == (IN_TEXT, FIRST))
    counts = token_counts(model.tokenizer, open_texts(texts))
    assert matrix.n == int((counts > 0).sum())
    known = from_text(model.tokenizer, counts, "")
    lengths = np.linalg.norm(model.tensor(model.parts.input_embedding), axis=1)
    inside = ~np.isnan(known.shares)
    expected = spearmanr(lengths[inside], known.shares[inside]).statistic
    assert value_of(found, NORM) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(2))
def test_the_figures_of_a_part_are_about_the_same_tokens(tmp_path: Path, seed: int) -> None:
    found = explained(open_model(str(made_model(tmp_path, seed))), seed)
    model = open_model(str(tmp_path))
    counts = token_counts(model.tokenizer, open_texts(zipf_texts(seed)))
    numbers: dict[str, set[int | None]] = {}
    for row in [*relations(found.rows), *(row for row in found.rows if row.measure == KINDS)]:
        numbers.setdefault(row.part, set()).add(row.n)
    seen = int((counts > 0).sum())
    assert seen < WORDS
    assert numbers == {IN_TEXT: {seen}, "embedding matrix": {WORDS}, "block 1": {seen}}
    assert value_of(found, KINDS) == WORDS
    assert value_of(found, KINDS, IN_TEXT) == seen
    # The components are those of the tokens that they are correlated over.
    (first,) = [row for row in found.rows if (row.part, row.measure) == (IN_TEXT, FIRST)]
    assert first.protocol.startswith(f"components of {seen:,} vectors")


def test_the_layer_that_was_asked_for(tiny_model: Folder) -> None:
    model = open_model(str(tiny_model("gpt-neox")))  # with rows that no token has
    texts = open_texts(["the cat sat on the old tree.", "a small dog ran."] * 3)
    found = FREQUENCY.explain(Question(model, texts, layer="block 1"))
    assert "block 1" in {row.part for row in found.rows}
    assert found.sentence.endswith("No unused tokens are known: no token is named as one.")


def test_what_is_missing(tiny_model: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(str(tiny_model("bert")))
    with pytest.raises(MissingError, match="--text"):
        FREQUENCY.explain(Question(model))
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(MissingError, match="pip install wordfreq"):
        FREQUENCY.explain(Question(model, open_texts(["the cat"]), frequencies="wordfreq"))


@pytest.mark.needs_package("wordfreq", "wordfreq")
def test_frequencies_of_the_package(tiny_model: Folder) -> None:
    texts = open_texts(["the cat sat on the old tree.", "a small dog ran."] * 5)
    model = open_model(str(tiny_model("bert")))
    found = FREQUENCY.explain(Question(model, texts, frequencies="wordfreq"))
    row = next(row for row in found.rows if row.measure == FIRST)
    assert "wordfreq, English" in row.protocol
    assert "embedding matrix, not in the text" not in {row.part for row in found.rows}


def relation(value: float, low: float | None, high: float | None, n: int = 1_000) -> Row:
    return Row("", "block 2", "none", NORM, value, low=low, high=high, n=n)


@pytest.mark.parametrize(
    ("row", "strong"),
    [
        (relation(0.3, 0.1, 0.5), True),
        (relation(-0.3, -0.5, -0.1), True),
        (relation(0.29, 0.2, 0.4), False),
        (relation(0.4, 0.09, 0.6), False),
        (relation(-0.4, -0.6, -0.09), False),
        (relation(0.4, -0.2, 0.9), False),
        (relation(0.6, 0.4, 0.7, n=99), False),
        (relation(0.6, 0.4, 0.7, n=100), True),
        (relation(1.0, None, None), True),
    ],
)
def test_the_rule(row: Row, strong: bool) -> None:
    assert is_strong(row) is strong


def test_sentences() -> None:
    assert "too few tokens have one" in sentence_of([])
    rows = [
        relation(0.5, 0.4, 0.6),
        Row("", "matrix", "none", FIRST, 0.1, low=0.0, high=0.2, n=200),
        Row("", "matrix", "none", WITH_FREQUENCY, 0.4, low=0.3, high=0.5, n=200,
            extra={UNUSED_TOKENS: 1_234}),
        Row("", "", "none", DIFFERENCE, -0.25, note="b less a"),
    ]  # fmt: skip
    assert sentence_of(rows) == (
        "Frequency explains part of it: in block 2 frequent tokens are longer than rare ones (ρ "
        "= 0.50, 95 % interval 0.40 to 0.60, 1,000 kinds of tokens). The 1,234 unused tokens are "
        "closer to frequent tokens than to rare ones (ρ of their cosine with frequency = 0.40, "
        "95 % interval 0.30 to 0.50, 200 kinds of tokens; mean cosines, b less a: -0.25)."
    )
    undefined = Row("", "matrix", "none", WITH_FREQUENCY, None, n=1, note="undefined: one",
                    extra={UNUSED_TOKENS: 3})  # fmt: skip
    assert sentence_of([undefined]).endswith("How close 3 unused tokens are to rare ones is "
                                             "undefined: one.")  # fmt: skip


def component(number: int, value: float) -> Row:
    name = FIRST.replace("1", str(number))
    return Row("", "matrix", "none", name, value, low=value - 0.1, high=value + 0.1, n=200)


def test_the_strongest_is_told() -> None:
    several = [component(1, 0.4), component(2, 0.6), component(3, 0.5)]
    assert "component 2 of the matrix" in sentence_of(several)
    assert "component 3" not in sentence_of(several)
    weak = [component(1, 0.15), component(2, 0.2), component(3, 0.12)]
    assert "the strongest: component 2 of the matrix" in sentence_of(weak)


def test_centred_figures_are_not_judged() -> None:
    rows = [
        Row("", "matrix", correction, WITH_FREQUENCY, value, low=value - 0.1, high=value + 0.1,
            n=500, extra={UNUSED_TOKENS: 3})
        for correction, value in (("none", 0.1), ("center", 0.5))
    ]  # fmt: skip
    assert [row.correction for row in relations(rows)] == ["none"]
