from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import load_file

from isoscope.compute.journal import Journal
from isoscope.errors import DataError, UsageError

SETTINGS = {"model": "minilm", "text": {"name": "sotu", "sha256": "ab12"}, "skip_first": 0}

TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", ">f8", ">i4"]


def entry_path(journal: Journal) -> Path:
    (path,) = journal.folder.glob("step *")
    return path


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.sampled_from(TYPES).flatmap(
            lambda kind: arrays_of.arrays(
                kind, arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
            )
        ),
        max_size=4,
    ),
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda values: st.lists(values, max_size=3),
            max_leaves=5,
        ),
        max_size=4,
    ),
)
def test_arrays_and_facts_come_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any], facts: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("runs") / "run.journal"
    with Journal.open(folder, SETTINGS) as journal:
        journal.save("a step", arrays, facts)
    with Journal.open(folder, SETTINGS, resume=True) as journal:
        entry = journal.load("a step")
    assert entry is not None
    assert entry.facts == facts
    assert list(entry.arrays) == list(arrays)
    for name, array in arrays.items():
        found = entry.arrays[name]
        assert (found.dtype, found.shape) == (array.dtype.newbyteorder("="), array.shape)
        assert found.tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()


def test_extreme_numbers_and_layouts(tmp_path: Path) -> None:
    doubles = np.array([[np.nan, -0.0, 5e-324], [np.inf, 0.1, 1e308]])
    counts = np.array([2**64 - 1, 2**63], np.uint64)
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", {"x": doubles.T, "every other": doubles[:, ::2], "n": counts})
        entry = journal.load("s")
        assert entry is not None
        assert entry.arrays["x"].tobytes() == doubles.T.tobytes()
        assert entry.arrays["every other"].tobytes() == doubles[:, ::2].tobytes()
        assert entry.arrays["n"].tolist() == [2**64 - 1, 2**63]
        entry.arrays["x"][0, 0] = 1  # a sum goes on where it was


def test_an_entry_is_a_file_that_others_can_read(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", {"a": np.arange(3.0), "b": np.zeros((0, 2), np.int32)})
        found = load_file(entry_path(journal))
    assert found["a"].tolist() == [0, 1, 2]
    assert found["b"].shape == (0, 2)


def test_steps_are_known_and_states_on_the_way_are_not_done(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", SETTINGS) as journal:
        for k in range(5):
            journal.save("first read", {"sum": np.array(float(k))}, {"texts": k}, finished=False)
        assert not journal.done("first read")
        journal.save("layer 1/2: \u2028..", {})
    with Journal.open(tmp_path / "j", SETTINGS, resume=True) as journal:
        assert journal.steps == ("layer 1/2: \u2028..",)
        assert journal.done("layer 1/2: \u2028..")
        assert not journal.done("first read")
        assert not journal.done("second read")
        assert journal.load("second read") is None
        entry = journal.load("first read")
        assert entry is not None
        assert (entry.facts["texts"], float(entry.arrays["sum"]), entry.finished) == (4, 4.0, False)
        journal.save("first read", {})
        assert journal.done("first read")


def test_a_journal_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    Journal.open(tmp_path / "j", SETTINGS).close()
    with pytest.raises(UsageError, match="--resume continues it; to start over, delete that"):
        Journal.open(tmp_path / "j", SETTINGS)
    Journal.open(tmp_path / "j", SETTINGS, resume=True).close()


def test_resuming_nothing_begins(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "new", SETTINGS, resume=True) as journal:
        assert journal.steps == ()
    (tmp_path / "empty").mkdir()
    Journal.open(tmp_path / "empty", SETTINGS).close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"skip_first": 1}, "started with skip_first 0, and this run has 1;"),
        ({"text": {"name": "sotu", "sha256": "cd"}}, 'with text.sha256 "ab12", .* has "cd"'),
        ({"seed": 3}, "started with seed not set, and this run has 3"),
        ({"text": None}, "started with text not set, and this run has null"),
    ],
)
def test_another_configuration_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    Journal.open(tmp_path / "j", SETTINGS).close()
    with pytest.raises(UsageError, match=message):
        Journal.open(tmp_path / "j", {**SETTINGS, **change}, resume=True)
    Journal.open(tmp_path / "j", dict(reversed(SETTINGS.items())), resume=True).close()


def test_an_option_that_is_gone_is_refused(tmp_path: Path) -> None:
    Journal.open(tmp_path / "j", SETTINGS).close()
    with pytest.raises(UsageError, match='with model "minilm", and this run has not set'):
        Journal.open(tmp_path / "j", {k: SETTINGS[k] for k in ("text", "skip_first")}, resume=True)


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Journal.open(tmp_path / "j", SETTINGS).close()
    monkeypatch.setattr("isoscope.compute.journal.__version__", "99")
    with pytest.raises(UsageError, match='started with isoscope ".*", and this run has "99"'):
        Journal.open(tmp_path / "j", SETTINGS, resume=True)


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", {"x": np.arange(4.0)}, {"texts": 12})
        path = entry_path(journal)
        content = path.read_bytes()
        for position in range(len(content)):
            flipped = bytearray(content)
            flipped[position] ^= 1 << position % 8
            path.write_bytes(flipped)
            with pytest.raises(DataError, match=r"step s\.safetensors was .* damaged.*delete it"):
                journal.load("s")
        path.write_bytes(content)
        assert journal.load("s") is not None


def test_a_truncated_entry_is_noticed_on_resuming(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", {"x": np.arange(4.0)})
        path = entry_path(journal)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match="delete it, and --resume repeats that step"):
            Journal.open(tmp_path / "j", {}, resume=True)
    path.write_bytes(content + b"\0")
    with pytest.raises(DataError, match="damaged"):
        Journal.open(tmp_path / "j", {}, resume=True)
    path.unlink()
    with Journal.open(tmp_path / "j", {}, resume=True) as journal:
        assert journal.load("s") is None


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"a"'])
def test_a_damaged_configuration_is_noticed(tmp_path: Path, content: bytes) -> None:
    Journal.open(tmp_path / "j", {}).close()
    (tmp_path / "j" / "configuration.json").write_bytes(content)
    with pytest.raises(DataError, match="configuration.json was damaged.*start over"):
        Journal.open(tmp_path / "j", {}, resume=True)


def test_what_a_journal_does_not_keep(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", {}) as journal:
        with pytest.raises(UsageError, match="the array x is object"):
            journal.save("s", {"x": np.array([None, "a"], dtype=object)})
        with pytest.raises(UsageError, match="no name that a file can have"):
            journal.save("s" * 300, {})
        with pytest.raises(TypeError):
            journal.save("s", {}, {"x": np.float64})
        assert journal.load("s") is None
        assert not journal.done("s")


def test_removing_leaves_what_others_put_there(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", {})
        journal.remove()
    assert not (tmp_path / "j").exists()
    with Journal.open(tmp_path / "j", {}) as journal:
        journal.save("s", {})
        (tmp_path / "j" / "mine.txt").write_text("x")
        journal.remove()
    assert [path.name for path in (tmp_path / "j").iterdir()] == ["mine.txt"]
    with pytest.raises(UsageError, match="contains other files, such as mine.txt"):
        Journal.open(tmp_path / "j", {}, resume=True)


def test_a_step_can_be_forgotten(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "run.journal", SETTINGS) as journal:
        for step in ("one", "two"):
            journal.save(step, {"state": np.arange(3)})
        journal.forget("one")
        journal.forget("never kept")
        assert journal.steps == ("two",)
        assert journal.load("one") is None
        assert entry_path(journal).name.startswith("step two")
    with Journal.open(tmp_path / "run.journal", SETTINGS, resume=True) as journal:
        assert journal.steps == ("two",)


def test_places_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        Journal.open(tmp_path / "file", {})
    with pytest.raises(UsageError, match="cannot be written"):
        Journal.open(tmp_path / "file" / "j", {})


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with (
        Journal.open(tmp_path / "j", {}),
        pytest.raises(UsageError, match=f"in use by another run, process {os.getpid()};"),
    ):
        Journal.open(tmp_path / "j", {}, resume=True)
    Journal.open(tmp_path / "j", {}, resume=True).close()


SAVING = """
import sys
import numpy as np
from isoscope.compute.journal import Journal

with Journal.open(sys.argv[1], {}, resume=True) as journal:
    entry = journal.load("sum")
    n = entry.facts["n"] if entry else 0
    while True:
        n += 1
        journal.save("sum", {"x": np.full(200_000, float(n))}, {"n": n}, finished=False)
        print(n, flush=True)
"""


def test_killed_while_saving_the_state_is_one_of_those_saved(tmp_path: Path) -> None:
    last = 0
    for saves in (1, 2, 5, 3, 4):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVING, tmp_path / "j"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(saves):
            said = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
        later = process.stdout.read().split()
        process.stdout.close()
        with Journal.open(tmp_path / "j", {}, resume=True) as journal:
            entry = journal.load("sum")
            assert not list((tmp_path / "j").glob(".isoscope-*"))
        assert entry is not None
        n = entry.facts["n"]
        assert (entry.arrays["x"] == n).all()
        assert last < said <= n <= said + len(later) + 1
        last = n


# The place at which the second save kills its own process, and which state is then there.
KILLED_AT = """
import os, pathlib, signal, sys
import numpy as np
from isoscope.compute import journal as journal_entry
from isoscope.compute.journal import Journal

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

class Half:
    def __init__(self, file):
        self.file = file
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        killed()

journal = Journal.open(sys.argv[1], {})
journal.save("s", {"x": np.ones(1000)}, {"n": 1})
place, rename = sys.argv[2], pathlib.Path.replace
if place == "writing":
    from contextlib import contextmanager
    whole = journal_entry.atomic_file
    @contextmanager
    def half(path):
        with whole(path) as file:
            yield Half(file)
    journal_entry.atomic_file = half
elif place == "syncing":
    os.fsync = killed
elif place == "renaming":
    pathlib.Path.replace = killed
elif place == "leaving":
    pathlib.Path.replace = lambda self, target: (rename(self, target), killed())
journal.save("s", {"x": np.full(1000, 2.0)}, {"n": 2})
"""


@pytest.mark.parametrize(
    ("place", "state"), [("writing", 1), ("syncing", 1), ("renaming", 1), ("leaving", 2)]
)
def test_killed_at_any_place_of_a_save(tmp_path: Path, place: str, state: int) -> None:
    process = subprocess.run([sys.executable, "-c", KILLED_AT, tmp_path / "j", place], check=False)
    assert process.returncode == -signal.SIGKILL
    assert bool(list((tmp_path / "j").glob(".isoscope-*"))) == (state == 1)
    with Journal.open(tmp_path / "j", {}, resume=True) as journal:
        entry = journal.load("s")
        assert not list((tmp_path / "j").glob(".isoscope-*"))
    assert entry is not None
    assert entry.facts["n"] == state
    assert (entry.arrays["x"] == state).all()


def test_the_configuration_can_be_read_by_a_person(tmp_path: Path) -> None:
    Journal.open(tmp_path / "j", SETTINGS).close()
    found = json.loads((tmp_path / "j" / "configuration.json").read_text())
    assert {key: found[key] for key in SETTINGS} == SETTINGS
