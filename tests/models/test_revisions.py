from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from isoscope.errors import UsageError
from isoscope.models.checkpoints import find_training, holds_checkpoints

hub = pytest.importorskip("huggingface_hub")
pytest.importorskip("transformers")


def empty_model(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for name in ("step1000", "step0", "step200", "step30", "final"):
        empty_model(tmp_path / "run" / name)
    (tmp_path / "run" / "step9").mkdir()  # not a model
    (tmp_path / "run" / "notes10.txt").write_text("no folder")
    return tmp_path / "run"


def refs(**commits: str) -> Any:
    return [SimpleNamespace(name=name, target_commit=commit) for name, commit in commits.items()]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> None:
    branches = refs(main="c", step1000="c", step0="a", step20="b")
    found = SimpleNamespace(branches=branches, tags=refs(v2="d", step20="z"))
    monkeypatch.setattr(hub, "list_repo_refs", lambda _: found)


def test_subfolders_in_the_order_of_training(run: Path) -> None:
    training = find_training(str(run))
    assert training.model == "run"
    assert [one.revision for one in training.checkpoints] == [
        "step0", "step30", "step200", "step1000"
    ]  # fmt: skip
    assert [one.step for one in training.checkpoints] == [0, 30, 200, 1000]
    first = training.checkpoints[0]
    assert (first.name, first.folder, first.commit) == ("run@step0", run / "step0", None)
    assert training.protocol == "4 of 4 checkpoints: steps 0, 30, 200, 1000"


def test_some_of_them(run: Path) -> None:
    training = find_training(str(run), "step*", 2)
    assert [one.step for one in training.checkpoints] == [0, 200, 1000]
    assert training.protocol == "3 of 4 checkpoints, one in 2: steps 0, 200, 1000"
    assert [one.step for one in find_training(str(run), "*0", "log").checkpoints] == [
        0, 30, 200, 1000
    ]  # fmt: skip
    assert [one.step for one in find_training(str(run), "step?0,step0").checkpoints] == [0, 30]


def test_a_name_without_a_number_must_be_written_out(run: Path) -> None:
    training = find_training(str(run), "step1*, final")
    assert [one.revision for one in training.checkpoints] == ["step1000", "final"]
    assert training.protocol == "2 of 2 checkpoints: steps 1000, final"
    assert find_training(str(run), "final").protocol == "1 of 1 checkpoints: final"
    with pytest.raises(UsageError, match=r"fits 'fin\*'; there are step0, step30, .*written out"):
        find_training(str(run), "fin*")


def test_what_is_a_folder_of_checkpoints(run: Path, tmp_path: Path) -> None:
    assert holds_checkpoints(str(run))
    assert not holds_checkpoints(str(run / "step0"))
    assert not holds_checkpoints(str(run / "step9"))
    assert not holds_checkpoints("somebody/tiny")
    empty_model(tmp_path / "others" / "gpt")
    assert not holds_checkpoints(str(tmp_path / "others"))
    (run / "config.json").write_text("{}")  # as trainers leave the last model
    assert not holds_checkpoints(str(run))
    assert len(find_training(str(run), "step*").checkpoints) == 4


@pytest.mark.parametrize(
    ("kinds", "training"),
    [
        ({"bert": "bert", "gpt2": "gpt2"}, False),
        ({"all-mpnet-base-v2": "mpnet"}, False),
        ({"all-mpnet-base-v2": "mpnet", "all-MiniLM-L6-v2": "bert"}, False),
        ({"pythia-70m": "gpt_neox", "pythia-160m-v2": "gpt_neox"}, False),
        ({"step10": "bert", "step20": "gpt2"}, False),
        ({"step10": "bert"}, True),
        ({"epoch_1": "bert", "epoch_2": "bert", "best": "bert"}, True),
        ({"10": "bert", "20": "bert"}, True),
    ],
)
def test_models_side_by_side_are_no_training(
    kinds: dict[str, str], training: bool, tmp_path: Path
) -> None:
    for name, kind in kinds.items():
        empty_model(tmp_path / "models" / name)
        (tmp_path / "models" / name / "config.json").write_text(f'{{"model_type": "{kind}"}}')
    assert holds_checkpoints(str(tmp_path / "models")) is training


def test_folders_and_models_without_checkpoints(run: Path) -> None:
    with pytest.raises(UsageError, match="has no checkpoints: none of its subfolders is a model"):
        find_training(str(run / "step0"), "step*")
    for name in ("package:minilm", str(run / "notes10.txt"), "tiny.gguf"):
        with pytest.raises(UsageError, match="is one model without checkpoints"):
            find_training(name, "step*")
    with pytest.raises(UsageError, match="there is no such folder"):
        find_training(str(run / "nothing"), "step*")


@pytest.mark.usefixtures("suite")
def test_branches_and_tags() -> None:
    training = find_training("somebody/tiny", "step*")
    assert [(one.name, one.step, one.commit) for one in training.checkpoints] == [
        ("somebody/tiny@step0", 0, "a"),
        ("somebody/tiny@step20", 20, "b"),
        ("somebody/tiny@step1000", 1000, "c"),
    ]
    assert all(one.folder is None for one in training.checkpoints)
    named = find_training("somebody/tiny", "v*,main").checkpoints
    assert [one.revision for one in named] == ["v2", "main"]


def test_without_a_network_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(_: str) -> None:
        raise ConnectionError("Name or service not known\nand more")

    monkeypatch.setattr(hub, "list_repo_refs", unreachable)
    with pytest.raises(UsageError) as caught:
        find_training("somebody/tiny", "step*")
    message = str(caught.value)
    assert "somebody/tiny: there is no such folder, and the hub cannot be reached" in message
    assert "(Name or service not known); give a folder whose subfolders are checkpoints" in message
    assert "\n" not in message


def test_what_the_hub_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: str) -> None:
        response: Any = SimpleNamespace(headers={}, request=None)
        raise hub.errors.RepositoryNotFoundError("said no", response=response)

    monkeypatch.setattr(hub, "list_repo_refs", answer)
    with pytest.raises(UsageError, match="no such public model on the hub"):
        find_training("somebody/tiny", "step*")
