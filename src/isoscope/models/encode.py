"""Vectors of texts, or of words in them, in any layer: looked up or computed once, on any workers.

In what batch a text goes decides the last bits of its vector. So shards are cut from all entries of
a call by their order alone, whatever is known already and however many workers there are, and a
shard is computed whole.
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.execution import LOCAL, check_scale, on_accelerators, open_pool, ray_address
from isoscope.compute.memory import check_held
from isoscope.compute.pool import BadShard, Here, Pool, Shard, Tick, Value, Work
from isoscope.compute.vector_cache import VectorCache, open_cache, space_digest, text_keys
from isoscope.data.arrays import numbered
from isoscope.errors import DataError, UsageError
from isoscope.models.model import Model, reopened
from isoscope.models.runtime import device_name, dtype_name
from isoscope.models.sentences.pooling import Watch, check_pooling, pooled_spaces
from isoscope.models.tokens import Mention, by_text
from isoscope.models.weights import weight_files
from isoscope.progress import Progress, report
from isoscope.typing import Mask, Places
from isoscope.wording import listed


class EncodingPool(ExitStack):
    """Workers that are started when there is something to encode, and end with a ``with`` block.

    Parameters
    ----------
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        How many, as ``open_pool`` takes it.
    device : str, optional
        Where models compute. On an accelerator every worker of Ray takes one; without a name Ray's
        workers compute on processors.
    """

    def __init__(self, engine: str, workers: int | None = None, device: Any = None) -> None:
        super().__init__()
        check_scale(engine, workers, "stop", None)
        distant = ray_address(engine) is not None
        self.device = "cpu" if distant and device is None else device
        accelerators = on_accelerators(self.device)
        self._settles = distant and accelerators
        self._open = partial(open_pool, engine, workers, accelerators=accelerators)
        self._pool: Pool | None = None

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        """Yield what became of the shards, in the order in which they are done."""
        # Starting workers takes seconds, and vectors that are all in the cache need none.
        if self._pool is None:
            self._pool = self.enter_context(self._open())
        return self._pool.run(work, shards, tick)

    def settle(self, model: Model, dtype: Any) -> None:
        """Note what workers compute on, where this machine may have no such device."""
        if self._settles:
            model.settle(str(self.device), dtype_name(dtype))


@contextmanager
def encoding_pool(
    engine: str = LOCAL,
    workers: int | None = None,
    device: Any = None,
    shared: EncodingPool | None = None,
) -> Iterator[EncodingPool | None]:
    """Give out workers that encode texts, or None for this process with all its threads.

    Workers that are ``shared`` by several calls are given out as they are, and not ended.
    """
    if shared is not None or not asks_for_workers(engine, workers):
        yield shared
        return
    with EncodingPool(engine, workers, device) as pool:
        yield pool


def asks_for_workers(engine: str, workers: int | None) -> bool:
    """Whether work goes to other processes than this one."""
    return workers is not None or ray_address(engine) is not None


def refuse_workers(
    task: str, engine: str, workers: int | None, pool: EncodingPool | None = None
) -> None:
    """Say that only texts go to workers."""
    if pool is not None or asks_for_workers(engine, workers):
        raise UsageError(
            f"--engine and --workers are for encoding texts with a model, and {task} scores "
            "vectors; leave them out"
        )


@dataclass(frozen=True)
class Entries:
    """What is to be encoded: the distinct texts, or words in texts.

    Attributes
    ----------
    entries : list of tuple
        A text, with where the word begins and ends in it; both 0 for the whole text.
    order : array of int
        The place of what was asked for among the entries.
    words : bool
        Whether entries are words.
    """

    entries: list[tuple[str, int, int]]
    order: Places
    words: bool

    @classmethod
    def of(cls, texts: Sequence[str], mentions: Sequence[Mention] | None = None) -> Entries:
        """Number texts, or words in them, without repeats."""
        if mentions is None:
            return cls.distinct([(text, 0, 0) for text in texts], words=False)
        by_text(mentions, texts)
        spans = [(texts[one.text], one.start, one.end) for one in mentions]
        return cls.distinct(spans, words=True)

    @classmethod
    def distinct(cls, entries: Sequence[tuple[str, int, int]], *, words: bool) -> Entries:
        """Number entries without repeats."""
        places, order = numbered(entries)
        return cls(list(places), order, words)

    @property
    def keys(self) -> list[str]:
        """What tells the entries apart."""
        if not self.words:
            return [text for text, _, _ in self.entries]
        return [f"{start} {end} {text}" for text, start, end in self.entries]

    def inputs(self) -> tuple[list[str], list[Mention] | None]:
        """Return the distinct texts, and the words in them."""
        places, _ = numbered(text for text, _, _ in self.entries)
        mentions = [Mention(places[text], start, end) for text, start, end in self.entries]
        return list(places), mentions if self.words else None


# Texts of a shard: enough that neighbours have a length, few enough that small sets are shared.
SHARD_TEXTS = 1_024


@dataclass(frozen=True)
class EncodingShard:
    """Some of the texts of a call, and the words that are wanted of them."""

    first: int
    """Number of its first text in the call."""
    texts: list[str]
    mentions: list[Mention] | None
    places: Places
    """Where its vectors belong among the entries of the call."""

    @property
    def name(self) -> str:
        """What people call it."""
        return f"texts {self.first + 1:,} to {self.first + len(self.texts):,}"


def cut_entries(wanted: Entries, missing: Mask) -> list[EncodingShard]:
    """Cut entries into shards, and return those of which any entry is missing.

    All words of a text are in one shard, so that it goes through the model once.
    """
    _, of_entry = numbered(text for text, _, _ in wanted.entries)
    # By the number of the text, not of the entry: all words of a text stay in one shard.
    shard_of_entry = of_entry // SHARD_TEXTS
    in_order = np.argsort(shard_of_entry, kind="stable")
    ends = np.cumsum(np.bincount(shard_of_entry))
    shards = []
    for number, places in enumerate(np.split(in_order, ends[:-1])):
        # A shard is computed whole even if one vector is missing: in a smaller batch the others
        # would be padded differently, and vectors could differ in their last bits from run to run.
        if missing[places].any():
            entries = [wanted.entries[place] for place in places]
            texts, mentions = Entries.distinct(entries, words=wanted.words).inputs()
            shards.append(EncodingShard(number * SHARD_TEXTS, texts, mentions, places))
    return shards


@dataclass
class ModelWork(ABC):
    """Takes shards through a model; a worker has one copy of it."""

    model: Model
    dtype: str = field(init=False)
    """In what all workers compute."""

    def __post_init__(self) -> None:
        self.dtype = self.model.dtype

    def __call__(self, shard: EncodingShard, tick: Tick) -> dict[str, NDArray[Any]]:
        """Return the vectors of one shard in every layer."""
        if self.model.dtype != self.dtype:
            raise UsageError(
                f"a worker cannot compute in {self.dtype}; name a --dtype that all workers support"
            )
        return self.vectors(shard.texts, shard.mentions, lambda _, done, __: tick(done))

    def watched_by(self, watch: Watch) -> Work[EncodingShard, dict[str, NDArray[Any]]]:
        """Return the same work, for this process alone, with all tokens shown to a watcher."""

        def run(shard: EncodingShard, tick: Tick) -> dict[str, NDArray[Any]]:
            return self.vectors(shard.texts, shard.mentions, lambda _, done, __: tick(done), watch)

        return run

    @abstractmethod
    def vectors(
        self,
        texts: Sequence[str],
        mentions: Sequence[Mention] | None,
        progress: Progress | None,
        watch: Watch | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return the vectors of texts, or of words in them, in every layer."""

    def __getstate__(self) -> dict[str, Any]:
        # With device and type as they are here: vectors are kept under these.
        model = self.model
        return {**vars(self), "model": (model.source, model.dtype, model.device)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, model=reopened(*state["model"]))


@dataclass
class EncodingWork(ModelWork):
    """Pools the tokens of some layers."""

    layers: tuple[str, ...]
    pooling: str
    special_tokens: bool
    longest: int | None

    def vectors(
        self,
        texts: Sequence[str],
        mentions: Sequence[Mention] | None,
        progress: Progress | None,
        watch: Watch | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return the vectors of texts, or of words in them, in every layer."""
        found = pooled_spaces(
            self.model, texts, self.layers, self.pooling, self.special_tokens, {},
            mentions=mentions, longest=self.longest, watch=watch, progress=progress,
        )  # fmt: skip
        return {layer: spaces[""] for layer, spaces in found.items()}


def encoded_shards(
    pool: Pool,
    work: Work[EncodingShard, dict[str, NDArray[Any]]],
    shards: Sequence[EncodingShard],
    progress: Progress | None,
) -> Iterator[tuple[Places, dict[str, NDArray[Any]]]]:
    """Yield places and vectors of the shards, in the order in which they are done."""
    done, total = 0, sum(len(shard.texts) for shard in shards)

    def tick(within: int) -> None:
        report(progress, "texts", done + within, total)

    tick(0)
    for number, found in pool.run(work, list(enumerate(shards)), tick):
        if isinstance(found, BadShard):
            raise DataError(found.message)
        yield shards[number].places, found
        done += len(shards[number].texts)
        tick(0)


# How the tokens of a word become one vector.
WORD_POOLING = "mean"

# Endings of the files that hold configuration and tokenizer.
SMALL_FILES = (".json", ".txt", ".model")


class Encoder:
    """Turns texts into vectors: one model, one pooling, every layer.

    Parameters
    ----------
    model : Model
        What ``open_model`` returned.
    pooling : {"mean", "cls", "last", "max"}
        How the tokens of a text become one vector.
    special_tokens : bool
        Whether tokens that the tokenizer adds count.
    longest : int, optional
        Tokens of a text beyond this are cut off, as are those beyond the limit of the model.
    cache : VectorCache or bool
        Where vectors are kept: True in the user's own cache, False nowhere.
    pool : Pool, optional
        Workers that texts go to in shards, each kept as soon as it is done: a run that was killed
        goes on from there. By default this process takes the same shards itself, with a thread
        for each batch, and finds the same bits.
    """

    def __init__(
        self,
        model: Model,
        pooling: str = "mean",
        special_tokens: bool = True,
        *,
        longest: int | None = None,
        cache: VectorCache | bool = True,
        pool: Pool | None = None,
    ) -> None:
        check_pooling(pooling)
        if longest is not None and longest < 1:
            raise UsageError(f"a text must have at least one token, got {longest}")
        self.model, self.pooling, self.special_tokens = model, pooling, special_tokens
        self.longest, self.cache, self.pool = longest, open_cache(cache), pool
        self.prompt = self.query_prompt = ""
        self.remark = ""
        """What the protocol adds, such as why a pipeline of the model's own is not used."""

    has_usual_prompts = False
    """Whether texts get the prompts that the model's own configuration names."""

    def __str__(self) -> str:
        special = "in" if self.special_tokens else "out"
        prompts = self.describe_prompts()
        said = f", {prompts}" if prompts else ""
        return f"{self.pooling} pooling, special tokens {special}{self._cut}{said}{self.remark}"

    def with_prompts(self, prompt: str, query_prompt: str | None = None) -> Self:
        """Return a copy that puts prompts in front of texts, another one in front of queries."""
        if self.cache is not None:
            _ = self._settings  # which takes long, so that copies share it
        changed = copy.copy(self)
        changed.prompt = prompt
        changed.query_prompt = prompt if query_prompt is None else query_prompt
        return changed

    def prompted(
        self,
        texts: Sequence[str],
        mentions: Sequence[Mention] | None = None,
        queries: Places | None = None,
    ) -> list[str]:
        """Return texts as the model reads them; words stand where they stand without a prompt."""
        if mentions is not None:
            return list(texts)
        found = [self.prompt + text for text in texts]
        for row in () if queries is None else queries:
            found[row] = self.query_prompt + texts[row]
        return found

    def describe_prompts(self) -> str:
        """Say what is put in front of texts; nothing where nothing is."""
        if self.prompt == self.query_prompt:
            return f"prompt {self.prompt!r}" if self.prompt else ""
        of_queries, others = (
            repr(prompt) if prompt else "none" for prompt in (self.query_prompt, self.prompt)
        )
        return f"prompts: {of_queries} for queries, {others} for documents"

    def describe_words(self) -> str:
        """Say how words in texts get their vectors."""
        return f"words are the {WORD_POOLING} of their tokens{self._cut}"

    @property
    def _cut(self) -> str:
        return "" if self.longest is None else f", at most {self.longest} tokens a text"

    def encode(
        self,
        texts: Sequence[str],
        layers: Iterable[str] | None = None,
        *,
        mentions: Sequence[Mention] | None = None,
        queries: Places | None = None,
        watch: Watch | None = None,
        progress: Progress | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return a vector of every text in every layer, in the order of the texts.

        Parameters
        ----------
        texts : sequence of str
            The texts; one that is there twice is computed once.
        layers : iterable of str, optional
            Names of layers; all by default.
        mentions : sequence of Mention, optional
            Words in the texts: then every one of them gets a vector, the mean of its tokens, and
            texts as a whole get none. Prompts are for whole texts.
        queries : array of int, optional
            Which of the texts are queries, with a prompt of their own.
        watch : callable, optional
            Sees the tokens of every distinct text, as in ``pooled``; with it all go through the
            model, in this process even where there are workers.
        progress : callable, optional
            Called with the name of the read, texts done, and texts in all.
        """
        names = self.model.layer_names(layers)
        if queries is not None and self.query_prompt != self.prompt:
            return encode_both(self, texts, queries, names, watch=watch, progress=progress)
        wanted = Entries.of(self.prompted([checked(text) for text in texts], mentions), mentions)
        keys = text_keys(wanted.keys)
        known: dict[str, tuple[Mask, NDArray[Any] | None]] = {
            name: (np.zeros(len(keys), np.bool_), None) for name in names
        }
        spaces: dict[str, str] = {}
        if self.cache is not None:  # a space is named after all files of the model, a long read
            spaces = {name: self.space(name, words=wanted.words) for name in names}
            known = {name: self.cache.get(space, keys) for name, space in spaces.items()}
        missing = np.ones(len(keys), np.bool_)
        if watch is None:  # a watcher sees all tokens, also those of vectors that are known
            missing = ~np.logical_and.reduce([held for held, _ in known.values()])
        found = {name: rows for name, (_, rows) in known.items() if rows is not None}
        check_held(
            len(keys), self.model.dimension * len(names), "encoding",
            "choose fewer texts or --layers", itemsize=4,
        )  # fmt: skip
        if missing.any() or not len(keys):
            for places, computed in self._computed(wanted, missing, names, watch, progress):
                for name, (held, _) in known.items():
                    new = ~held[places]
                    fresh, vectors = places[new], computed[name][new]
                    if self.cache is not None:
                        self.cache.put(spaces[name], keys[fresh], vectors)
                    if name not in found:
                        found[name] = np.empty((len(keys), vectors.shape[1]), vectors.dtype)
                    # What was held stays: in another batch a vector may round differently.
                    found[name][fresh] = vectors
        return {name: found[name][wanted.order] for name in names}

    def _computed(
        self,
        wanted: Entries,
        missing: Mask,
        names: tuple[str, ...],
        watch: Watch | None,
        progress: Progress | None,
    ) -> Iterator[tuple[Places, dict[str, NDArray[Any]]]]:
        """Yield places and vectors, some or all at a time, until nothing is missing."""
        work = self._work(names, words=wanted.words)
        if not len(missing):
            yield np.flatnonzero(missing), work.vectors(*wanted.inputs(), progress)
            return
        # In shards in this process too: what else is in a batch decides the last bits of a vector.
        shards = cut_entries(wanted, missing)
        if watch is not None:
            check_here(self.model.device)
            yield from encoded_shards(Here(), work.watched_by(watch), shards, progress)
        else:
            yield from encoded_shards(self.pool or Here(), work, shards, progress)

    def _work(self, names: tuple[str, ...], *, words: bool) -> ModelWork:
        """Return what takes texts, or words in them, through the model."""
        pooling = WORD_POOLING if words else self.pooling
        return EncodingWork(self.model, names, pooling, self.special_tokens, self.longest)

    def space(self, layer: str, *, words: bool = False) -> str:
        """Return the digest of all that decides the vector of a text, or a word, but the text."""
        return space_digest(
            {
                **self._settings,
                "layer": layer,
                "pooling": "words" if words else self.pooling,
                "special tokens": str(self.special_tokens),
                "longest": str(self.longest),
            }
        )

    @cached_property
    def _settings(self) -> dict[str, str]:
        # Where a model was found does not change its vectors: a copy in another folder uses the
        # same cache.
        about = {key: text for key, text in self.model.provenance.items() if key != "source"}
        return {**about, "files": files_digest(self.model)}


def encode_both(
    encoder: Encoder, texts: Sequence[str], queries: Places, layers: tuple[str, ...], **how: Any
) -> dict[str, NDArray[Any]]:
    """Encode documents and queries, each with their own prompt."""
    asked = np.zeros(len(texts), np.bool_)
    asked[queries] = True
    found: dict[str, NDArray[Any]] = {}
    for prompt, chosen in ((encoder.prompt, ~asked), (encoder.query_prompt, asked)):
        some = [text for text, take in zip(texts, chosen, strict=True) if take]
        for layer, rows in encoder.with_prompts(prompt).encode(some, layers, **how).items():
            if layer not in found:
                found[layer] = np.empty((len(texts), rows.shape[1]), rows.dtype)
            found[layer][chosen] = rows
    return found


def check_here(device: str) -> None:
    """Refuse a device that only workers have."""
    try:
        device_name(device)
    except UsageError as error:
        raise UsageError(
            f"tokens are fitted on in this process, not by workers: {error}"
        ) from error


def files_digest(model: Model) -> str:
    """Return the SHA-256 of a model's files by name and content; of its commit on the hub."""
    source = model.source
    if source.revision is not None:
        return f"{source.origin} {source.revision}"
    digest = hashlib.sha256()
    for path in model_files(model):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.name} {content}\n".encode())
    return digest.hexdigest()


def model_files(model: Model) -> list[Path]:
    """Return the files that decide what a model makes of a text."""
    source = model.source
    if source.gguf is not None:
        return [source.folder / source.gguf]
    held = weight_files.places(source.folder, model.name)
    small = [path for path in source.folder.iterdir() if path.suffix in SMALL_FILES]
    return sorted({*(path for path in small if path.is_file()), *held})


def checked(text: Any) -> str:
    """Refuse what is no text, or holds half of a surrogate pair: it has no bytes to digest."""
    if not isinstance(text, str):
        raise DataError(f"a text must be a string, got {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"the text {text[:40]!a} holds half of a surrogate pair, which no tokenizer can "
            "read; remove it"
        ) from error
    return text


ALL, LAST = "all", "last"


def chosen_layers(model: Model, given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the layers that are meant by ``all``, ``last`` or names.

    The last one is the encoder's where there is a decoder too: sentence vectors are taken there.
    """
    names = listed(given, ())
    if ALL in names:
        return model.layer_names()
    wanted = [model.stacks[0].layers[-1] if name == LAST else name for name in names]
    if not wanted:
        raise UsageError("name at least one layer, or all, or last")
    return model.layer_names(wanted)
