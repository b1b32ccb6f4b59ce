"""The layers of a model over a text: several clouds from one forward pass.

``hidden_states`` of transformers will not do: in GPT-2, GPT-NeoX, OPT, Falcon, LLaMA and mBART the
last entry is what the final norm made of the last block's output, which itself is missing. Hooks
on the blocks and on the norm give both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.in_order import Turn
from isoscope.data.base import Batch, Labels, LazyLabels
from isoscope.data.texts.base import TextSource
from isoscope.errors import DataError, UsageError, at_least
from isoscope.models.layer_names import EMBEDDING, FINAL_NORM
from isoscope.models.runtime import forward_threads, one_thread_each
from isoscope.models.tokens import (
    NO_WORD,
    TextTokenizer,
    TokenizedText,
    Truncation,
    batched,
    usual_budget,
)
from isoscope.typing import Mask

if TYPE_CHECKING:
    import torch
    from torch import nn

    from isoscope.models.model import Model
    from isoscope.models.structure.stacks import Stack


Item = TypeVar("Item")
Value = TypeVar("Value")


@contextmanager
def captured(
    network: nn.Module,
    stacks: Sequence[Stack],
    layers: Collection[str],
    take: Callable[[str, torch.Tensor], None],
) -> Iterator[None]:
    """Hand the output of every wanted layer to ``take`` while forward passes run.

    What enters the first block is the layer ``embedding``: positions and an embedding norm are in
    it, where the model has them.
    """
    handles = []

    def take_input(layer: str, _: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        take(layer, args[0] if args else named["hidden_states"])

    def take_output(layer: str, _: nn.Module, __: tuple[Any, ...], output: Any) -> None:
        take(layer, output[0] if isinstance(output, tuple) else output)

    try:
        for stack in stacks:
            for layer, path in zip(stack.layers, modules_of(stack), strict=True):
                if layer not in layers:
                    continue
                module = network.get_submodule(path)
                if layer.endswith(EMBEDDING):
                    hook = partial(take_input, layer)
                    handles.append(module.register_forward_pre_hook(hook, with_kwargs=True))
                else:
                    handles.append(module.register_forward_hook(partial(take_output, layer)))
        yield
    finally:
        for handle in handles:
            handle.remove()


def modules_of(stack: Stack) -> tuple[str, ...]:
    """Return the module whose input or output each layer of a stack is."""
    last = (stack.final_norm,) if stack.final_norm is not None else ()
    assert not last or stack.layers[-1].endswith(FINAL_NORM)
    return (stack.blocks[0], *stack.blocks, *last)


# Room for the words of one text in the number of a word: the number of the text stands in the upper
# bits, so that two occurrences never share a number, whatever batches they are in.
WORDS_PER_TEXT = 1 << 24


@dataclass(frozen=True)
class TokenRule:
    """Which tokens count. It decides the result, so it is part of every protocol."""

    special: bool = False
    """Whether tokens that the tokenizer adds, such as [CLS], count."""
    skip_first: int = 0
    """Positions at the start of each text, special tokens among them, that do not: the first one
    of a decoder is often a sink."""

    def __post_init__(self) -> None:
        at_least("skip-first", self.skip_first, 0)

    def counts(self, text: TokenizedText) -> Mask:
        """Tell which tokens of a text count."""
        kept = np.ones(len(text), np.bool_) if self.special else ~text.special
        kept[: self.skip_first] = False
        return kept

    def __str__(self) -> str:
        special = "special tokens in" if self.special else "special tokens out"
        return special + (
            f", without the first {self.skip_first} positions" if self.skip_first else ""
        )


@dataclass(frozen=True)
class TextBatch:
    """Texts that go through the network together."""

    texts: Sequence[TokenizedText]
    kept: Sequence[Mask]
    """Which tokens of each text count."""
    first_row: int
    """Number of the first token that counts."""
    read: int
    """Texts that were read up to here, these included."""


# Where each thread puts the layers of the forward pass that it is at.
PLACES = threading.local()


@dataclass
class ReadSoFar:
    """What one pass over the texts met."""

    texts: int = 0
    tokens: int = 0
    """Tokens that went through the network, padding not counted."""
    counted: int = 0
    truncation: Truncation = field(default_factory=Truncation)

    def add(self, texts: Sequence[TokenizedText], counted: int) -> None:
        """Take a batch of texts into account."""
        self.texts += len(texts)
        self.tokens += sum(map(len, texts))
        self.counted += counted
        for text in texts:
            self.truncation.add(text)

    def merge(self, other: ReadSoFar) -> ReadSoFar:
        """Add two passes over different texts up."""
        cut, more = self.truncation, other.truncation
        return ReadSoFar(
            self.texts + other.texts,
            self.tokens + other.tokens,
            self.counted + other.counted,
            Truncation(cut.texts + more.texts, cut.tokens + more.tokens),
        )


class LayerClouds:
    """A cloud for each layer of a model: the vectors of a text's tokens.

    One forward pass feeds all layers. Padding is never counted. Rows have the labels ``token id``,
    ``token``, ``word``, ``word index`` (the same for all tokens of one occurrence of a word, −1
    for none), ``sentence`` (the number of the text), ``document`` and ``position``.

    Parameters
    ----------
    model : Model
        What ``open_model`` returned.
    texts : TextSource
        What ``open_texts`` returned.
    rule : TokenRule
        Which tokens count.
    layers : iterable of str, optional
        Names of layers; all by default.
    budget : int, optional
        Tokens in a batch, padding included; by default what suits the device.
    longest : int, optional
        Tokens of a text beyond this are cut off, as are those beyond the limit of the model.
    """

    def __init__(
        self,
        model: Model,
        texts: TextSource,
        rule: TokenRule = TokenRule(),
        *,
        layers: Iterable[str] | None = None,
        budget: int | None = None,
        longest: int | None = None,
    ) -> None:
        names = model.layer_names(layers)
        if budget is not None and budget < 1:
            raise UsageError(f"a batch must hold at least one token, got {budget}")
        limits = [limit for limit in (model.longest, longest) if limit is not None]
        self.model, self.texts, self.rule = model, texts, rule
        self.names, self.budget = names, budget
        self.tokenizer = TextTokenizer(model.tokenizer, min(limits, default=None))
        self.rows: int | None = None
        """Tokens that count; None until a pass is over."""
        self.so_far = ReadSoFar()
        """What the pass that is running, or the last one, met."""
        self._hooked = False

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of dimensions of each layer."""
        return (self.model.dimension,) * len(self.names)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Type in which the layers are computed."""
        return (self.model.dtype,) * len(self.names)

    def place(self, name: str, row: int) -> str:
        """Say where a row is, for messages."""
        return f"{self.model.name}, {name}: token {row}"

    def text_batches(self) -> Iterator[list[TokenizedText]]:
        """Yield the texts that go through the network together."""
        return batched(
            self.texts.texts(), self.tokenizer, self.budget or usual_budget(self.model.device)
        )

    def prepared(self, base: int = 0) -> Iterator[TextBatch]:
        """Yield all batches of which some tokens count; rows are numbered from ``base`` on."""
        self.so_far = ReadSoFar()
        for texts in self.text_batches():
            kept = [self.rule.counts(text) for text in texts]
            # Taken before the batch is added to what was read: it is the number of its first row.
            first, counted = self.so_far.counted, int(sum(mask.sum() for mask in kept))
            self.so_far.add(texts, counted)
            # The network need not run for texts of which no token counts.
            if counted:
                yield TextBatch(texts, kept, base + first, self.so_far.texts)

    def batches(self, base: int = 0) -> Iterator[Mapping[str, Batch]]:
        """Run the model over the texts from the start; rows are numbered from ``base`` on."""
        yield from self.in_threads(self.prepared(base), lambda batch, _: self.run(batch))
        self.rows = self.so_far.counted

    def in_threads(
        self, items: Iterable[Item], work: Callable[[Item, Turn], Value]
    ) -> Iterator[Value]:
        """Yield ``work(item, turn)`` in the order of the items, on threads that may run the model.

        Each forward pass has one thread, whoever runs it: so no number depends on how many there
        are.
        """
        device = self.model.device
        threads = forward_threads(device, self.model.config)
        # Hooks are set once for all threads: to change them while another one runs the network is
        # not safe.
        with self._hooks():
            yield from one_thread_each(items, work, threads, device)

    def run(self, batch: TextBatch) -> Mapping[str, Batch]:
        """Return the layers of some texts as batches, with their labels."""
        vectors = self.forward(batch.texts, batch.kept)
        labels = self.labels(batch.texts, batch.kept)
        return {name: Batch(vectors[name], batch.first_row, labels) for name in self.names}

    def forward(
        self, texts: Sequence[TokenizedText], kept: Sequence[Mask]
    ) -> dict[str, torch.Tensor]:
        """Return the counted tokens' vectors in every layer."""
        import torch

        network = self.model.network
        device = next(network.parameters()).device
        inputs = padded(texts, self.model.pad_id, device)
        check_ids(self.model.name, network, inputs["input_ids"])
        mask = torch.zeros(inputs["input_ids"].shape, dtype=torch.bool)
        for row, keep in enumerate(kept):
            mask[row, : len(keep)] = torch.from_numpy(keep)
        # Found once for all layers, in the order of texts and positions, which labels are in as
        # well.
        chosen = mask.flatten().nonzero().flatten().to(device)
        everything = len(chosen) == mask.numel()
        found: dict[str, torch.Tensor] = {}

        def take(layer: str, hidden: torch.Tensor) -> None:
            flat = hidden.detach().reshape(-1, hidden.shape[-1])
            # A copy in any case: the network may go on to add to what it gave out.
            found[layer] = flat.clone() if everything else flat.index_select(0, chosen)

        if self.model.is_seq2seq:
            # The decoder reads the same tokens, so that its rows are those of the encoder.
            inputs |= {f"decoder_{name}": value for name, value in inputs.items()}
        with self._hooks(), torch.inference_mode():
            PLACES.take = take
            try:
                network(**inputs)
            finally:
                PLACES.take = None
        return found

    @contextmanager
    def _hooks(self) -> Iterator[None]:
        """Have the layers handed out while a ``with`` block lasts, unless they already are."""
        if self._hooked:
            yield
            return
        self._hooked = True

        def take(layer: str, hidden: torch.Tensor) -> None:
            here = getattr(PLACES, "take", None)
            if here is not None:
                here(layer, hidden)

        try:
            with captured(self.model.network, self.model.stacks, self.names, take):
                yield
        finally:
            self._hooked = False

    def labels(self, texts: Sequence[TokenizedText], kept: Sequence[Mask]) -> Labels:
        """Return what is known about the counted tokens, the dearer things when asked for."""

        def joined(values: Iterable[NDArray[Any]]) -> NDArray[Any]:
            return np.concatenate([value[keep] for value, keep in zip(values, kept, strict=True)])

        ids = joined(text.ids for text in texts)
        sentences = joined(np.full(len(text), text.text.index) for text in texts)
        words = joined(text.words for text in texts)
        positions = joined(np.arange(len(text)) for text in texts)

        def word_texts() -> NDArray[Any]:
            return joined(with_words(text) for text in texts)

        def documents() -> NDArray[Any]:
            return joined(np.full(len(text), text.text.document, dtype=object) for text in texts)

        numbered = np.where(words == NO_WORD, NO_WORD, sentences * WORDS_PER_TEXT + words)
        return LazyLabels(
            {
                "token id": lambda: ids,
                # Every layer asks for the labels: those that take time are made once.
                "token": cache(partial(self.tokenizer.token_texts, ids)),
                "word": cache(word_texts),
                "word index": lambda: numbered,
                "sentence": lambda: sentences,
                "document": cache(documents),
                "position": lambda: positions,
            }
        )


def with_words(text: TokenizedText) -> NDArray[np.object_]:
    """Return the word of every token, empty where it has none."""
    names = np.append(text.word_texts, "")
    return np.asarray(names[text.words], dtype=object)


def check_ids(name: str, network: Any, ids: torch.Tensor) -> None:
    """Refuse tokens for which the network has no vector, before torch reads beyond the matrix."""
    rows = getattr(network.get_input_embeddings(), "num_embeddings", None)
    largest = int(ids.max())
    if rows is not None and largest >= rows:
        raise DataError(
            f"{name}: its tokenizer produces token {largest:,}, and its embedding matrix has "
            f"{rows:,} rows; the tokenizer belongs to another model"
        )


def padded(
    texts: Sequence[TokenizedText], pad_id: int, device: torch.device
) -> dict[str, torch.Tensor]:
    """Return ids and attention mask, padded on the right whatever the tokenizer prefers.

    Padding on the left moves the positions of models that count from the first column.
    """
    import torch

    longest = max(map(len, texts))
    ids = np.full((len(texts), longest), pad_id, dtype=np.int64)
    mask = np.zeros((len(texts), longest), dtype=np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text.ids
        mask[row, : len(text)] = 1
    return {
        "input_ids": torch.from_numpy(ids).to(device),
        "attention_mask": torch.from_numpy(mask).to(device),
    }
