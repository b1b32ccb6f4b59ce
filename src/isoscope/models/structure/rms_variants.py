"""Stock architectures with an RMSNorm before the output matrix, and nowhere else.

An experiment changes one thing. The classes here differ from transformers' own in one module, and
have names of their own in files, so that no other program takes the norm for a LayerNorm: without
isoscope such a model is one of an unknown architecture.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from isoscope.models.runtime import library

# Behind the name of an architecture in a model's configuration.
ENDING = "-rms"

# Configuration, network and network with a head, by architecture.
FAMILIES = {
    "bert": ("BertConfig", "BertModel", "BertForMaskedLM"),
    "roformer": ("RoFormerConfig", "RoFormerModel", "RoFormerForMaskedLM"),
    "gpt2": ("GPT2Config", "GPT2Model", "GPT2LMHeadModel"),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXModel", "GPTNeoXForCausalLM"),
}

# How the path of the norm before the output matrix ends.
NORMS = ("ln_f", "final_layer_norm", "transform.LayerNorm")

# What paths of norms inside of a block have in them.
BLOCK = (".h.", ".layers.", ".layer.")


def final_norm_path(network: Any) -> str:
    """Return the path of the norm that comes last before the output matrix."""
    found: list[str] = [
        path
        for path, _ in network.named_modules()
        if path.endswith(NORMS) and not any(part in f".{path}" for part in BLOCK)
    ]
    return found[-1]


def stock_classes(family: str) -> tuple[Any, Any, Any]:
    """Return configuration, network and network with a head as transformers has them."""
    config, base, head = (getattr(library("transformers"), name) for name in FAMILIES[family])
    return config, base, head


@cache
def rms_classes(family: str) -> tuple[Any, Any, Any]:
    """Make the three classes of an architecture, and tell transformers of them."""
    transformers = library("transformers")
    stock = stock_classes(family)
    config = type(f"Rms{FAMILIES[family][0]}", (stock[0],), {"model_type": f"{family}{ENDING}"})
    base, head = (
        type(f"Rms{kind.__name__}", (kind,), {"config_class": config, "__init__": with_rms(kind)})
        for kind in stock[1:]
    )
    transformers.AutoConfig.register(f"{family}{ENDING}", config)
    transformers.AutoModel.register(config, base)
    masked = head.__name__.endswith("MaskedLM")
    auto = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    auto.register(config, head)
    return config, base, head


def with_rms(kind: Any) -> Any:
    """Return a constructor that puts an RMSNorm where a class has its last LayerNorm."""

    def construct(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        kind.__init__(self, config, *args, **kwargs)
        if not any(path.endswith(NORMS) for path, _ in self.named_modules()):
            return  # BERT's last norm is in its head, which this network is without
        path = final_norm_path(self)
        parent, _, name = path.rpartition(".")
        old = self.get_submodule(path)
        new = library("torch").nn.RMSNorm(old.normalized_shape, eps=old.eps)
        setattr(self.get_submodule(parent), name, new)

    return construct


def own_class(name: str) -> Any:
    """Return a class by its name, None for all others."""
    families = [family for family, names in FAMILIES.items() if name in {f"Rms{n}" for n in names}]
    if not families:
        return None
    return next(kind for kind in rms_classes(families[0]) if kind.__name__ == name)


def know_own(model_type: Any) -> None:
    """Tell transformers of an architecture, where a configuration names one of these."""
    family = str(model_type).removesuffix(ENDING)
    if str(model_type).endswith(ENDING) and family in FAMILIES:
        rms_classes(family)
