"""A transformer, opened: its configuration, tokenizer, network, named parts and provenance.

There is one way in for a hub id, a folder, a GGUF file, and an installed package. No code that
comes with a model is ever run.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from isoscope.compute.memory import LOADED, QUANTISED, TRAINED, check_bytes
from isoscope.errors import DataError, check_name, cut
from isoscope.models.runtime import (
    computable,
    device_name,
    dtype_name,
    first_line,
    library,
    loading,
    quietly,
)
from isoscope.models.sentences.sentence_pipeline import (
    SentencePipeline,
    has_pipeline,
    read_pipeline,
)
from isoscope.models.sources import CONFIG, Source, find_source
from isoscope.models.structure.parts import ROTARY, Parts, Positions, find_parts, find_positions
from isoscope.models.structure.rms_variants import know_own
from isoscope.models.structure.skeleton import base_skeleton, trace, whole_skeleton
from isoscope.models.structure.stacks import Stack, find_stacks
from isoscope.models.structure.stored_parts import stored_parts
from isoscope.models.weights import weight_files
from isoscope.models.weights.embeddings import EmbeddingCloud, embedding_cloud
from isoscope.models.weights.gguf_copies import stores_one_matrix_twice
from isoscope.models.weights.gguf_header import check_header
from isoscope.models.weights.tensors import StoredWeights, check_weights, stored_weights
from isoscope.models.weights.weight_files import quantisation_of


def read_config(source: Source) -> Any:
    """Read the configuration of a model whose architecture transformers has itself."""
    if source.gguf is None:
        check_config(source)
    else:
        check_header(source.folder / source.gguf)  # which transformers reads as well
    transformers = library("transformers")
    try:
        with quietly():
            config = transformers.AutoConfig.from_pretrained(source.folder, **source.arguments)
    except Exception as error:
        if source.gguf is not None:
            quantisation_of(source.folder / source.gguf)  # which says so if the file is not whole
        raise DataError(
            f"{source.name}: its configuration cannot be used: {first_line(error)}"
        ) from error
    check_layers(vars(config), source.name)
    return config


def check_config(source: Source) -> None:
    """Refuse what transformers would refuse at length, or would run code for."""
    path = source.folder / CONFIG
    try:
        entries = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON") from error
    if not isinstance(entries, dict):
        raise DataError(f"{path} is not a model's configuration: it is not a JSON object")
    check_entries(entries, str(path))
    kind = entries.get("model_type")
    know_own(kind)
    transformers = library("transformers")
    if kind in transformers.CONFIG_MAPPING:
        return
    # Some models bring code although transformers has their architecture by now; that one is used.
    if "auto_map" in entries:
        raise DataError(
            f"{source.name} ({kind}) needs code that comes with it (auto_map), which isoscope "
            "never runs; choose a model whose architecture is part of transformers"
        )
    if kind is None:
        raise DataError(f"{path} is not a transformer's configuration: it has no model_type")
    raise DataError(
        f"{source.name}: transformers {transformers.__version__} has no architecture {kind!r}; a "
        "newer version may have it"
    )


# More layers than any network has; modules are made for each of them before a weight is read.
MOST_LAYERS = 10_000


def check_entries(entries: Mapping[str, Any], where: str) -> None:
    """Refuse entries of the wrong type, of a size that no network has, and unknown quantisations.

    transformers raises errors of any kind for the first, works on the second until memory or
    patience ends, and passes over the third, so that packed numbers would be taken for weights.
    """
    kind, architectures = entries.get("model_type"), entries.get("architectures")
    if not isinstance(kind, str | None):
        raise DataError(f"{where}: model_type must be a string, got {kind!r:.60}")
    if architectures is not None and not (
        isinstance(architectures, list) and all(isinstance(name, str) for name in architectures)
    ):
        raise DataError(
            f"{where}: architectures must be a list of strings, got {architectures!r:.60}"
        )
    check_layers(entries, where)
    check_implementations(entries, where)
    quantised = entries.get("quantization_config")
    method = quantised.get("quant_method") if isinstance(quantised, dict) else None
    if method is not None and not is_known_quantisation(method):
        raise DataError(
            f"{where}: transformers {library('transformers').__version__} does not know the "
            f"quantisation {method!r:.60}, and would misread the weights; use the model without it"
        )


def check_layers(entries: Mapping[Any, Any], where: str) -> None:
    """Refuse numbers of layers that no network has, also in the parts of a configuration."""
    for key, value in entries.items():
        name = str(key)
        if isinstance(value, Mapping):
            check_layers(value, where)
        elif (
            isinstance(value, int | float)
            and value > MOST_LAYERS
            and ("layer" in name or "block" in name)
            and name.startswith(("n", "encoder", "decoder"))
        ):
            raise DataError(f"{where}: {name} is {value:g}, more than any network has")


def check_implementations(entries: Mapping[Any, Any], where: str) -> None:
    """Refuse code on the hub that computes parts of a network, which a configuration may name.

    transformers loads it where the package ``kernels`` is installed: ``"attn_implementation":
    "somebody/something"`` would run native code of somebody.
    """
    for key, value in entries.items():
        named = [*value.values()] if isinstance(value, Mapping) else [value]
        if str(key).endswith("_implementation") and any("/" in str(name) for name in named):
            raise DataError(
                f"{where}: {cut(str(key))} names code on the hub, which isoscope never runs; "
                "remove that entry"
            )
        if isinstance(value, Mapping):
            check_implementations(value, where)


def is_known_quantisation(method: object) -> bool:
    """Whether transformers reads a quantisation, whose name it may qualify by the bits."""
    known = library("transformers.quantizers.auto").AUTO_QUANTIZATION_CONFIG_MAPPING
    return isinstance(method, str) and any(
        name == method or name.startswith(f"{method}_") for name in map(str, known)
    )


# Tokenizers without a limit say so by a number above any length.
LARGEST_LENGTH = 10_000_000


def position_limit(positions: Positions, config: Any) -> int | None:
    """Return how many positions a network can tell apart, None where any number will do.

    A table ends somewhere. Rotary models have none, but their configuration says for how many
    positions they were made. Relative positions and ALiBi have no end.
    """
    if positions.tables:
        return min(table.positions for table in positions.tables)
    limit = getattr(config.get_text_config(), "max_position_embeddings", None)
    return int(limit) if limit and ROTARY in positions.kinds else None


def sane_length(tokenizer: Any) -> int | None:
    """Return the limit that a tokenizer sets, where it sets one."""
    length = getattr(tokenizer, "model_max_length", None)
    return int(length) if length and length < LARGEST_LENGTH else None


# Files of which a tokenizer needs one.
VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model", "tekken.json")


# Letters, a space and signs that hardly any vocabulary has.
PROBE = "a test \u9fff\u0378"


def read_tokenizer(source: Source) -> Any:
    """Read a fast tokenizer, which alone can locate tokens in a text."""
    source.fetch_tokenizer()
    # Without a vocabulary, transformers makes a tokenizer that knows special tokens only.
    if source.gguf is None and not any(any(source.folder.glob(file)) for file in VOCABULARIES):
        raise DataError(
            f"{source.name} has no tokenizer: put its tokenizer.json and tokenizer_config.json "
            f"into {source.folder}"
        )
    kind = library("transformers").AutoTokenizer
    with loading(f"{source.name}: its tokenizer cannot be loaded"):
        tokenizer = kind.from_pretrained(source.folder, **source.arguments)
        # Some forged ones are only noticed when a text is tokenized: without a token for unknown
        # characters, or with a limit that is not a number.
        tokenizer(PROBE)
    if not getattr(tokenizer, "is_fast", False):
        raise DataError(
            f"{source.name} has no fast tokenizer, which is needed to locate tokens in a text; "
            f"put a tokenizer.json into {source.folder}"
        )
    return tokenizer


def open_model(
    name: str | Path, *, revision: str | None = None, dtype: Any = None, device: Any = None
) -> Model:
    """Open a transformer; its tokenizer and its weights are loaded when they are asked for.

    Code that comes with a model is never run, and pickles are read as plain tensors only.

    Parameters
    ----------
    name : str or Path
        An id of the hub, a folder, a ``.gguf`` file, ``package:minilm`` or ``package:smollm2``.
    revision : str, optional
        Branch, tag or commit of a hub model.
    dtype : str or torch.dtype, optional
        Floating-point type of the network: float32 by default. Half precision on a processor that
        cannot do it becomes float32, with a warning.
    device : str or torch.device, optional
        Where the network computes; by default an accelerator where torch has one.

    Examples
    --------
    >>> model = open_model("package:minilm")  # doctest: +SKIP
    >>> model.stacks[0].layers  # doctest: +SKIP
    ('embedding', 'block 1', 'block 2', 'block 3', 'block 4', 'block 5', 'block 6')
    """
    source = find_source(str(name), revision)
    return Model(source, dtype_name(dtype), device)


class Model:
    """A transformer and what is known about it; made by `open_model`.

    Attributes
    ----------
    name : str
        What results call the model: its id, or the name of its folder.
    config : transformers.PretrainedConfig
        Its configuration.
    """

    def __init__(self, source: Source, dtype: str, device: Any) -> None:
        self.source, self.name = source, source.name
        self.config = read_config(source)
        self._asked_dtype, self._asked_device = dtype, device

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {self.config.model_type}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (self.source, self._asked_dtype, self._asked_device)

    @cached_property
    def device(self) -> str:
        """Where the network computes."""
        return device_name(self._asked_device)

    @cached_property
    def dtype(self) -> str:
        """In what the network computes."""
        return computable(self._asked_dtype, self.device)

    def settle(self, device: str, dtype: str) -> None:
        """Note where and in what other workers compute; this machine may have no such device."""
        self.__dict__.update(device=device, dtype=dtype)

    @cached_property
    def tokenizer(self) -> Any:
        """The fast tokenizer."""
        return read_tokenizer(self.source)

    @cached_property
    def network(self) -> Any:
        """The network without a head, in eval mode and without gradients."""
        self.source.fetch_weights()
        if self.source.gguf is None:
            check_weights(self.source.folder, self.name)
        kind, dtype = library("transformers").AutoModel, getattr(library("torch"), self.dtype)
        network = self.load(kind, config=self.config, dtype=dtype)
        return network.eval().requires_grad_(False)

    @cached_property
    def text_encoder(self) -> Any:
        """The encoder of a sequence-to-sequence model, which may be all that is stored of it."""
        kind = library("transformers").AutoModelForTextEncoding
        dtype = getattr(library("torch"), self.dtype)
        return self.load(kind, config=self.config, dtype=dtype).eval().requires_grad_(False)

    def load(
        self, kind: Any, head: str = "", *, complete: bool = True, trained: bool = False,
        **options: Any,
    ) -> Any:  # fmt: skip
        """Load the weights into a network of some class, on the model's device.

        Parameters
        ----------
        kind : type
            A class of transformers with ``from_pretrained``, such as ``AutoModel``.
        head : str
            What is said of its head where it cannot be loaded, such as " with a decoder".
        complete : bool
            Whether all weights must be stored; those of a new head are not.
        trained : bool
            Whether the weights are to be trained, which takes gradients and AdamW's moments.
        **options
            What ``from_pretrained`` takes besides.
        """
        self.source.fetch_weights()
        self._check_memory(trained=trained)
        with loading(f"{self.name} cannot be loaded{head}"):
            network, found = kind.from_pretrained(
                self.source.folder, output_loading_info=True, **options, **self.source.arguments
            )
        if complete:
            refuse_missing(self.name, found["missing_keys"])
        return network.to(self.device)

    def _check_memory(self, *, trained: bool) -> None:
        """Refuse weights that would not fit into memory, before they are read."""
        if str(self.device) != "cpu":
            return
        source = self.source
        if source.gguf is not None:
            stored = QUANTISED * (source.folder / source.gguf).stat().st_size
        else:
            files = weight_files.places(source.folder, self.name)
            stored = sum(path.stat().st_size for path in files if path.is_file())
        # As they are stored and as they are computed with, which may be twice as wide.
        check_bytes(
            stored * (LOADED + (TRAINED if trained else 0)),
            f"{'training' if trained else 'loading'} {self.name}", "its weights",
            "choose a smaller model, or --dtype bfloat16",
        )  # fmt: skip

    def release(self) -> None:
        """Let go of the network's weights; they are loaded again when they are asked for."""
        self.__dict__.pop("network", None)
        self.__dict__.pop("text_encoder", None)
        # At once: the next model may not fit beside this one.
        gc.collect()  # a network and its modules refer to each other

    @cached_property
    def skeleton(self) -> Any:
        """The network without a head and without numbers: which modules there are."""
        return base_skeleton(self.config)

    @cached_property
    def stacks(self) -> tuple[Stack, ...]:
        """The sequences of blocks: one, or the encoder's and the decoder's."""
        return find_stacks(self.skeleton, self._calls)

    @cached_property
    def _calls(self) -> tuple[str, ...] | None:
        return trace(self.skeleton)

    @cached_property
    def parts(self) -> Parts:
        """Embeddings, positions and norms, and where they are; no weights are loaded.

        Parts of a head that the configuration names and the checkpoint lacks are left out.
        """
        return stored_parts(self._named_parts, self.not_stored)

    @cached_property
    def not_stored(self) -> tuple[str, ...]:
        """Parameters of the head that the configuration names, but that the checkpoint lacks."""
        if self.source.gguf is not None:  # whose configuration is made from what is stored
            return ()
        base = {self._named_parts.prefix + name for name, _ in self.skeleton.named_parameters()}
        named = (name for name, _ in self._whole.named_parameters(remove_duplicate=False))
        head = [name for name in named if name not in base]
        try:
            return self.weights.missing(head) if head else ()
        except DataError:  # without files; whoever reads a tensor is told about it
            return ()

    @cached_property
    def _named_parts(self) -> Parts:
        return find_parts(self._whole)

    @cached_property
    def _whole(self) -> Any:
        return whole_skeleton(self.config, causal=self.source.gguf is not None)

    @cached_property
    def weights(self) -> StoredWeights:
        """The stored tensors, each read by itself."""
        return stored_weights(self, self._whole, self._named_parts.prefix)

    @cached_property
    def tied(self) -> bool | None:
        """Whether input embedding and unembedding are one; None without an unembedding."""
        if self.parts.tied is None or self.parts.unembedding is None:
            return None
        if not self.parts.tied:
            return self.stored_twice
        return self.weights.are_one(self.parts.input_embedding, self.parts.unembedding)

    @cached_property
    def stored_twice(self) -> bool:
        """Whether a file holds a tied matrix twice, each time with another quantisation."""
        file = self.source.gguf
        both = file is not None and self.parts.tied is False
        return both and stores_one_matrix_twice(self.source.folder / str(file))

    def tensor(self, path: str) -> np.ndarray:
        """Read one tensor, by a path of `parts`, as float32 (float64 where it is stored so)."""
        return self.weights.tensor(path)

    def fingerprint(self, path: str) -> str:
        """Hash one tensor's stored bytes, to find checkpoints with the same weights."""
        return self.weights.fingerprint(path)

    def embedding_cloud(
        self, which: str = "input", *, padding_rows: bool = False
    ) -> EmbeddingCloud:
        """Open the embedding matrix as a cloud with a row for every token, labelled ``word``.

        Parameters
        ----------
        which : str
            ``input``, or ``output`` for the unembedding.
        padding_rows : bool
            Whether to keep the rows that no token has. They are counted in either case.
        """
        return embedding_cloud(self, which, padding_rows=padding_rows)

    @cached_property
    def positions(self) -> Positions:
        """How the network tells positions apart."""
        return find_positions(self.skeleton, self.config, self._calls)

    @cached_property
    def has_pipeline(self) -> bool:
        """Whether it is a sentence-transformers folder."""
        return has_pipeline(self.source)

    @cached_property
    def pipeline(self) -> SentencePipeline:
        """What ``modules.json`` makes of the last layer, in a sentence-transformers folder."""
        return read_pipeline(self)

    @property
    def tokenizer_limit(self) -> int | None:
        """Number of tokens that the tokenizer allows, None for no limit."""
        return sane_length(self.tokenizer)

    @cached_property
    def longest(self) -> int | None:
        """Number of tokens that a text may have, None for no limit."""
        limits = [position_limit(self.positions, self.config), self.tokenizer_limit]
        return min((limit for limit in limits if limit is not None), default=None)

    def layer_names(self, layers: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return all layers, or those that are wanted, in the order of the network."""
        known = tuple(layer for stack in self.stacks for layer in stack.layers)
        wanted = known if layers is None else tuple(layers)
        for layer in wanted:
            check_name(f"layer of {self.name}", layer, known)
        return tuple(layer for layer in known if layer in wanted)

    @property
    def dimension(self) -> int:
        """Number of dimensions of the vectors between its blocks."""
        return int(self.config.get_text_config().hidden_size)

    @property
    def pad_id(self) -> int:
        """Token that fills up the shorter texts of a batch; it is masked, so any one will do."""
        eos = self.config.get_text_config().eos_token_id
        eos = eos[0] if isinstance(eos, list) else eos
        choices = (self.tokenizer.pad_token_id, self.config.get_text_config().pad_token_id, eos)
        return next((int(token) for token in choices if token is not None and token >= 0), 0)

    @property
    def is_seq2seq(self) -> bool:
        """Whether the model has an encoder and a decoder."""
        return bool(self.config.is_encoder_decoder)

    @cached_property
    def quantisation(self) -> str:
        """How the file held the weights, where it held fewer bits than they have now."""
        if self.source.gguf is not None:
            return quantisation_of(self.source.folder / self.source.gguf)
        quantised = getattr(self.config, "quantization_config", None)
        if quantised is None:
            return "none"
        entries = quantised if isinstance(quantised, dict) else quantised.to_dict()
        return str(entries.get("quant_method", "of a kind that is not named"))

    @cached_property
    def provenance(self) -> dict[str, str]:
        """Where the numbers come from, for results."""
        return {
            "source": self.source.origin,
            **({} if self.source.revision is None else {"revision": self.source.revision}),
            "dtype": self.dtype,
            "device": self.device,
            "quantisation": self.quantisation,
            **({"not_stored": unstored_head(self)} if self.not_stored else {}),
            "transformers": library("transformers").__version__,
            "torch": library("torch").__version__,
        }


# The one model that a worker has: all that is done with it shares its weights.
_REOPENED: dict[tuple[str, ...], Model] = {}


def reopened(source: Source, dtype: str, device: Any) -> Model:
    """Open a model in another process, once in its life.

    On another machine its files may be elsewhere: there it is looked for as the user named it.
    """
    key = (str(source.folder), str(source.gguf), source.name, dtype, str(device))
    if key not in _REOPENED:
        _REOPENED.clear()  # two models may not fit beside each other
        if not source.folder.exists():
            source = replace(find_source(source.origin, source.revision), name=source.name)
        _REOPENED[key] = Model(source, dtype, device)
    return _REOPENED[key]


def refuse_missing(name: str, keys: Iterable[str]) -> None:
    """Refuse weights that transformers would make up: random numbers look like a model's.

    A pooler comes behind the last layer and is in no layer; many checkpoints have none.
    """
    missing = sorted(key for key in keys if "pooler" not in key.split("."))
    if missing:
        raise DataError(f"{name} is not complete: its weights have no {said_missing(missing)}")


def unstored_head(model: Model) -> str:
    """Say that the configuration names parts of a head which are left out, as they are not stored.

    This is for models whose ``not_stored`` is not empty.
    """
    named = (getattr(model.config, "architectures", None) or ["the configuration"])[0]
    return (
        f"{named} has a head whose weights are not all stored, and those parts are left out: "
        f"{said_missing(model.not_stored)}"
    )


def said_missing(paths: Sequence[str]) -> str:
    """Name the first of some parameters, and say how many more there are."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more}"


# Field of a result that says where the weights of its models come from.
MODELS = "models"


def provenance_of(*models: Model) -> dict[str, Any]:
    """Return where the weights of models come from, as results keep it."""
    return {MODELS: {model.name: model.provenance for model in models}}
