"""Whole trainings: killed anywhere, they go on to the same bytes; what is refused; what is kept."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import isoscope  # noqa: E402
from isoscope.compute.journal import Journal  # noqa: E402
from isoscope.errors import DataError, IsoscopeError, UsageError  # noqa: E402
from isoscope.models.checkpoints import find_training, holds_checkpoints  # noqa: E402
from isoscope.results.result import Result  # noqa: E402
from isoscope.verbs.profile.api import profile  # noqa: E402
from isoscope.verbs.train.pretrain import loop as pretraining  # noqa: E402
from isoscope.verbs.train.pretrain.learner import Learner  # noqa: E402
from isoscope.verbs.train.pretrain.loop import pretrain  # noqa: E402
from isoscope.verbs.train.pretrain.plan import Plan  # noqa: E402

if TYPE_CHECKING:
    from isoscope.verbs.train.pretrain.learner import Corpus

Plans = Callable[..., Plan]

FULL = OSError(28, "No space left on device")
KILLS = [
    (Learner, "learn", 1),  # before anything was kept but the checkpoint before the first step
    (Learner, "learn", 5),
    (transformers.PreTrainedModel, "save_pretrained", 1),
    (transformers.PreTrainedModel, "save_pretrained", 2),
    (transformers.PreTrainedTokenizerFast, "save_pretrained", 3),  # weights are written by then
    (Learner, "perplexity", 1),
    (Learner, "perplexity", 3),  # behind the last checkpoint
    (Journal, "save", 1),  # between a checkpoint and the state that belongs to it
    (Journal, "save", 2),
    (Result, "save", 1),
    (Journal, "remove", 1),
]
"""Functions at whose n-th call a run is killed."""


@pytest.fixture(scope="module")
def plans(small_plan: Plans) -> dict[str, tuple[Plan, int]]:
    """Plans that differ in all that a state has to keep, and how often they record."""
    return {
        "recorded": (small_plan("clm", seed=3), 2),
        "plain": (small_plan("mlm", positions="rotary"), 0),
        "untied": (
            small_plan("mlm", tie=False, final_norm="rmsnorm", changed={"dropout": 0.1}),
            4,
        ),
    }


@pytest.fixture(scope="module")
def unbroken(
    plans: dict[str, tuple[Plan, int]], toy_texts: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:  # fmt: skip
    """The folders of trainings that nobody killed."""
    found = {}
    for name, (plan, record) in plans.items():
        found[name] = tmp_path_factory.mktemp(name) / "model"
        pretrain(toy_texts, plan, found[name], record=record)
    return found


def files(folder: Path) -> dict[str, bytes]:
    """Return all that a training left behind, but for how long it took."""
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    told = json.loads(found["result.json"])
    assert told.pop("seconds") >= 0
    told.pop("checksum")
    found["result.json"] = json.dumps(told).encode()
    return found


def told(result: Result) -> dict[str, Any]:
    """Return a result as JSON holds it, but for how long it took."""
    found: dict[str, Any] = json.loads(result.to_json())
    del found["seconds"]
    return found


def fails_at(
    patch: pytest.MonkeyPatch, place: Any, name: str, call: int, error: BaseException
) -> None:
    """Let the n-th call of a function fail before it does anything."""
    real, left = getattr(place, name), [call]

    def sometimes(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise error
        return real(*arguments, **options)

    patch.setattr(place, name, sometimes)


def one_line(caught: pytest.ExceptionInfo[Any]) -> str:
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize(("place", "name", "call"), KILLS)
def test_a_killed_run_ends_as_if_it_had_not_been(
    place: Any, name: str, call: int, plans: dict[str, tuple[Plan, int]],
    unbroken: dict[str, Path], toy_texts: list[str], tmp_path: Path,
) -> None:  # fmt: skip
    for kind in ("recorded", "untied"):
        plan, record = plans[kind]
        out = tmp_path / kind / "model"
        with pytest.MonkeyPatch.context() as patch:
            fails_at(patch, place, name, call, KeyboardInterrupt())
            with pytest.raises(KeyboardInterrupt):
                pretrain(toy_texts, plan, out, record=record)
        found = pretrain(toy_texts, plan, out, record=record, resume=True)
        assert told(found) == told(Result.load(unbroken[kind] / "result.json"))
        assert files(out) == files(unbroken[kind])


def test_killed_at_every_step(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_texts: list[str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """States are kept between checkpoints too: no step is taken twice."""
    monkeypatch.setattr(pretraining, "KEPT_EVERY", 0.0)
    plan, record = plans["recorded"]
    out, real = tmp_path / "model", Learner.learn
    steps: list[int] = []

    def counted(self: Learner, *some: Any) -> float:
        steps.append(self.step)
        return real(self, *some)

    for run in range(plan.length):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Learner, "learn", counted)
            fails_at(patch, Learner, "learn", 2, KeyboardInterrupt())
            if run < plan.length - 1:
                with pytest.raises(KeyboardInterrupt):
                    pretrain(toy_texts, plan, out, record=record, resume=True)
            else:
                pretrain(toy_texts, plan, out, record=record, resume=True)
    assert steps == list(range(plan.length))
    assert files(out) == files(unbroken["recorded"])


def test_states_are_not_kept_more_often_than_they_are_worth(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    real = Journal.save

    def save(self: Journal, step: str, arrays: Any, facts: Any, **more: Any) -> None:
        kept.append(facts["step"])
        real(self, step, arrays, facts, **more)

    monkeypatch.setattr(Journal, "save", save)
    pretrain(toy_texts, small_plan(), tmp_path / "model")
    assert kept == [3, 6]


def test_leftovers_of_a_killed_run_go(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_texts: list[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    """Half a checkpoint is a folder, half a result.json is a file."""
    plan, record = plans["recorded"]
    out = tmp_path / "model"
    with pytest.MonkeyPatch.context() as patch:
        fails_at(patch, Result, "save", 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretrain(toy_texts, plan, out, record=record)
    (out / ".isoscope-abc").write_text("{")
    (out / ".isoscope-def").mkdir()
    (out / ".isoscope-def" / "config.json").write_text("{}")
    pretrain(toy_texts, plan, out, record=record, resume=True)
    assert files(out) == files(unbroken["recorded"])


def test_what_a_training_leaves_behind(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path]
) -> None:
    for kind, (plan, record) in plans.items():
        folder = unbroken[kind]
        names = {path.name for path in folder.iterdir()}
        assert names == {"step0", "step3", "step6", "result.json"}
        result = Result.load(folder / "result.json")
        assert [row.part for row in result.rows if row.measure == "perplexity"] == [
            "step0", "step3", "step6",
        ]  # fmt: skip
        # Nothing was learned before step 0, so it has no loss.
        assert [row.part for row in result.rows if row.measure == "training_loss"] == [
            "step3", "step6",
        ]  # fmt: skip
        assert {row.subject for row in result.rows} == {"model"}
        assert all(plan.words in row.protocol for row in result.rows)
        assert [row.extra["step"] for row in result.rows] == [0, 3, 3, 6, 6]
        assert result.seeds == {"seed": plan.seed}
        assert "torch" in result.versions
        facts = result.extra["configuration"]
        assert plan.to_facts().items() <= facts.items()
        assert facts["record"] == record
        assert result.extra["seconds"] > 0


def test_numbers_are_those_of_a_learner(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_corpus: Corpus
) -> None:
    plan, _ = plans["recorded"]
    learner = Learner(plan, toy_corpus)
    result = Result.load(unbroken["recorded"] / "result.json")
    assert result.value("perplexity", part="step0") == learner.perplexity()
    for end in (3, 6):
        losses = [learner.learn() for _ in range(3)]
        assert result.value("perplexity", part=f"step{end}") == learner.perplexity()
        assert result.value("training_loss", part=f"step{end}") == pytest.approx(sum(losses) / 3)


def test_recorded_steps_are_in_tables(unbroken: dict[str, Path]) -> None:
    steps = {"recorded": [1, 2, 4, 6], "untied": [1, 4]}
    for kind, wanted in steps.items():
        result = Result.load(unbroken[kind] / "result.json")
        assert [row["step"] for row in result.table("mean_drift").rows] == wanted
        moves = result.table("common_enemies").rows
        assert sorted({row["step"] for row in moves}) == wanted
        assert {row["update"] for row in moves} == {"SGD, output path", "SGD", "AdamW"}
        assert result.table("common_enemies").part == "unembedding matrix"
    assert Result.load(unbroken["plain"] / "result.json").tables == []


def test_the_way_since_the_start_is_that_since_step_0(unbroken: dict[str, Path]) -> None:
    folder = unbroken["recorded"]
    means = [
        isoscope.open_model(str(folder / name)).tensor("wte.weight").astype(float).mean(axis=0)
        for name in ("step0", "step6")
    ]
    drift = Result.load(folder / "result.json").table("mean_drift").rows[-1]
    assert drift["step"] == 6
    assert drift["drift_of_mean"] == pytest.approx(np.linalg.norm(means[1] - means[0]), rel=1e-6)
    assert drift["length_of_mean"] == pytest.approx(np.linalg.norm(means[1]), rel=1e-6)


def test_checkpoints_open_as_models(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_corpus: Corpus
) -> None:
    tokens = torch.from_numpy(toy_corpus.train[:2].astype(np.int64))
    for kind, (plan, _) in plans.items():
        learner = Learner(plan, toy_corpus)
        for step in range(plan.length + 1):
            if step in plan.kept_steps:
                model = isoscope.open_model(str(unbroken[kind] / f"step{step}"))
                learner.network.eval()
                with torch.no_grad():
                    found = model.network(input_ids=tokens)[0]
                    wanted = learner.reader.hidden(tokens)
                learner.network.train()
                assert torch.equal(found, wanted)
                assert model.tied == plan.tie
                assert model.longest == plan.shape.context
                assert model.tokenizer.get_vocab() == toy_corpus.tokenizer.get_vocab()
            if step < plan.length:
                learner.learn()


@pytest.mark.parametrize("kind", ["recorded", "plain"])
def test_transformers_alone_opens_stock_checkpoints(
    kind: str, plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_corpus: Corpus
) -> None:
    plan, _ = plans[kind]
    masked = plan.objective == "mlm"
    auto = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    network, loading = auto.from_pretrained(unbroken[kind] / "step6", output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    learner = Learner(plan, toy_corpus)
    learner.network = network
    learner.reader = replace(learner.reader, network=network)
    result = Result.load(unbroken[kind] / "result.json")
    assert learner.perplexity() == pytest.approx(result.value("perplexity", part="step6"))


def test_checkpoints_are_found_in_the_order_of_training(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path
) -> None:
    pretrain(toy_texts, small_plan(steps=12, checkpoints=4), tmp_path / "model")
    training = find_training(str(tmp_path / "model"))
    # By letters, step12 would come before step3.
    revisions = [one.revision for one in training.checkpoints]
    assert revisions == ["step0", "step3", "step6", "step9", "step12"]
    assert [one.step for one in training.checkpoints] == [0, 3, 6, 9, 12]
    assert training.model == "model"
    assert holds_checkpoints(str(tmp_path / "model"))


def test_a_profile_follows_the_checkpoints(unbroken: dict[str, Path]) -> None:
    found = profile(str(unbroken["untied"]), measures="mean_cosine", corrections="none")
    for part in ("embedding matrix", "unembedding matrix"):
        rows = [row for row in found.rows if (row.part, row.measure) == (part, "mean_cosine")]
        assert [row.subject for row in rows] == ["model@step0", "model@step3", "model@step6"]
        assert len({row.value for row in rows}) == 3


def test_progress_and_silence(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[Any, ...]] = []
    pretrain(
        toy_texts, small_plan(), tmp_path / "model", command="isoscope train …",
        progress=lambda *step: seen.append(step),
    )  # fmt: skip
    assert seen == [("pretraining", k, 6) for k in range(1, 7)]
    assert capfd.readouterr() == ("", "")
    assert Result.load(tmp_path / "model" / "result.json").command == "isoscope train …"


def test_a_corpus_that_several_trainings_share(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_corpus: Corpus,
    tmp_path: Path,
) -> None:  # fmt: skip
    plan, record = plans["recorded"]
    pretrain(None, plan, tmp_path / "model", record=record, corpus=toy_corpus)
    assert files(tmp_path / "model") == files(unbroken["recorded"])


def test_a_finished_training_is_read(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_texts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(Learner, "learn", lambda *_: pytest.fail("it trained"))
    plan, record = plans["recorded"]
    out = unbroken["recorded"]
    before = (out / "result.json").read_bytes()
    found = pretrain(toy_texts, plan, out, record=record, resume=True)
    assert (out / "result.json").read_bytes() == before
    stored = json.loads(before)
    del stored["checksum"]  # which only files have
    assert json.loads(found.to_json()) == stored


@pytest.mark.parametrize("finished", [True, False])
def test_another_configuration_is_no_way_to_go_on(
    finished: bool, plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path],
    toy_texts: list[str], tmp_path: Path,
) -> None:  # fmt: skip
    plan, record = plans["recorded"]
    out = unbroken["recorded"]
    if not finished:
        out = tmp_path / "model"
        with pytest.MonkeyPatch.context() as patch:
            fails_at(patch, Learner, "learn", 5, KeyboardInterrupt())
            with pytest.raises(KeyboardInterrupt):
                pretrain(toy_texts, plan, out, record=record)
    others: list[tuple[Plan, int, list[str], str]] = [
        (replace(plan, steps=8), record, toy_texts, "steps 6, and this run has 8"),
        (replace(plan, seed=4), record, toy_texts, "seed 3, and this run has 4"),
        (replace(plan, tie=False), record, toy_texts, "tie true, and this run has false"),
        (replace(plan, positions="none"), record, toy_texts, 'positions "learned".* "none"'),
        (replace(plan, changed={**plan.changed, "dropout": 0.5}), record, toy_texts, "dropout"),
        (plan, 3, toy_texts, "record 2, and this run has 3"),
        (plan, record, [*toy_texts, "a cat"], 'started with text "'),
    ]
    before = sorted(path.name for path in out.iterdir())
    for other, every, texts, message in others:
        with pytest.raises(UsageError, match=message) as refused:
            pretrain(texts, other, out, record=every, resume=True)
        assert str(out) in one_line(refused)
    assert sorted(path.name for path in out.iterdir()) == before


def test_folders_that_are_there_already(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_texts: list[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    plan, record = plans["recorded"]
    with pytest.raises(UsageError, match="holds a finished training") as refused:
        pretrain(toy_texts, plan, unbroken["recorded"], record=record)
    one_line(refused)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file; name a folder") as refused:
        pretrain(toy_texts, plan, tmp_path / "file")
    one_line(refused)
    with pytest.raises(UsageError, match="cannot be written") as refused:
        pretrain(toy_texts, plan, tmp_path / "file" / "model")
    one_line(refused)
    out = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch:
        fails_at(patch, Learner, "learn", 2, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretrain(toy_texts, plan, out)
    with pytest.raises(UsageError, match="did not finish; --resume continues it") as refused:
        pretrain(toy_texts, plan, out)
    one_line(refused)
    empty = tmp_path / "a" / "new" / "one"
    empty.parent.mkdir(parents=True)
    pretrain(toy_texts, plan, empty)
    assert (empty / "result.json").is_file()


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_of_other_files_is_left_alone(
    resume: bool, plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path],
    toy_texts: list[str], tmp_path: Path,
) -> None:  # fmt: skip
    """Checkpoints of another program may have the names of ours, and would be deleted."""
    out = tmp_path / "model"
    shutil.copytree(unbroken["plain"] / "step3", out / "step3")
    (out / "notes.txt").write_text("mine")
    weights = (out / "step3" / "model.safetensors").read_bytes()
    plan, _ = plans["recorded"]
    with pytest.raises(UsageError, match="holds other files") as refused:
        pretrain(toy_texts, plan, out, resume=resume)
    one_line(refused)
    assert (out / "step3" / "model.safetensors").read_bytes() == weights
    assert sorted(path.name for path in out.iterdir()) == ["notes.txt", "step3"]


def test_resume_begins_where_there_is_nothing(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_texts: list[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    """Killed before its journal had a configuration, a run has left a folder and no more."""
    plan, record = plans["recorded"]
    out = tmp_path / "model"
    (out / "journal").mkdir(parents=True)
    (out / "journal" / "lock").write_text("1")
    pretrain(toy_texts, plan, out, record=record, resume=True)
    assert files(out) == files(unbroken["recorded"])


def test_two_runs_in_one_folder(
    plans: dict[str, tuple[Plan, int]], toy_texts: list[str], tmp_path: Path
) -> None:
    plan, _ = plans["recorded"]
    out = tmp_path / "model"

    def second(_: str, step: int, __: int) -> None:
        if step == 4:
            with pytest.raises(UsageError, match="in use by another run"):
                pretrain(toy_texts, plan, out, resume=True)

    pretrain(toy_texts, plan, out, progress=second)
    assert (out / "result.json").is_file()


def test_a_record_of_less_than_nothing(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="record .* got -1"):
        pretrain(toy_texts, small_plan(), tmp_path / "model", record=-1)
    assert not (tmp_path / "model").exists()


def test_a_text_that_is_too_small_leaves_no_folder(small_plan: Plans, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too small"):
        pretrain(["a cat"] * 40, small_plan(), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize(
    ("place", "name"),
    [
        (transformers.PreTrainedModel, "save_pretrained"),
        (transformers.PreTrainedTokenizerFast, "save_pretrained"),
    ],
)
def test_a_full_disk_loses_nothing(
    place: Any, name: str, call: int, plans: dict[str, tuple[Plan, int]],
    unbroken: dict[str, Path], toy_texts: list[str], tmp_path: Path,
) -> None:  # fmt: skip
    plan, record = plans["recorded"]
    out, whole = tmp_path / "model", files(unbroken["recorded"])
    with pytest.MonkeyPatch.context() as patch:
        fails_at(patch, place, name, call, FULL)
        with pytest.raises(DataError, match="could not be written: No space left") as told_so:
            pretrain(toy_texts, plan, out, record=record)
    message = one_line(told_so)
    assert "--resume" in message
    assert f"step{plan.kept_steps[call - 1]} " in message
    kept = [f"step{step}" for step in plan.kept_steps[: call - 1]]
    assert sorted(path.name for path in out.iterdir()) == sorted([*kept, "journal"])
    for step in kept:
        weights = f"{step}/model.safetensors"
        assert (out / weights).read_bytes() == whole[weights]
    pretrain(toy_texts, plan, out, record=record, resume=True)
    assert files(out) == whole


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_a_disk_that_is_full_for_a_state_or_a_result(
    call: int, plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path],
    toy_texts: list[str], tmp_path: Path,
) -> None:  # fmt: skip
    """Written in this order: the configuration, two states, and the result."""
    plan, record = plans["recorded"]
    out = tmp_path / "model"
    with pytest.MonkeyPatch.context() as patch:
        fails_at(patch, os, "fsync", call, FULL)
        with pytest.raises(IsoscopeError, match="cannot be written: No space left") as told_so:
            pretrain(toy_texts, plan, out, record=record)
    one_line(told_so)
    pretrain(toy_texts, plan, out, record=record, resume=True)
    assert files(out) == files(unbroken["recorded"])


def test_a_safetensors_error_is_a_full_disk_too(
    plans: dict[str, tuple[Plan, int]], toy_texts: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from safetensors import SafetensorError

    error = SafetensorError("Error while serializing: I/O error: No space left on device")
    fails_at(monkeypatch, transformers.PreTrainedModel, "save_pretrained", 2, error)
    with pytest.raises(DataError, match="step3 could not be written: .*No space left") as told_so:
        pretrain(toy_texts, plans["recorded"][0], tmp_path / "model")
    one_line(told_so)


def test_an_error_of_the_tokenizer_is_a_full_disk_too(
    plans: dict[str, tuple[Plan, int]], toy_texts: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Its package raises ``Exception`` itself; whatever else goes wrong stays what it is."""
    fast, plan = transformers.PreTrainedTokenizerFast, plans["recorded"][0]
    fails_at(monkeypatch, fast, "save_pretrained", 1, Exception("Permission denied (os error 13)"))
    with pytest.raises(DataError, match="step0 could not be written: Permission denied;"):
        pretrain(toy_texts, plan, tmp_path / "one")
    fails_at(monkeypatch, fast, "save_pretrained", 1, Exception("a mistake in the program"))
    with pytest.raises(Exception, match="a mistake in the program"):
        pretrain(toy_texts, plan, tmp_path / "two")
    assert not list((tmp_path / "two").glob(".isoscope-*"))


def test_a_run_that_was_killed_while_its_journal_went(
    plans: dict[str, tuple[Plan, int]], unbroken: dict[str, Path], toy_texts: list[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    """The result is there, and of the journal the last step, which goes after all else."""
    plan, record = plans["recorded"]
    out = shutil.copytree(unbroken["recorded"], tmp_path / "model")
    with Journal.open(out / "journal", {}) as journal:
        journal.save("state", {"step": np.arange(2)}, finished=False)
    (out / "journal" / "configuration.json").unlink()
    pretrain(toy_texts, plan, out, record=record, resume=True)
    assert not (out / "journal").exists()
    assert files(out) == files(unbroken["recorded"])


def test_a_loss_that_is_not_finite(toy_texts: list[str], small_plan: Plans, tmp_path: Path) -> None:
    plan = small_plan(changed={"learning_rate": 1e30})
    for resume in (False, True):
        with pytest.raises(DataError, match="at step 2") as told_so:
            pretrain(toy_texts, plan, tmp_path / "model", resume=resume)
        one_line(told_so)
    assert (tmp_path / "model" / "step0" / "model.safetensors").is_file()
