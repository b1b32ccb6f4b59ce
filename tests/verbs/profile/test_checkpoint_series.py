from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.compute.journal import Journal
from isoscope.errors import UsageError
from isoscope.models.checkpoint_cache import CheckpointCache
from isoscope.models.checkpoints import find_training
from isoscope.results.result import Result, Row
from isoscope.verbs.report.summary_table import pivot

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainings_for_tests import FakeHub

    from isoscope.models.checkpoints import Checkpoint, Training
    from isoscope.models.model import Model

pytest.importorskip("transformers")

pytestmark = pytest.mark.slow
NOISES = {"step0": 0.0, "step2": 0.0, "step10": 0.2, "step100": 0.4, "step1000": 0.8}
TEXTS = ["the cat sat on the bank.", "a dog ran in the river.", "a bird flew and the dog saw it."]
FEW: dict[str, Any] = {"measures": "mean_cosine,mean_norm", "intervals": False}
SAME = pytest.mark.filterwarnings("ignore:.*has the same weights:UserWarning")


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_model: Callable[[str], Path]) -> Path:
    """A training whose second checkpoint has the weights of the first."""
    from trainings_for_tests import save_training

    return save_training(tiny_model("gpt2"), tmp_path_factory.mktemp("trainings") / "run", NOISES)


def served(run: Path, monkeypatch: pytest.MonkeyPatch, **tags: str) -> FakeHub:
    from trainings_for_tests import FakeHub

    return FakeHub(run, tags).serve(monkeypatch)


@dataclass
class Look:
    """Stands for a profile: one number of each model, with a limit on how many."""

    limit: int = 100
    names: list[str] = field(default_factory=list)
    alive: list[Any] = field(default_factory=list)

    def __call__(self, model: Model) -> Result:
        assert not any(network() is not None for network in self.alive)
        if len(self.names) == self.limit:
            raise InterruptedError
        self.names.append(model.name)
        self.alive.append(weakref.ref(model.network))
        model.network.circle = [model]  # as hooks make them: counting references frees nothing
        value = float(model.network.wte.weight[0, 0])
        row = Row(model.name, "embedding", "none", "first", value, n=1, protocol="one number")
        return Result([row], left_out={"rows": 3}, extra={"models": {model.name: {}}})


def over(
    training: Training, look: Look, journal: Journal | None = None, opened: Any = None
) -> Result:
    from isoscope.verbs.profile.checkpoint_series import profile_over_training

    with CheckpointCache() as cache:

        def open_one(checkpoint: Checkpoint) -> Model:
            if opened is not None:
                opened.append(checkpoint.revision)
            return cache.open(checkpoint)

        return profile_over_training(training, look, open_one, journal=journal)


@SAME
def test_rows_say_model_revision_and_step(run: Path) -> None:
    from safetensors.numpy import load_file

    look = Look()
    result = over(find_training(str(run)), look)
    numbers = [row for row in result.rows if row.measure == "first"]
    assert [row.subject for row in numbers] == [
        "run@step0", "run@step10", "run@step100", "run@step1000"
    ]  # fmt: skip
    for row in numbers:
        revision = row.extra["revision"]
        assert row.extra == {"model": "run", "revision": revision, "step": int(revision[4:])}
        tensors = load_file(run / revision / "model.safetensors")
        assert row.value == pytest.approx(float(tensors["transformer.wte.weight"][0, 0]))
        assert row.protocol == ("one number; 5 of 5 checkpoints: steps 0, 2, 10, 100, 1000")
    assert result.left_out == {"rows": 3}
    assert list(result.extra["models"]) == [row.subject for row in numbers]
    assert Result.from_json(result.to_json()).to_dict() == result.to_dict()


def test_the_same_weights_are_no_point_of_the_curve(run: Path) -> None:
    look = Look()
    with pytest.warns(UserWarning, match="run@step2 has the same weights as run@step0; it gets"):
        result = over(find_training(str(run)), look)
    assert "run@step2" not in look.names
    (row,) = [row for row in result.rows if row.subject == "run@step2"]
    assert row.value is None
    assert row.extra == {"model": "run", "revision": "step2", "step": 2, "duplicate_of": "step0"}
    table = result.table("checkpoints")
    assert [line["duplicate_of"] for line in table.rows] == [None, "step0", None, None, None]
    digests = [line["sha256"] for line in table.rows]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4
    assert table.note == "5 of 5 checkpoints: steps 0, 2, 10, 100, 1000"


@SAME
def test_one_network_at_a_time(run: Path) -> None:
    look = Look()
    gc.disable()
    try:
        over(find_training(str(run)), look)  # which looks whether another is alive
    finally:
        gc.enable()
    assert len(look.alive) == 4
    assert not any(network() is not None for network in look.alive)


def test_branches_of_one_commit_are_fetched_once(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = served(run, monkeypatch, step5000="step1000")
    opened: list[str] = []
    with pytest.warns(UserWarning, match="step5000 has the same weights as somebody/tiny@step1000"):
        result = over(find_training("somebody/tiny", "step?000"), Look(), opened=opened)
    assert opened == hub.fetched == ["step1000"]
    assert [row.extra.get("duplicate_of") for row in result.rows] == [None, "step1000"]


@SAME
@pytest.mark.parametrize("done", [0, 2])
def test_a_killed_run_goes_on(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    served(run, monkeypatch)
    training = find_training("somebody/tiny", "step*")
    whole = over(training, Look())
    folder = tmp_path / "run.journal"
    with Journal.open(folder, {}) as journal, pytest.raises(InterruptedError):
        over(training, Look(limit=done), journal)
    opened: list[str] = []
    look = Look()
    with Journal.open(folder, {}, resume=True) as journal:
        resumed = over(training, look, journal, opened)
    names = [f"somebody/tiny@{name}" for name in ("step0", "step10", "step100", "step1000")]
    assert look.names == names[done:]
    # The second is found to be the first one time only: its digest is in the journal.
    assert opened == list(NOISES)[done + 1 if done else 0 :]
    assert resumed.to_dict() == whole.to_dict()


@SAME
def test_report_and_claims_tell_steps_apart(run: Path) -> None:
    from isoscope.verbs.study.judgement.claims import Claim

    result = over(find_training(str(run)), Look())
    table = pivot([result], ["model", "part"], ["first"], ["none"])
    assert [key for key, _ in table.lines] == [
        (f"run@{name}", "embedding") for name in ("step0", "step10", "step100", "step1000")
    ]
    values = {row.extra["step"]: row.value for row in result.rows if row.value is not None}
    claim = Claim(
        "training moves it", {"measure": "first"},
        {"subject": "*@step1000"}, ">", {"subject": "*@step0"},
    )  # fmt: skip
    (verdict,) = claim.judge(result)
    (case,) = verdict.cases
    assert case.true == (values[1000] > values[0])
    assert verdict.cases[0].left_value == values[1000]
    assert verdict.cases[0].right_value == values[0]


@SAME
def test_layers_over_training_are_those_of_each_model(run: Path, tmp_path: Path) -> None:
    from isoscope.verbs.profile.api import profile

    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    found = profile(str(run), texts, every="log", corrections="none", **FEW)
    assert len({row.subject for row in found.rows}) == 5
    for name in ("step0", "step1000"):
        alone = profile(str(run / name), texts, corrections="none", **FEW)
        rows = [row for row in found.rows if row.subject == f"run@{name}"]
        assert [(row.part, row.measure, row.value) for row in rows] == [
            (row.part, row.measure, row.value) for row in alone.rows
        ]
        assert rows[0].protocol.startswith(alone.rows[0].protocol)
        assert (
            "5 of 5 checkpoints, nearest to steps 1, 2, 4, 8, …: steps 0, 2, 10" in rows[0].protocol
        )
    sentence = found.verdicts[0]["sentence"]
    assert "mean_cosine goes from" in sentence
    assert "at step 1,000" in sentence
    assert {verdict.get("step") for verdict in found.verdicts} == {None, 0, 10, 100, 1000}


@SAME
def test_a_killed_profile_of_layers_leaves_no_states_behind(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.verbs.profile import api as profiling
    from isoscope.verbs.profile.api import profile

    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    journal = tmp_path / "out.journal"
    options: dict[str, Any] = {"revisions": "step1*", "corrections": "none", **FEW}
    whole = profile(str(run), texts, **options)
    plain, calls = profiling.with_text, 0

    def killed(*arguments: Any, **options: Any) -> Result:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise InterruptedError
        return plain(*arguments, **options)

    monkeypatch.setattr(profiling, "with_text", killed)
    with pytest.raises(InterruptedError):
        profile(str(run), texts, journal=journal, **options)
    left = sorted(path.name for path in journal.glob("step *"))
    assert [name for name in left if "read" in name] == []
    assert any("run%40step10 result" in name for name in left)
    with pytest.raises(UsageError, match="cannot be resumed"):
        profile(str(run), texts, journal=journal, resume=True, **(options | {"revisions": "*"}))
    resumed = profile(str(run), texts, journal=journal, resume=True, **options)
    assert calls == 4  # the first was not done again
    assert resumed.to_dict() == whole.to_dict()
    assert not journal.exists()


@SAME
def test_weights_over_training_and_a_model_beside_them(
    run: Path, tiny_model: Callable[[str], Path]
) -> None:
    from isoscope.verbs.profile.api import profile

    found = profile([str(run), str(tiny_model("bert"))], corrections="none", **FEW)
    part = [row for row in found.rows if row.part == "embedding matrix"]
    norms = [row.value for row in part if row.measure == "mean_norm" and "step" in row.extra]
    assert norms == sorted(norms, key=float)
    assert np.ptp(np.array(norms, float)) > 0.1
    assert [row.subject for row in part][-1] == "tiny-bert"
    titles = [line for line in repr(found).split("\n") if line.startswith(("run", "tiny-bert"))]
    assert any(line.startswith("run, embedding matrix: ") for line in titles)
    assert any(line.startswith("run, final norm: ") for line in titles)
    assert any(line.startswith("tiny-bert: ") for line in titles)
    assert not any("@" in line for line in titles)


def test_calls_that_contradict_themselves(run: Path, tmp_path: Path) -> None:
    from isoscope.verbs.profile.api import profile

    with pytest.raises(UsageError, match="--revision names one state of a model"):
        profile(str(run), revision="step0", revisions="step*")
    with pytest.raises(UsageError, match="use --revisions step0"):
        profile(str(run), revision="step0")
    with pytest.raises(UsageError, match="--every chooses among checkpoints"):
        profile(str(run / "step0"), every=2)
    with pytest.raises(UsageError, match="add --revisions"):
        profile(str(run), keep=2)
    other = tmp_path / "run"
    other.symlink_to(run, target_is_directory=True)
    with pytest.raises(UsageError, match="two models are called run"):
        profile([str(run), str(other)])
