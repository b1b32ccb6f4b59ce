"""Targets: files that isoscope itself wrote, pairs and benchmarks, and names of options."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import isoscope
from fuzz.mutations import (
    Files,
    changed_json,
    changed_json_lines,
    changed_numbers,
    changed_tokens,
    changed_value,
    dumped,
    joined_safetensors,
    split_safetensors,
)
from fuzz.target import Target
from isoscope.compute import vector_cache
from isoscope.compute.journal import BEGINNING, ZEROS, Journal
from isoscope.corrections.registry import parse_corrections
from isoscope.corrections.storage import METADATA_NAME, checksum, fingerprint_of, load_correction
from isoscope.measures.registry import choose_measures
from isoscope.models.checkpoint_cache import read_mark
from isoscope.results.result import Result
from isoscope.tasks.datasets.beir import read_retrieval
from isoscope.tasks.datasets.own_pairs import read_own_pairs
from isoscope.tasks.registry import find_task
from isoscope.verbs.evaluate.word_vectors import read_vocabulary
from isoscope.verbs.study.answer import several_screen
from isoscope.verbs.study.registry import find_study
from isoscope.verbs.study.runs.folder import StudyFolder
from isoscope.verbs.study.text import compared_markdown, summary
from isoscope.verbs.threshold.score_map import ScoreMap, load_maps, save_maps

VECTORS = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32) + 0.5
STORED = Path(__file__).parents[1] / "results" / "stored"


@cache
def made_files() -> dict[str, bytes]:
    """Write one file of each kind that isoscope writes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", VECTORS)
        source = str(folder / "x.npy")
        isoscope.measure(source, intervals=True).save(folder / "measure.json")
        isoscope.measure(source, neighbours=True, neighbour_sample=50).save(folder / "search.json")
        for correction in ("whiten", "center", "all-but-the-top", "standardize", "clip",
                           "cluster-pc-removal:n_clusters=2:n_components=1"):  # fmt: skip
            path = folder / f"{correction.partition(':')[0]}.safetensors"
            isoscope.fit_correction(source, correction, path)
        maps = [ScoreMap("percentile", "none", (-0.5, 0.2, 0.9), (0.0, 0.4, 1.0))]
        save_maps(maps, folder / "map.json", {"made": "for tests"})
        with Journal.open(folder / "journal", CONFIGURATION) as journal:
            journal.save("read 1", {"sums": np.eye(3), "rows": np.arange(4)}, {"rows": 12})
            journal.save("read 2", {"sums": np.ones(2)}, {"at": [1, 2]}, finished=False)
        cache_of = vector_cache.VectorCache(folder / "cache")
        keys = vector_cache.text_keys(TEXTS)
        cache_of.put("space", keys, VECTORS[:3])
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }


CONFIGURATION = {"source": "x.npy", "options": {"seed": 0}}
TEXTS = ["one", "two", "three"]


def picked(*names: str, called: str) -> Callable[[], list[Files]]:
    """Return seeds that are one of the files each, under one name."""
    return lambda: [{called: made_files()[name]} for name in names]


def read_result(folder: Path) -> object:
    result = Result.load(folder / "result.json")
    shown = (repr(result), result.to_markdown(), result._repr_html_())
    again = Result.from_json(result.to_json())
    assert len(again.rows) == len(result.rows), "rows were lost on a round trip"
    return f"{min(len(shown[0]), 2)} {min(len(result.rows), 3)}"


def result_seeds() -> list[Files]:
    found = [made_files()["measure.json"], made_files()["search.json"]]
    small = []
    for content in found:
        values = json.loads(content)
        values["rows"] = values["rows"][:4]
        values["tables"] = values.get("tables", [])[:1]
        small.append({"result.json": json.dumps(values).encode()})
    return small


def read_report(folder: Path) -> object:
    text = isoscope.report([folder / "result.json"], corrections=("*",), references=True)
    return min(len(text), 3)


def study_seeds() -> list[Files]:
    """Return the files of a folder with one study."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", VECTORS)
        StudyFolder(folder / "studies").run(
            find_study("B-T1"), [f"mine={folder / 'x.npy'}"], seed=1, command="the call"
        )
        files = (folder / "studies").rglob("*.json")
        return [{
            path.relative_to(folder / "studies").as_posix(): path.read_bytes() for path in files
        }]  # fmt: skip


def read_studies(folder: Path) -> object:
    runs = list(StudyFolder(folder).runs())
    json.dumps([summary(run) for run in runs])
    compared_markdown(runs, "")
    several_screen(runs, "studies", compared=True)
    return len(runs)


def signed_correction(content: bytes, random: Random) -> bytes:
    """Change a correction, and sign it again as whoever forges one would."""
    header, data = split_safetensors(content)
    try:
        values = json.loads(header["__metadata__"][METADATA_NAME])
    except (LookupError, TypeError, ValueError, RecursionError):
        return content
    if not isinstance(values, dict):
        return content
    values.pop("checksum", None)
    kind = random.randrange(4)
    if kind == 0:
        data = changed_numbers(data, random)
    elif kind == 1:
        for entry in header:
            if entry != "__metadata__" and random.random() < 0.5:
                header[entry] = changed_value(header[entry], random)
    if kind >= 2:
        values = changed_value(values, random)
    from safetensors.numpy import load

    try:
        text = dumped(values)
        values = json.loads(text)
        arrays = load(joined_safetensors(header, data))
        if isinstance(values, dict):
            if random.random() < 0.9:
                values["fingerprint"] = fingerprint_of(
                    values.get("name"), values.get("parameters"), arrays
                )
            values["checksum"] = checksum(values)
            text = json.dumps(values)
    except BaseException:  # then it stays without a signature
        text = dumped(values)
    header["__metadata__"] = {METADATA_NAME: text}
    return joined_safetensors(header, data)


def read_stored_correction(folder: Path) -> object:
    correction = load_correction(folder / "x.safetensors")
    width = correction.n_features_in_
    if width < 1_000:
        with np.errstate(all="ignore"):
            out = correction.transform(np.ones((2, width), np.float32))
        assert len(out) == 2
    return correction.name


def signed_entry(content: bytes, random: Random) -> bytes:
    """Change an entry of a journal, with a checksum that is right again."""
    header, data = split_safetensors(content)
    header.pop("__metadata__", None)
    about = {"format_version": 1, "step": "read 1", "finished": True, "facts": {"rows": 12}}
    kind = random.randrange(3)
    if kind == 0:
        data = changed_numbers(data, random)
    elif kind == 1:
        header = changed_value(header, random)
    else:
        about = changed_value(about, random)
    rest = dumped(header)[1:] if isinstance(header, dict) and header else "}"
    inner = dumped(about).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    text = f'{ZEROS.decode()}","journal":{json.dumps(inner)}}}'
    text += ("," if rest != "}" else "") + rest
    raw = BEGINNING + text.encode("utf-8", "surrogatepass")
    raw += b" " * (-len(raw) % 8)
    size = len(raw).to_bytes(8, "little")
    digest = hashlib.sha256(size + raw + data).hexdigest().encode()
    start = len(BEGINNING)
    return size + raw[:start] + digest + raw[start + len(ZEROS) :] + data


def journal_seeds() -> list[Files]:
    found = {n: c for n, c in made_files().items() if n.startswith("journal/") and "lock" not in n}
    return [found]


def read_journal(folder: Path) -> object:
    with Journal.open(folder / "journal", CONFIGURATION, resume=True) as journal:
        steps = [journal.load(step) for step in ("read 1", "read 2", *journal.steps)]
        return len([step for step in steps if step is not None])


CACHED = "cache/x.isoscope-vectors"


def cache_seeds() -> list[Files]:
    found = next(c for n, c in made_files().items() if n.endswith(".isoscope-vectors"))
    return [{CACHED: found}]


def signed_cache(content: bytes, random: Random) -> bytes:
    """Change the header, the index or the vectors of a cache's file, with a right digest."""
    line, _, rest = content.partition(b"\n")
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return content
    if random.random() < 0.5:
        rest = changed_numbers(rest, random)
    if isinstance(header, dict):
        rows = header.get("rows")
        if type(rows) is int and 0 <= rows < 1_000:
            header["sha256"] = hashlib.sha256(rest[: rows * 36]).hexdigest()
        header = changed_value(header, random)
    return dumped(header).encode("utf-8", "surrogatepass") + b"\n" + rest


def read_cached(folder: Path) -> object:
    try:
        known, found = vector_cache.lookup(folder / CACHED, vector_cache.text_keys(TEXTS))
    except vector_cache.DamagedFileError:
        return "damaged"
    assert len(known) == len(found)
    return len(known)


def mark_seeds() -> list[Files]:
    about = {"repository": "a/b", "revision": "step1", "commit": "0" * 40}
    return [{".isoscope-checkpoint.json": json.dumps(about).encode()}]


def read_checkpoint_mark(folder: Path) -> object:
    from isoscope.models.checkpoint_cache import MARK

    (folder / MARK).write_bytes((folder / ".isoscope-checkpoint.json").read_bytes())
    return type(read_mark(folder)).__name__


def read_map(folder: Path) -> object:
    found = load_maps(folder / "map.json")
    for one in found.values():
        assert np.isfinite(one(0.3, outside="clip"))
    return len(found)


PAIRS_TSV = b'sentence1\tsentence2\tscore\na "cat\ta, dog\t3.5\none\ttwo\t-1\nthree\tfour\t2\n'
PAIRS_CSV = b'row1,row2,label\n1,2,1\n0,3,0\n"4",5,1\n'
PAIRS_JSONL = b"".join(
    json.dumps({"sentence1": a, "sentence2": b, "score": s}).encode() + b"\n"
    for a, b, s in (("a", "b", 1), ("c", "d", 0.5), ("e", "f", -1))
)


def read_pairs(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        pairs = read_own_pairs(folder / name)
        if pairs.kind == "rows":
            pairs.row_numbers(10, None)
        elif pairs.kind == "texts":
            pairs.text_pairs()
        return f"{pairs.kind} {pairs.yes_no}"

    return read


def beir_seeds() -> list[Files]:
    corpus = [{"_id": "d1", "title": "Cats", "text": "They sit."}, {"_id": 3, "text": "Birds."}]
    queries = [{"_id": "q1", "text": "who sits?"}, {"_id": "q2", "text": "who reads?"}]
    qrels = b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t3\t0\nq2\t3\t1\n"

    def lines(rows: list[Any]) -> bytes:
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    return [
        {"corpus.jsonl": lines(corpus), "queries.jsonl": lines(queries), "qrels/test.tsv": qrels},
        {"corpus.ids": b"d1\n3\n", "queries.ids": b"q1\nq2\n", "qrels/test.tsv": qrels},
    ]


def read_beir(folder: Path) -> object:
    found = read_retrieval(folder)
    for query, judged in found.judgements.items():
        assert query in found.queries.ids
        assert set(judged) <= set(found.documents.ids)
    return len(found.judgements)


def benchmark_seeds() -> list[Files]:
    """Small files in the layout of releases."""
    wic = {
        f"WiC/{part}/{part}.{kind}.txt": content
        for part in ("train", "dev", "test")
        for kind, content in (
            ("data", b"run\tV\t1-0\tShe runs .\tRan a mile .\n"), ("gold", b"T\n"),
        )
    }  # fmt: skip
    boolq = json.dumps({"question": "is it", "passage": "So.", "idx": 0, "label": "true"})
    words = b"old\tnew\tA\t1.58\t2.72\t2.81\t2\t1\t7.25\t0.41\n" * 2
    return [
        wic,
        {"BoolQ/val.jsonl": boolq.encode() + b"\n"},
        {"SimLex-999.txt": b"word1\tword2\tPOS\tSimLex999\ta\tb\tc\td\te\tf\n" + words},
    ]


def read_benchmark(folder: Path) -> object:
    import warnings

    name = "wic" if (folder / "WiC").is_dir() else "boolq"
    name = "simlex-999" if (folder / "SimLex-999.txt").is_file() else name
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*in the release of")
        return len(find_task(name).load(folder))  # type: ignore[attr-defined]


def read_words(name: str) -> Callable[[Path], object]:
    return lambda folder: min(len(read_vocabulary(folder / name)), 9)


def specification_seeds() -> list[Files]:
    texts = ("whiten", "all-but-the-top:n_components=3", "clip:renormalize=true", "none",
             "cluster-pc-removal:n_clusters=4:n_components=2", "i1,i2", "mean_cosine",
             "local_i1:n_clusters=9", "all")  # fmt: skip
    return [{"options.txt": text.encode()} for text in texts]


def read_specification(folder: Path) -> object:
    text = (folder / "options.txt").read_text("utf-8", "surrogateescape")
    try:
        return str(len(parse_corrections([text])))
    except isoscope.IsoscopeError:
        return str(min(len(choose_measures(text)), 3))


TARGETS = [
    Target("result", result_seeds, read_result, {".json": changed_json}, tiny=60),
    Target("report", result_seeds, read_report, {".json": changed_json}, tiny=60),
    Target(
        "correction",
        picked("whiten.safetensors", "center.safetensors", "all-but-the-top.safetensors",
               "standardize.safetensors", "clip.safetensors", "cluster-pc-removal.safetensors",
               called="x.safetensors"),
        read_stored_correction,
        {".safetensors": signed_correction},
    ),
    Target("studies", study_seeds, read_studies, {".json": changed_json}, tiny=60),
    Target("journal", journal_seeds, read_journal,
           {".safetensors": signed_entry, ".json": changed_json}),
    Target("vector cache", cache_seeds, read_cached, {".isoscope-vectors": signed_cache}),
    Target("checkpoint mark", mark_seeds, read_checkpoint_mark, {".json": changed_json}),
    Target("score map", picked("map.json", called="map.json"), read_map, {".json": changed_json}),
    Target("pairs .tsv", lambda: [{"p.tsv": PAIRS_TSV}], read_pairs("p.tsv"),
           {".tsv": changed_tokens}),
    Target("pairs .csv", lambda: [{"p.csv": PAIRS_CSV}], read_pairs("p.csv"),
           {".csv": changed_tokens}),
    Target("pairs .jsonl", lambda: [{"p.jsonl": PAIRS_JSONL}], read_pairs("p.jsonl"),
           {".jsonl": changed_json_lines}),
    Target("BEIR", beir_seeds, read_beir,
           {".jsonl": changed_json_lines, ".tsv": changed_tokens, ".ids": changed_tokens}),
    Target("benchmarks", benchmark_seeds, read_benchmark,
           {".jsonl": changed_json_lines, ".txt": changed_tokens}),
    Target("vocabulary .json", lambda: [{"v.json": b'{"the": 0, "of": 1, "a": 2}'}],
           read_words("v.json"), {".json": changed_json}),
    Target("vocabulary .txt", lambda: [{"v.txt": b"the\nof\na\n"}], read_words("v.txt"),
           {".txt": changed_tokens}),
    Target("options", specification_seeds, read_specification, {".txt": changed_tokens}),
]  # fmt: skip
