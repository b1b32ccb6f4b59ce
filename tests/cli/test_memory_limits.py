"""``--max-memory`` holds for every command: refused in one line with the figure, or cut to fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from class_sets_for_tests import write_rte
from clouds_for_tests import shifted
from command_line import Run, runner

import isoscope
from isoscope.compute import memory
from isoscope.compute.memory import check_held, limited, room
from isoscope.errors import UsageError
from isoscope.verbs.explore.word_rows import read_vectors

ROWS, WIDTH = 3_000, 64


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Commands in a folder with small files, for which nothing is too little to look at."""
    monkeypatch.setattr(memory, "NEGLIGIBLE", 0)
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", shifted(0, ROWS, WIDTH).astype(np.float32))
    np.save("y.npy", shifted(1, ROWS, WIDTH).astype(np.float32))
    Path("texts.txt").write_text("".join(f"the cat sat on boat {k}\n" for k in range(200)))
    rows = "".join(f"{k}\t{k + 1}\t{k // 2 % 2}\n" for k in range(0, 400, 2))
    Path("rows.tsv").write_text(f"row1\trow2\tscore\n{rows}")
    texts = "".join(f"the cat {k}\ta dog {k}\t{k % 2}\n" for k in range(60))
    Path("texts.tsv").write_text(f"text1\ttext2\tscore\n{texts}")
    write_rte(tmp_path)
    return runner(monkeypatch, capsys)


OF_VECTORS = {
    "measure": ("measure", "x.npy"),
    "measure --sample": ("measure", "x.npy", "--sample", "2900", "--measures", "mean_cosine",
                         "--corrections", "none"),
    "measure --neighbours": ("measure", "x.npy", "--neighbours"),
    "threshold": ("threshold", "x.npy", "--at", "0.5"),
    "diff": ("diff", "x.npy", "y.npy"),
    "advise": ("advise", "x.npy", "--pairs", "rows.tsv"),
    "evaluate": ("evaluate", "x.npy", "--tasks", "pairs:rows.tsv"),
    "correct fit": ("correct", "fit", "x.npy", "--correction", "whiten", "--out", "w.safetensors"),
    "clusters": ("correct", "fit", "x.npy", "--correction", "cluster-pc-removal", "--out",
                 "w.safetensors"),
    "flow": ("correct", "fit", "x.npy", "--correction", "flow", "--out", "w.safetensors"),
}  # fmt: skip
OF_MODELS = {
    "profile": ("profile", "MODEL", "--text", "texts.txt"),
    "explain": ("explain", "MODEL", "--text", "texts.txt"),
    "threshold": ("threshold", "MODEL", "--text", "texts.txt", "--at", "0.5"),
    "advise": ("advise", "MODEL", "--pairs", "texts.tsv"),
    "explore": ("explore", "MODEL", "--text", "texts.txt"),
    "finetune": ("train", "finetune", "MODEL", "--task", "rte", "--data", "."),
    "study": ("study", "run", "L-F3.2", "--model", "MODEL", "--text", "texts.txt"),
}


def refused(done: object) -> None:
    error = getattr(done, "error", "")
    assert getattr(done, "code", None) == 2, error
    assert "may be used (--max-memory or ISOSCOPE_MAX_MEMORY); " in error
    assert error.count("\n") == 1, error
    assert len(error) < 400


@pytest.mark.parametrize("arguments", OF_VECTORS.values(), ids=OF_VECTORS)
def test_commands_on_vectors(run: Run, arguments: tuple[str, ...]) -> None:
    if "flow" in arguments:
        pytest.importorskip("zuko")
    refused(run(*arguments, "--max-memory", "20KB"))


STORED = {
    "report": ("report", "r.json"),
    "report --html": ("report", "r.json", "--html", "page.html"),
    "verify": ("verify", "r.json"),
    "correct apply": ("correct", "apply", "w.safetensors", "x.npy", "--out", "z.npy"),
    "correct refresh": ("correct", "refresh", "w.safetensors", "y.npy"),
}  # fmt: skip


@pytest.mark.parametrize("arguments", STORED.values(), ids=STORED)
def test_commands_on_what_isoscope_wrote(run: Run, arguments: tuple[str, ...]) -> None:
    isoscope.measure("x.npy", "mean_cosine", out="r.json")
    isoscope.fit_correction("x.npy", "whiten", "w.safetensors")
    refused(run(*arguments, "--max-memory", "20KB" if "w.safetensors" in arguments else "1KB"))


@pytest.mark.parametrize("arguments", OF_MODELS.values(), ids=OF_MODELS)
@pytest.mark.filterwarnings("ignore:glue/RTE")
def test_commands_on_models(
    run: Run, tiny_model: Callable[[str], Path], arguments: tuple[str, ...]
) -> None:
    model = str(tiny_model("bert"))
    refused(run(*(model if one == "MODEL" else one for one in arguments), "--max-memory", "20KB"))


def test_pre_training(run: Run) -> None:
    Path("long.txt").write_text("".join(f"the cat sat on boat {k}\n" for k in range(3_000)))
    plan = ("--size", "tiny", "--steps", "8", "--vocabulary", "300", "--out", "model")
    refused(
        run("train", "pretrain", "--text", "long.txt", *plan, "--quiet", "--max-memory", "200KB")
    )


def test_explore_draws_what_fits(run: Run) -> None:
    del run
    with limited("64KB"):
        drawn = read_vectors("x.npy")
    assert len(drawn.words) == 32_000 // (4 * WIDTH)
    assert f"{len(drawn.words):,} rows of {ROWS:,}, drawn at random" in drawn.protocol
    assert len(read_vectors("x.npy").words) == ROWS


def test_what_is_cut_to_fit_has_half_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with limited("1GB"):
        assert room(2 * 10**9) == 500_000_000
        assert room(1_000) == 1_000
    with limited("1KB"):  # below what is negligible nothing is cut
        assert room(2 * 10**9) == memory.NEGLIGIBLE
    monkeypatch.setattr(memory, "memory_limit", lambda: None)
    assert room(7) == 7


def test_rows_that_are_held() -> None:
    with limited("1GB"):
        check_held(None, 10**9, "x", "y")
        check_held(10**6, 40, "x", "y")
        with pytest.raises(UsageError, match=r"x takes about 1\.2 GB for 1,000,000 vectors of 50 "):
            check_held(10**6, 50, "x", "y")
