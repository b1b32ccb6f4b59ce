"""Files that are whole verify; changed, damaged and forged ones do not, in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted
from command_line import Run, runner

import isoscope
from isoscope.compute.journal import Journal
from isoscope.errors import UsageError
from isoscope.verbs.verify.api import Verification, verify


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def result(tmp_path: Path) -> Path:
    found = isoscope.measure(shifted(0, 100, 4), "mean_cosine,spectrum", "none,center")
    found.save(tmp_path / "r.json")
    return tmp_path / "r.json"


@pytest.fixture
def correction(tmp_path: Path) -> Path:
    path = tmp_path / "c.safetensors"
    np.save(tmp_path / "x.npy", shifted(0, 100, 4))
    isoscope.fit_correction(str(tmp_path / "x.npy"), "whiten", str(path))
    return path


def states(found: Verification) -> dict[str, str]:
    return {check.name: check.state for check in found.checks}


def changed(path: Path, change: Any) -> Path:
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    return path


def test_a_result(result: Path) -> None:
    found = verify(result)
    assert (found.verified, found.kind) == (True, "result")
    assert states(found) == {"schema": "holds", "checksum": "holds", "versions": "holds"}
    # The layout of the file and the order of its fields are no part of the result.
    values = json.loads(result.read_text())
    result.write_text(json.dumps(dict(reversed(values.items()))))
    assert verify(result).verified


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values["rows"][0].update(value=0.5),
        lambda values: values["rows"].pop(),
        lambda values: values["versions"].update(isoscope="9"),
        lambda values: values.update(command="isoscope measure other.npy"),
        lambda values: values.update(more="than there was"),
        lambda values: values.update(checksum="0" * 64),
        lambda values: values.update(checksum=7),
    ],
)
def test_a_result_that_was_changed(result: Path, change: Any) -> None:
    found = verify(changed(result, change))
    assert not found.verified
    assert states(found)["checksum"] == "fails"


def test_a_result_with_damaged_rows(result: Path) -> None:
    found = verify(changed(result, lambda values: values["rows"][0].update(value="much")))
    assert states(found) == {"schema": "fails"}
    result.write_bytes(result.read_bytes()[:100])
    assert states(verify(result)) == {"schema": "fails"}


def test_a_result_of_an_older_version_loads_and_says_what_is_missing(result: Path) -> None:
    def older(values: dict[str, Any]) -> None:
        del values["checksum"], values["versions"]
        values["schema_version"] = 1

    found = verify(changed(result, older))
    assert found.verified
    assert states(found) == {"schema": "holds", "checksum": "unknown", "versions": "unknown"}
    assert isoscope.Result.load(result).schema_version == 1


def test_the_checksum_is_of_the_file_and_not_of_the_result(result: Path) -> None:
    loaded = isoscope.Result.load(result)
    assert "checksum" not in loaded.to_dict()
    loaded.save(result)
    assert verify(result).verified
    isoscope.Result(loaded.rows, extra={"by number": {2: "b", 10: "a"}}).save(result)
    assert verify(result).verified


def test_a_correction(correction: Path) -> None:
    found = verify(correction)
    assert (found.verified, found.kind) == (True, "correction")
    assert set(states(found)) == {"header", "fingerprint", "fitted on", "versions"}


@pytest.mark.parametrize("place", [0.2, 0.5, 0.9, 0.999])
def test_a_correction_with_one_changed_byte(correction: Path, place: float) -> None:
    content = bytearray(correction.read_bytes())
    content[int(place * len(content))] ^= 1
    correction.write_bytes(content)
    assert not verify(correction).verified


def test_a_journal(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", {"a": 1}) as journal:
        journal.save("first", {"x": np.arange(5.0)})
        journal.save("second", {"x": np.arange(5.0)}, finished=False)
    found = verify(tmp_path / "j")
    assert found.verified
    assert found.checks[1].about == "2 of 2 steps whole, 1 finished"
    path = tmp_path / "j" / "step first.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    found = verify(tmp_path / "j")
    assert states(found)["step first.safetensors"] == "fails"
    assert states(found)["checksums"] == "fails"
    (tmp_path / "j" / "configuration.json").write_text('{"isoscope": "0.0"}')
    assert states(verify(tmp_path / "j"))["versions"] == "fails"


def test_what_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        verify(tmp_path / "gone.json")
    with pytest.raises(UsageError, match="not the journal of a run"):
        verify(tmp_path)
    (tmp_path / "x.npy").write_bytes(b"")
    with pytest.raises(UsageError, match="verify takes a result"):
        verify(tmp_path / "x.npy")


def test_the_command(run: Run, result: Path) -> None:
    done = run("verify", result)
    assert (done.code, done.error) == (0, "")
    assert "Verified: it is complete and unchanged." in done.out
    facts = json.loads(run("verify", result, "--json").out)
    assert (facts["verified"], facts["kind"], len(facts["checks"])) == (True, "result", 3)
    changed(result, lambda values: values.update(command="another"))
    done = run("verify", result)
    assert done.code == 1
    assert "Verification failed: checksum: " in " ".join(done.out.split())
    assert done.error.count("\n") == 1
    done = run("verify", result, "--json")
    assert done.code == 1
    assert not json.loads(done.out)["verified"]
