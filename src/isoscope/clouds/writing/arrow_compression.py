"""How the record batches of an Arrow IPC file are compressed, which pyarrow does not tell.

The answer is in the flatbuffer in front of the first record batch: Message → header (RecordBatch)
→ compression (BodyCompression) → codec. Numbers below are the positions of these fields in
Arrow's ``Message.fbs``.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

MAGIC = 8
"""``ARROW1`` and two bytes; behind it a file is a stream of messages."""

HEADER, COMPRESSION, CODEC = 2, 3, 0
CODECS = {0: "lz4", 1: "zstd"}


def body_compression(file: BinaryIO) -> str | None:
    """Return lz4, zstd or None for a file that holds at least one record batch."""
    from pyarrow import ipc

    file.seek(MAGIC)
    for message in ipc.MessageReader.open_stream(file):
        if message.type == "record batch":
            return codec_of(message.metadata.to_pybytes())
    return None


def codec_of(metadata: bytes) -> str | None:
    """Find the codec in the flatbuffer of a record batch."""
    (root,) = struct.unpack_from("<I", metadata, 0)
    header = followed(metadata, root, HEADER)
    compression = None if header is None else followed(metadata, header, COMPRESSION)
    if compression is None:
        return None
    position = field(metadata, compression, CODEC)
    return CODECS.get(0 if position is None else metadata[position])


def field(metadata: bytes, table: int, number: int) -> int | None:
    """Return where a field of a table lies; None where it has its default."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, vtable)
    entry = 4 + 2 * number
    if entry >= size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, vtable + entry)
    return table + offset if offset else None


def followed(metadata: bytes, table: int, number: int) -> int | None:
    """Return the table that a field points to."""
    position = field(metadata, table, number)
    if position is None:
        return None
    return int(position + struct.unpack_from("<I", metadata, position)[0])
