"""Tiny trainings, as one process of several: run by test_processes.py, never collected.

    python in_processes.py FOLDER        in one process
    torchrun --nproc-per-node 2 in_processes.py FOLDER

Writes losses and weights after three steps of the same eight items, however many processes share
them.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers

from isoscope.verbs.train.regularizers.cosreg import CosReg
from isoscope.verbs.train.regularizers.flow import FlowCalibration
from isoscope.verbs.train.regularizers.spectrum import SpectrumControl
from isoscope.verbs.train.trainer import CalibratedTrainer

CASES: dict[str, tuple[str, Any, str]] = {
    "none": ("encoder", None, "head"),
    "cosreg": ("encoder", CosReg(0.5), "head"),
    "spectrum": ("decoder", SpectrumControl(weight=0.01), "vocabulary"),
    "flow": ("encoder", FlowCalibration(0.5, learning_rate=0.05), "head"),
    "flow-vocabulary": ("decoder", FlowCalibration(0.5, learning_rate=0.05), "vocabulary"),
    "flow-hidden": ("encoder", FlowCalibration(0.5, maps=False, learning_rate=0.05), "hidden"),
}


def model(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "decoder":
        config = transformers.GPT2Config(
            vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=20,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        )  # fmt: skip
        return transformers.GPT2LMHeadModel(config)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=20, num_labels=3,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config)


def items(kind: str) -> list[dict[str, Any]]:
    ids = torch.randint(1, 50, (24, 6), generator=torch.Generator().manual_seed(1))
    if kind == "decoder":
        return [{"input_ids": row, "labels": row} for row in ids]
    return [{"input_ids": row, "labels": int(row[0]) % 3} for row in ids]


def run(name: str, folder: Path, processes: int) -> None:
    kind, calibration, target = CASES[name]
    network = model(kind)
    args = transformers.TrainingArguments(
        output_dir=str(folder / "trainer"), per_device_train_batch_size=8 // processes,
        max_steps=3, logging_steps=1, learning_rate=0.1, lr_scheduler_type="constant", optim="sgd",
        max_grad_norm=0.0, use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True,
        seed=0,
    )  # fmt: skip
    trainer = CalibratedTrainer(
        network, args, train_dataset=items(kind), calibration=calibration, target=target
    )
    trainer.train()
    if trainer.is_world_process_zero():
        names = ("loss", "task_loss", "calibration")
        losses = [
            {name: entry[name] for name in names if name in entry}
            for entry in trainer.state.log_history
            if "loss" in entry
        ]
        (folder / f"{name}.json").write_text(json.dumps(losses))
        torch.save(network.state_dict(), folder / f"{name}.pt")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for case in CASES:
        run(case, Path(sys.argv[1]), int(os.environ.get("WORLD_SIZE", "1")))
