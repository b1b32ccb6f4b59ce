"""One digest of all weights of a model, to find checkpoints that are the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from isoscope.errors import DataError
from isoscope.models.stored_weights import open_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.models.opening import Model


def weights_digest(model: Model) -> str:
    """Return the SHA-256 over the digests of the stored bytes of all parameters.

    Parameters are those of the network, so that buffers, the number of files and their format do
    not matter. Where a network arranges its parameters otherwise than they are stored, it is all
    tensors that are stored.
    """
    try:
        found = {path: model.fingerprint(path) for path in parameters(model)}
    except DataError:
        found = stored_digests(model)
    return joint_digest(found)


def parameters(model: Model) -> list[str]:
    """Return the paths of the parameters; a pooler, which many checkpoints lack, is in no layer."""
    names = [name for name, _ in model.skeleton.named_parameters()]
    paths = [name for name in names if "pooler" not in name.split(".")]
    head = model.parts.unembedding
    return paths if head is None else [*paths, head]


def stored_digests(model: Model) -> dict[str, str]:
    """Return the digest of every tensor by the name under which it is stored."""
    files = open_weights(model)
    found = {}
    for name in files.names:
        digest = hashlib.sha256()
        for piece in files.pieces(name):
            digest.update(piece)
        found[name] = digest.hexdigest()
    return found


def joint_digest(digests: Mapping[str, str]) -> str:
    """Return one digest of several, whatever their order."""
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
