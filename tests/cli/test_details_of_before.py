"""``--details`` has every number that 0.1.0 printed for the same call, but for what was fixed.

``tests/results/stored/printed-by-0.1.0.txt`` is what 0.1.0 printed at 200 columns on the files that
are made here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

STORED = Path(__file__).parents[1] / "results" / "stored" / "printed-by-0.1.0.txt"
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*\.\d+")

WORDS = ["cat", "dog", "bird", "tree", "river", "bank", "money", "sat", "ran", "flew", "saw"]

# Numbers that are others by now, and why; CHANGELOG.md has the fixes.
FIXED = {
    # "Brier scores change slightly": probabilities of score maps are never exactly 0 or 1.
    "threshold pairs.npy --pairs labels.tsv": {"0.2635"},
    # "Intervals have the level at which decisions are made", over all corrections that were tried.
    "advise pairs.npy --pairs pairs.tsv": {"-0.0046", "0.0216"},
    # "Thresholds and shares are now cross-fitted."
    # "Profile and explain --topic outliers use one rule for outlier dimensions."
    "profile bert --text texts.txt": {"0.0497", "0.188", "0.239", "0.0303", "0.114", "0.00813"},
    "diff cloud.npy other.npy": {"0.0014", "0.0137", "0.0161", "0.6367", "0.6294", "0.629"},
}


def calls() -> dict[str, str]:
    """Return what was printed, by command."""
    parts = re.split(r"^\$ ", STORED.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return dict(part.split("\n", 1) for part in parts)  # type: ignore[misc]


def write_inputs() -> None:
    """Write the files that the commands read into the working folder."""
    random = np.random.default_rng(31)
    np.save("cloud.npy", (random.normal(size=(400, 12)) + 1).astype(np.float32))
    np.save("other.npy", (random.normal(size=(300, 12)) * 1.2 + 1.3).astype(np.float32))
    first = random.normal(size=(150, 12))
    second = first + random.normal(size=(150, 12)) * np.linspace(0.1, 3, 150)[:, None]
    both = np.concatenate([first, second])
    both[:, 7] += 10 * random.normal(size=300)
    np.save("pairs.npy", both.astype(np.float32))
    header = "row1\trow2\tscore\n"
    scores = "".join(f"{i}\t{150 + i}\t{150 - i}\n" for i in range(150))
    Path("pairs.tsv").write_text(header + scores)
    labels = [f"{i}\t{150 + i}\t1\n{i}\t{150 + (i + 7) % 150}\t0\n" for i in range(150)]
    Path("labels.tsv").write_text(header + "".join(labels))
    names = [f"word{k}" for k in range(60)]
    vectors = random.normal(size=(60, 8)) + 1
    lines = [
        f"{name} {' '.join(f'{x:.4f}' for x in row)}"
        for name, row in zip(names, vectors, strict=True)
    ]
    Path("words.vec").write_text("\n".join(lines) + "\n")
    asked = [f"word{k}\tword{k + 30}\t{k % 7}" for k in range(30)]
    Path("words.tsv").write_text("\n".join(asked) + "\n")
    texts = [
        f"the {WORDS[k % 7]} and a {WORDS[k % 5]} {WORDS[7 + k % 4]} on the {WORDS[k % 3]} ."
        for k in range(80)
    ]
    Path("texts.txt").write_text("\n".join(texts) + "\n")


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    tiny_model: Callable[[str], Path],
) -> Run:
    monkeypatch.chdir(tmp_path)
    write_inputs()
    (tmp_path / "bert").symlink_to(tiny_model("bert"))
    return runner(monkeypatch, capsys)


def numbers(text: str) -> list[str]:
    """Return the numbers with a decimal point, as they can be compared."""
    found = (one.replace("−", "-").replace("+", "") for one in NUMBER.findall(text))
    return list(dict.fromkeys(one.replace(",", "") for one in found))


def missing(before: str, now: str) -> list[str]:
    """Return the numbers that are not there any more, within one of their last digit."""
    known = np.array([float(one) for one in numbers(now)])
    return [
        one for one in numbers(before)
        if not (np.abs(known - float(one)) <= 1.01 * 10.0 ** -len(one.partition(".")[2])).any()
    ]  # fmt: skip


@pytest.mark.parametrize("command", calls())
@pytest.mark.filterwarnings("ignore")
def test_every_number_is_still_there(run: Run, command: str) -> None:
    more = [] if command.startswith("correct") else ["--details"]
    done = run(*shlex.split(command), *more, COLUMNS="200")
    assert done.code == 0, done.error
    before = calls()[command]
    assert len(numbers(before)) >= 2
    fixed = {one for start, some in FIXED.items() if command.startswith(start) for one in some}
    assert set(missing(before, done.out)) <= fixed


def test_a_number_that_is_gone_is_found() -> None:
    assert missing("0.5123 and -0.25", "−0.25, 0.5124") == []
    assert missing("0.5123 and -0.25", "0.25, 0.5126") == ["0.5123", "-0.25"]
