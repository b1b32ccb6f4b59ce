"""Every command on a terminal of any width: no line too wide, no screen longer than 40 lines.

Only a word of a command to paste may be wider than the terminal.

Names are of 60 characters, Chinese (two columns a character) and right to left.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner
from screens_for_tests import too_wide

LONGEST = 40
NAMES = ("x" * 60, "向量文件中文名称", "ملف المتجهات")

# Commands about a file of vectors; V is its name. What report prints is a document to paste, and
# as wide as its table.
COMMANDS = (
    "measure V.npy",
    "measure V.npy --corrections none,center,whiten,standardize,clip,center-scaled",
    "measure V.npy --queries V2.npy",
    "measure V.npy --neighbours --k 3 --corrections none,center",
    "measure V.npy --reduce 2,4",
    "measure 'V-layers/layer_{layer}.npy' --corrections none",
    "threshold V.npy",
    "threshold V.npy --at 0.5,0.9",
    "threshold V.npy --pairs V.tsv --precision 0.7 --corrections none,center",
    "advise V.npy",
    "advise V.npy --pairs V.tsv --corrections center,clip",
    "diff V.npy V2.npy --other-rows",
    "diff V.npy V3.npy --same-rows",
    "correct fit V.npy --correction center --out V.safetensors",
    "correct fit V.npy --correction whiten:n_components=3 --out W.safetensors",
    "correct apply V.safetensors V.npy --out corrected.npy",
    "correct refresh V.safetensors V2.npy --out W.safetensors",
    "evaluate V.vec --tasks word-similarity:V.words.tsv",
    "doctor",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every name, with vectors, labelled pairs and words."""
    import isoscope

    made = tmp_path_factory.mktemp("screens")
    random = np.random.default_rng(9)
    vectors = (random.normal(size=(240, 8)) + 1).astype(np.float32)
    labels = "".join(f"{i}\t{i + 120}\t{i % 2}\n" for i in range(120))
    for name in NAMES:
        np.save(made / f"{name}.npy", vectors)
        np.save(made / f"{name}2.npy", vectors[:90] * 2 + 1)
        np.save(made / f"{name}3.npy", vectors + 0.1 * random.normal(size=vectors.shape))
        (made / f"{name}.tsv").write_text(f"row1\trow2\tscore\n{labels}", "utf-8")
        (made / f"{name}-layers").mkdir()
        for layer in range(30):
            np.save(made / f"{name}-layers" / f"layer_{layer}.npy", vectors[:60] + layer / 10)
        word = name.replace(" ", "")
        rows = [f"{word}{k} " + " ".join(f"{x:.3f}" for x in v) for k, v in enumerate(vectors)]
        (made / f"{name}.vec").write_text("\n".join(rows), "utf-8")
        words = [f"{word}{k}\t{word}{k + 100}\t{k % 7}" for k in range(60)]
        (made / f"{name}.words.tsv").write_text("\n".join(words), "utf-8")
        isoscope.make_correction("center").fit(vectors).save(made / f"{name}.safetensors")
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Run:
    monkeypatch.chdir(folder)
    return runner(monkeypatch, capsys)


def arguments(command: str, name: str) -> list[str]:
    words = shlex.split(command)
    return [word.replace("V", name) if "." in word or "V-" in word else word for word in words]


@pytest.mark.parametrize("name", NAMES, ids=("long", "chinese", "right-to-left"))
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.filterwarnings("ignore")
def test_every_command_fits(run: Run, command: str, name: str) -> None:
    done = run(*arguments(command, name), COLUMNS="80")
    assert done.code == 0, done.error
    lines = done.out.splitlines()
    assert 1 <= len(lines) <= LONGEST, done.out
    assert too_wide(lines, 80) == []


@pytest.mark.parametrize("columns", ["40", "200"])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.filterwarnings("ignore")
def test_narrow_and_wide_terminals(run: Run, command: str, columns: str) -> None:
    done = run(*arguments(command, NAMES[1]), COLUMNS=columns)
    assert done.code == 0, done.error
    assert too_wide(done.out.splitlines(), int(columns)) == []
    assert not re.search(r"\s[01]\.\n\s*\d", done.out)  # no number is broken at its point
