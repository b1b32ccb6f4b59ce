"""Runs of an encoder-decoder on a toy language."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_models import save_tiny_model
from written_pairs_for_tests import save_aligned, toy_pairs

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("sacrebleu")

from isoscope.errors import DataError, UsageError  # noqa: E402
from isoscope.models.model import open_model  # noqa: E402
from isoscope.verbs.train import scratch as made_model  # noqa: E402
from isoscope.verbs.train.finetune import generation as generation_run  # noqa: E402
from isoscope.verbs.train.finetune.generation import (  # noqa: E402
    decoder_states,
    encoded_pairs,
    finetune_generation,
    generation_settings,
    with_output_matrix,
    write_texts,
)
from isoscope.verbs.train.finetune.run import (  # noqa: E402
    Outcome,
    Run,
    Settings,
)
from isoscope.verbs.train.regularizers.base import token_mask  # noqa: E402

TASK = "translate:xx-yy"
SMALL = {
    "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "max_position_embeddings": 40, "dropout": 0.1, "init_std": 0.18,
}  # fmt: skip
SHORT = Settings(3e-3, "polynomial", 16, 2, longest=20, longest_target=12, warm_up=0.1)
pytestmark = pytest.mark.filterwarnings("ignore")
"""Trainer warns of things that differ between releases; none is about the run."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    save_aligned(folder, "train", toy_pairs(64))
    save_aligned(folder, "test", toy_pairs(10, 1))
    return folder


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    patch = pytest.MonkeyPatch()
    patch.setattr(made_model, "SHAPE", SMALL)
    patch.setattr(made_model, "VOCABULARY", 320)
    folder = tmp_path_factory.mktemp("models")
    made = made_model.resolve_made_model("made:bart", TASK, data, None, folder)
    patch.undo()
    return open_model(str(made), device="cpu")


def run_of(model: Any, data: Path, folder: Path, **options: Any) -> Run:
    given: dict[str, Any] = {"task": TASK, "calibration": "none", "seed": 3, "settings": SHORT}
    given["target"] = "vocabulary"
    return Run(**{"model": model, "data": data, "folder": folder, **given, **options})


def test_the_same_run_gives_the_same_numbers(model: Any, data: Path, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    run = run_of(model, data, tmp_path / "one", progress=lambda *step: steps.append(step))
    one = finetune_generation(run)
    other = finetune_generation(run_of(model, data, tmp_path / "other"))
    assert steps == [(k, 8) for k in range(1, 9)]
    assert one.scores == other.scores
    assert one.evenness == other.evenness
    assert one.history[0]["task_loss"] == other.history[0]["task_loss"]
    assert finetune_generation(run_of(model, data, tmp_path, seed=4)).evenness != one.evenness
    assert len(one.seconds) == len(one.history) == 2
    assert one.history[1]["task_loss"] < one.history[0]["task_loss"]
    assert one.history[1]["vocabulary_i1"] == one.evenness["vocabulary"]["i1"]
    assert set(one.evenness) == {"vocabulary", "hidden"}
    assert one.settings["train"] == 64
    assert one.settings["scored"] == 10
    assert "sacrebleu" in one.settings["signature"]
    assert one.stopped_at is None
    assert Outcome.from_facts(one.to_facts()) == one
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["checkpoint-8"]


def test_a_training_of_one_step_has_no_warm_up(model: Any, data: Path, tmp_path: Path) -> None:
    settings = replace(SHORT, batch_size=64, epochs=1)
    found = finetune_generation(run_of(model, data, tmp_path, settings=settings))
    assert len(found.history) == 1
    assert np.isfinite(found.history[0]["task_loss"])


def test_nothing_is_printed(
    model: Any, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    finetune_generation(run_of(model, data, tmp_path))
    assert capfd.readouterr() == ("", "")


def test_it_learns_to_write(model: Any, tmp_path: Path) -> None:
    """What was learned by heart can be written: two pairs, seen many times."""
    pairs = [("cat saw dog", "DOG SAW CAT NOW"), ("old boat", "BOAT IS OLD TOO")]
    save_aligned(tmp_path, "train", pairs * 8)
    save_aligned(tmp_path, "test", pairs)
    settings = Settings(1e-2, "polynomial", 16, 40, longest=20, longest_target=24)
    found = finetune_generation(run_of(model, tmp_path, tmp_path / "run", settings=settings))
    assert found.scores["bleu"] == pytest.approx(100)
    assert not found.constant


@pytest.mark.parametrize(
    "calibration", ["cosreg", "spectrum-pol", "spectrum-exp", "i-star", "flow"]
)
def test_every_calibration_trains_a_tied_matrix(
    calibration: str, model: Any, data: Path, tmp_path: Path
) -> None:
    one_epoch = Settings(3e-3, "polynomial", 32, 1, longest=20, longest_target=6)
    plain = finetune_generation(run_of(model, data, tmp_path, settings=one_epoch))
    found = finetune_generation(
        run_of(model, data, tmp_path, calibration=calibration, settings=one_epoch)
    )
    assert found.stopped_at is None
    assert found.evenness["vocabulary"] != plain.evenness["vocabulary"]
    assert "calibration" in found.history[0]
    assert "calibration" not in plain.history[0]
    assert found.settings["options"]["weight"]


def test_hidden_states_are_those_of_what_is_written(model: Any, data: Path, tmp_path: Path) -> None:
    """Sources and targets have other lengths: the decoder's states go with the targets."""
    settings = Settings(1e-3, "polynomial", 32, 1, longest=20, longest_target=6)
    options: dict[str, Any] = {"settings": settings, "calibration": "cosreg", "target": "hidden"}
    found = finetune_generation(run_of(model, data, tmp_path, **options))
    assert 0 < found.history[0]["calibration"] < 1


def test_token_mask() -> None:
    ones = torch.ones(2, 5)
    labels = torch.tensor([[4, 2, -100], [4, 5, 2]])
    writer = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=True))
    reader = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=False))
    inputs = {"attention_mask": ones, "labels": labels}
    assert token_mask(writer, inputs).tolist() == [[True, True, False], [True, True, True]]
    assert token_mask(reader, inputs) is ones
    assert token_mask(writer, {"attention_mask": ones, "labels": torch.tensor([0, 1])}) is ones


def test_a_run_that_is_not_finite_stops(model: Any, data: Path, tmp_path: Path) -> None:
    settings = Settings(1e30, "constant", 16, 2, longest=20, longest_target=12)
    found = finetune_generation(run_of(model, data, tmp_path, settings=settings))
    assert found.scores == {"bleu": None}
    assert found.stopped_at is not None
    assert f"at step {found.stopped_at}" in found.notes[-1]


def test_a_constant_answer_is_called_so(
    model: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation_run, "write_texts", lambda *_: ["A MAN"] * 10)
    found = finetune_generation(run_of(model, data, tmp_path))
    assert found.constant
    assert found.notes == ("every text is answered by 'A MAN'",)


@pytest.mark.parametrize("architecture", ["bart", "mbart", "t5"])
def test_architectures(architecture: str, data: Path, tmp_path: Path) -> None:
    folder = save_tiny_model(architecture, tmp_path / architecture)
    settings = Settings(1e-3, "polynomial", 32, 1, longest=64, longest_target=8)
    run = run_of(open_model(str(folder), device="cpu"), data, tmp_path / "run", settings=settings)
    found = finetune_generation(run)
    assert found.scores["bleu"] is not None
    assert found.evenness["vocabulary"]["i1"] is not None


def test_summaries_get_rouge(model: Any, tmp_path: Path) -> None:
    pytest.importorskip("rouge_score")
    rows = "".join(f"{source},{target}\n" for source, target in toy_pairs(20))
    (tmp_path / "cnn_dailymail.csv").write_text(f"text,y\n{rows}")
    found = finetune_generation(run_of(model, tmp_path, tmp_path / "run", task="summarize"))
    assert list(found.scores) == ["rouge1", "rouge2", "rougeL"]
    assert "last 4 pairs are scored" in found.notes[0]


def test_settings_are_chosen_on_other_pairs(model: Any, tmp_path: Path) -> None:
    train, dev, test = toy_pairs(20), toy_pairs(3, 1), toy_pairs(4, 2)
    save_aligned(tmp_path, "train", train)
    save_aligned(tmp_path, "test", test)
    run = run_of(model, tmp_path, tmp_path / "run")
    held = encoded_pairs(run, "dev")
    assert held.references == tuple(target for _, target in train[18:])
    assert len(held.train) == 18
    again = tmp_path / "again"
    for stem, pairs in (("train", train), ("val", dev), ("test", test)):
        save_aligned(again, stem, pairs)
    run = run_of(model, again, tmp_path / "run")
    assert encoded_pairs(run, "dev").references == tuple(target for _, target in dev)
    assert encoded_pairs(run).references == tuple(target for _, target in test)
    assert len(encoded_pairs(run).train) == 20


def test_a_model_without_a_decoder(data: Path, tmp_path: Path) -> None:
    folder = save_tiny_model("bert", tmp_path / "bert")
    with pytest.raises(UsageError, match="bert has no encoder and decoder"):
        finetune_generation(run_of(open_model(str(folder)), data, tmp_path))


def test_a_missing_package_is_noticed_before_training(
    model: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    monkeypatch.setattr(generation_run, "teach", lambda *_, **__: pytest.fail("it trained"))
    with pytest.raises(UsageError, match="scored by sacrebleu"):
        finetune_generation(run_of(model, data, tmp_path))


def test_a_full_disk(
    model: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transformers.PreTrainedModel, "save_pretrained", full)
    with pytest.raises(DataError, match="could not be written: .*No space left"):
        finetune_generation(run_of(model, data, tmp_path))


def test_texts_and_states_are_those_of_one_text_at_a_time(
    model: Any, data: Path, tmp_path: Path
) -> None:
    pairs = encoded_pairs(run_of(model, data, tmp_path))
    network, tokenizer = with_output_matrix(model).eval(), model.tokenizer
    how = generation_settings(network, SHORT, {})
    together = write_texts(network, tokenizer, pairs.scored, how)
    alone = [write_texts(network, tokenizer, [one], how)[0] for one in pairs.scored]
    assert together == alone
    states = decoder_states(network, tokenizer, pairs.scored, 10_000, 0)
    wanted = []
    for one in sorted(pairs.scored, key=lambda example: len(example["input_ids"])):
        batch = {name: torch.tensor([values]) for name, values in one.items()}
        with torch.no_grad():
            outputs = network(**batch, output_hidden_states=True)
        wanted.append(outputs.decoder_hidden_states[-1][0].numpy())
    np.testing.assert_allclose(states, np.concatenate(wanted), atol=1e-5)
    assert len(decoder_states(network, tokenizer, pairs.scored, 7, 0)) == 7
