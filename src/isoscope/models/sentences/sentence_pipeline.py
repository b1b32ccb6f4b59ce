"""The pipeline of a sentence-transformers folder, run without that package.

``modules.json`` lists what turns a text into a vector: the network, a pooling of its last states,
and often a dense layer or a normalisation. Vectors of such a model are those that its users store
and search, so they are computed as sentence-transformers computes them. What a folder asks for
beyond the modules here is refused by name: vectors that are almost right would look right.

References
----------
Reimers & Gurevych (2019), Sentence-BERT, EMNLP; the file formats are those of versions 1 to 6.2 of
sentence-transformers.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isoscope.compute.in_order import Turn
from isoscope.data.texts.base import Text
from isoscope.errors import DataError, cut
from isoscope.models.layers import check_ids, padded
from isoscope.models.runtime import forward_threads, library, loading, one_thread_each
from isoscope.models.sentences.pooling import ListedTexts
from isoscope.models.sentences.sentence_modules import (
    MODULES,
    POOLINGS,
    SENTENCE,
    TOKENS,
    Dense,
    Features,
    LayerNorm,
    Module,
    Normalize,
    Pooling,
)
from isoscope.models.tokens import TextTokenizer, TokenizedText, batched, usual_budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.models.sources import Source
    from isoscope.progress import Progress

SETTINGS = "config_sentence_transformers.json"

# Bytes of the name of a module's folder; file systems raise errors of their own about longer names.
LONGEST_NAME = 255

# Where the settings of the network are; early versions named the file after the architecture.
NETWORK_SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)

MODULE_SETTINGS = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")

# How versions before 6 wrote the way of pooling: one switch for each.
SWITCHES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}

# Sequence-to-sequence models of which sentence-transformers takes the encoder.
ENCODERS = ("t5", "mt5", "umt5")

# Options that are read below, or do not change a vector; any other one could.
HARMLESS = {
    "model_kwargs": {"torch_dtype", "dtype", "attn_implementation", "add_pooling_layer"},
    "processor_kwargs": {"model_max_length", "padding_side", "use_fast"},
    "config_kwargs": set[str](),
}

OLD_NAMES = {"model_args": "model_kwargs", "tokenizer_args": "processor_kwargs",
             "config_args": "config_kwargs"}  # fmt: skip


@dataclass(frozen=True)
class NetworkSettings:
    """What a folder says of its network.

    Attributes
    ----------
    longest : int, optional
        Texts are truncated to this many tokens; if not given, the tokenizer and the number of
        positions decide.
    lower_case : bool
        Whether texts are lower-cased before the tokenizer reads them.
    """

    longest: int | None = None
    lower_case: bool = False


@dataclass(frozen=True)
class SentencePipeline:
    """What a sentence-transformers folder makes of a text.

    Attributes
    ----------
    network : NetworkSettings
        How texts enter the network.
    modules : tuple of Module
        What comes behind it.
    """

    network: NetworkSettings
    modules: tuple[Module, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.modules))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that decides a vector but the network and the text."""
        settings = [vars(self.network), *(module.settings for module in self.modules)]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    def dimension(self, hidden: int) -> int:
        """Return the number of dimensions of the vectors, for states of so many dimensions."""
        torch = library("torch")
        one = Features({TOKENS: torch.zeros(1, 1, hidden)}, torch.ones(1, 1, dtype=torch.int64))
        return int(self._sentences(one).shape[1])

    def limit(self, model: Model, longest: int | None = None) -> int | None:
        """Return to how many tokens texts are truncated, None for no limit."""
        limits = [longest, *(table.positions for table in model.positions.tables)]
        if self.network.longest is not None:
            limits.append(self.network.longest)
        else:
            own = getattr(model.config, "max_position_embeddings", None)
            limits += [model.tokenizer_limit, None if own == -1 else own]
        return min((limit for limit in limits if limit is not None), default=None)

    def encode(
        self,
        model: Model,
        texts: Sequence[str],
        prompt: str = "",
        *,
        longest: int | None = None,
        budget: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[Any]:
        """Return the vector of every text; NaN for one without a token.

        Parameters
        ----------
        model : Model
            The network and its tokenizer.
        texts : sequence of str
            The texts, each with its prompt in front.
        prompt : str
            With what all of them begin, as some models leave its tokens out of the pooling.
        longest : int, optional
            Truncate texts to this many tokens, if the model does not to fewer.
        budget : int, optional
            Tokens in a batch, padding included; by default what suits the device.
        progress : callable, optional
            Called with the name of the read, texts done, and texts in all.
        """
        tokenizer = TextTokenizer(self._tokenizer(model), self.limit(model, longest))
        skipped = prompt_tokens(tokenizer, prompt)
        wide = np.float64 if model.dtype == "float64" else np.float32
        found = np.full((len(texts), self.dimension(model.dimension)), np.nan, wide)
        done = 0
        _ = text_network(model)  # loaded before there are threads

        def run(batch: list[TokenizedText], turn: Turn) -> tuple[list[int], NDArray[Any]]:
            del turn
            features = last_states(model, batch)
            features.prompt = skipped
            return [text.text.index for text in batch], self._sentences(features).cpu().numpy()

        limit = budget or usual_budget(model.device)
        batches = batched(ListedTexts(texts).texts(), tokenizer, limit)
        threads = forward_threads(model.device, model.config)
        for numbers, rows in one_thread_each(batches, run, threads, model.device):
            found[numbers] = rows
            done += len(numbers)
            if progress is not None:
                progress("texts", done, len(texts))
        return found

    def _sentences(self, features: Features) -> torch.Tensor:
        with library("torch").inference_mode():
            for module in self.modules:
                module(features)
        rows = features.take(SENTENCE, "the pipeline")
        return rows.float() if rows.element_size() < 4 else rows

    def _tokenizer(self, model: Model) -> Any:
        """Return the tokenizer, with lower-casing in front where the folder asks for it."""
        if not self.network.lower_case:
            return model.tokenizer
        normalizers = library("tokenizers").normalizers
        tokenizer = copy.deepcopy(model.tokenizer)  # other readers of the model keep their own
        backend = tokenizer.backend_tokenizer
        then = [] if backend.normalizer is None else [backend.normalizer]
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *then])
        return tokenizer


def prompt_tokens(tokenizer: TextTokenizer, prompt: str) -> int:
    """Return how many tokens a prompt has, a special one at its end not counted."""
    if not prompt:
        return 0
    (alone,) = tokenizer([Text(prompt, 0, "")])
    ends = len(alone) > 0 and int(alone.ids[-1]) in tokenizer.tokenizer.all_special_ids
    return len(alone) - ends


def text_network(model: Model) -> Any:
    """Return the network that sentence vectors come from."""
    return model.text_encoder if model.config.model_type in ENCODERS else model.network


def last_states(model: Model, texts: Sequence[TokenizedText]) -> Features:
    """Run the network, and return what it gives out for every token."""
    torch = library("torch")
    network = text_network(model)
    inputs = padded(texts, model.pad_id, next(network.parameters()).device)
    check_ids(model.name, network, inputs["input_ids"])
    with torch.inference_mode():
        states = network(**inputs).last_hidden_state
    return Features({TOKENS: states}, inputs["attention_mask"])


def has_pipeline(source: Source) -> bool:
    """Whether a model is a sentence-transformers folder."""
    if source.gguf is not None:
        return False
    source.fetch_tokenizer()  # all small files of a model of the hub
    return (source.folder / MODULES).is_file()


def read_pipeline(model: Model) -> SentencePipeline:
    """Read the modules of a model whose folder has ``modules.json``."""
    return PipelineReader(model.source, model.config).read()


class PipelineReader:
    """Reads the modules of one folder.

    Parameters
    ----------
    source : Source
        The files of the model.
    config : transformers.PretrainedConfig
        The configuration of its network.
    """

    KINDS: ClassVar[dict[str, str]] = {
        "Pooling": "pooling",
        "Dense": "dense",
        "LayerNorm": "layer_norm",
        "Normalize": "normalize",
    }

    def __init__(self, source: Source, config: Any) -> None:
        self.source, self.config = source, config

    def read(self) -> SentencePipeline:
        """Read all modules; the first is the network."""
        name = self.source.name
        kind = read_settings(self.source).get("model_type", "SentenceTransformer")
        if kind != "SentenceTransformer":
            raise self._refused(f"it is a {kind}, not a SentenceTransformer")
        listed = read_json(self.source.folder / MODULES, list)
        places = [self._place(entry) for entry in listed]
        if not places or places[0] != ("Transformer", ""):
            found = f"{places[0][0]} in {places[0][1] or '.'!r}" if places else "nothing"
            raise self._refused(f"its first module should be a Transformer, not {found}")
        if any(kind == "Transformer" for kind, _ in places[1:]):
            raise self._refused("it has two networks, and texts go through one")
        if self.config.is_encoder_decoder and self.config.model_type not in ENCODERS:
            raise self._refused(f"it pools the states of a decoder ({self.config.model_type})")
        self.source.fetch_files([f"{path}/*.json" for _, path in places if path])
        modules = [
            getattr(self, f"_{self.KINDS[kind]}")(self.source.folder / path)
            for kind, path in places[1:]
            if kind != "Dropout"  # which is of training alone
        ]
        if not any(isinstance(module, Pooling) for module in modules):
            raise DataError(f"{name}: {MODULES} has no Pooling, so that texts have no vector")
        pipeline = SentencePipeline(self._network(), tuple(modules))
        with loading(f"{name}: the modules in {MODULES} do not fit together"):
            pipeline.dimension(self.config.get_text_config().hidden_size)
        return pipeline

    def _place(self, entry: Any) -> tuple[str, str]:
        """Return the kind of a module and its folder, or refuse the module by name."""
        if not isinstance(entry, dict) or not all(
            isinstance(entry.get(key), str) for key in ("type", "path")
        ):
            raise DataError(f"{self.source.name}: {MODULES} should list modules by type and path")
        package, _, kind = entry["type"].rpartition(".")
        known = {"Transformer", "Dropout", *self.KINDS}
        if package.partition(".")[0] != "sentence_transformers" or kind not in known:
            raise self._refused(f"isoscope has no module {entry['type']}")
        path = PurePosixPath(entry["path"])
        if path.is_absolute() or ".." in path.parts:
            raise DataError(
                f"{self.source.name}: {MODULES} leads out of the folder: {cut(str(path))}"
            )
        if len(str(path).encode("utf-8", "surrogatepass")) > LONGEST_NAME:
            raise DataError(f"{self.source.name}: the name of a folder in {MODULES} is too long")
        return kind, "" if path == PurePosixPath() else str(path)

    def _refused(self, why: str) -> DataError:
        return DataError(
            f"{self.source.name}: the pipeline in {MODULES} cannot be used: {why}; --pooling mean "
            "pools the last layer instead"
        )

    def _network(self) -> NetworkSettings:
        """Read how texts enter the network."""
        path = next(
            (path for name in NETWORK_SETTINGS if (path := self.source.folder / name).is_file()),
            None,
        )
        given = {} if path is None else read_json(path, dict)
        given = {OLD_NAMES.get(key, key): value for key, value in given.items()}
        task = given.get("transformer_task", "feature-extraction")
        if task != "feature-extraction":
            raise self._refused(f"its network is for {task}")
        modalities = settings_in(given, "modality_config", path)
        text = settings_in(modalities, "text", path)
        usual = {"method": "forward", "method_output_name": "last_hidden_state"}
        if {**usual, **text} != usual or "message" in modalities:
            raise self._refused("its network does not return the states of its last layer")
        for key in ("processing_kwargs", "query_length", "document_length", "query_expansion"):
            if given.get(key):
                raise self._refused(f"{path} sets {key}")
        for key, harmless in HARMLESS.items():
            others = set(settings_in(given, key, path)) - harmless - {"trust_remote_code"}
            if others:
                raise self._refused(f"{path} sets {', '.join(sorted(others))}")
        longest = settings_in(given, "processor_kwargs", path).get("model_max_length")
        longest = given.get("max_seq_length") if longest is None else longest
        if longest is not None and (type(longest) is not int or longest < 1):
            raise DataError(f"{path}: max_seq_length should be a number of tokens, not {longest!r}")
        return NetworkSettings(longest, bool(given.get("do_lower_case", False)))

    def _pooling(self, folder: Path) -> Pooling:
        """Read a pooling, as version 6 or an earlier one wrote it."""
        given = read_json(folder / MODULE_SETTINGS, dict)
        modes = given.get("pooling_mode")
        if modes is None:
            modes = [mode for key, mode in SWITCHES.items() if given.get(key)] or ["mean"]
        modes = list(modes) if isinstance(modes, list) else [modes]
        for mode in modes:
            if not isinstance(mode, str) or mode not in POOLINGS:
                raise self._refused(f"isoscope has no pooling {cut(str(mode))}")
        return Pooling(tuple(modes), bool(given.get("include_prompt", True)))

    def _dense(self, folder: Path) -> Dense:
        """Read a dense layer; its activation may be any module of torch that takes no options."""
        given = read_json(folder / MODULE_SETTINGS, dict)
        package, _, activation = str(
            given.get("activation_function") or "torch.nn.modules.activation.Tanh"
        ).rpartition(".")
        nn = library("torch").nn
        kind = getattr(nn, activation, None) if package.partition(".")[0] == "torch" else None
        if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
            raise self._refused(f"isoscope has no activation {given['activation_function']}")
        weights = self._weights(folder, ("linear.weight",))
        source = given.get("module_input_name") or SENTENCE
        target = given.get("module_output_name") or source
        return Dense(weights, activation, source, target, bool(given.get("use_residual", False)))

    def _layer_norm(self, folder: Path) -> LayerNorm:
        return LayerNorm(self._weights(folder, ("norm.weight", "norm.bias")))

    def _normalize(self, folder: Path) -> Normalize:
        """Read a normalisation; before version 6 it had no settings, and often no folder."""
        path = folder / MODULE_SETTINGS
        given = read_json(path, dict) if path.is_file() else {}
        source = given.get("module_input_name") or SENTENCE
        return Normalize(source, given.get("module_output_name") or source)

    def _is_here(self, path: Path) -> bool:
        """Whether a file is there, after it was fetched where that is possible."""
        if not path.is_file():
            self.source.fetch_files([path.relative_to(self.source.folder).as_posix()])
        return path.is_file()

    def _weights(self, folder: Path, needed: tuple[str, ...]) -> dict[str, torch.Tensor]:
        """Read tensors, safetensors rather than a pickle, of which only tensors are read."""
        path = next((path for name in WEIGHTS if self._is_here(path := folder / name)), None)
        if path is None:
            raise DataError(f"{folder} has no weights: {' or '.join(WEIGHTS)}")
        with loading(f"{path} cannot be read"):
            if path.suffix == ".safetensors":
                found = library("safetensors.torch").load_file(path)
            else:
                found = library("torch").load(path, map_location="cpu", weights_only=True)
        for name in needed:
            if name not in found:
                raise DataError(f"{path} is not complete: it has no {name}")
        return dict(found)


def read_settings(source: Source) -> dict[str, Any]:
    """Read what a folder says of the model as a whole, such as its prompts."""
    path = source.folder / SETTINGS
    found: dict[str, Any] = read_json(path, dict) if path.is_file() else {}
    return found


def settings_in(given: dict[str, Any], key: str, path: Path | None) -> dict[str, Any]:
    """Return the settings under a key, which may be missing or null."""
    found = given.get(key)
    if not isinstance(found, dict | None):
        raise DataError(f"{path}: {key} should hold a JSON object, not {cut(repr(found))}")
    return found or {}


def read_json(path: Path, kind: type) -> Any:
    """Read a JSON file whose top is of some type."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON") from error
    if not isinstance(found, kind):
        wanted = "list" if kind is list else "object"
        raise DataError(f"{path} should hold a JSON {wanted}")
    return found
