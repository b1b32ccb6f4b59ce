from __future__ import annotations

import sys
from email.message import Message
from pathlib import Path

import licences
import pytest
from installed import dependencies
from licences import allowed, licence


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("BSD-3-Clause AND MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("(Apache-2.0 OR GPL-2.0-only) AND MIT", True),
        ("(GPL-2.0-only OR GPL-3.0-only) AND MIT", False),
        ("(MIT OR Zlib) AND GPL-3.0-only", False),
        ("GNU General Public License v3 (GPLv3)", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("", False),
    ],
)
def test_allowed(expression: str, fine: bool) -> None:
    assert allowed(expression) is fine


def metadata(**fields: str | list[str]) -> Message:
    message = Message()
    for name, values in fields.items():
        for value in [values] if isinstance(values, str) else values:
            message[name.replace("_", "-")] = value
    return message


@pytest.mark.parametrize(
    ("fields", "expression"),
    [
        ({"License_Expression": "MIT", "License": "whatever"}, "MIT"),
        ({"Classifier": "License :: OSI Approved :: MIT License", "License": "MIT"}, "MIT"),
        ({"License": "3-Clause BSD License"}, "BSD-3-Clause"),
        ({"License": "Copyright\nby somebody"}, ""),
        (
            {
                "Classifier": [
                    "License :: OSI Approved :: BSD License",
                    "License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
                ]
            },
            "BSD-3-Clause AND GNU General Public License v3 (GPLv3)",
        ),
    ],
)
def test_the_licence_of_metadata(fields: dict[str, str | list[str]], expression: str) -> None:
    assert licence(metadata(**fields)) == expression  # type: ignore[arg-type]


@pytest.mark.needs_package("torch", "torch")
@pytest.mark.skipif(
    Path(sys.prefix).name == ".venv-lowest",
    reason="old releases name licences in words of their own",
)
def test_every_dependency_has_an_allowed_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert licences.main() == 0
    assert "numpy" in capsys.readouterr().out


def test_dependencies_follow_extras_and_themselves() -> None:
    core, search = dependencies("isoscope"), dependencies("isoscope[search]")
    assert {"numpy", "scipy", "typer", "click"} & set(core) >= {"numpy", "scipy", "typer"}
    assert "faiss-cpu" in search
    assert "psycopg-binary" in search  # by an extra of psycopg
    assert "faiss-cpu" not in core
    with pytest.raises(SystemExit, match="no-such-package is needed"):
        dependencies("no-such-package")
