from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rerun

ROOT = Path(__file__).parents[2]


PAGE = """\
```sh
pip install something
```

```sh
isoscope measure a.npy \\
    --measures 'mean_cosine'
isoscope diff a.npy b.npy
```

```
old
```

```
old, too
```

Prose.

```python
print(1)
```

<!-- output of isoscope diff a.npy b.npy -->
old table
<!-- end of output -->
"""


def test_output_is_replaced_and_nothing_else() -> None:
    ran = []

    def run(language: str, code: str) -> str:
        ran.append((language, code))
        return f"new {len(ran)}\n"

    made = rerun.rerun(PAGE, run)
    assert ran == [
        ("sh", "isoscope measure a.npy --measures mean_cosine"),
        ("sh", "isoscope diff a.npy b.npy"),
        ("python", "print(1)\n"),
        ("md", "isoscope diff a.npy b.npy"),
    ]
    assert "old" not in made
    new = PAGE.replace("old, too", "new 2").replace("old table", "\nnew 4\n")
    assert made == new.replace("old", "new 1")
    assert rerun.rerun(made, lambda *_: "new 5").count("new 5") == 3


def test_as_many_blocks_as_commands() -> None:
    with pytest.raises(SystemExit, match="3 commands, but 2 blocks"):
        rerun.rerun(PAGE.replace("isoscope diff", "isoscope a\nisoscope diff", 1), lambda *_: "")


def test_commands_are_run_in_the_folder(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.arange(12.0).reshape(4, 3))
    run = rerun.runner(tmp_path)
    assert "mean cosine" in run("sh", "isoscope measure v.npy --measures mean_cosine")
    assert "| mean_cosine |" in run("md", "isoscope measure v.npy --measures mean_cosine")
    assert run("python", "import os; print(sorted(os.listdir()))") == "['v.npy']\n"
    with pytest.raises(SystemExit, match="ended with"):
        run("sh", "isoscope measure missing.npy")


@pytest.mark.parametrize("page", ["guide-search.md", "results/diff.md"])
def test_pages_can_be_run_again(page: str) -> None:
    """Every command has its block of output, and there is something to run."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    ran = []
    rerun.rerun(text, lambda language, code: ran.append((language, code)) or "")
    assert len(ran) >= 3
