"""Models of the Hugging Face hub, fetched into its cache when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoscope.errors import DataError, UsageError
from isoscope.models.quiet import first_line, library, quietly
from isoscope.models.sources import CONFIG, Source
from isoscope.models.weight_files import places

SMALL_FILES = ["*.json", "*.txt", "*.model", "*.jinja"]
WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
"""Which weights to fetch, the first kind that there is."""


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
            if self._is_complete():
                return
            self._fetch([*SMALL_FILES, patterns])

    def _is_complete(self) -> bool:
        """Whether all files of the weights are there; a download may have been broken off."""
        try:
            return all(path.is_file() for path in places(self.folder, self.name))
        except DataError:
            return False

    def _fetch(self, patterns: list[str]) -> None:
        if not self.reachable:
            return
        hub = library("huggingface_hub")
        try:
            with quietly():
                hub.snapshot_download(
                    self.name,
                    revision=self.revision,
                    allow_patterns=patterns,
                    ignore_patterns=["*/*"],
                )
        except Exception as error:
            raise refusal(self.name, self.revision, error) from error


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
    if isinstance(error, errors.HFValidationError):
        return UsageError(
            f"{name}: there is no such folder, and no model of the hub has such a name"
        )
    if isinstance(error, errors.GatedRepoError):
        return UsageError(
            f"{name} is gated: accept its terms on its page, then set HF_TOKEN or run hf auth login"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return UsageError(f"{name} has no revision {revision}")
    if isinstance(error, errors.RepositoryNotFoundError):
        return UsageError(
            f"{name}: there is no such folder, and no such public model on the hub "
            "(a private one needs HF_TOKEN)"
        )
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
