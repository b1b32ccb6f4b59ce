"""The modules of sentence-transformers that come behind the network.

Each reads what those before it wrote, and says in a word or two what it does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

MODULES = "modules.json"

# What modules read and write.
TOKENS, SENTENCE = "token_embeddings", "sentence_embedding"

# Ways of pooling, in the order in which several are concatenated, and what people call them.
POOLINGS = {
    "cls": "cls",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean √length",
    "weightedmean": "position-weighted mean",
    "lasttoken": "last token",
}


@dataclass
class Features:
    """What is known of some texts, from one module to the next.

    Attributes
    ----------
    values : dict of tensor
        Under ``TOKENS`` the states of all tokens (texts × tokens × dimensions), under ``SENTENCE``
        a vector for every text.
    mask : tensor
        1 for a token, 0 for padding, which is on the right.
    prompt : int
        Tokens at the beginning that belong to the prompt.
    """

    values: dict[str, torch.Tensor]
    mask: torch.Tensor
    prompt: int = 0

    def take(self, name: str, reader: str) -> torch.Tensor:
        """Return what an earlier module wrote."""
        if name not in self.values:
            raise DataError(f"{MODULES}: {reader} reads {name}, which no module before it writes")
        return self.values[name]


class Module(Protocol):
    """One step of a pipeline."""

    def __call__(self, features: Features) -> None:
        """Read from the features, and write to them."""

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what it computes, weights as a digest."""


@dataclass(frozen=True)
class Pooling:
    """Makes one vector of the tokens of a text; several ways of pooling are concatenated."""

    modes: tuple[str, ...]
    include_prompt: bool = True

    def __str__(self) -> str:
        prompt = "" if self.include_prompt else " without the prompt"
        return f"{' + '.join(POOLINGS[mode] for mode in self.modes)} pooling{prompt}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what it computes."""
        return {"pooling": self.modes, "include prompt": self.include_prompt}

    def __call__(self, features: Features) -> None:
        """Pool the tokens; a text without a token that counts gets NaN."""
        import torch

        tokens, mask = features.take(TOKENS, "Pooling"), features.mask
        if not self.include_prompt and features.prompt:
            mask = mask.clone()
            mask[:, : features.prompt] = 0
        wide = tokens.float() if tokens.element_size() < 4 else tokens
        rows = torch.cat([pooled(wide, mask, mode) for mode in self.modes], dim=-1)
        rows[mask.sum(dim=1) == 0] = torch.nan
        features.values[SENTENCE] = rows


def pooled(tokens: torch.Tensor, mask: torch.Tensor, mode: str) -> torch.Tensor:
    """Pool the tokens of every text in one way.

    With x_t the states of the n tokens that count, at the positions t = 1, 2, … of the text:

        mean Σ x_t / n,  mean √length Σ x_t / √n,  position-weighted mean Σ t x_t / Σ t
    """
    import torch

    if mode in ("cls", "lasttoken"):
        places = torch.arange(1, mask.shape[1] + 1, device=mask.device)
        place = (mask * places).argmax(dim=1) if mode == "lasttoken" else mask.argmax(dim=1)
        return tokens[torch.arange(len(tokens), device=tokens.device), place]
    counts = mask.unsqueeze(-1).to(tokens.dtype)
    if mode == "max":
        return tokens.masked_fill(counts == 0, -torch.inf).amax(dim=1)
    if mode == "weightedmean":
        # Positions count from the beginning of the text, also where its prompt is left out.
        positions = torch.arange(1, tokens.shape[1] + 1, device=tokens.device, dtype=tokens.dtype)
        counts = counts * positions.view(1, -1, 1)
    total = counts.sum(dim=1).clamp(min=1e-9)
    return (tokens * counts).sum(dim=1) / (
        total.sqrt() if mode == "mean_sqrt_len_tokens" else total
    )


@dataclass(frozen=True)
class Dense:
    """A linear layer with an activation."""

    weights: Mapping[str, torch.Tensor] = field(repr=False)
    activation: str
    source: str = SENTENCE
    target: str = SENTENCE
    residual: bool = False

    def __str__(self) -> str:
        out_features, in_features = self.weights["linear.weight"].shape
        skip = " with a residual" if self.residual else ""
        return f"dense {in_features} → {out_features} ({self.activation}){skip}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what it computes."""
        return {"dense": self.activation, "reads": self.source, "writes": self.target,
                "residual": self.residual, "weights": weights_digest(self.weights)}  # fmt: skip

    def __call__(self, features: Features) -> None:
        """Multiply, add the bias, and apply the activation."""
        import torch

        given = features.take(self.source, "Dense")
        own = {name: tensor.to(given.device, given.dtype) for name, tensor in self.weights.items()}
        linear = torch.nn.functional.linear(given, own["linear.weight"], own.get("linear.bias"))
        found = getattr(torch.nn, self.activation)()(linear)
        if self.residual:
            skip = own.get("residual.weight")
            found = found + (given if skip is None else torch.nn.functional.linear(given, skip))
        features.values[self.target] = found


@dataclass(frozen=True)
class LayerNorm:
    """A layer norm of the sentence vectors."""

    weights: Mapping[str, torch.Tensor] = field(repr=False)

    def __str__(self) -> str:
        return "layer norm"

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what it computes."""
        return {"layer norm": weights_digest(self.weights)}

    def __call__(self, features: Features) -> None:
        """Set mean and variance of every vector, then gain and bias of every dimension."""
        import torch

        given = features.take(SENTENCE, "LayerNorm")
        gain, bias = (self.weights[f"norm.{name}"].to(given) for name in ("weight", "bias"))
        features.values[SENTENCE] = torch.nn.functional.layer_norm(given, gain.shape, gain, bias)


@dataclass(frozen=True)
class Normalize:
    """Sets the norm of every vector to 1."""

    source: str = SENTENCE
    target: str = SENTENCE

    def __str__(self) -> str:
        return "unit norm"

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what it computes."""
        return {"normalize": self.source, "writes": self.target}

    def __call__(self, features: Features) -> None:
        """Divide by the norm; vectors without one stay as they are."""
        import torch

        given = features.take(self.source, "Normalize")
        features.values[self.target] = torch.nn.functional.normalize(given, p=2, dim=-1)


def weights_digest(weights: Mapping[str, torch.Tensor]) -> str:
    """Return the SHA-256 of tensors by name, shape and content."""
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        values = tensor.double().numpy()
        digest.update(f"{name} {values.shape}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
