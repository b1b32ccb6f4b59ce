"""What tells whether a source is still the one that a run began with, without reading its files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from isoscope.data.arrays import ArrayCloud, TensorCloud
from isoscope.data.base import Cloud
from isoscope.data.combine import FileParts, JoinedCloud, LabelledCloud
from isoscope.data.location import redacted
from isoscope.data.selection import RowSelection
from isoscope.data.texts.base import TextSource
from isoscope.data.texts.readers import (
    DelimitedTexts,
    JoinedTexts,
    JsonTexts,
    LineTexts,
    ParquetTexts,
    SampledTexts,
    StandardInput,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.data.base import CloudGroup
    from isoscope.data.location import Location


IN_FILES = (LineTexts, JsonTexts, DelimitedTexts, ParquetTexts)


def identity_of(source: CloudGroup | TextSource) -> Any:
    """Return what a journal compares.

    Of a file these are its address, size and time of change; of arrays, and of texts that are in
    no file, a digest; of anything else what it says of itself.

    Parameters
    ----------
    source : CloudGroup or TextSource
        Where vectors or texts come from.

    Returns
    -------
    dict or list
        Such as JSON holds.
    """
    if isinstance(source, TextSource):
        return identity_of_texts(source)
    if isinstance(source, RowSelection):
        return identity_of(source.group)
    if isinstance(source, FileParts):
        return {name: identity_of(cloud) for name, cloud in source.clouds.items()}
    if isinstance(source, JoinedCloud):
        return [identity_of(cloud) for cloud in source.clouds]
    if isinstance(source, LabelledCloud):
        key, values = source.label
        return {"cloud": identity_of(source.cloud), "labels": digest_of_labels({key: values})}
    if isinstance(source, ArrayCloud | TensorCloud):
        labels = source.labels if isinstance(source, ArrayCloud) else {}
        return {
            **described(source),
            "sha256": source.sha256(),
            **({"labels": digest_of_labels(labels)} if labels else {}),
        }
    if isinstance(source, Cloud) and source.location is not None:
        return {**identity_of_file(source.location), "column": source.column}
    return described(source)


def identity_of_texts(source: TextSource) -> Any:
    """Return the identity of texts."""
    if isinstance(source, JoinedTexts):
        return [identity_of_texts(one) for one in source.sources]
    if isinstance(source, SampledTexts):
        drawn = {"size": source.size, "seed": source.seed}
        return {"texts": identity_of_texts(source.source), **drawn}
    # Standard input is in a temporary file too, but in another one next time.
    if isinstance(source, IN_FILES) and not isinstance(source, StandardInput):
        columns = {"column": source.column, "document": source.document}
        return {**identity_of_file(source.location), **columns}
    return {"name": source.name, "sha256": source.survey().sha256}


def identity_of_file(location: Location) -> dict[str, Any]:
    """Return the identity of a file, without what its address should not tell."""
    size, changed = location.stamp()
    return {"file": redacted(location.text), "size": size, "changed": changed}


def described(group: CloudGroup) -> dict[str, Any]:
    """Return what a group says of its clouds."""
    return {
        "names": list(group.names),
        "widths": list(group.widths),
        "dtypes": list(group.dtypes),
        "rows": group.rows,
    }


def digest_of_labels(labels: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of labels, which may be anything that can be printed."""
    digest = hashlib.sha256()
    for key in sorted(labels):
        for text in (key, *map(str, labels[key].tolist())):
            content = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d\n" % len(content))  # keeps "ab", "c" apart from "a", "bc"
            digest.update(content)
    return digest.hexdigest()
