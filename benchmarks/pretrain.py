"""Tokens a second of pre-training beside transformers' Trainer, and what recording costs.

The same network, blocks, batches and AdamW on both sides; Trainer without logs, evaluations and
checkpoints. Sides take turns, the fastest stretch of each counts. Recording every 50 steps is
timed as a share: the cost of one recorded step over that of 50 plain ones.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from transformers import Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from isoscope.verbs.train.pretrain.common_enemies import CommonEnemies
from isoscope.verbs.train.pretrain.learner import Corpus, Learner, ask, make_corpus
from isoscope.verbs.train.pretrain.networks import make_network
from isoscope.verbs.train.pretrain.plan import Plan
from isoscope.verbs.train.trainer import silently

STEPS = 8
"""Of a stretch."""

RECORDED_EVERY = 50


def corpus(plan: Plan) -> Corpus:
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(20_000)])
    chances = 1 / np.arange(1, len(words) + 1)
    texts = [" ".join(rng.choice(words, 60, p=chances / chances.sum())) for _ in range(12_000)]
    return make_corpus(texts, plan.shape)


def example(plan: Plan, found: Corpus, block: int) -> dict[str, Any]:
    """Return a block as a stock head takes it: labels where something is predicted."""
    tokens = found.train[block : block + 1].astype(np.int64)
    if plan.objective == "clm":
        return {"input_ids": tokens[0], "labels": tokens[0]}
    question = ask("mlm", tokens, found.tokenizer, (block,))
    labels = np.full_like(tokens, -100)
    labels[question.where.numpy()] = question.answers.numpy()
    return {"input_ids": question.tokens.numpy()[0], "labels": labels[0]}


def by_trainer(plan: Plan, found: Corpus) -> Callable[[], float]:
    """Return what runs a stretch of plain Trainer, and its seconds without set-up."""
    network = make_network(plan, found.tokenizer)
    size = plan.shape.batch_size
    examples = [example(plan, found, k % len(found.train)) for k in range(STEPS * size)]

    def stretch() -> float:
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                output_dir=folder, per_device_train_batch_size=size, max_steps=STEPS,
                learning_rate=plan.shape.learning_rate, weight_decay=plan.shape.weight_decay,
                max_grad_norm=plan.shape.clipping, save_strategy="no", logging_strategy="no",
                report_to=[], disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False,
            )  # fmt: skip
            trainer = Trainer(model=network, args=arguments, train_dataset=examples)
            trainer.remove_callback(PrinterCallback)
            with silently():
                trainer.train()
            return float(trainer.state.log_history[-1]["train_runtime"])

    return stretch


def by_isoscope(learner: Learner, enemies: CommonEnemies | None = None) -> Callable[[], float]:
    def stretch() -> float:
        began = time.perf_counter()
        for _ in range(STEPS):
            learner.learn(enemies)
        return time.perf_counter() - began

    return stretch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.manual_seed(0)
    for objective in ("clm", "mlm"):
        plan = Plan(objective, "tiny")
        found = corpus(plan)
        learner = Learner(plan, found)
        watched = Learner(plan, found)
        sides = {
            "Trainer": by_trainer(plan, found),
            "isoscope": by_isoscope(learner),
            "recorded": by_isoscope(watched, CommonEnemies(watched.reader.output, found.counts)),
        }
        best = dict.fromkeys(sides, float("inf"))
        for number in range(rounds + 1):
            for name, stretch in sides.items():
                seconds = stretch()
                if number:  # the first round warms up
                    best[name] = min(best[name], seconds)
        tokens = STEPS * plan.shape.batch_size * plan.shape.context
        speed = {name: tokens / seconds for name, seconds in best.items()}
        extra = (best["recorded"] - best["isoscope"]) / best["isoscope"] / RECORDED_EVERY
        print(f"{objective}, tiny, steps of {tokens // STEPS:,} tokens, best of {rounds}")
        print(f"  transformers.Trainer  {speed['Trainer']:8,.0f} tokens/s")
        print(
            f"  isoscope              {speed['isoscope']:8,.0f} tokens/s   "
            f"{speed['isoscope'] / speed['Trainer']:.2f} ×, at least 1"
        )
        print(f"  recording every {RECORDED_EVERY} steps costs {100 * extra:.1f} %, at most 3")


if __name__ == "__main__":
    main()
