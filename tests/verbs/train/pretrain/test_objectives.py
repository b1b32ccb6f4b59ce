"""Questions: what is read, where something is predicted, and what would be right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.verbs.train.pretrain.learner import ask  # noqa: E402
from isoscope.verbs.train.scratch import SPECIAL  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.verbs.train.pretrain.learner import Corpus

MASK = SPECIAL.index("<mask>")


@pytest.fixture(scope="module")
def batch(toy_corpus: Corpus) -> NDArray[np.int64]:
    """Many tokens of all kinds, special ones among them."""
    rng = np.random.default_rng(5)
    return rng.integers(0, len(toy_corpus.tokenizer), (400, 128))


def test_next_tokens(toy_corpus: Corpus) -> None:
    blocks = toy_corpus.batch(0, 4, 0)
    question = ask("clm", blocks, toy_corpus.tokenizer, (0,))
    assert (question.tokens.numpy() == blocks).all()
    wanted = [int(blocks[text, place + 1]) for text, place in question.where.nonzero().tolist()]
    assert question.answers.tolist() == wanted
    assert len(wanted) == blocks.shape[0] * (blocks.shape[1] - 1)
    assert not question.where[:, -1].any()


def test_masked_tokens(batch: NDArray[np.int64], toy_corpus: Corpus) -> None:
    question = ask("mlm", batch, toy_corpus.tokenizer, (1, 2))
    where, read = question.where.numpy(), question.tokens.numpy()
    assert question.tokens.dtype == question.answers.dtype == torch.int64
    # Boolean selections go row by row, of hidden states as of answers.
    wanted = [int(batch[text, place]) for text, place in question.where.nonzero().tolist()]
    assert question.answers.tolist() == wanted
    assert (read[~where] == batch[~where]).all()
    assert not where[batch < len(SPECIAL)].any()


def test_shares_of_what_is_predicted(batch: NDArray[np.int64], toy_corpus: Corpus) -> None:
    question = ask("mlm", batch, toy_corpus.tokenizer, (1, 2))
    where, read = question.where.numpy(), question.tokens.numpy()
    ordinary = len(toy_corpus.tokenizer) - len(SPECIAL)
    chosen, original = read[where], batch[where]
    swapped = (chosen != original) & (chosen != MASK)
    same = 0.1 / ordinary  # one that is swapped may be swapped for itself

    def near(count: int, of: int, share: float) -> bool:
        """Within five deviations of a binomial distribution, which one in 10⁶ is not."""
        return abs(count - of * share) < 5 * math.sqrt(of * share * (1 - share))

    predicted = int(where.sum())
    assert predicted > 7_000
    assert near(predicted, int((batch >= len(SPECIAL)).sum()), 0.15)
    assert near(int((chosen == MASK).sum()), predicted, 0.8)
    assert near(int(swapped.sum()), predicted, 0.1 - same)
    assert near(int((chosen == original).sum()), predicted, 0.1 + same)
    # Any ordinary token may come instead, and no special one.
    assert chosen[swapped].min() >= len(SPECIAL)
    assert len(np.unique(chosen[swapped])) > 0.9 * ordinary
    # Every place of a text is as likely to be predicted.
    by_place = where.sum(axis=0) / (batch >= len(SPECIAL)).sum(axis=0)
    assert abs(by_place - 0.15).max() < 5 * math.sqrt(0.15 * 0.85 / 380)


def test_a_key_decides_the_masks(batch: NDArray[np.int64], toy_corpus: Corpus) -> None:
    def asked(*key: int) -> tuple[Any, ...]:
        question = ask("mlm", batch[:20], toy_corpus.tokenizer, key)
        return tuple(one.tolist() for one in (question.tokens, question.where, question.answers))

    assert asked(3, 1, 5) == asked(3, 1, 5)
    assert len({str(asked(*key)) for key in ((3, 1, 5), (3, 1, 6), (4, 1, 5), (3, 2, 5))}) == 4


def test_the_blocks_stay_as_they_are(batch: NDArray[np.int64], toy_corpus: Corpus) -> None:
    before = batch.copy()
    for objective in ("mlm", "clm"):
        ask(objective, batch, toy_corpus.tokenizer, (0,))
        assert (batch == before).all()


def test_something_is_always_predicted(toy_corpus: Corpus) -> None:
    """Of few tokens often none is drawn: then the first ordinary one is."""
    blocks = np.array([[0, 2, 70, 71]])
    alone = 0
    for key in range(50):
        question = ask("mlm", blocks, toy_corpus.tokenizer, (key,))
        assert len(question.answers) == int(question.where.sum()) > 0
        assert not question.where[0, :2].any()
        alone += question.where.tolist() == [[False, False, True, False]]
    assert alone > 25
