from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import quick
from quick import CORE, ROOT, concerned, module_of


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("src/isoscope/measures/space.py", "isoscope.measures.space"),
        ("src/isoscope/__init__.py", "isoscope"),
        ("tests/clouds_for_tests.py", "clouds_for_tests"),
        ("tools/quick.py", "quick"),
        ("README.md", ""),
        ("docs/make_pictures.py", ""),
    ],
)
def test_the_module_of_a_file(file: str, module: str) -> None:
    assert module_of(file) == module


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Five test files of another project."""
    monkeypatch.setattr(quick, "ROOT", tmp_path)
    files = {
        "measures/test_space.py": "",
        "measures/test_imports.py": "from isoscope.measures.space import Space",
        "measures/test_imports_module.py": "from isoscope.measures import (\n    space,\n)",
        "cli/test_patches.py": "patch('isoscope.measures.space.LIMIT', 3)",
        "cli/test_helper.py": "import isoscope\nfrom helper import made",
    }
    for name, text in files.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [tmp_path / "tests" / name for name in files]


def chosen(tests: list[Path], *changed: str) -> set[str]:
    return {Path(file).stem for file in concerned(changed, tests)}


def test_a_module_concerns_its_mirror_and_those_who_name_it(tests: list[Path]) -> None:
    found = chosen(tests, "src/isoscope/measures/space.py")
    assert found == {"test_space", "test_imports", "test_imports_module", "test_patches"}


def test_a_helper_concerns_those_who_import_it(tests: list[Path]) -> None:
    assert chosen(tests, "tests/helper.py") == {"test_helper"}


def test_a_test_concerns_itself(tests: list[Path]) -> None:
    assert chosen(tests, "tests/cli/test_patches.py") == {"test_patches"}


def test_other_files_concern_nothing(tests: list[Path]) -> None:
    assert chosen(tests, "README.md", "src/isoscope/__init__.py", "tests/conftest.py") == set()


def test_the_core_is_small() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", quick.QUICK, *CORE],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert 100 < listed.count("::") <= 200
