"""Compares what isoscope prints and writes with what it did before, to the last digit.

    python tools/guards.py                  compare this checkout with tests/guards/stored
    python tools/guards.py measure report   compare some of it
    python tools/guards.py --list           show what there is
    python tools/guards.py --store [NAME…]  store what this checkout gives as what is right

``tests/guards/commands.toml`` has the commands, ``tests/guards/inputs_for_guards.py`` makes what
they read. For every guard, ``tests/guards/stored/NAME`` has what its commands printed, with their
exit codes and the names and digests of the files they wrote (``run.txt``), and the files that are
text or fitted corrections. What differs between two runs of one checkout is replaced before it is
compared: see ``VOLATILE``. Numbers are compared as text.

Stored numbers hold for the locked versions of packages, on x86-64 with AVX2 (see ``ENVIRONMENT``).
``arithmetic`` is a guard of its own: where it differs, the machine or a library rounds in another
way, and differences in other guards mean nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# What is not at the top of the package.
# All names inside isoscope that this file uses. What moves is changed here and nowhere else.
MAIN = "isoscope.cli.app:main"
APP = "isoscope.cli.app:app"
REGISTRIES = {
    "formats of vectors": "isoscope.data.formats.registry:FORMATS",
    "formats of texts": "isoscope.data.texts.open:FORMATS",
    "packages": "isoscope.data.formats.registry:PACKAGES",
    "measures": "isoscope:all_measures",
    "measures of context": "isoscope.measures.context.definitions:CONTEXTUAL_MEASURES",
    "corrections": "isoscope.corrections:all_corrections",
    "families of tasks": "isoscope.tasks.registry:Family",
    "tasks": "isoscope.tasks:all_tasks",
    "tasks of one's own": "isoscope.tasks.registry:own_kinds",
    "topics": "isoscope.verbs.explain.api:TOPICS",
    "calibrations": "isoscope.verbs.train.regularizers.registry:NAMES",
    "sizes of models from nothing": "isoscope.verbs.train.pretrain.plan:SIZES",
    "studies": "isoscope.verbs.study.registry:all_studies",
    "figures": "isoscope.results.charts.registry:MAKERS",
}
COUNTED = ("figures",)
"""Registries of functions, whose names are nobody's business but the code's."""

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "tests" / "guards"
STORED = HERE / "stored"
RUN, INPUTS = "run.txt", "inputs.txt"
JOBS = 2
STORING = "GUARDS_STORE"
"""Environment variable that is set while outputs are stored."""
BEGUN = "begun"
"""Folder of journals of killed runs, as they were left; it is input, and not compared."""
RESUMED = "== resumed"
INPUT_TIME = 1_700_000_000
LONG = (
    "profile-workers", "journals", "registries", "study-folder", "pictures", "evaluate-own",
    "train-finetune",
)  # fmt: skip
"""Guards that take longest, and come first."""
LONGEST = 240
"""Seconds after which a guard is given up."""
SHOWN, WIDEST = 4, 160
"""Differences shown of one file, and characters of each."""

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # The same instructions on every x86-64 with AVX2, so that last digits are the same as well.
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "FAISS_OPT_LEVEL": "avx2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "CUDA_VISIBLE_DEVICES": "",
    "COLUMNS": "120",
    "LINES": "50",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "PYTHONUTF8": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests", HERE))),
    "ISOSCOPE_CACHE": "off",
}
UNSET = ("ISOSCOPE_DATA", "ISOSCOPE_PROGRESS", "FORCE_COLOR", "TTY_COMPATIBLE")

PRELOADED = ("numpy", "scipy.stats", "sklearn.cluster", "pyarrow.parquet", "faiss", MAIN[:-5])
PRELOADED_MODELS = (
    "torch", "transformers", "transformers.trainer", "accelerate",
    "transformers.models.bert.modeling_bert", "transformers.models.gpt2.modeling_gpt2",
)  # fmt: skip

KEPT = (".json", ".jsonl", ".md", ".csv", ".txt", ".vec", ".tex")
"""Endings of files that are stored as they are and compared line by line."""
PAGE = ".html"
FITTED = ".safetensors"
LARGEST = 600_000
"""Bytes of a file that is stored."""

PACKAGES = "isoscope|torch|transformers|numpy|scipy|sklearn|scikit-learn|python|faiss|pyarrow"
NUMBER = r"-?\d[\d.e+-]*"
VOLATILE: tuple[tuple[str, str], ...] = (
    (rf'"({PACKAGES}|transformers_version|isoscope_version)": "[^"]*"', r'"\1": "<version>"'),
    (r"\bisoscope \d+\.\d+[\w.+]*", "isoscope <version>"),
    (r"isoscope <span>[^<]*</span>", "isoscope <span><version></span>"),
    (r"\bVersions: [^<]*<", "Versions: <version><"),
    (r"/tmp/isoscope-[\w-]+", "<temporary>"),
    # Of a file with all of the above in it.
    (r',\s*"checksum": "[0-9a-f]{64}"', ""),
    # How a study was made: on which day and machine, from which commit, and with how much memory.
    (r'("(?:commit|date|machine|digest)": )"[^"]*"', r'\1"<made>"'),
    (r'\s*"commit": "<made>",', ""),
    (rf'("memory": ){NUMBER}', r"\1<memory>"),
    # Time. In JSON it is a field, or a row of its own measure.
    (rf'("(?:seconds|seconds_left|elapsed|rate)": )(?:{NUMBER}|null)', r"\1<seconds>"),
    (rf'("measure": "[^"]*seconds[^"]*",\s*"value": ){NUMBER}', r"\1<seconds>"),
    # What studies took us, which follows from the records of their last runs.
    (r'"costs": \[[^\]]*\]', '"costs": "<measured>"'),
    (r"(?m)^(  Took    ).*\n(?: {10}.*\n)*", r"\1<measured>\n"),
    (r"(?m)^.* on \S+: it took .* \(2 cores, [^\n]*\n", ""),
    (rf'"processor": {NUMBER},\s*', ""),
    (r"; \d+ left, about [^\n]*", ""),
    # A line that is there from one second on, and one that is there after every second.
    (r"(?m)^[\d,]+ s of training\n", ""),
    (r'\{"progress": "[^"]*", "done": (\d+), "total": (?!\1,)[^}]*\}\n', ""),
)
"""Patterns of what differs between two runs of the same code, and what stands for it."""


@dataclass(frozen=True)
class Guard:
    """Some commands, or a function of this file, whose output is stored.

    Attributes
    ----------
    name : str
        Also that of the folder in ``stored``.
    commands : tuple of str
        Arguments of ``isoscope``; OUT stands for a folder of the guard's own.
    models : bool
        Whether it needs torch and tiny models.
    quick : bool
        Whether the test suite runs it.
    cache : bool
        Whether vectors of texts are kept, in ``OUT/cache``.
    stored : mapping
        Guards whose stored files it reads, and the folder that these are copied to.
    names : tuple of str
        Folders below OUT of which only the names of files are compared.
    """

    name: str
    commands: tuple[str, ...] = ()
    models: bool = False
    quick: bool = False
    cache: bool = False
    stored: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def out(self) -> Path:
        """The folder that its commands write to, below the working folder."""
        return Path("out", self.name)


Found = dict[str, bytes]
"""What a guard gave: ``run.txt`` and files, by name."""


def load(name: str) -> Any:
    """Return what a line of the table at the top of this file names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def all_guards() -> dict[str, Guard]:
    """Return every guard by name, in the order of the file of commands."""
    tables = tomllib.loads((HERE / "commands.toml").read_text("utf-8"))
    guards = {guard.name: guard for guard in SPECIAL}
    for name, table in tables.items():
        options: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
        }
        guards[name] = Guard(name, **options)
    return guards


# Running.


def run_commands(guard: Guard) -> str:
    """Run the commands of a guard here, and return what they printed."""
    return "\n".join(run_command(command, guard.out) for command in guard.commands)


def run_command(command: str, out: Path) -> str:
    """Run one command in this process and return what it printed, with its exit code."""
    arguments = shlex.split(command.replace("OUT", str(out)))
    code, printed, complained = call(arguments)
    parts = [f"$ isoscope {shlex.join(arguments)}", f"exit code {code}"]
    parts += [f"--- standard output\n{printed}" if printed else ""]
    parts += [f"--- standard error\n{complained}" if complained else ""]
    return "\n".join(part for part in parts if part) + "\n"


def call(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Call the command line's main function; files stand for both streams, as in a pipe."""
    seed_everything()
    main = load(MAIN)
    sys.argv = ["isoscope", *arguments]
    with captured(1, sys.stdout) as printed, captured(2, sys.stderr) as complained:
        try:
            main()
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
        except BaseException:
            traceback.print_exc()
            code = -1
    return code, printed.getvalue(), complained.getvalue()


@contextlib.contextmanager
def captured(number: int, stream: Any) -> Iterator[io.StringIO]:
    """Collect what goes to a file descriptor, also from libraries in C and child processes."""
    found = io.StringIO()
    with tempfile.TemporaryFile() as file:
        stream.flush()
        before = os.dup(number)
        os.dup2(file.fileno(), number)
        try:
            yield found
        finally:
            stream.flush()
            os.dup2(before, number)
            os.close(before)
            file.seek(0)
            found.write(file.read().decode("utf-8", "replace"))


def seed_everything() -> None:
    """Begin every command with the same global random states, as a new process might not.

    Nothing in isoscope should depend on them; libraries may.
    """
    import random

    import numpy as np

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  the one that others may use
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.manual_seed(0)
        torch.set_num_threads(1)


class Instant(float):
    """What stands for a time: from any to any other it takes exactly a second.

    Seconds are printed in tables, whose columns become as wide as they have digits, so they cannot
    be replaced afterwards; and they must not be zero, as ratios of them are printed as well.
    """

    def __sub__(self, other: object) -> float:
        """Return how long it took."""
        return 1.0

    def __rsub__(self, other: object) -> float:
        """Return how long it took."""
        return 1.0


def hold_the_clock() -> None:
    """Let everything take a second, by the clock that isoscope looks at."""
    real = time.perf_counter
    time.perf_counter = lambda: Instant(real())


def work(guard: Guard, folder: Path, target: Path) -> None:
    """Run a guard in a process of its own, and leave what it gave in a folder."""
    os.chdir(folder)
    os.setpgrp()
    guard.out.mkdir(parents=True, exist_ok=True)
    os.environ["ISOSCOPE_CACHE"] = str(guard.out / "cache") if guard.cache else "off"
    for source, place in guard.stored.items():
        copy_stored(source, Path(place))
    hold_the_clock()
    if guard.commands:
        with contextlib.suppress(Exception):  # what typer makes of all commands takes a while
            quicken()
    function = FUNCTIONS.get(guard.name, run_commands)
    try:
        printed = function(guard)
    except Exception:
        printed = traceback.format_exc()
    found = written(guard)
    listed = "".join(f"{line}\n" for line in found.pop("", b"").decode().splitlines())
    text = printed + (f"\n--- files\n{listed}" if listed else "")
    found[RUN] = normal(text, folder).encode()
    for name, content in found.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(str(folder).encode(), b"<folder>"))


def quicken() -> None:
    """Make the parser of all commands once, where the frame has a Typer to make it of."""
    import typer.main

    module, _, attribute = APP.partition(":")
    frame = importlib.import_module(module)
    app = getattr(frame, attribute)
    if isinstance(app, typer.Typer):
        setattr(frame, attribute, typer.main.get_command(app))


def copy_stored(guard: str, place: Path) -> None:
    """Copy the stored files of another guard into the working folder."""
    for path in sorted((STORED / guard).rglob("*")):
        name = path.relative_to(STORED / guard)
        if path.is_file() and str(name) != RUN:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            target = place / name
            # Two guards may do so at once; whole files appear, always with the same content.
            beside = target.with_name(f".{os.getpid()}-{target.name}")
            shutil.copyfile(path, beside)
            os.utime(beside, (INPUT_TIME, INPUT_TIME))
            beside.replace(target)


def written(guard: Guard) -> Found:
    """Return files of a guard that are stored, and under an empty name a line for each of all."""
    found, lines = {}, []
    for path in sorted(path for path in guard.out.rglob("*") if path.is_file()):
        name = path.relative_to(guard.out)
        content = path.read_bytes()
        if name.parts[0] == BEGUN:
            found[str(name)] = content
        elif name.parts[0] in guard.names:
            lines.append(str(name))
        elif path.suffix == PAGE:
            lines.append(str(name))
            found[str(name)] = page_text(content)
        elif path.suffix in KEPT and len(content) < LARGEST and name.parts[-1] not in OF_OTHERS:
            lines.append(str(name))
            found[str(name)] = content
        elif is_fitted(content):
            lines.append(f"{name} {digest(fitted_text(content))}")
            found[str(name)] = content
        elif path.suffix == ARCHIVE:
            lines.append(f"{name} {digest(unpacked(content))}")
        elif name.parts[-1] in OF_OTHERS:
            lines.append(str(name))
        else:
            lines.append(f"{name} {digest(content)}")
    found[""] = "\n".join(lines).encode()
    return found


OF_OTHERS = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json",
             "special_tokens_map.json", "vocab.json", "merges.txt")  # fmt: skip
"""Files that transformers writes, in its own layout."""
ARCHIVE = ".npz"


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def unpacked(content: bytes) -> bytes:
    """Return what an archive holds, without the times of day that it notes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return b"".join(name.encode() + archive.read(name) for name in archive.namelist())


def page_text(content: bytes) -> bytes:
    """Return a page without the script that draws, which is somebody else's."""
    text = re.sub(r"(<script[^>]*>)(?:(?!</script>).){99999,}", r"\1", content.decode(), flags=re.S)
    return normal(text, Path.cwd()).encode()


def header_of(content: bytes) -> dict[str, Any]:
    """Return the header of a .safetensors file; empty where it is none."""
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length]) if 0 < length < len(content) else {}
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}


def is_fitted(content: bytes) -> bool:
    """Whether some bytes are a file of a fitted correction."""
    return any("correction" in name for name in header_of(content).get("__metadata__", {}))


def fitted_text(content: bytes) -> bytes:
    """Return a fitted correction, apart from the version of isoscope and the checksum over it."""
    header = header_of(content)
    for name, text in header["__metadata__"].items():
        values = json.loads(text)
        if isinstance(values, dict):
            values.pop("isoscope_version", None)
            values.pop("checksum", None)
        header["__metadata__"][name] = values
    start = 8 + int.from_bytes(content[:8], "little")
    return json.dumps(header, sort_keys=True).encode() + content[start:]


def normal(text: str, folder: Path) -> str:
    """Return a text with placeholders for what differs between runs of the same code."""
    for place, word in ((folder, "<folder>"), (ROOT, "<checkout>")):
        for path in {str(place), str(place.resolve())}:
            text = text.replace(path, word)
    for pattern, replacement in VOLATILE:
        text = re.sub(pattern, replacement, text)
    return text


# Guards that are no commands.


def arithmetic(guard: Guard) -> str:
    """Return digests of what libraries compute, without isoscope."""
    del guard
    import numpy as np

    rng = np.random.default_rng(0)
    a = rng.normal(size=(64, 48))
    single = a.astype(np.float32)
    found: dict[str, Any] = {
        "numpy": np.__version__,
        "drawn": a,
        "product": a.T @ a,
        "product in single precision": single.T @ single,
        "eigenvalues": np.linalg.eigh(a.T @ a)[0],
        "singular values": np.linalg.svd(single)[1],
        "exponentials": np.exp(a),
        "exponentials in single precision": np.exp(single),
    }
    lines = [
        f"{name}: {value if isinstance(value, str) else digest(value.tobytes())}"
        for name, value in found.items()
    ]
    return "\n".join(lines) + "\n"


def arithmetic_of_models(guard: Guard) -> str:
    """Return digests of what torch computes."""
    del guard
    import torch

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(64, 48, generator=generator)
    found = {
        "drawn": a,
        "product": a.T @ a,
        "exponentials": a.exp(),
        "softmax": a.softmax(-1),
        "gelu": torch.nn.functional.gelu(a),
        "norm": torch.nn.functional.layer_norm(a, (48,)),
        "eigenvalues": torch.linalg.eigvalsh((a.T @ a).double()),
    }
    lines = [f"{name}: {digest(value.numpy().tobytes())}" for name, value in found.items()]
    return f"torch: {torch.__version__}\n" + "\n".join(lines) + "\n"


def inputs(guard: Guard) -> str:
    """Return digests of everything that commands read: where these differ, all else may."""
    del guard
    return Path(INPUTS).read_text("utf-8")


def make_inputs(folder: Path, models: bool) -> None:
    """Make what commands read, and note the digest of every file."""
    os.chdir(folder)
    seed_everything()
    importlib.import_module("inputs_for_guards").make_inputs(Path(), models=models)
    lines = []
    for path in sorted(path for path in Path().rglob("*") if path.is_file()):
        # Archives have the time of day in them, a configuration the version of transformers.
        same = path.suffix not in (".gz", ARCHIVE) and path.name not in OF_OTHERS
        lines.append(f"{path} {digest(path.read_bytes())}" if same else str(path))
    Path(INPUTS).write_text("\n".join(lines) + "\n", "utf-8")


def registries(guard: Guard) -> str:
    """Return what is registered in a fresh process that imports one registry at a time."""
    del guard
    lines = []
    for name, where in REGISTRIES.items():
        done = subprocess.run(
            [sys.executable, __file__, "--registry", name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        lines.append(f"{name}: {done.stdout.strip() or f'{where}: {done.stderr[-300:]}'}")
    return "\n".join(lines) + "\n"


def registered(name: str) -> str:
    """Return the names of one registry, or how many there are."""
    from typing import get_args

    value = load(REGISTRIES[name])
    value = get_args(value) or (value() if callable(value) else value)
    if name in COUNTED:
        return str(len(value))
    if isinstance(value, Mapping):
        return ", ".join(value)
    names = [
        one if isinstance(one, str)
        else next(getattr(one, key) for key in ("id", "name", "kind") if hasattr(one, key))
        for one in value
    ]  # fmt: skip
    return ", ".join(names)


PUBLIC = (
    "Batch", "Cloud", "CloudGroup", "DataError", "IsoscopeError", "Measure", "Model", "Result",
    "Row", "Table", "UsageError", "__version__", "advise", "all_measures", "diff", "evaluate",
    "load_correction", "make_correction", "measure", "open_cloud", "open_model", "profile",
    "threshold",
)  # fmt: skip
"""What the package had at its top when the outputs were stored; there may be more by now."""


def python_calls(guard: Guard) -> str:
    """Return what calls of the package say: results as text, as HTML and as data."""
    import numpy as np

    import isoscope

    missing = [name for name in PUBLIC if not hasattr(isoscope, name)]
    vectors = np.load("cloud.npy")
    result = isoscope.measure(vectors, corrections=["none", "center"], measures="mean_cosine,i1")
    result.save(guard.out / "result.json")
    again = isoscope.Result.load(guard.out / "result.json")
    lines = [
        f"missing: {missing}",
        repr(result),
        result._repr_html_(),
        result.to_markdown(),
        f"the same after a round trip: {again.to_json() == result.to_json()}",
        json.dumps(again.to_rows()),
        repr(result.value("mean_cosine")),
        str([item.name for item in isoscope.all_measures()]),
    ]
    for text in ("center", "whiten:kind=zca", "all-but-the-top:n_components=2", "clip"):
        fitted = isoscope.make_correction(text).fit(vectors)
        all_rows, one_row = fitted.transform(vectors), fitted.transform(vectors[:1])
        lines.append(f"{fitted!r} {fitted.fingerprint}")
        lines.append(f"    {digest(all_rows.tobytes())} {digest(one_row.tobytes())}")
    return "\n".join(lines) + "\n"


def loaded_corrections(guard: Guard) -> str:
    """Return what stored files of corrections do once loaded, and their fingerprints."""
    import numpy as np

    import isoscope

    vectors = np.load("small.npy")
    lines = []
    for path in sorted(Path(guard.stored["correct-fit"]).glob(f"*{FITTED}")):
        fitted = isoscope.load_correction(path)
        changed = fitted.transform(vectors)
        seen = fitted.fitted_on_
        lines.append(f"{path.name}: {fitted!r} {fitted.fingerprint} {seen}")
        lines.append(f"    {changed.dtype} {digest(np.ascontiguousarray(changed).tobytes())}")
    return "\n".join(lines) + "\n"


JOURNALS = {
    "profile": (
        "step *read*",
        "profile tiny-gpt2 --text many.txt --measures mean_cosine,effective_rank "
        "--corrections none,center --shard 10 --workers 1 --out OUT/profile/result.json",
    ),
    "finetune": (
        "step *",
        "train finetune tiny-bert --task rte --data data --calibration none,cosreg --seeds 2 "
        "--epochs 2 --batch-size 4 --longest 32 --device cpu --out OUT/finetune/result.json",
    ),
}
"""Runs that are killed as soon as their journals have such a file, and then resumed."""


def journals(guard: Guard) -> str:
    """Return what resuming stored journals says; what it comes to is a file.

    A journal of another version may be refused instead, with one line and an exit code.
    """
    import isoscope

    lines = []
    for name, (awaited, command) in JOURNALS.items():
        place, begun = guard.out / name, STORED / guard.name / BEGUN / name
        arguments = shlex.split(command.replace("OUT", str(guard.out)))
        if STORING in os.environ:
            kill_in_the_middle(arguments, place, awaited)
            begun = Path(shutil.copytree(place, guard.out / BEGUN / name))
        else:
            shutil.copytree(begun, place)
        # A checkout has other times, and the order of steps is that of their files.
        for number, path in enumerate(sorted(place.rglob("*"))):
            os.utime(path, (INPUT_TIME + number, INPUT_TIME + number))
        lines.append(f"== {name}\n" + run_command(command, guard.out))
        (kept,) = begun.rglob("configuration.json")
        known = json.loads(kept.read_text("utf-8"))["isoscope"] == isoscope.__version__
        code, printed, complained = call([*arguments, "--resume"])
        if not known and code > 0 and not printed and complained.count("\n") == 1:
            print(f"{guard.name}: {name}: {complained}", file=sys.stderr, end="")
            shutil.rmtree(place)
            shutil.copytree(STORED / guard.name / name, place)
            lines.append(stored_section(guard, name))
        else:
            lines.append(f"{RESUMED} {name}, exit code {code}\n{printed}{complained}")
    return "\n".join(lines)


def stored_section(guard: Guard, name: str) -> str:
    """Return what is stored of resuming a journal, which a later version may refuse to do."""
    text = (STORED / guard.name / RUN).read_text("utf-8")
    return re.split(r"\n==|\n--- files", text[text.index(f"{RESUMED} {name}") :])[0]


def kill_in_the_middle(arguments: Sequence[str], place: Path, awaited: str) -> None:
    """Run a command in a process of its own, and kill it once its journal has some file."""
    place.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, __file__, "--main", shlex.join(arguments)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and not any(place.rglob(awaited)):
        time.sleep(0.002)
    process.kill()
    process.wait()
    if (place / "result.json").exists() or not any(place.rglob(awaited)):
        raise RuntimeError(f"{shlex.join(arguments)}: was not killed in the middle")


FUNCTIONS: dict[str, Callable[[Guard], str]] = {
    "arithmetic": arithmetic,
    "arithmetic-of-models": arithmetic_of_models,
    "inputs": inputs,
    "registries": registries,
    "python-calls": python_calls,
    "loaded-corrections": loaded_corrections,
    "journals": journals,
}
SPECIAL = (
    Guard("arithmetic", quick=True),
    Guard("arithmetic-of-models", models=True),
    Guard("inputs", models=True),
    Guard("registries"),
    Guard("python-calls", quick=True),
    Guard("loaded-corrections", models=True, stored={"correct-fit": "fitted"}),
    Guard("journals", models=True),
)


# Comparing and storing.


def run_guards(
    guards: Sequence[Guard], folder: Path, target: Path
) -> Iterator[tuple[Guard, float]]:
    """Run guards, some at a time, each in a process forked from one that has libraries loaded."""
    models = any(guard.models for guard in guards)
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([*PRELOADED, *(PRELOADED_MODELS if models else ())])
    first = server.Process(target=make_inputs, args=(folder, models))
    first.start()
    first.join()
    if first.exitcode:
        raise SystemExit("guards: the inputs could not be made")
    waiting = sorted(guards, key=lambda guard: guard.name not in LONG)
    running: dict[Any, tuple[Guard, float]] = {}
    while waiting or running:
        while waiting and len(running) < JOBS:
            guard = waiting.pop(0)
            process = server.Process(target=work, args=(guard, folder, target / guard.name))
            process.start()
            running[process] = guard, time.monotonic()
        time.sleep(0.02)
        for process, (guard, began) in list(running.items()):
            took = time.monotonic() - began
            if process.is_alive() and took > LONGEST:
                os.killpg(process.pid, signal.SIGKILL)
            if not process.is_alive():
                process.join()
                del running[process]
                yield guard, took


def compared(name: str, stored: Path, found: Path) -> list[str]:
    """Return a line for every difference between what is stored of a guard and what was found."""
    if not stored.is_dir():
        return [f"{name}: nothing is stored"]
    if not (found / RUN).is_file():
        return [f"{name}: did not finish"]
    files = {
        str(path.relative_to(folder))
        for folder in (stored, found)
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] != BEGUN
    }
    lines = []
    for file in sorted(files, key=lambda file: (file != RUN, file)):
        old, new = stored / file, found / file
        if not old.is_file() or not new.is_file():
            lines.append(f"{name}/{file}: {'is new' if new.is_file() else 'is gone'}")
        else:
            lines += [f"{name}/{file}{line}" for line in unlike(old.read_bytes(), new.read_bytes())]
    return lines


def unlike(old: bytes, new: bytes) -> list[str]:
    """Return a line for each of the first differences of two files, and how many more there are."""
    if old == new:
        return []
    if is_fitted(old) and is_fitted(new):
        return [] if fitted_text(old) == fitted_text(new) else [": another correction"]
    before = normal(old.decode("utf-8", "replace"), ROOT).splitlines()
    now = normal(new.decode("utf-8", "replace"), ROOT).splitlines()
    pairs = [
        (number, was, is_now)
        for number, (was, is_now) in enumerate(zip(before, now, strict=False), start=1)
        if was != is_now
    ]
    lines = [f":{number}: {shown(was, is_now)}" for number, was, is_now in pairs[:SHOWN]]
    if len(before) != len(now):
        lines = [*lines[:1], f": {len(before):,} lines are stored, now there are {len(now):,}"]
    elif len(pairs) > SHOWN:
        lines.append(f": {len(pairs) - SHOWN:,} more lines differ")
    return lines


def shown(was: str, is_now: str) -> str:
    """Return where two lines differ; they may be long."""
    pairs = enumerate(zip(was, is_now, strict=False))
    same = next((k for k, (one, other) in pairs if one != other), min(len(was), len(is_now)))
    start = 0 if max(len(was), len(is_now)) <= WIDEST else max(same - WIDEST // 4, 0)
    old, new = (line[start : start + WIDEST].strip() for line in (was, is_now))
    return f"stored {old!r}, now {new!r}"


def keep(name: str, found: Path) -> list[str]:
    """Store what a guard gave, in place of what was stored."""
    if not (found / RUN).is_file():
        return [f"{name}: did not finish, and nothing was stored"]
    shutil.rmtree(STORED / name, ignore_errors=True)
    shutil.copytree(found, STORED / name)
    return []


def chosen(names: Iterable[str]) -> list[Guard]:
    """Return the guards of some names, or all; ``quick`` stands for those of the test suite."""
    guards = all_guards()
    names = [*names]
    if names == ["quick"]:
        return [guard for guard in guards.values() if guard.quick]
    for name in names:
        if name not in guards:
            raise SystemExit(f"guards: there is no guard {name}; --list shows all")
    return [guards[name] for name in names] or [*guards.values()]


def set_environment() -> None:
    """Set what decides numbers and layout, before any library is loaded."""
    for name in UNSET:
        os.environ.pop(name, None)
    os.environ.update(ENVIRONMENT)


def run(guards: Sequence[Guard], judge: Callable[[str, Path], list[str]], kept: Path | None) -> int:
    """Run guards in a new folder and judge what each gave; returns the number of differences."""
    differences = 0
    with tempfile.TemporaryDirectory(prefix="guards-") as temporary:
        folder, found = Path(temporary, "work"), kept or Path(temporary, "found")
        folder.mkdir()
        os.environ["XDG_CACHE_HOME"] = str(Path(temporary, "cache"))
        for guard, took in run_guards(guards, folder, found):
            lines = judge(guard.name, found / guard.name)
            differences += len(lines)
            for line in lines:
                print(line, flush=True)
            state = "differs" if lines else "done"
            print(f"{guard.name}: {state} in {took:.1f} s", file=sys.stderr)
    return differences


def main() -> None:
    """Compare, store or list."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help="or quick: those of the tests")
    parser.add_argument("--store", action="store_true", help="store what this checkout gives")
    parser.add_argument("--list", action="store_true", help="show all guards")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave what was found in a folder")
    parser.add_argument("--registry", help=argparse.SUPPRESS)
    parser.add_argument("--main", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.main:
        hold_the_clock()
        call(shlex.split(asked.main))
        return
    if asked.registry:
        print(registered(asked.registry))
        return
    guards = chosen(asked.names)
    if asked.list:
        for guard in guards:
            kind = f"{len(guard.commands)} commands" if guard.commands else "a function"
            print(f"{guard.name}: {kind}{', quick' if guard.quick else ''}")
        return
    set_environment()
    sys.path[:0] = ENVIRONMENT["PYTHONPATH"].split(os.pathsep)
    began = time.monotonic()
    if asked.store:
        os.environ[STORING] = "1"
        # Some read what others stored.
        for some in ([g for g in guards if not g.stored], [g for g in guards if g.stored]):
            if some and run(some, keep, asked.keep):
                raise SystemExit(1)
        size = sum(path.stat().st_size for path in STORED.rglob("*") if path.is_file())
        print(f"{len(guards)} guards stored, {size / 1e6:.2f} MB in all")
        return
    differences = run(guards, lambda name, found: compared(name, STORED / name, found), asked.keep)
    took = time.monotonic() - began
    print(f"{len(guards)} guards, {differences} differences, {took:.0f} s")
    raise SystemExit(1 if differences else 0)


if __name__ == "__main__":
    main()
