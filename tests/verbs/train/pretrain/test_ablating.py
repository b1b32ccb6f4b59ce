"""Grids of tiny models, from a text to rows; killed and gone on with; kept and refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import isoscope
from isoscope.compute.journal import Journal
from isoscope.errors import DataError, UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.report.api import report

pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.verbs.train.pretrain import ablation as ablating
from isoscope.verbs.train.pretrain.ablation import ablate, rows_of
from isoscope.verbs.train.pretrain.main_effects import main_effects
from isoscope.verbs.train.pretrain.plan import Plan, parse_grid

Plans = Callable[..., Plan]
Place = tuple[str, str]

PLACES = (
    1  # perplexity
    + 2 * 4  # four measures of two matrices
    + 4  # mean cosine of the input, a block, the final norm, and the last of these once more
    + 1  # how often a dimension is the extreme
    + 3  # gain, bias, their ratio
)
STEPS = (0, 2, 4)


@pytest.fixture(scope="module")
def plan(small_plan: Plans) -> Plan:
    return small_plan(steps=4)


@pytest.fixture(scope="module")
def unbroken(toy_texts: list[str], plan: Plan) -> Result:
    return ablate(toy_texts, "tie", plan, seeds=2, command="as told")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Measures checkpoints by nothing but their names; returns the names of all so far."""
    seen: list[str] = []

    def measures(model: Any, _: Any) -> dict[Place, float | None]:
        seen.append(model.name)
        return {("unembedding matrix", "i1"): 0.5 + len(model.name) / 100}

    monkeypatch.setattr(ablating, "checkpoint_measures", measures)
    return seen


class Killed:
    """A progress that ends everything at some step of the nth run, and notes what it heard."""

    def __init__(self, run: int = 0, step: int = 0) -> None:
        self.run, self.step = run, step
        self.heard: list[tuple[str, int, int]] = []

    def __call__(self, name: str, done: int, total: int | None) -> None:
        self.heard.append((name, done, total or 0))
        if (len(self.names), done) == (self.run, self.step):
            raise KeyboardInterrupt

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name, _, _ in self.heard))


def cell_rows(result: Result) -> list[Row]:
    return [row for row in result if row.subject != "main effects"]


def level(row: Row) -> str:
    """Return the level of the only factor."""
    (found,) = row.extra["factors"].values()
    return str(found)


def effect_rows(result: Result) -> list[Row]:
    return [row for row in result if row.subject == "main effects"]


def last_runs(result: Result) -> dict[Place, dict[tuple[str, ...], list[float]]]:
    found: dict[Place, dict[tuple[str, ...], list[float]]] = {}
    for row in cell_rows(result):
        if row.extra["step"] == STEPS[-1]:
            cell = tuple(row.extra["factors"].values())
            found.setdefault((row.part, row.measure), {})[cell] = row.extra["runs"]
    return found


def test_a_row_for_every_cell_step_and_measure(unbroken: Result) -> None:
    rows = cell_rows(unbroken)
    assert len(rows) == 2 * len(STEPS) * PLACES
    assert len({(level(r), r.extra["step"], r.part, r.measure) for r in rows}) == len(rows)
    assert {level(row) for row in rows} == {"tied", "untied"}
    assert {row.extra["step"] for row in rows} == set(STEPS)
    for row in rows:
        assert row.subject.startswith(level(row))
        assert (row.correction, row.n, row.note) == ("none", 2, "")
    assert len(effect_rows(unbroken)) == PLACES


def test_means_and_deviations_are_those_of_the_runs(unbroken: Result) -> None:
    for row in cell_rows(unbroken):
        runs = row.extra["runs"]
        assert len(runs) == 2
        assert row.value == pytest.approx(np.mean(runs))
        assert row.extra["sd"] == pytest.approx(np.std(runs, ddof=1), abs=1e-15)
    spread = [row.extra["sd"] for row in cell_rows(unbroken) if row.measure == "perplexity"]
    assert all(spread)


def test_perplexities_fall_and_are_those_of_the_plan_alone(
    unbroken: Result, toy_texts: list[str], plan: Plan, tmp_path: Path
) -> None:
    from isoscope.verbs.train.pretrain.loop import pretrain

    alone = pretrain(toy_texts, plan, tmp_path / "alone")
    wanted = {row.extra["step"]: row.value for row in alone if row.measure == "perplexity"}
    found = {
        row.extra["step"]: row.extra["runs"][0]
        for row in cell_rows(unbroken)
        if (level(row), row.measure) == ("tied", "perplexity")
    }
    assert found == wanted
    assert wanted[4] < wanted[2] < wanted[0]


def test_effects_are_those_of_the_last_runs(unbroken: Result) -> None:
    factors = parse_grid("tie")
    runs = last_runs(unbroken)
    assert len(runs) == PLACES
    for row in effect_rows(unbroken):
        (wanted,) = main_effects(runs[row.part, row.measure], factors)
        assert row.correction == "untied instead of tied"
        assert (row.value, row.low, row.high, row.n) == (
            wanted.value, wanted.low, wanted.high, wanted.runs,
        )  # fmt: skip
        assert row.extra["p"] == wanted.p
        assert row.extra["excludes_zero"] == wanted.excludes_zero
        assert row.extra["factor"] == "tie"


def test_tied_matrices_are_one_and_untied_ones_part(unbroken: Result) -> None:
    runs = last_runs(unbroken)
    first, second = (runs[part, "i1"] for part in ("embedding matrix", "unembedding matrix"))
    assert first["tied",] == second["tied",]
    assert first["untied",] != second["untied",]


def test_what_a_result_says_of_itself(unbroken: Result, plan: Plan) -> None:
    assert unbroken.extra["kind"] == "ablation"
    assert unbroken.extra["factors"] == {"tie": ["tied", "untied"]}
    assert unbroken.extra["plan"] == plan.to_facts()
    assert unbroken.seeds["runs"] == 2
    assert {"torch", "transformers"} <= set(unbroken.versions)
    assert unbroken.command == "as told"
    (how,) = {row.protocol for row in unbroken}
    for words in ("tiny clm", "4 steps of 48 tokens", "2 seeds", "layers over 6 texts"):
        assert words in how


def test_subject_part_correction_and_measure_tell_rows_apart(unbroken: Result) -> None:
    """As in every result: otherwise ``isoscope report`` finds two values for one place."""
    table = report([unbroken], columns=["i1"])
    assert len({(r.subject, r.part, r.correction, r.measure) for r in unbroken}) == len(unbroken)
    assert len(table.splitlines()) > 2 * 2 * len(STEPS)


def test_a_run_that_was_killed_ends_with_the_same_rows(
    toy_texts: list[str], plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measures are sums of every tensor of a checkpoint, so that no other weights have the same."""

    def sums(model: Any, texts: Any) -> dict[Place, float | None]:
        tensors = load_file(model.source.folder / "model.safetensors")
        found = {(name, "sum"): float(one.astype(float).sum()) for name, one in tensors.items()}
        return {**found, ("texts", "count"): len(list(texts.texts()))}

    monkeypatch.setattr(ablating, "checkpoint_measures", sums)
    given = {"seeds": 2, "command": "as told"}
    unbroken = ablate(toy_texts, "tie", plan, **given)
    journal, kept = tmp_path / "run.journal", tmp_path / "run.checkpoints"
    first, again = Killed(run=2, step=3), Killed()
    with pytest.raises(KeyboardInterrupt):
        ablate(toy_texts, "tie", plan, **given, journal=journal, progress=first)
    done, broken = first.names
    assert journal.is_dir()
    assert [path.name for path in kept.iterdir()] == [broken]
    found = ablate(
        toy_texts, "tie", plan, **given, journal=journal, resume=True, progress=again
    )  # fmt: skip
    assert done not in again.names
    assert [step for name, step, _ in again.heard if name == broken] == [3, 4]
    assert len(found.rows) > 2 * len(STEPS) * 10
    assert found.rows == unbroken.rows
    assert found.to_json() == unbroken.to_json()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick")
def test_runs_have_names_and_each_is_heard_of_to_its_end(
    toy_texts: list[str], small_plan: Plans
) -> None:
    heard = Killed()
    ablate(toy_texts, "tie", small_plan(steps=2), seeds=2, progress=heard)
    assert sorted(heard.names) == [
        "tied, seed 0", "tied, seed 1", "untied, seed 0", "untied, seed 1",
    ]  # fmt: skip
    for name in heard.names:
        assert [(k, of) for one, k, of in heard.heard if one == name] == [(1, 2), (2, 2)]


def test_killed_while_measuring(
    quick: list[str], toy_texts: list[str], small_plan: Plans, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    plan, journal = small_plan(steps=2), tmp_path / "run.journal"
    wanted = ablate(toy_texts, "tie", plan, seeds=1)
    per_run = len(quick) // 2
    quick.clear()
    measures = ablating.checkpoint_measures

    def killed(model: Any, texts: Any) -> Any:
        if len(quick) == per_run + 1:
            raise KeyboardInterrupt
        return measures(model, texts)

    with monkeypatch.context() as patch:
        patch.setattr(ablating, "checkpoint_measures", killed)
        with pytest.raises(KeyboardInterrupt):
            ablate(toy_texts, "tie", plan, seeds=1, journal=journal)
    heard = Killed()
    found = ablate(
        toy_texts, "tie", plan, seeds=1, journal=journal, resume=True, progress=heard
    )  # fmt: skip
    assert heard.heard == []  # both were trained to the end, and one was measured
    assert len(quick) == per_run + 1 + per_run
    assert found.rows == wanted.rows
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick")
def test_killed_before_the_checkpoints_of_a_measured_run_were_deleted(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take much room, and nobody reads them any more."""
    plan, journal = small_plan(steps=2), tmp_path / "run.journal"

    save = Journal.save

    def then_killed(self: Any, *args: Any, **given: Any) -> None:
        save(self, *args, **given)
        if given.get("finished", True):  # not the states of a training on its way
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "save", then_killed)
        with pytest.raises(KeyboardInterrupt):
            ablate(toy_texts, "tie", plan, seeds=1, journal=journal)
    ablate(toy_texts, "tie", plan, seeds=1, journal=journal, resume=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick")
def test_a_journal_stays_until_the_result_is_saved(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path
) -> None:
    plan, journal = small_plan(steps=2), tmp_path / "run.journal"

    def full(_: Result) -> None:
        raise DataError("the disk is full")

    with pytest.raises(DataError, match="full"):
        ablate(toy_texts, "tie", plan, seeds=1, journal=journal, save=full)
    assert journal.is_dir()
    saved: list[Result] = []
    heard = Killed()
    found = ablate(
        toy_texts, "tie", plan, seeds=1, journal=journal, resume=True, save=saved.append,
        progress=heard,
    )  # fmt: skip
    assert saved == [found]
    assert heard.heard == []
    assert not journal.exists()


@pytest.mark.usefixtures("quick")
def test_a_run_that_goes_on_is_the_same_run(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path
) -> None:
    plan, journal = small_plan(steps=2), tmp_path / "run.journal"
    with pytest.raises(KeyboardInterrupt):
        ablate(toy_texts, "tie", plan, seeds=1, journal=journal, progress=Killed(2, 1))
    for message, text, grid, other, resume in (
        ("did not finish; --resume", toy_texts, "tie", plan, False),
        ("started with steps 2, and this run has 3", toy_texts, "tie", small_plan(steps=3), True),
        ("started with grid", toy_texts, "tie,positions", plan, True),
        ("started with text", toy_texts[:-1], "tie", plan, True),
        ("started with objective", toy_texts, "tie", small_plan("mlm", steps=2), True),
        ("started with width", toy_texts, "tie", small_plan(steps=2, changed={"width": 8}), True),
    ):
        with pytest.raises(UsageError, match=message) as refused:
            ablate(text, grid, other, seeds=1, journal=journal, resume=resume)
        assert str(refused.value).startswith(f"{journal} ")  # not that of the run inside
        assert len(str(refused.value).splitlines()) == 1
    # More seeds are more of the same.
    found = ablate(toy_texts, "tie", plan, seeds=2, journal=journal, resume=True)
    assert found.rows == ablate(toy_texts, "tie", plan, seeds=2).rows


@pytest.mark.usefixtures("quick")
def test_all_checkpoints_can_be_kept(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path
) -> None:
    plan, keep = small_plan(steps=2), tmp_path / "kept" / "here"
    found = ablate(toy_texts, "tie,positions", plan, seeds=1, keep=keep)
    runs = {
        f"{tie}, {positions}, seed 0" for tie in ("tied", "untied")
        for positions in ("learned", "none")
    }  # fmt: skip
    assert {path.name for path in keep.iterdir()} == runs
    for run in runs:
        for step in (0, 1, 2):
            model = isoscope.open_model(str(keep / run / f"step{step}"))
            assert model.tied == run.startswith("tied")
            assert model.tensor(model.parts.input_embedding).shape == (280, 16)
    # A second time they are read, and not trained again.
    heard = Killed()
    assert ablate(
        toy_texts, "tie,positions", plan, seeds=1, keep=keep, progress=heard
    ).rows == found.rows  # fmt: skip
    assert heard.heard == []
    with pytest.raises(UsageError, match="started with checkpoints 2, and this run has 1"):
        ablate(toy_texts, "tie", small_plan(steps=2, checkpoints=1), seeds=1, keep=renamed(keep))


def renamed(folder: Path) -> Path:
    """Give a kept run the name that it would have in a grid of one factor."""
    (folder / "tied, learned, seed 0").rename(folder / "tied, seed 0")
    return folder


@pytest.mark.usefixtures("quick")
def test_nothing_is_kept_unless_asked_for(
    toy_texts: list[str], small_plan: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ablate(toy_texts, "tie", small_plan(steps=1, checkpoints=1), seeds=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seeds", [0, -1])
def test_there_is_one_seed_at_least(seeds: int) -> None:
    with pytest.raises(UsageError, match=f"seeds must be at least 1, got {seeds}"):
        ablate("no such file.txt", "tie", seeds=seeds)


def test_what_cannot_be_is_refused_before_anything_is_read() -> None:
    odd = Plan(changed={"width": 9, "heads": 3})
    with pytest.raises(UsageError, match="rotary"):
        ablate("no such file.txt", "tie,positions=learned+rotary", odd)
    with pytest.raises(UsageError, match="no factor is called 'tye'"):
        ablate("no such file.txt", "tye")


def test_a_text_that_is_too_small_leaves_nothing_behind(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too small"):
        ablate(["a cat", "a dog"] * 20, "tie", plan, journal=tmp_path / "run.journal")
    assert list(tmp_path.iterdir()) == []


def test_objectives_have_the_layers_that_both_have_in_common(
    toy_texts: list[str], small_plan: Plans
) -> None:
    """One run a cell of one factor: there are differences, and nothing is known of chance."""
    found = ablate(toy_texts, "objective", small_plan(steps=1, checkpoints=1), seeds=1)
    parts = {
        name: {r.part for r in cell_rows(found) if level(r) == name} for name in ("clm", "mlm")
    }
    assert parts["clm"] - parts["mlm"] == {"final norm"}
    compared = {(row.part, row.measure): row for row in effect_rows(found)}
    assert len(compared) == PLACES - 1
    assert ("final norm", "mean_cosine") not in compared
    row = compared["last layer", "mean_cosine"]
    ends = {
        level(r): r.value for r in cell_rows(found)
        if (r.part, r.measure, r.extra["step"]) == ("last layer", "mean_cosine", 1)
    }  # fmt: skip
    assert row.value == pytest.approx(ends["mlm"] - ends["clm"])
    assert (row.low, row.high, row.extra["p"]) == (None, None, None)
    assert row.extra["excludes_zero"] is False
    assert "chance is unknown" in row.note
    assert all(r.extra["sd"] is None for r in cell_rows(found))


@pytest.mark.usefixtures("quick")
def test_a_protocol_names_no_objective_that_only_some_models_have(
    toy_texts: list[str], small_plan: Plans
) -> None:
    found = ablate(toy_texts, "objective", small_plan(steps=1, checkpoints=1), seeds=1)
    assert "clm" not in found.rows[0].protocol


def points(**values: float | None) -> list[dict[str, Any]]:
    return [
        {"step": step, "part": "here", "measure": name, "value": value}
        for step in (0, 5)
        for name, value in values.items()
    ]


def test_what_is_undefined_has_no_mean_and_no_effect() -> None:
    factors = parse_grid("tie")
    runs = {
        ("tied",): [points(a=1.0, b=2.0, c=None), points(a=2.0, b=4.0, c=None)],
        ("untied",): [points(a=3.0, b=None, c=None), points(a=6.0, b=5.0, c=None)],
    }
    rows = rows_of(runs, factors, "how")
    cells = [row for row in rows if row.subject != "main effects"]
    found = {(level(row), row.measure): row for row in cells if row.extra["step"] == 5}
    assert found["untied", "b"].value == 5.0
    assert found["untied", "b"].extra["runs"] == [None, 5.0]
    assert found["untied", "b"].extra["sd"] is None
    assert found["tied", "b"].extra["sd"] == pytest.approx(np.sqrt(2))
    assert found["tied", "c"].value is None
    assert found["tied", "c"].note == "undefined in every run"
    (effect,) = [row for row in rows if row.subject == "main effects"]
    assert (effect.measure, effect.value) == ("a", 3.0)


def test_what_one_cell_does_not_have_has_no_effect() -> None:
    runs = {("tied",): [points(a=1.0, b=2.0)], ("untied",): [points(a=3.0)]}
    rows = rows_of(runs, parse_grid("tie"), "how")
    assert [row.measure for row in rows if row.subject == "main effects"] == ["a"]
    assert len(rows) == 2 * 2 + 2 + 1
