"""Targets: what commands do with files and words of strangers beyond reading them."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import feather, parquet

import isoscope
from fuzz.mutations import (
    Files,
    changed_json,
    changed_json_lines,
    changed_npy,
    changed_safetensors,
    changed_tokens,
    changed_zip,
)
from fuzz.stored_targets import made_files, signed_correction
from fuzz.target import Target
from fuzz.vector_targets import (
    VECTORS,
    fvecs_seeds,
    jsonl_seeds,
    npy_seeds,
    npz_seeds,
    safetensors_seeds,
    table,
    word2vec_seeds,
    word_text_seeds,
)
from isoscope.compute.memory import parsed_size
from isoscope.data.location import is_postgres, matches
from isoscope.data.output import PREFIX
from isoscope.data.postgres.connection import parse_address
from isoscope.data.texts.open import open_texts
from isoscope.models.checkpoints import parse_every
from isoscope.tasks.registry import find_task
from isoscope.verbs.measure.gates import parse_gate
from isoscope.verbs.measure.search.reduction import parse_components

CORRECTION = "correction"
"""The name of a correction's file, without the ending that mutations know."""


def marked_tables() -> list[Files]:
    """Return tables with columns of several kinds and what a correction leaves in them."""
    columns = {
        "id": [str(k) for k in range(12)],
        "v": pyarrow.array(list(VECTORS), pyarrow.list_(pyarrow.float32(), 3)),
        "kind": pyarrow.array(["x", "y", None] * 4).dictionary_encode(),
        "tags": pyarrow.array([[k, None] for k in range(12)]),
    }
    mark = [{"column": "v", "correction": "center", "fingerprint": "0" * 64}]
    made = pyarrow.table(columns).replace_schema_metadata({"isoscope": json.dumps(mark)})
    one, two = io.BytesIO(), io.BytesIO()
    parquet.write_table(made, one, row_group_size=5)
    feather.write_feather(made, two)
    return [{"x.parquet": one.getvalue()}, {"x.feather": two.getvalue()}]


def applied_seeds() -> list[Files]:
    plain = io.BytesIO()
    parquet.write_table(table().drop_columns(["h"]), plain, compression="zstd")
    sources = [
        *npy_seeds()[:3], *npz_seeds(), *safetensors_seeds()[:1], *word_text_seeds(),
        *word2vec_seeds(), *fvecs_seeds(), *jsonl_seeds(), {"x.parquet": plain.getvalue()},
        *marked_tables(),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", VECTORS)
        isoscope.fit_correction(str(folder / "x.npy"), "whiten", folder / "c.safetensors")
        correction = (folder / "c.safetensors").read_bytes()
    return [{**one, CORRECTION: correction} for one in sources]


def read_applied(folder: Path) -> object:
    """Correct a file: a target is whole or not there, and nothing else is left."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    for path in folder.glob("c.safetensors"):
        path.unlink()
    out.mkdir()
    # A folder holds the files of earlier cases as well: the newest is this one's.
    source = max(folder.glob("x.*"), key=lambda path: path.stat().st_mtime_ns, default=None)
    if source is None:
        raise isoscope.DataError("there is nothing to correct")
    stored = shutil.copy(folder / CORRECTION, folder / "c.safetensors")
    target = out / source.name
    try:
        isoscope.apply_correction(Path(stored), str(source), target)
    finally:
        left = {path.name for path in out.iterdir()} - {target.name}
        assert not left, f"left behind: {sorted(left)}"
        assert not list(folder.rglob(f"{PREFIX}*")), "a temporary file stays"
    rows = sum(len(next(iter(b.values())).vectors) for b in isoscope.open_cloud(target).batches())
    return f"{source.suffix} {min(rows, 13)}"


def page_seeds() -> list[Files]:
    return [{"r.json": made_files()[name]} for name in ("measure.json", "search.json")]


def read_page(folder: Path) -> object:
    """Draw the page of a result; what it says must stay text."""
    page = folder / "page.html"
    page.unlink(missing_ok=True)
    isoscope.report([folder / "r.json"], html=page)
    assert "<img src=x>" not in page.read_text("utf-8"), "markup got through"
    return page.stat().st_size.bit_length()


def verified_seeds() -> list[Files]:
    journal = {
        n: c for n, c in made_files().items() if n.startswith("journal/") and "lock" not in n
    }
    return [
        {"kind": b"r.json", "r.json": made_files()["measure.json"]},
        {"kind": b"c.safetensors", "c.safetensors": made_files()["whiten.safetensors"]},
        {"kind": b"journal", **journal},
    ]


def read_verified(folder: Path) -> object:
    """Verify a file, and print what is found."""
    from isoscope.verbs.verify.text import screen

    kind = (folder / "kind").read_bytes()
    names = {b"r.json", b"c.safetensors", b"journal"}
    found = isoscope.verify(folder / (kind.decode() if kind in names else "r.json"))
    json.dumps(found.facts())
    screen(found)
    for check in found.checks:
        assert "\n" not in check.about
        assert len(check.about.replace(str(folder), "x")) <= 300, f"{len(check.about)} characters"
    return f"{found.kind} {found.verified} {len(found.checks)}"


DATA_SETS = {
    "sick-r": "SICK/*", "sick-e": "SICK/*", "sts-16": "STS16-en-test/*", "sts-b": "STSBenchmark/*",
    "cola": "glue/CoLA/*", "rte": "glue/RTE/*", "trec": "senteval/TREC*", "cr": "senteval/custrev*",
}  # fmt: skip
"""Where the writers of small data sets put those that are read here."""

TOKENS = "".join(
    f"brown1/a\t{number}\t{place}\t{word}\t{word}\t{tag}\t\n"
    for number in range(2)
    for place, (word, tag) in enumerate((("the", "DT"), ("cat", "NN"), ("sat", "VB"), (".", "")))
)
EXAMPLE = {"text_a": "It sits.", "text_b": "It runs.", "label": "contradiction"}
SAMPLE = json.dumps({"0": EXAMPLE, "1": {**EXAMPLE, "label": "neutral"}}).encode()
WRITTEN: dict[str, Files] = {
    "mnli-sample": {f"MNLI-sample/{part}.json": SAMPLE for part in ("train", "dev")},
    "sst-2": {f"SST-2/{part}.tsv": b"sentence\tlabel\nIt sits.\t1\nNo.\t0\n"
              for part in ("train", "dev")},
    "semcor-pos": {"semcor3.tsv.gz": gzip.compress(TOKENS.encode(), mtime=0)},
    "men": {"MEN_dataset_lemma_form_full": b"sun-n light-n 50.0\nrun-v walk-v 32\n"},
    "rare-words": {"rw.txt": b"untracked\tcat\t5.5\t1\t2\t3\t4\t5\t6\t7\n" * 2},
}  # fmt: skip


def data_set_seeds() -> list[Files]:
    """Return small data sets in the layouts of their releases, with the name of the task."""
    from class_sets_for_tests import write_cola, write_rte, write_senteval
    from sts_for_tests import write_sts_sets

    made = [{"task.txt": name.encode(), **files} for name, files in WRITTEN.items()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for write in (write_cola, write_rte, write_senteval, write_sts_sets):
            write(folder)
        for task, pattern in DATA_SETS.items():
            files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.glob(pattern)}
            made.append({"task.txt": task.encode(), **files})
    return made


def read_data_set(folder: Path) -> object:
    name = (folder / "task.txt").read_text("utf-8", "replace").strip()
    name = name if name in {*DATA_SETS, *WRITTEN} else "mnli-sample"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*in the release of")
        return f"{name} {len(find_task(name).load(folder)).bit_length()}"  # type: ignore[attr-defined]


SECRET = "hunter2"
"""A password, which no message may repeat."""


def column(text: str, folder: Path) -> object:
    """Read the texts of a column."""
    (folder / "t.csv").write_text("id,text,label\n1,a b,x\n2,c,y\n")
    texts, _, documents = text.partition("&")
    return len(list(open_texts(folder / "t.csv", column=texts, document=documents or None).texts()))


def address(text: str, folder: Path) -> object:
    """Take an address of a table apart; neither it nor a message shows a password."""
    del folder
    hidden = f":{SECRET}@" in text.partition("?")[0] and text.count(SECRET) == 1
    try:
        found = parse_address(text)
    except isoscope.IsoscopeError as error:
        said: str = str(error)
        if hidden and SECRET in said:
            raise AssertionError(f"a password is shown: {said}") from error
        raise
    assert not (hidden and SECRET in f"{found.shown} {found!r}"), "a password is shown"
    return found.column is None


WORDS: dict[str, Callable[[str, Path], object]] = {
    "gate": lambda text, _: parse_gate(text).__class__,
    "size": lambda text, _: parsed_size(text).bit_length(),
    "components": lambda text, _: len(parse_components(text)),
    "every": lambda text, _: parse_every(text).__class__,
    "pattern": lambda text, folder: min(len(matches(f"{folder}/{text}")), 3),
    "column": column,
    "address": address,
}


def word_seeds() -> list[Files]:
    texts = (
        "gate\tmean_cosine@center>0.1", "size\t2GB", "size\t1.5GiB", "components\t1,2,4",
        "every\t2", "pattern\t*.t*", "column\ttext", "column\ttext&label",
        f"address\tpostgresql://me:{SECRET}@host:5432/db?table=a.b&column=v&id=n",
        f"address\tpostgresql://me:{SECRET}@[::1]/db?sslmode=require&table=t",
    )  # fmt: skip
    return [{"words.txt": text.encode()} for text in texts]


def read_words(folder: Path) -> object:
    text = (folder / "words.txt").read_text("utf-8", "surrogateescape")
    kind, _, rest = text.partition("\t")
    if kind not in WORDS or "\x00" in rest:  # which no command line can hold
        kind, rest = "gate", ""
    rest = "".join(c for c in rest[:100] if c.isprintable())  # who calls gets own words back
    if kind == "address" and not is_postgres(rest):
        rest = f"postgresql://{rest}"
    return f"{kind} {WORDS[kind](rest, folder)}"


FORMATS: dict[str, Any] = {
    ".npy": changed_npy, ".npz": changed_zip(changed_npy), ".safetensors": changed_safetensors,
    ".txt": changed_tokens, ".jsonl": changed_json_lines, CORRECTION: signed_correction,
}  # fmt: skip
LINES: dict[str, Any] = {
    ".txt": changed_tokens, ".csv": changed_tokens, ".tsv": changed_tokens, ".all": changed_tokens,
    ".json": changed_json, "MEN_dataset_lemma_form_full": changed_tokens,
}  # fmt: skip
TARGETS = [
    Target("correct apply", applied_seeds, read_applied, FORMATS, tiny=60),
    Target("page", page_seeds, read_page, {".json": changed_json}, tiny=20),
    Target("verify", verified_seeds, read_verified,
           {".json": changed_json, ".safetensors": signed_correction}, tiny=60),
    Target("data sets", data_set_seeds, read_data_set, LINES),
    Target("words of a call", word_seeds, read_words, {".txt": changed_tokens}, ("psycopg",)),
]  # fmt: skip
