from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.errors import DataError
from isoscope.models.model import read_config
from isoscope.models.sources import Source

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("transformers")


def read(folder: Path, content: Any) -> Any:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "config.json").write_text(text)
    return read_config(Source("mine", "mine", folder))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "config.json is not JSON"),
        ([], "it is not a JSON object"),
        ({}, "it has no model_type"),
        ({"model_type": "perceptron-9000"}, "has no architecture 'perceptron-9000'"),
        (
            {"model_type": "special", "auto_map": {"AutoModel": "code.Special"}},
            r"mine \(special\) is made of code that comes with it \(auto_map\)",
        ),
        ({"model_type": "bert", "hidden_size": "wide"}, "mine: its configuration cannot be used"),
    ],
)
def test_configurations_that_are_refused(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


def test_code_is_not_run_where_transformers_has_the_architecture(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("raise SystemExit('was run')\n")
    config = read(tmp_path, {"model_type": "falcon", "auto_map": {"AutoConfig": "code.Config"}})
    assert type(config).__name__ == "FalconConfig"
