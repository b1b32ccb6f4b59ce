"""Seconds for the page of a profile of thirteen layers, and for a neighbour query over GloVe.

The profile is that of a BERT of the usual size with random weights over a few texts. A page is made
in a process of its own: the first time with nothing kept, then with the drawing script kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

LIMIT_PAGE, LIMIT_QUERY = 5.0, 0.1
QUERIES = 50
WORDS = [f"word{k}" for k in range(200)]

PAGE = """
import sys
from isoscope.cli.app import main
sys.argv = ["isoscope", "report", sys.argv[1], "--html", sys.argv[2]]
main()
"""


def save_model(folder: Path) -> None:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    library: Any = transformers  # whose classes have no types
    tokenizer = Tokenizer(
        models.WordLevel({word: k for k, word in enumerate(["[UNK]", "[PAD]", *WORDS])}, "[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = library.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]"
    )
    fast.save_pretrained(folder)
    library.BertModel(library.BertConfig(vocab_size=len(fast), pad_token_id=1)).save_pretrained(
        folder
    )


def profile_of_thirteen_layers(folder: Path) -> Path:
    from isoscope.verbs.profile.api import profile

    save_model(folder / "model")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 20)) for _ in range(200)]
    path = folder / "profile.json"
    profile(folder / "model", texts).save(path)
    return path


def page_seconds(result: Path, cache: Path) -> tuple[float, int]:
    """Return the seconds of a whole command, Python's start included, and the page's bytes."""
    page = result.with_suffix(".html")
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", PAGE, str(result), str(page)], check=True,
        env={**os.environ, "ISOSCOPE_CACHE": str(cache)},
    )  # fmt: skip
    return time.perf_counter() - start, page.stat().st_size


def query_seconds() -> list[float]:
    from isoscope.verbs.explore.answers import Answers
    from isoscope.verbs.explore.session import Spaces
    from isoscope.verbs.explore.word_rows import read_vectors

    explored = read_vectors("package:glove")
    answers = Answers(Spaces(explored))
    words = ["bank", "king", "river", "music", "seven"]
    found = []
    for number in range(QUERIES + len(words)):
        query = {"word": words[number % len(words)], "correction": "whiten"}
        start = time.perf_counter()
        answers.neighbours(query)
        found.append(time.perf_counter() - start)
    return found[len(words) :]


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        result = profile_of_thirteen_layers(folder)
        first, size = page_seconds(result, folder / "cache")
        later = min(page_seconds(result, folder / "cache")[0] for _ in range(3))
    print(f"page of a profile of 13 layers: {first:.2f} s the first time, {later:.2f} s later "
          f"(limit {LIMIT_PAGE:g} s); {size / 1e6:.2f} MB")  # fmt: skip
    seconds = query_seconds()
    print(f"neighbours of a word among 400,000 × 50, before and after: median "
          f"{np.median(seconds) * 1e3:.0f} ms, most {max(seconds) * 1e3:.0f} ms "
          f"(limit {LIMIT_QUERY * 1e3:.0f} ms)")  # fmt: skip


if __name__ == "__main__":
    main()
