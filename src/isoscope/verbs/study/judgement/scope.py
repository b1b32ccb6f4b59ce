"""Which models a claim is about, as data, and what is known about a model.

A paper says something about certain models. On another one its claim neither holds nor fails: it
does not apply. What a model is comes from the opened model (`describe_model`); its name matters
only where a claim names models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from isoscope.errors import IsoscopeError
from isoscope.models.model import MODELS
from isoscope.models.weights.embeddings import UNUSED

if TYPE_CHECKING:
    from isoscope.models.model import Model
    from isoscope.results.result import Result

MASKED, CAUSAL, SEQ2SEQ = "masked", "causal", "encoder-decoder"
Objective = Literal["masked", "causal", "encoder-decoder"]

# Field of a result: what is known about its subjects, by name.
FACTS = "facts"

# Heads that are trained to fill in masked tokens; a network without such a head is masked where
# its attention looks both ways.
CAUSAL_HEADS = ("CausalLM", "LMHeadModel", "DoubleHeads")


@dataclass(frozen=True)
class Facts:
    """What is known about the subject of a study.

    Attributes
    ----------
    kind : {"transformer", "vectors", "made"}
        A model that was opened; vectors without a model; or what a study makes itself.
    family : str
        ``model_type`` of the configuration, such as ``bert`` or ``gpt_neox``.
    objective : str
        ``masked``, ``causal`` or ``encoder-decoder``.
    parameters : int
        Numbers that its weights have, those of a head that is not stored left out.
    tied : bool or None
        Whether embedding and unembedding are one tensor; None without an unembedding.
    positions : tuple of str
        Kinds of positional information, such as ``learned`` and ``rotary``.
    unembedding, sentence_encoder : bool
        Whether it has an unembedding matrix, and whether it is a sentence encoder.
    final_norm : str
        Class of the last norm, such as ``LayerNorm``; empty where there is none.
    quantisation : str
        How the file held the weights; ``none`` where with all their bits.
    unused_tokens : bool or None
        Whether tokens of the vocabulary are kept for later, by their names or as the user says;
        None where nobody looked, as in files of before.
    """

    kind: str = "vectors"
    family: str = ""
    objective: str = ""
    parameters: int = 0
    tied: bool | None = None
    positions: tuple[str, ...] = ()
    unembedding: bool = False
    sentence_encoder: bool = False
    final_norm: str = ""
    quantisation: str = "none"
    unused_tokens: bool | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Facts:
        """Take facts out of a stored result; unknown fields are left out."""
        known = {name: stored[name] for name in cls.__dataclass_fields__ if name in stored}
        return cls(**{**known, "positions": tuple(known.get("positions", ()))})

    @property
    def is_unknown(self) -> bool:
        """Whether it is a model whose structure nobody looked at, as in files of before."""
        return self.kind == "transformer" and not self.family

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as a result keeps them."""
        return {**asdict(self), "positions": list(self.positions)}


VECTORS = Facts()
MADE = Facts("made")


def facts_of(result: Result, subject: str) -> Facts:
    """Return what a result keeps about a subject."""
    known = result.extra.get(FACTS, {}).get(subject)
    if known is not None:
        return Facts.of(known)
    # Results of before say where models come from, and nothing about their structure.
    return Facts("transformer") if result.extra.get(MODELS) else VECTORS


def describe_model(model: Model) -> Facts:
    """Look at an opened model; no weights are read."""
    norms = model.parts.norms
    return Facts(
        "transformer",
        str(model.config.model_type),
        objective_of(model),
        parameter_count(model),
        model.tied,
        tuple(model.positions.kinds),
        model.parts.unembedding is not None,
        model.has_pipeline,
        norms[-1].kind if norms else "",
        model.quantisation,
        has_unused_tokens(model),
    )


def has_unused_tokens(model: Model) -> bool | None:
    """Tell whether a vocabulary has tokens that are kept for later; None without a tokenizer."""
    try:
        vocabulary = model.tokenizer.get_vocab()
    except IsoscopeError:
        return None
    return any(UNUSED.fullmatch(token) for token in vocabulary)


def objective_of(model: Model) -> str:
    """Tell what a model was trained for, from its architecture."""
    if model.is_seq2seq:
        return SEQ2SEQ
    text = model.config.get_text_config()
    heads = [str(name) for name in getattr(model.config, "architectures", None) or ()]
    if any(part in head for head in heads for part in CAUSAL_HEADS):
        return CAUSAL
    if getattr(text, "is_decoder", False) or is_causal(model.skeleton):
        return CAUSAL
    return MASKED


def is_causal(skeleton: Any) -> bool:
    """Whether the attention of a network looks back only, by what its modules say."""
    said = [getattr(module, "is_causal", None) for module in skeleton.modules()]
    return any(value is True for value in said)


def parameter_count(model: Model) -> int:
    """Count the numbers in the network without a head, and an unembedding of its own."""
    count = sum(int(tensor.numel()) for tensor in model.skeleton.parameters())
    own = model.parts.unembedding is not None and model.tied is False
    text = model.config.get_text_config()
    return count + (int(text.vocab_size) * int(text.hidden_size) if own else 0)


@dataclass(frozen=True)
class Scope:
    """The models that a claim is about; what is None or empty does not matter.

    Attributes
    ----------
    models : tuple of str
        Names, where the claim names models; other names of one of them behind a ``|``.
    kinds : tuple of str
        Kinds of subject, as in `Facts`.
    families, objectives, positions : tuple of str
        One of which a model must have.
    smallest, largest : int, optional
        Bounds of the number of parameters.
    tied, unembedding, sentence_encoder : bool, optional
        What must be so, or must not be so.
    unused_tokens : bool, optional
        Whether the vocabulary must have tokens that are kept for later.
    final_norm : str
        Class of the last norm.
    but : tuple of str
        Names that the claim excepts.
    """

    models: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("transformer",)
    families: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()
    smallest: int | None = None
    largest: int | None = None
    tied: bool | None = None
    unembedding: bool | None = None
    sentence_encoder: bool | None = None
    unused_tokens: bool | None = None
    final_norm: str = ""
    but: tuple[str, ...] = ()

    @property
    def needs_structure(self) -> bool:
        """Whether it takes the structure of a model to tell if it is meant."""
        if self.models:
            return False
        asked = (
            self.smallest, self.largest, self.tied, self.unembedding, self.sentence_encoder
        )  # fmt: skip
        names = (self.families, self.objectives, self.positions, self.final_norm)
        return any(names) or any(one is not None for one in asked)

    def excludes(self, name: str, facts: Facts) -> str:
        """Return in three words why a claim is not about a model; empty where it is about it."""
        if any(goes_by(names, name) for names in self.but):
            return "excepted by name"
        if self.models:
            named = any(goes_by(names, name) for names in self.models)
            return "" if named else "names other models"
        if facts.kind not in self.kinds:
            return OTHER_KIND.get(facts.kind, "another kind")
        if facts.kind != "transformer" or facts.is_unknown:
            return ""
        return next((reason for wrong, reason in self._structure(facts) if wrong), "")

    def _structure(self, facts: Facts) -> list[tuple[bool, str]]:
        """Return what could be wrong with a model, and what to say if it is."""
        objectives = self.objectives
        return [
            (bool(self.families) and facts.family not in self.families, "of another family"),
            (bool(objectives) and facts.objective not in objectives, f"{facts.objective} model"),
            (
                bool(self.positions) and not set(self.positions) & set(facts.positions),
                f"no {self.positions[0] if len(self.positions) == 1 else 'such'} positions",
            ),
            (self.smallest is not None and facts.parameters < self.smallest, "too small"),
            (self.largest is not None and facts.parameters > self.largest, "too large"),
            (
                not facts.unembedding and (self.unembedding is True or self.tied is not None),
                "has no unembedding",
            ),
            (self.unembedding is False and facts.unembedding, "has an unembedding"),
            (
                self.tied is not None and facts.tied is not self.tied,
                "tied matrices" if facts.tied else "matrices not tied",
            ),
            (self.sentence_encoder is False and facts.sentence_encoder, "a sentence encoder"),
            (self.sentence_encoder is True and not facts.sentence_encoder, "no sentence encoder"),
            (self.unused_tokens is True and facts.unused_tokens is False, "no unused tokens"),
            (bool(self.final_norm) and facts.final_norm != self.final_norm, "another final norm"),
        ]


# Why a claim is not about a subject of a kind.
OTHER_KIND = {
    "vectors": "not a transformer",
    "made": "made by isoscope",
    "transformer": "a given model",
}


def is_called(names: str, subject: str) -> bool:
    """Whether a subject has one of the names of a model, which stand between ``|``, in any case."""
    return subject.casefold() in names.casefold().split("|")


def goes_by(names: str, subject: str) -> bool:
    """Whether a subject fits one of the names of a model, which may have ``*`` in them."""
    return any(fnmatchcase(subject.casefold(), one) for one in names.casefold().split("|"))


# Scopes that several papers have.
ANY_CLOUD = Scope(kinds=("transformer", "vectors"))
ANY_TRANSFORMER = Scope()
ANY_NETWORK = Scope(kinds=("transformer", "made"))
ANYTHING = Scope(kinds=("transformer", "vectors", "made"))
MASKED_MODELS = Scope(objectives=(MASKED,))
UNEMBEDDED = Scope(unembedding=True)
OWN = Scope(kinds=("made",))


def named(*models: str) -> Scope:
    """Return the scope of a claim that names models."""
    return Scope(models=models)
