from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import isoscope
from isoscope import moved


def import_quietly(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import_module(name)


@pytest.mark.parametrize(("old", "new"), moved.MOVED.items())
def test_old_paths_lead_to_new_modules_with_a_warning(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for parent in [name for name in moved.MOVED if old.startswith(f"{name}.")]:
        import_quietly(parent)
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"{old} has moved to {new}; ") as caught:
        found = import_module(old)
    there = import_module(new)
    for name in getattr(there, "__all__", [name for name in vars(there) if name[0] != "_"]):
        assert getattr(found, name) is getattr(there, name)
    assert len(caught) == 1


def test_the_warning_names_the_line_that_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "isoscope.clouds", raising=False)
    with pytest.warns(DeprecationWarning, match="has moved") as caught:
        from isoscope.clouds import open_cloud
    assert open_cloud is isoscope.open_cloud
    assert caught[0].filename == __file__


def test_a_function_with_the_name_of_an_old_package_can_still_be_called() -> None:
    import_quietly("isoscope.explain")
    with pytest.raises(isoscope.UsageError, match="no topic is called 'nonsense'"):
        isoscope.explain("package:minilm", topics="nonsense")


def test_other_names_are_missing_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'isoscope\.nonsense'"):
        import_module("isoscope.nonsense")


def test_old_paths_are_listed_in_the_documentation() -> None:
    text = (Path(__file__).parents[1] / "docs" / "migrating.md").read_text("utf-8")
    for old, new in moved.MOVED.items():
        assert f"| `{old}` | `{new}` |" in text
