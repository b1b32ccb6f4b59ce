"""Blocks of tokens against a join by hand, and the order in which epochs go through them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.errors import DataError, IsoscopeError
from isoscope.verbs.train.pretrain import learner as corpus_file
from isoscope.verbs.train.pretrain.learner import Corpus, blocks, make_corpus
from isoscope.verbs.train.pretrain.plan import Plan, Size
from isoscope.verbs.train.scratch import SPECIAL

Plans = Callable[..., Plan]
BEGIN, END = SPECIAL.index("<s>"), SPECIAL.index("</s>")


@pytest.fixture(scope="module")
def shape(small_plan: Plans) -> Size:
    return small_plan().shape


def joined_by_hand(tokenizer: Any, texts: list[str], length: int) -> list[list[int]]:
    stream: list[int] = []
    for text in texts:
        stream.extend(tokenizer(text, add_special_tokens=False)["input_ids"])
        stream.append(END)
    found, inner = [], length - 1
    while len(stream) >= inner:
        found.append([BEGIN, *stream[:inner]])
        stream = stream[inner:]
    return found


def numbered(corpus: Corpus, count: int) -> Corpus:
    """Return a corpus whose blocks hold nothing but their numbers."""
    train = np.repeat(np.arange(count, dtype=np.int32)[:, None], 3, axis=1)
    return replace(corpus, train=train)


@pytest.mark.parametrize("length", [2, 5, 12, 37])
def test_blocks_are_those_of_a_join_by_hand(
    length: int, toy_corpus: Corpus, toy_texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_file, "AT_ONCE", 7)  # which does not divide the number of texts
    found = blocks(toy_corpus.tokenizer, toy_texts, length)
    assert found.dtype == np.int32
    assert found.tolist() == joined_by_hand(toy_corpus.tokenizer, toy_texts, length)


def test_texts_of_less_than_a_block(toy_corpus: Corpus) -> None:
    assert blocks(toy_corpus.tokenizer, ["cat"], 50).shape == (0, 50)
    assert blocks(toy_corpus.tokenizer, [], 50).shape == (0, 50)


def test_one_text_in_twenty_is_for_validation(
    toy_corpus: Corpus, toy_texts: list[str], shape: Size
) -> None:
    held = toy_texts[19::20]
    learned = [text for k, text in enumerate(toy_texts) if k % 20 != 19]
    assert len(held) == len(toy_texts) / 20
    for found, texts in ((toy_corpus.train, learned), (toy_corpus.validation, held)):
        assert found.tolist() == joined_by_hand(toy_corpus.tokenizer, texts, shape.context)


def test_what_is_held_out_teaches_the_vocabulary_nothing(
    toy_corpus: Corpus, toy_texts: list[str], shape: Size
) -> None:
    texts = [*toy_texts]
    texts[19] = "zyzzyva " * 500
    assert make_corpus(texts, shape).tokenizer.get_vocab() == toy_corpus.tokenizer.get_vocab()


def test_texts_of_their_own_for_validation(
    toy_texts: list[str], shape: Size, tmp_path: Path
) -> None:
    (tmp_path / "learn.txt").write_text("\n".join(toy_texts))
    other = ["a big red boat sat by the old river bank", "the small green bird saw new money"]
    (tmp_path / "judge.txt").write_text("\n".join(other))
    found = make_corpus(tmp_path / "learn.txt", shape, validation=tmp_path / "judge.txt")
    for part, texts in ((found.train, toy_texts), (found.validation, other)):
        assert part.tolist() == joined_by_hand(found.tokenizer, texts, shape.context)
    assert found.words.startswith("learn: ")


def test_a_column_is_read(
    toy_texts: list[str], toy_corpus: Corpus, shape: Size, tmp_path: Path
) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["a,b", *(f"{k},{text}" for k, text in enumerate(toy_texts))]))
    found = make_corpus(path, shape, column="b")
    assert (found.train == toy_corpus.train).all()
    assert found.digest == toy_corpus.digest


def test_counts_are_those_of_the_training_blocks(toy_corpus: Corpus) -> None:
    wanted = Counter(toy_corpus.train.ravel().tolist())
    assert len(toy_corpus.counts) == len(toy_corpus.tokenizer)
    assert {k: n for k, n in enumerate(toy_corpus.counts.tolist()) if n} == wanted
    assert toy_corpus.counts[BEGIN] == len(toy_corpus.train)


def test_words_say_how_much_there_is(toy_corpus: Corpus) -> None:
    assert f"{toy_corpus.train.size:,} tokens for training" in toy_corpus.words
    assert f"{toy_corpus.validation.size:,} for validation" in toy_corpus.words
    assert f"vocabulary {len(toy_corpus.tokenizer):,}" in toy_corpus.words


def test_the_vocabulary_has_the_size_that_was_asked_for(
    toy_corpus: Corpus, toy_texts: list[str], shape: Size
) -> None:
    assert len(toy_corpus.tokenizer) == shape.vocabulary
    assert toy_corpus.tokenizer.model_max_length == shape.context
    assert len(make_corpus(toy_texts, replace(shape, vocabulary=261)).tokenizer) == 261
    assert toy_corpus.tokenizer.convert_tokens_to_ids(list(SPECIAL)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("count", "size", "steps"),
    [
        (12, 4, 9),  # epochs end with a batch
        (10, 4, 10),  # batches straddle two epochs
        (5, 4, 10),
        (3, 8, 6),  # a batch holds several epochs
    ],
)
def test_every_epoch_has_each_block_once_in_an_order_of_its_own(
    count: int, size: int, steps: int, toy_corpus: Corpus
) -> None:
    corpus = numbered(toy_corpus, count)
    batches = [corpus.batch(step, size, 7) for step in range(steps)]
    assert all(batch.shape == (size, 3) and batch.dtype == np.int64 for batch in batches)
    read = np.concatenate(batches)
    assert (read == read[:, :1]).all()  # blocks stay whole
    order = read[: size * steps // count * count, 0].reshape(-1, count)
    assert len(order) >= 2
    assert (np.sort(order, axis=1) == np.arange(count)).all()
    assert len({tuple(epoch) for epoch in order.tolist()}) > 1


def test_the_order_follows_from_seed_and_step_alone(toy_corpus: Corpus) -> None:
    corpus = numbered(toy_corpus, 40)
    forth = [corpus.batch(step, 4, 7).tolist() for step in range(20)]
    back = [corpus.batch(step, 4, 7).tolist() for step in reversed(range(20))]
    assert forth == back[::-1]
    assert forth != [corpus.batch(step, 4, 8).tolist() for step in range(20)]


def test_the_digest_is_that_of_the_texts(
    toy_corpus: Corpus, toy_texts: list[str], shape: Size
) -> None:
    assert len(toy_corpus.digest) == len(hashlib.sha256().hexdigest())
    assert make_corpus(list(toy_texts), shape).digest == toy_corpus.digest
    for k in (3, 19):  # a text to learn from, and one to be judged on
        other = [*toy_texts]
        other[k] += "."
        assert make_corpus(other, shape).digest != toy_corpus.digest
    moved = [toy_texts[1], toy_texts[0], *toy_texts[2:]]
    assert make_corpus(moved, shape).digest != toy_corpus.digest


def test_the_digest_knows_what_is_learned_from_what_is_judged_on(
    toy_texts: list[str], shape: Size
) -> None:
    """The same texts in the same order, but another one of them is the first to be judged on."""
    one = make_corpus(toy_texts[:100], shape, validation=toy_texts[100:])
    other = make_corpus(toy_texts[:101], shape, validation=toy_texts[101:])
    assert len(one.train) != len(other.train)
    assert one.digest != other.digest


def test_the_digest_knows_where_texts_end(toy_texts: list[str], shape: Size) -> None:
    held = toy_texts[:20]
    one = make_corpus([*toy_texts, "a boat\0a tree"], shape, validation=held)
    other = make_corpus([*toy_texts, "a boat", "a tree"], shape, validation=held)
    assert one.digest != other.digest


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"vocabulary": 5_000}, "too small for a vocabulary of 5,000: it has pairs for .*--vocab"),
        ({"batch_size": 200}, "too small: .* blocks of 12 tokens, and 2 batches of 200 have 400"),
        ({"context": 400, "batch_size": 1}, "for validation have less than 400 tokens"),
    ],
)
def test_too_little_text(
    changed: dict[str, int], message: str, toy_texts: list[str], shape: Size
) -> None:
    with pytest.raises(DataError, match=message) as refused:
        make_corpus(toy_texts, replace(shape, **changed))
    assert len(str(refused.value).splitlines()) == 1


def test_two_batches_are_enough(toy_texts: list[str], shape: Size) -> None:
    blocks_there = len(make_corpus(toy_texts, shape).train)
    assert len(make_corpus(toy_texts, replace(shape, batch_size=blocks_there // 2)).train)
    with pytest.raises(DataError, match="2 batches"):
        make_corpus(toy_texts, replace(shape, batch_size=blocks_there // 2 + 1))


def test_fewer_texts_than_one_in_twenty_has(toy_texts: list[str], shape: Size) -> None:
    with pytest.raises(DataError, match="texts for validation") as refused:
        make_corpus([" ".join(toy_texts)], shape)
    assert len(str(refused.value).splitlines()) == 1


def test_a_vocabulary_below_that_of_bytes_is_refused(
    toy_texts: list[str], small_plan: Plans
) -> None:
    """All bytes and the special tokens are in every vocabulary: it would be larger than asked."""
    with pytest.raises(IsoscopeError, match="vocabulary"):
        make_corpus(toy_texts, small_plan(changed={"vocabulary": 100}).shape)
