"""``verify()``: whether a result, a correction or a journal is whole and unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from isoscope.compute.journal import (
    CONFIGURATION,
    checked_header,
    read_configuration,
    step_files,
)
from isoscope.corrections.storage import Header, load_correction, read_header
from isoscope.data.location import special_file
from isoscope.errors import DataError, IsoscopeError, UsageError, shortened
from isoscope.results.result import (
    CHECKSUM,
    SCHEMA_VERSION,
    Result,
    check_size,
    checksum_of,
    versions,
)
from isoscope.version import __version__
from isoscope.wording import counted

# "unknown" stands for what an older file does not store.
State = Literal["holds", "fails", "unknown"]
RESULT, CORRECTION, JOURNAL = "result", "correction", "journal"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; what is said about it is one line that is not too long."""

    name: str
    state: State
    about: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "about", shortened(" ".join(self.about.split())))


@dataclass(frozen=True)
class Verification:
    """What became of a file.

    Attributes
    ----------
    path : str
        The file or folder.
    kind : {"result", "correction", "journal"}
        What it is.
    checks : list of Check
        Schema, checksum, fingerprint, versions and the like, in the order in which they were made.
    """

    path: str
    kind: str
    checks: list[Check] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Whether nothing failed."""
        return all(check.state != "fails" for check in self.checks)

    def facts(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"verified": self.verified, **asdict(self)}


def verify(path: str | Path) -> Verification:
    """Check a result, a fitted correction or a journal: schema, checksums, fingerprint, versions.

    A checksum shows damage and careless changes. It is not a signature: whoever can write the file
    can write a checksum that fits.

    Parameters
    ----------
    path : str or Path
        A ``.json`` that ``--out`` wrote, a ``.safetensors`` that ``correct fit`` wrote, or the
        folder ``….journal`` of a run that did not finish.

    Returns
    -------
    Verification
        Every check with what was found.

    Examples
    --------
    >>> import isoscope, numpy as np, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> isoscope.measure(np.eye(6), "mean_cosine", "none").save(folder / "r.json")
    >>> isoscope.verify(folder / "r.json").verified
    True
    """
    place = Path(path)
    if not place.exists():
        raise UsageError(f"there is no file {place}")
    if place.is_dir():
        if not (place / CONFIGURATION).exists():
            raise UsageError(f"{place} is a folder, but not the journal of a run")
        return Verification(str(place), JOURNAL, journal_checks(place))
    if special_file(place):
        raise UsageError(f"{place} is {special_file(place)}; name a file")
    if place.suffix.lower() == ".json":
        return Verification(str(place), RESULT, result_checks(place))
    if place.suffix.lower() == ".safetensors":
        return Verification(str(place), CORRECTION, correction_checks(place))
    raise UsageError(
        f"{place}: verify takes a result (.json), a correction (.safetensors) or the journal of a "
        "run (a folder)"
    )


def attempt(name: str, look: Callable[[], str]) -> Check:
    """Make one check: what it returns is told, what it raises is what fails."""
    try:
        return Check(name, "holds", look())
    except IsoscopeError as error:
        return Check(name, "fails", str(error))


def result_checks(path: Path) -> list[Check]:
    """Check a stored result."""
    try:
        check_size(path)
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [Check("schema", "fails", f"it cannot be read: {error!s:.100}")]
    held: list[Result] = []

    def schema() -> str:
        held.append(Result.from_json(text))
        version = held[0].schema_version
        older = "" if version == SCHEMA_VERSION else f", and this isoscope writes {SCHEMA_VERSION}"
        return f"version {version}{older}; {counted(len(held[0].rows), 'row')}, all sound"

    checks = [attempt("schema", schema)]
    if held:
        checks += [result_checksum(text), versions_check(held[0].versions)]
    return checks


def result_checksum(text: str) -> Check:
    """Compare the checksum of a result with its content."""
    values = json.loads(text)
    found = values.pop(CHECKSUM, None)
    if found is None:
        why = "none is stored: an older isoscope wrote it, or it was printed by --json"
        return Check("checksum", "unknown", why)
    if found != checksum_of(values):
        return Check("checksum", "fails", "it does not match: the result was changed or damaged")
    return Check("checksum", "holds", f"SHA-256 {found[:16]}… matches")


def versions_check(there: Mapping[str, object]) -> Check:
    """Say with which versions a file was made, and how they differ from those that are here."""
    name = "versions"
    if "isoscope" not in there:
        return Check(name, "unknown", "it does not say with which versions it was made")
    made = ", ".join(f"{package} {version}" for package, version in there.items())
    other = [one for one, version in versions().items() if there.get(one, version) != version]
    differs = f"; other than here: {', '.join(other)}" if other else ""
    return Check(name, "holds", f"made with {made}{differs}")


def correction_checks(path: Path) -> list[Check]:
    """Check a fitted correction."""
    held: list[Header] = []

    def header() -> str:
        held.append(read_header(path))
        one = held[0]
        sizes = f"{one.width_in:,} to {one.width_out:,} dimensions"
        return f"format {one.format_version}, {one.name}, {sizes}"

    def tensors() -> str:
        load_correction(path)
        return f"SHA-256 {held[0].fingerprint[:16]}… matches"

    checks = [attempt("header", header)]
    if held:
        one = held[0]
        fitted = f"{one.rows:,} vectors of {one.dtype}, SHA-256 {one.fitted_on[:16]}…"
        checks += [
            attempt("fingerprint", tensors),
            fingerprint_check(one.fitted_on, fitted),
            versions_check({"isoscope": one.isoscope_version}),
        ]
    return checks


# What a digest looks like.
DIGEST = re.compile(r"[0-9a-f]{64}")


def fingerprint_check(digest: str, about: str) -> Check:
    """Say what a correction was fitted on; only those vectors themselves can show that it is so."""
    if DIGEST.fullmatch(digest) is None:
        return Check("fitted on", "unknown", "it holds no fingerprint of the vectors")
    return Check("fitted on", "holds", about)


def journal_checks(folder: Path) -> list[Check]:
    """Check the journal of a run that did not finish."""
    held: list[dict[str, Any]] = []

    def configuration() -> str:
        held.append(read_configuration(folder))
        return f"{CONFIGURATION} says what the run computes"

    checks = [attempt("configuration", configuration)]
    finished = 0
    for path in step_files(folder):

        def step(path: Path = path) -> str:
            with path.open("rb") as file:
                return str(checked_header(path, file)[1]["finished"])

        check = attempt(path.name, step)
        finished += check.about == "True"
        if check.state == "fails":
            checks.append(check)
    count = len(step_files(folder))
    bad = sum(check.state == "fails" for check in checks[1:])
    whole = f"{count - bad:,} of {counted(count, 'step')} whole, {finished:,} finished"
    checks.append(Check("checksums", "fails" if bad else "holds", whole))
    if held:
        there = held[0].get("isoscope")
        same = there == __version__
        about = f"started with isoscope {there}" + ("" if same else f", and this is {__version__}")
        checks.append(Check("versions", "holds" if same else "fails", about))
    return checks


def refused(found: Verification) -> DataError:
    """Return the error of a file that does not verify."""
    wrong = next(check for check in found.checks if check.state == "fails")
    return DataError(f"{found.path} failed verification: {wrong.name}: {wrong.about}")
