"""Every study from the command line to a file that others read, on tiny models and sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, runner

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("sacrebleu")
pytest.importorskip("rouge_score")

from small_benchmarks import (
    small_groups,
    write_ablation,
    write_benchmarks,
    write_finetuned,
    write_texts,
    write_vocabulary,
)
from trainings_for_tests import save_training

from isoscope.results.result import Result
from isoscope.verbs.explain.topics import structure
from isoscope.verbs.study.judgement.verdicts import NOT_APPLICABLE, OUTCOMES
from isoscope.verbs.study.papers import ding2022 as ding2022_summaries
from isoscope.verbs.study.papers import ding2022 as ding2022_translation
from isoscope.verbs.study.papers import rajaee2021
from isoscope.verbs.study.registry import all_studies, find_study
from isoscope.verbs.study.runs import trainings
from isoscope.verbs.study.runs import trainings as from_nothing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*in the release"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
IDS = [study.id for study in all_studies()]
NOTHING_TO_JUDGE = {"B-F3", "L-F3.1", "L-LN", "L-T4.1", "L-T4.2"}
"""One claims nothing, B-F3 reads vectors without a model, and the others are about dimensions or
sizes that tiny models do not have."""

DATA, TEXT = "--data {data}", "--text {text}"
BERT, BERTS = "BERT={bert}", "BERT={bert} RoBERTa={roberta}"
THREE = "GPT-2={gpt2} BERT={bert} RoBERTa={roberta}"
MATRICES = "BERT-base-cased={bert} RoBERTa-large={roberta}"
FIVE = f"{MATRICES} {{gpt2}} {{opt}} {{gpt-neox}}"
PYTHIA = "Pythia-70M={training}"

WAYS: dict[str, tuple[str, str]] = {
    "B-T1": (MATRICES, ""),
    "B-T2": ("BERT-base-cased={bert}", DATA),
    "B-T3": ("BERT-base-cased={bert}", DATA),
    "B-E": ("", TEXT),
    "B-F1": (MATRICES, ""),
    "B-F2": ("", f"--scale mini {DATA}"),
    "B-F3": ("BERT-base-uncased={vocabulary}", "--last-unused 40"),
    "B-F4": (BERT, DATA),
    "B-F5": (FIVE, ""),
    "B-F6": (MATRICES, ""),
    "D-T1": ("", "--from {finetuned}"),
    "D-T2": ("{bart}", f"--tasks translate:de-en {DATA}"),
    "D-T3": ("BART={bart}", DATA),
    "D-T4": ("", "--from {finetuned} --tasks rte"),
    "L-T4.1": (BERT, DATA),
    "L-T4.2": (BERT, DATA),
    "L-F3.1": (BERT, DATA),
    "L-F3.2": (BERTS, DATA),
    "L-F3.3": (BERTS, DATA),
    "L-F3.5": (BERTS, ""),
    "L-F3.7": (BERT, DATA),
    "L-F3.8": (BERT, DATA),
    "L-F3.10": ("pretrain:tiny", DATA),
    "L-F3.11": ("RoBERTa={roberta}", DATA),
    "L-F3.12": (BERT, DATA),
    "L-F3.13": (BERT, DATA),
    "L-LN": (BERTS, TEXT),
    "P-A": (PYTHIA, f"--tasks cr,semcor-pos {DATA}"),
    "P-F1": ("Pythia-70M={gpt-neox} {bert}", TEXT),
    "P-F2": ("Pythia-6.9B={gpt-neox} {bert}", TEXT),
    "P-F3": (PYTHIA, TEXT),
    "P-F4": (PYTHIA, f"{TEXT} --sample 20"),
    "P-F5": ("Pythia-70M={gpt-neox} {falcon}", ""),
    "P-F6": ("Pythia-1B={gpt-neox} {falcon}", ""),
    "P-F7": (PYTHIA, "--revisions step*"),
    "P-F8": ("Pythia-1B={gpt-neox} {falcon}", ""),
    "P-F9": (PYTHIA, ""),
    "P-X": ("", "--from {ablated}"),
    "R-T1": ("GPT-2={gpt2}", DATA),
    "R-T2": (BERT, DATA),
    "R-T3": (BERT, f"--tasks rte {DATA}"),
    "R-T4": (BERT, DATA),
    "R-T5": (THREE, DATA),
    "R-T6": (BERT, DATA),
    "R-F1": ("RoBERTa={roberta}", DATA),
    "R-F2": ("GPT-2={gpt2}", DATA),
    "R-F3": (BERT, ""),
    "R-F4": (BERT, f"--tasks rte {DATA}"),
    "R-F5": (BERT, DATA),
}
"""How each study is run: sources, and options; what is in braces is made when it is asked for."""

STEPS = {"step0": 0.0, "step10": 0.1, "step20": 0.3, "step30": 0.5, "step40": 0.7}
"""Checkpoints, and how far their weights are from those of the first."""

TOY: dict[str, Any] = {
    "layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "vocabulary": 280, "context": 12,
    "batch_size": 4,
}  # fmt: skip
"""What studies that train from nothing train here."""


class Places(dict[str, Path]):
    """Where models and data are, by the names that commands have for them."""

    def __init__(self, folder: Path, tiny_model: Callable[[str], Path]) -> None:
        self.folder, self.tiny_model = folder, tiny_model

    def __missing__(self, name: str) -> Path:
        self[name] = self.made(name)
        return self[name]

    def made(self, name: str) -> Path:
        path = self.folder / name
        if name == "data":
            return write_benchmarks(path)
        if name == "text":
            return write_texts(path.with_suffix(".txt"))
        if name == "vocabulary":
            return write_vocabulary(path.with_suffix(".npy"))
        if name == "finetuned":
            return write_finetuned(path.with_suffix(".json"))
        if name == "ablated":
            return write_ablation(path.with_suffix(".json"))
        if name == "training":
            return save_training(self.tiny_model("gpt-neox"), path, STEPS)
        return self.tiny_model(name)

    def words(self, way: str) -> list[str]:
        """The words of a command."""
        return [word.format_map(self) for word in way.split()]


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory, tiny_model: Callable[[str], Path]) -> Places:
    return Places(tmp_path_factory.mktemp("every_study"), tiny_model)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], places: Places) -> Run:
    """The command line, where studies train toys and take a part of what they read otherwise."""
    monkeypatch.setenv("ISOSCOPE_CACHE", str(places.folder / "cache"))
    monkeypatch.setattr(from_nothing, "SMALL", TOY)
    monkeypatch.setattr(from_nothing, "SMALL_STEPS", 5)
    monkeypatch.setattr(from_nothing, "FOLLOWED", {"steps": 8, "checkpoints": 4})
    monkeypatch.setattr(trainings, "SEEDS", 2)
    for module in (ding2022_translation, ding2022_summaries):
        monkeypatch.setattr(module, "CALIBRATIONS", ("none", "spectrum-exp"))
    monkeypatch.setattr(rajaee2021, "SIMILARITY_SETS", ("sts-13", "sick-r"))
    monkeypatch.setattr(structure, "made_groups", small_groups)
    return runner(monkeypatch, capsys)


@pytest.mark.parametrize("name", IDS)
def test_a_study_from_a_command_to_a_verdict(
    name: str, run: Run, places: Places, tmp_path: Path
) -> None:
    sources, options = (places.words(way) for way in WAYS[name])
    out = tmp_path / "studies"
    command = ("study", "run", name, *sources, *options, "--out", out, "--details")
    first = run(*command)
    assert first.code == 0, first.out + first.error
    assert "finished before" not in first.out

    result = Result.load(out / f"{name}.json")
    assert any(row.value is not None for row in result.rows)
    claims = result.extra["claims"]
    texts = list(dict.fromkeys(claim["text"] for claim in claims))
    assert texts == [claim.text for claim in find_study(name).claims]
    assert {claim["outcome"] for claim in claims} <= set(OUTCOMES)
    weighed = any(claim["p"] is not None for claim in claims)
    assert weighed != (name in NOTHING_TO_JUDGE)
    shown = " ".join(first.out.split())
    for claim in claims:
        applies = claim["outcome"] != NOT_APPLICABLE
        assert (f"{claim['subject']}: {claim['outcome']}: {claim['text']}" in shown) == applies
    assert result.extra["made"]

    (compared,) = json.loads(run("study", "compare", out, "--json").out)
    assert compared["id"] == name
    assert [one["outcome"] for one in compared["claims"]] == [one["outcome"] for one in claims]
    listed = json.loads(run("study", "list", "--results", out, "--json").out)
    said = {row["id"]: row["last_verdict"] for row in listed if row["last_verdict"] is not None}
    assert said == {name: compared["last_verdict"]}

    written = (out / f"{name}.json").read_bytes()
    again = run(*command)
    assert again.code == 0, again.error
    assert "finished before" in again.out
    assert (out / f"{name}.json").read_bytes() == written


def test_no_way_is_left_of_a_study_that_is_gone() -> None:
    assert list(WAYS) == IDS
