"""Networks without weights, to see what modules there are."""

from __future__ import annotations

from typing import Any

from isoscope.models.quiet import library, quietly


def base_skeleton(config: Any) -> Any:
    """Build the network without a head on a device that holds no numbers."""
    torch, transformers = library("torch"), library("transformers")
    with quietly(), torch.device("meta"):
        return transformers.AutoModel.from_config(config, trust_remote_code=False)
