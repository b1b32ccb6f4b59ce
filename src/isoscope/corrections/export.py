"""Affine corrections for other libraries, which need no isoscope to apply them.

Both compute y = x A + b in single precision, where ``transform`` takes the centre off first: the
result differs by some roundings of x A. A zero vector becomes b there, where ``transform`` leaves
it alone.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.apply import normalizes
from isoscope.corrections.registry import all_corrections
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from isoscope.corrections.base import Correction
    from isoscope.typing import Single


def to_sentence_transformers(
    correction: Correction, model: Any = None, *, keep_norms: bool = False
) -> Any:
    """Return the modules that apply a correction, or a model with them in the right place."""
    renormalize = normalizes(correction, keep_norms)
    weight, bias = in_single(correction)
    try:
        import sentence_transformers
        import torch
    except ImportError as error:
        raise missing("sentence-transformers", error) from error
    dense_kind, normalize_kind = module_kinds()
    dense = dense_kind(
        in_features=weight.shape[1],
        out_features=weight.shape[0],
        bias=True,
        activation_function=torch.nn.Identity(),
        init_weight=torch.from_numpy(weight),
        init_bias=torch.from_numpy(bias),
    )
    if model is None:
        return [dense, normalize_kind()] if renormalize else [dense]
    check_model(correction, model)
    example = next(model.parameters(), None)
    if example is not None:
        dense.to(example.device, example.dtype)
    modules: Any = OrderedDict(model.named_children())
    last = next(reversed(modules))
    normalized = isinstance(modules[last], normalize_kind)
    if correction.fitted_on_.unit_length:
        if not normalized:
            modules["normalize_before_correction"] = normalize_kind()
        modules["correction"] = dense
        if renormalize:
            modules["normalize"] = normalize_kind()
    else:
        modules["correction"] = dense
        if normalized:
            modules.move_to_end(last)
        elif renormalize:
            modules["normalize"] = normalize_kind()
    corrected = sentence_transformers.SentenceTransformer(
        modules=modules,
        device=str(model.device),
        prompts=dict(model.prompts),
        default_prompt_name=model.default_prompt_name,
        similarity_fn_name=model.similarity_fn_name,
    )
    # Arguments of encode that single modules ask for; the constructor takes none.
    corrected.module_kwargs = getattr(model, "module_kwargs", None)
    return corrected


def to_faiss(correction: Correction, index: Any = None, *, keep_norms: bool = False) -> Any:
    """Return the transforms that apply a correction, or an index that begins with them."""
    renormalize = normalizes(correction, keep_norms)
    weight, bias = in_single(correction)
    try:
        import faiss
    except ImportError as error:
        raise missing("isoscope[search]", error) from error
    width_out, width_in = weight.shape
    linear = faiss.LinearTransform(width_in, width_out, True)
    faiss.copy_array_to_vector(weight.ravel(), linear.A)
    faiss.copy_array_to_vector(bias, linear.b)
    linear.is_trained = True
    transforms: list[Any] = [linear]
    if renormalize:
        transforms.append(faiss.NormalizationTransform(width_out, 2.0))
    if index is None:
        return transforms
    if index.d != width_out:
        raise DataError(
            f"the index takes vectors of {index.d} dimensions, and {correction.name} makes "
            f"{width_out}"
        )
    for transform in reversed(transforms):
        index = faiss.IndexPreTransform(transform, index)
    return index


def in_single(correction: Correction) -> tuple[Single, Single]:
    """Return Aᵀ and b of y = x A + b in single precision, for a correction that has them."""
    if not correction.affine:
        able = [name for name, kind in all_corrections().items() if kind.affine]
        raise UsageError(
            f"{correction.name} is not an affine map and cannot be exported; {', '.join(able)} can"
        )
    if correction._affine().double:
        warnings.warn(
            f"{correction.name} amplifies some directions so much that isoscope computes in "
            "double precision; other libraries compute in single precision and would lose "
            "digits. Keep fewer components",
            UserWarning,
            stacklevel=4,
        )
    weight = np.ascontiguousarray(correction.matrix_.T, dtype=np.float32)
    return weight, correction.offset_.astype(np.float32)


def check_model(correction: Correction, model: Any) -> None:
    """Refuse a model whose vectors are not those that the correction takes."""
    if getattr(model, "truncate_dim", None) is not None:
        raise UsageError(
            f"the model truncates its vectors to {model.truncate_dim} dimensions, which would "
            "happen after the correction; set truncate_dim to None"
        )
    # Later versions have another name for it and warn of the old one.
    renamed = getattr(model, "get_embedding_dimension", None)
    width = renamed() if renamed is not None else model.get_sentence_embedding_dimension()
    if width is not None and width != correction.n_features_in_:
        raise DataError(
            f"the model makes vectors of {width} dimensions, and {correction.name} was fitted on "
            f"{correction.n_features_in_}"
        )


def module_kinds() -> tuple[Any, Any]:
    """Return the classes Dense and Normalize, which have moved."""
    try:
        modules = import_module("sentence_transformers.sentence_transformer.modules")
    except ImportError:
        modules = import_module("sentence_transformers.models")
    return modules.Dense, modules.Normalize


def missing(package: str, error: ImportError) -> UsageError:
    """Say what to install."""
    return UsageError(f'this export needs {error.name or package}; pip install "{package}"')
