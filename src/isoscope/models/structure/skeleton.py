"""Networks without weights, to see what modules there are and in which order they compute."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

from isoscope.models.runtime import library, loading, quietly
from isoscope.models.structure.rms_variants import own_class


def base_skeleton(config: Any) -> Any:
    """Build the network without a head on a device that holds no numbers."""
    return build(config, library("transformers").AutoModel.from_config)


def whole_skeleton(config: Any, *, causal: bool) -> Any:
    """Build the network with the head that it was saved with, on a device that holds no numbers.

    Parameters
    ----------
    config : transformers.PretrainedConfig
        Says of which class the network was; where it does not, it is taken to have no head.
    causal : bool
        Whether it predicts the next token where it does not say, as models in GGUF files do.
    """
    transformers = library("transformers")
    named = (getattr(config, "architectures", None) or [""])[0]
    kind: Any = own_class(named) or (getattr(transformers, named, None) if named else None)
    if isinstance(kind, type) and issubclass(kind, transformers.PreTrainedModel):
        return build(config, kind._from_config)  # type: ignore[attr-defined]
    if causal and type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        return build(config, transformers.AutoModelForCausalLM.from_config)
    return base_skeleton(config)


def build(config: Any, make: Callable[..., Any]) -> Any:
    """Make a network without numbers, with an attention that a pass without numbers can go through.

    The configuration is copied, as the attention would be noted in it.
    """
    torch = library("torch")
    with loading("a network cannot be made from the configuration"), torch.device("meta"):
        return make(copy.deepcopy(config), attn_implementation="eager").eval()


def trace(skeleton: Any) -> tuple[str, ...] | None:
    """Return the paths of all modules in the order in which a forward pass leaves them.

    The pass goes through a network without numbers, so that it costs nothing. Where a network looks
    at numbers, such as at those of a mask, the pass fails and there is no answer.
    """
    torch = library("torch")
    ids = torch.zeros(1, 4, dtype=torch.long, device="meta")
    sides = {"decoder_input_ids": ids} if skeleton.config.is_encoder_decoder else {}
    for mask in ({}, {"attention_mask": torch.ones_like(ids)}):
        called: list[str] = []
        hooks = [
            module.register_forward_hook(partial(note, called, path))
            for path, module in skeleton.named_modules()
        ]
        try:
            with quietly(), torch.no_grad():
                skeleton(input_ids=ids, **sides, **mask)
        except Exception:
            continue
        finally:
            for hook in hooks:
                hook.remove()
        return tuple(called)
    return None


def note(called: list[str], path: str, *_: object) -> None:
    """Note that a module was called."""
    called.append(path)
