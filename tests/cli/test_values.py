"""What is converted without typer is what typer would make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer

from isoscope.cli.values import UNCLEAR, converted, use_plain_values

Kind = Literal["data", "double"]


def made_of(kind: Any, words: list[str], *, plain: bool, **settings: Any) -> tuple[str, Any]:
    """Return what a command with one option gets, and what is printed."""
    received: list[Any] = []

    def command(value: Any = None) -> None:
        received.append(value)

    hint = Annotated[kind, typer.Option("--value", **settings)]
    command.__annotations__ = {"value": hint, "return": None}
    app = typer.Typer()
    app.command()(command)
    group = typer.main.get_command(app)
    if plain:
        use_plain_values(group)
    try:
        group.main(words, standalone_mode=False)
    except Exception as error:
        return str(getattr(error, "message", error)), received
    return "", received


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, "x"), (str, ""), (int, "5"), (int, "-5"), (int, "005"), (int, "5.0"), (int, " 5"),
        (int, "x"), (int, "1_000"), (int, "1"), (int, "99"), (float, "5"), (float, "0.25"),
        (float, "-1"), (float, "1e3"), (float, ".5"), (float, "nan"), (float, "inf"), (float, ""),
        (float, "x"), (int, ""), (int, "inf"), (float, "51.5"), (int, "65536"),
        (Path, "a/b.npy"), (Path, ""), (Kind, "data"), (Kind, "Data"), (Kind, "half"),
        (list[str], "a"), (list[Path], "a"),
    ],
)  # fmt: skip
def test_values_are_those_of_typer(kind: Any, value: str) -> None:
    bounds = {"min": 2, "max": 50} if kind in (int, float) else {}
    theirs, ours = (
        made_of(kind, ["--value", value], plain=plain, **bounds) for plain in (False, True)
    )
    assert repr(ours) == repr(theirs)


def test_values_that_are_not_given_are_those_of_typer() -> None:
    for kind in (str, int, bool, list[str], Path):
        theirs, ours = (made_of(kind, [], plain=plain) for plain in (False, True))
        assert ours == theirs


def test_defaults_of_the_declared_type_are_taken_as_they_are() -> None:
    assert converted(0.5, float, 0, 1) == 0.5
    assert converted(None, str, None, None) is UNCLEAR
