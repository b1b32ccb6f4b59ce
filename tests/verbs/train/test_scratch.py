"""The small BART that starts from scratch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from written_pairs_for_tests import save_aligned, toy_pairs

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from isoscope.errors import UsageError  # noqa: E402
from isoscope.models.model import open_model  # noqa: E402
from isoscope.verbs.train.scratch import SPECIAL, make_small_bart, resolve_made_model  # noqa: E402

TEXTS = [text for pair in toy_pairs(50) for text in pair]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small_bart(TEXTS, tmp_path_factory.mktemp("made") / "bart")


def loaded(folder: Path) -> Any:
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True)


def test_the_same_texts_and_seed_give_the_same_files(folder: Path, tmp_path: Path) -> None:
    again = make_small_bart(iter(TEXTS), tmp_path / "again")
    for name in ("tokenizer.json", "model.safetensors", "config.json", "generation_config.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()
    other = make_small_bart(TEXTS, tmp_path / "other", seed=1)
    assert (other / "model.safetensors").read_bytes() != (folder / "model.safetensors").read_bytes()


def test_it_opens_as_any_model_does(folder: Path) -> None:
    model = open_model(str(folder))
    assert model.is_seq2seq
    assert model.tied
    assert model.longest == 1_024
    assert model.tokenizer.convert_ids_to_tokens(range(5)) == list(SPECIAL)
    assert model.tokenizer.pad_token_id == model.config.pad_token_id == 1
    assert len(model.tokenizer) == model.config.vocab_size


def test_any_text_comes_back_out_of_its_tokens(folder: Path) -> None:
    tokenizer = open_model(str(folder)).tokenizer
    for text in ("cat saw dog", "Ein Käfer, „quer“ & 7 €!", "ţară și 猫"):
        ids = tokenizer(text)["input_ids"]
        assert (ids[0], ids[-1]) == (0, 2)
        assert tokenizer.unk_token_id not in ids
        assert tokenizer.decode(ids, skip_special_tokens=True).strip() == text


def test_weights_suit_the_width(folder: Path) -> None:
    network = loaded(folder)
    assert network.lm_head.weight.std().item() == pytest.approx(1 / math.sqrt(128), rel=0.05)


def test_it_writes_until_it_is_stopped(folder: Path) -> None:
    ids = torch.tensor([[0, 10, 11, 2]])
    written = loaded(folder).generate(input_ids=ids, max_new_tokens=5, do_sample=False)
    assert written[0, 0] == 2
    assert 2 <= written.shape[1] <= 6


def test_names(tmp_path: Path) -> None:
    save_aligned(tmp_path, "train", toy_pairs(20))
    task = "translate:xx-yy"
    assert resolve_made_model("facebook/bart-base", task, tmp_path, None, tmp_path) is None
    with pytest.raises(UsageError, match="no made model is called 'gpt'"):
        resolve_made_model("made:gpt", task, tmp_path, None, tmp_path)
    with pytest.raises(UsageError, match="not for rte"):
        resolve_made_model("made:bart", "rte", tmp_path, None, tmp_path)
    made = resolve_made_model("made:bart", task, tmp_path, 5, tmp_path / "models")
    assert made is not None
    assert open_model(str(made)).name == "made-bart"
