"""The parts of a transformer whose weights a checkpoint has.

A configuration may name a head that was not saved: sentence encoders keep the class that their
network was trained with, such as ``MPNetForMaskedLM``, and are saved without ``lm_head``. What is
not stored is left out of the parts, instead of being looked for in vain.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from isoscope.models.structure.norm_layers import HEAD
from isoscope.models.structure.parts import Parts


def stored_parts(parts: Parts, not_stored: Collection[str]) -> Parts:
    """Return parts without those of a head whose weights are not stored.

    A norm is left out where its gain or its bias is missing. An unembedding is left out where its
    own weight is missing, or that of a module which stands before it in the head: a matrix that is
    tied to the embedding is always stored, but scores no tokens without them. A missing bias alone
    leaves an unembedding as it is.

    Parameters
    ----------
    parts : Parts
        All parts that the configuration names.
    not_stored : collection of str
        Paths of parameters of the head that the checkpoint does not have.
    """
    if not not_stored:
        return parts
    norms = tuple(
        norm
        for norm in parts.norms
        if norm.where != HEAD or not {norm.gain, norm.bias} & set(not_stored)
    )
    out = parts.unembedding
    if out is not None and any(is_needed(path, out) for path in not_stored):
        return replace(parts, norms=norms, unembedding=None, tied=None)
    return replace(parts, norms=norms)


def is_needed(path: str, unembedding: str) -> bool:
    """Whether an unembedding is of no use without a parameter of the head.

    Heads have a module of their own, as BERT's ``cls.predictions``, or stand beside each other at
    the top, as DistilBERT's.
    """
    head = unembedding.rpartition(".")[0].rpartition(".")[0]
    return not path.endswith("bias") and (not head or path.startswith(f"{head}."))
