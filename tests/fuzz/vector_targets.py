"""Targets: every reader of vectors and of texts, and of what PostgreSQL sends."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow
import safetensors.numpy
from pyarrow import feather, parquet

import isoscope
from fuzz.mutations import (
    Files,
    Mutator,
    changed_json_lines,
    changed_npy,
    changed_safetensors,
    changed_tokens,
    changed_zip,
)
from fuzz.target import Target
from isoscope.data.postgres.copy_format import (
    ID_KINDS,
    TEXT,
    TRAILER,
    VECTOR_KINDS,
    RowFormat,
    without_header,
)
from isoscope.data.texts.open import open_texts
from isoscope.errors import DataError, IsoscopeError

VECTORS = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
LINES = [" ".join(f"{v:.4f}" for v in row) for row in VECTORS]
TEXT_LINES = "".join(f"w{k} {line}\n" for k, line in enumerate(LINES)).encode()


def one(name: str, content: bytes) -> Files:
    return {name: content}


def npy_seeds() -> list[Files]:
    made = []
    for array in (VECTORS, np.asfortranarray(VECTORS), VECTORS.astype("f2"), VECTORS.astype(">f8")):
        file = io.BytesIO()
        np.save(file, array)
        made.append(one("x.npy", file.getvalue()))
    return made


def npz_seeds() -> list[Files]:
    plain, packed = io.BytesIO(), io.BytesIO()
    np.savez(plain, v=VECTORS)
    np.savez_compressed(packed, v=VECTORS, ids=np.arange(12))
    return [one("x.npz", file.getvalue()) for file in (plain, packed)]


def table() -> pyarrow.Table:
    column = pyarrow.array(list(VECTORS), pyarrow.list_(pyarrow.float32()))
    fixed = pyarrow.array(list(VECTORS), pyarrow.list_(pyarrow.float32(), 3))
    ids = [str(k) for k in range(12)]
    return pyarrow.table({"id": ids, "v": column, "h": fixed})


def parquet_seeds() -> list[Files]:
    made = []
    for how in (
        {"row_group_size": 5, "compression": "none"},
        {"compression": "snappy", "use_dictionary": False},
        {"compression": "zstd", "data_page_version": "2.0"},
    ):
        file = io.BytesIO()
        parquet.write_table(table().drop_columns(["h"]), file, **how)
        made.append(one("x.parquet", file.getvalue()))
    return made


def arrow_seeds() -> list[Files]:
    made = []
    for compression in ("uncompressed", "zstd"):
        file = io.BytesIO()
        feather.write_feather(table().drop_columns(["h"]), file, compression=compression)
        made.append(one("x.feather", file.getvalue()))
    return made


def safetensors_seeds() -> list[Files]:
    two = {"v": VECTORS, "ids": np.arange(12)}
    return [
        one("x.safetensors", safetensors.numpy.save(two, {"note": "x"})),
        one("x.safetensors", safetensors.numpy.save({"h": VECTORS.astype("f2")})),
    ]


def word_text_seeds() -> list[Files]:
    return [one("x.txt", TEXT_LINES), one("x.txt", b"12 3\n" + TEXT_LINES)]


def packed_text_seeds() -> list[Files]:
    return [one("x.txt.gz", gzip.compress(TEXT_LINES, mtime=0))]


def word2vec_seeds() -> list[Files]:
    words = b"".join(b"w%d " % k + row.tobytes() for k, row in enumerate(VECTORS))
    ended = b"".join(b"w%d " % k + row.tobytes() + b"\n" for k, row in enumerate(VECTORS))
    return [one("x.bin", b"12 3\n" + words), one("x.bin", b"12 3\n" + ended)]


def fvecs_seeds() -> list[Files]:
    rows = b"".join((3).to_bytes(4, "little") + row.tobytes() for row in VECTORS)
    return [one("x.fvecs", rows)]


def jsonl_seeds() -> list[Files]:
    lines = (f'{{"id": 1, "v": [{line.replace(" ", ", ")}]}}\n' for line in LINES)
    return [one("x.jsonl", "".join(lines).encode())]


def read_vectors(name: str) -> Callable[[Path], object]:
    """Return a function that reads a file of vectors to its end, and checks what comes."""

    def read(folder: Path) -> object:
        cloud = isoscope.open_cloud(folder / name)
        batches = [next(iter(batch.values())) for batch in cloud.batches()]
        rows = sum(len(batch.vectors) for batch in batches)
        assert cloud.rows in (None, rows), f"{cloud.rows} rows promised, {rows} read"
        assert all(batch.vectors.shape[1] == cloud.widths[0] for batch in batches)
        return f"{min(rows, 13)} x {min(cloud.widths[0], 4)}"

    return read


def generated_table(content: bytes, random: Random) -> bytes:
    """Write a table whose columns have any types; the content it replaces does not matter."""
    del content
    kinds: list[Any] = [
        pyarrow.float16(), pyarrow.float32(), pyarrow.float64(), pyarrow.int8(), pyarrow.bool_(),
        pyarrow.string(), pyarrow.binary(), pyarrow.null(), pyarrow.decimal128(5, 2),
        pyarrow.timestamp("s"), pyarrow.large_string(), pyarrow.date32(),
    ]  # fmt: skip

    def nested(kind: Any) -> Any:
        return random.choice((
            lambda: pyarrow.list_(kind), lambda: pyarrow.list_(kind, random.randint(1, 3)),
            lambda: pyarrow.large_list(kind), lambda: pyarrow.struct([("a", kind)]),
            lambda: pyarrow.list_(pyarrow.list_(kind)), lambda: kind,
        ))()  # fmt: skip

    def value(kind: Any) -> Any:
        if random.random() < 0.1 and "fixed_size" not in str(kind):  # which pyarrow aborts over
            return None
        if pyarrow.types.is_fixed_size_list(kind):
            return [value(kind.value_type) for _ in range(kind.list_size)]
        if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind):
            return [value(kind.value_type) for _ in range(random.choice((2, 2, 2, 0, 3)))]
        if pyarrow.types.is_struct(kind):
            return {"a": value(kind.field(0).type)}
        if pyarrow.types.is_floating(kind):
            number = random.choice((0.5, 1.0, -2.0, float("nan"), float("inf"), 0.0))
            return np.float16(number) if kind == pyarrow.float16() else number
        return None

    rows = random.choice((0, 1, 3, 3, 3))
    columns = {}
    for k in range(random.randint(0, 3)):
        kind = nested(random.choice(kinds))
        columns[random.choice(("v", "id", "text", "", "é", f"c{k}"))] = pyarrow.array(
            [value(kind) for _ in range(rows)], kind
        )
    file = io.BytesIO()
    try:
        parquet.write_table(pyarrow.table(columns), file)
    except (pyarrow.ArrowException, NotImplementedError):
        return b""
    return file.getvalue()


def table_or(random_bytes: Mutator) -> Mutator:
    """Return a mutation that writes a new table in one case of three."""

    def change(content: bytes, random: Random) -> bytes:
        how = generated_table if random.random() < 0.33 else random_bytes
        return how(content, random)

    return change


def faiss_seeds() -> list[Files]:
    import faiss

    vectors = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
    training = np.random.default_rng(1).standard_normal((300, 4)).astype(np.float32)
    made = []
    for description in ("Flat", "IDMap,Flat", "IDMap2,Flat", "HNSW4,Flat", "IVF2,Flat", "SQ8",
                        "PCA3,Flat", "PCA3,SQ8", "IVF2,PQ2x2", "Flat,RFlat", "L2norm,Flat",
                        "LSH", "PQ2x2"):  # fmt: skip
        index = faiss.index_factory(4, description)
        index.train(training)
        index.add_with_ids(vectors, np.arange(40)) if "IDMap" in description else index.add(vectors)
        made.append(one("x.faiss", faiss.serialize_index(index).tobytes()))
    return made


class FaissChild:
    """A fork that reads indexes as the child process of a FAISS cloud does.

    It is used until it crashes, as a fork for every case would take most of the time.
    """

    def __init__(self) -> None:
        self.cases = 0
        questions, self._questions = os.pipe()
        self._answers, answers = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                os.close(self._questions)
                os.close(self._answers)
                signal.signal(signal.SIGPROF, signal.SIG_DFL)  # also ends native code
                with os.fdopen(questions) as lines:
                    for line in lines:
                        os.write(answers, json.dumps(read_index_file(line[:-1])).encode() + b"\n")
            finally:
                os._exit(0)
        os.close(questions)
        os.close(answers)
        self._lines = open(self._answers, "rb", closefd=False)  # noqa: SIM115

    def ask(self, path: Path) -> tuple[str, str]:
        """Return what became of a file: its kind, and what there is to say."""
        self.cases += 1
        os.write(self._questions, f"{path}\n".encode())
        line = self._lines.readline()
        if line:
            kind, said = json.loads(line)
            return kind, said
        os.close(self._answers)
        os.close(self._questions)
        _, status = os.waitpid(self._process, 0)
        ended = signal.Signals(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
        return ("slow" if ended == signal.SIGPROF else "crash"), ended.name if ended else "exit"


# Megabytes of a process that has imported what reading an index takes, and has read none.
OF_IMPORTS = 150


def read_index_file(name: str) -> tuple[str, str]:
    """Read an index to its end, within the limits of a case.

    A fork begins with the memory of its process, which in the suite is that of many tests: only
    what it takes beyond that is counted, and what it would have begun with by itself.
    """
    from fuzz.engine import MEGABYTES, SECONDS, forget_peak, peak
    from isoscope.data.formats.faiss import index as child

    forget_peak()
    inherited = max(peak() - OF_IMPORTS, 0.0)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        read = child.read_index(name, "x.faiss", Path(name).stat().st_size)
        for first in range(0, read.rows, 1_000_000):
            read.between(first, min(first + 1_000_000, read.rows))
        found = "read", f"{min(read.rows, 41)} {read.width} {read.ids is not None}"
    except IsoscopeError as error:
        found = "refused", str(error)
    except BaseException as error:
        found = "failed", f"{type(error).__name__}: {error}"[:1_000]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    highest = peak() - inherited
    return found if highest <= MEGABYTES else ("failed", f"{highest:.0f} MB")


FAISS: list[FaissChild] = []
"""The one child; empty before the first case and after a crash."""


def read_faiss(folder: Path) -> object:
    """Do what a FAISS cloud does: a crash of the child is an answer there."""
    import faiss  # noqa: F401  once, not in every fork

    if not FAISS:
        FAISS.append(FaissChild())
    kind, said = FAISS[0].ask(folder / "x.faiss")
    if kind == "crash" and FAISS.pop().cases > 1:  # what crashes may be an earlier case
        FAISS.append(FaissChild())
        kind, said = FAISS[0].ask(folder / "x.faiss")
        if kind == "crash":
            FAISS.pop()
    if kind == "slow":
        FAISS.clear()
        raise TimeoutError("faiss took more than 5 s of processor time")
    if kind == "crash":
        raise DataError(f"faiss crashed ({said})")
    if kind == "refused":
        raise DataError(said)
    assert kind == "read", said
    return said


def copy_seeds() -> list[Files]:
    """Rows as PostgreSQL sends them; the first byte says of which kind."""
    made = []
    for k, (vector, id_name) in enumerate(COPIED):
        rows = RowFormat(VECTOR_KINDS[vector], 3, ID_KINDS[id_name])
        labels: Any = np.arange(5)
        if id_name == "text":
            labels = np.array([f"id{k}" for k in range(5)], object)
        if id_name == "uuid":
            labels = np.array([f"{k:032x}" for k in range(5)], object)
        head = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
        content = head + rows.encode(labels, VECTORS[:5]) + TRAILER
        made.append(one("rows.copy", bytes([k]) + content))
    return made


COPIED = [("vector", "int8"), ("halfvec", "text"), ("_float4", "int4"), ("_float8", "uuid")]


def read_copy(folder: Path) -> object:
    content = (folder / "rows.copy").read_bytes()
    vector, id_name = COPIED[(content[0] if content else 0) % len(COPIED)]
    rows = RowFormat(VECTOR_KINDS[vector], 3, ID_KINDS[id_name])
    found = rows.decode(without_header(content[1:], "table"), 0, "table")
    assert found.vectors.shape[1:] == (3,)
    labels = (rows.id or TEXT).labels(found.ids)  # type: ignore[arg-type]
    assert len(labels) == len(found.vectors)
    return len(found.vectors)


TEXTS = ["It was a bright cold day.", "  ", 'The clocks, "all", struck.', "Été 日本"]


def text_seeds() -> list[Files]:
    return [one("x.txt", "\n".join(TEXTS).encode()), one("x.txt", b"a\r\nb\r\n")]


def text_json_seeds() -> list[Files]:
    rows = (json.dumps({"id": k, "text": text, "doc": "d"}) for k, text in enumerate(TEXTS))
    return [one("x.jsonl", "\n".join(rows).encode())]


def text_csv_seeds() -> list[Files]:
    rows = [
        "id,text,label",
        *(f'{k},"{t.replace(chr(34), chr(34) * 2)}",x' for k, t in enumerate(TEXTS)),
    ]
    return [one("x.csv", "\n".join(rows).encode())]


def text_tsv_seeds() -> list[Files]:
    return [
        one("x.tsv", "\n".join(["id\ttext", *(f"{k}\t{t}" for k, t in enumerate(TEXTS))]).encode())
    ]


def text_parquet_seeds() -> list[Files]:
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": TEXTS, "n": [1, 2, 3, 4]}), file)
    return [one("x.parquet", file.getvalue())]


def text_packed_seeds() -> list[Files]:
    return [one("x.jsonl.gz", gzip.compress(text_json_seeds()[0]["x.jsonl"], mtime=0))]


def read_texts(name: str) -> Callable[[Path], object]:
    """Return a function that reads a file of texts to its end."""

    def read(folder: Path) -> object:
        found = list(open_texts(folder / name).texts())
        assert all(isinstance(text.text, str) for text in found)
        return min(len(found), 5)

    return read


def vectors(name: str, seeds: Callable[[], list[Files]], mutator: Mutator | None = None) -> Target:
    """Return the target of a format of vectors."""
    ending = "." + name.partition(".")[2]
    return Target(
        f"vectors {ending}", seeds, read_vectors(name), {} if mutator is None else {ending: mutator}
    )


def texts(name: str, seeds: Callable[[], list[Files]], mutator: Mutator | None = None) -> Target:
    """Return the target of a format of texts."""
    ending = "." + name.partition(".")[2]
    return Target(
        f"texts {ending}", seeds, read_texts(name), {} if mutator is None else {ending: mutator}
    )


def no_structure(content: bytes, random: Random) -> bytes:
    from fuzz.mutations import changed_bytes

    return changed_bytes(content, random)


TARGETS = [
    vectors("x.npy", npy_seeds, changed_npy),
    vectors("x.npz", npz_seeds, changed_zip(changed_npy)),
    vectors("x.safetensors", safetensors_seeds, changed_safetensors),
    vectors("x.parquet", parquet_seeds, table_or(no_structure)),
    vectors("x.feather", arrow_seeds),
    vectors("x.txt", word_text_seeds, changed_tokens),
    vectors("x.txt.gz", packed_text_seeds),
    vectors("x.bin", word2vec_seeds),
    vectors("x.fvecs", fvecs_seeds),
    vectors("x.jsonl", jsonl_seeds, changed_json_lines),
    Target("vectors .faiss", faiss_seeds, read_faiss, needs=("faiss",), tiny=60),
    Target("vectors PostgreSQL", copy_seeds, read_copy),
    texts("x.txt", text_seeds, changed_tokens),
    texts("x.jsonl", text_json_seeds, changed_json_lines),
    texts("x.csv", text_csv_seeds, changed_tokens),
    texts("x.tsv", text_tsv_seeds, changed_tokens),
    texts("x.parquet", text_parquet_seeds, table_or(no_structure)),
    texts("x.jsonl.gz", text_packed_seeds),
]
