"""Fine-tuning on a task with labels: one run, from the model's own weights to scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import transformers
from transformers import DataCollatorWithPadding

from isoscope.errors import DataError
from isoscope.models.runtime import first_line, quietly
from isoscope.training.encoded_labels import as_regression, encoded_labels
from isoscope.training.epoch_log import matrix_evenness
from isoscope.training.evenness import evenness
from isoscope.training.label_scores import Judged, judge_labels, judge_numbers
from isoscope.training.outcomes import Outcome
from isoscope.training.teaching import teach

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.models.model import Model
    from isoscope.training.encoded_labels import EncodedLabels
    from isoscope.training.run import Run


SCORED_AT_ONCE = 64
HIDDEN_ROWS = 5_000
"""Tokens of what is scored whose last hidden states are measured."""


def finetune_labels(run: Run) -> Outcome:
    """Train a model with a head for the labels of a task, and score it.

    Head, order of examples and dropout come from the run's seed: the same run gives the same
    numbers again, on the same machine with the same number of threads.
    """
    encoded = encoded_labels(run)
    transformers.set_seed(run.seed)
    network = with_head(run.model, encoded)
    collator = DataCollatorWithPadding(run.model.tokenizer)
    count = sum(map(len, encoded.scored.values()))
    taught = teach(run, network, encoded.train, collator, scored=count)
    notes = (encoded.data.note,) if encoded.data.note else ()
    if taught.stopped is not None:
        names = [f"{name}{suffix}" for suffix in encoded.scored for name in encoded.metrics]
        return taught.failed(names, notes)
    judged, states = scored(network, run, encoded)
    scores = {
        f"{name}{suffix}": value
        for suffix, one in judged.items()
        for name, value in one.scores.items()
    }
    said = dict.fromkeys(note for one in judged.values() for note in one.notes)
    return Outcome(
        **taught.known,
        scores=scores,
        evenness={**matrix_evenness(network), "hidden": evenness(states)},
        notes=(*notes, *said),
        constant=all(one.constant for one in judged.values()),
    )


def untrained(run: Run) -> Any:
    """Return the network of a run as it is before training; its data are read."""
    return with_head(run.model, encoded_labels(run))


def with_head(model: Model, encoded: EncodedLabels) -> Any:
    """Load a network with a new head: one number for a score, or one for each class."""
    labels = encoded.data.labels
    kind = "regression" if as_regression(encoded.data) else "single_label_classification"
    model.source.fetch_weights()
    try:
        with quietly():
            network = transformers.AutoModelForSequenceClassification.from_pretrained(
                model.source.folder,
                num_labels=len(labels) or 1,
                problem_type=kind,
                dtype=torch.float32,
                **model.source.arguments,
            )
    except Exception as error:
        raise DataError(
            f"{model.name} cannot be loaded with a head for classes: {first_line(error)}"
        ) from error
    if network.config.pad_token_id is None:  # decoders find a text's last token by it
        network.config.pad_token_id = model.tokenizer.pad_token_id
    return network.to(model.device)


def scored(network: Any, run: Run, encoded: EncodedLabels) -> tuple[dict[str, Judged], np.ndarray]:
    """Predict every example that is scored; return scores, and hidden states of some tokens."""
    judged, states = {}, []
    for suffix, examples in encoded.scored.items():
        logits, some = predicted(network, run, examples)
        truth = [example["labels"] for example in examples]
        states.append(some)
        if encoded.data.labels:
            judged[suffix] = judge_labels(
                truth, logits.argmax(axis=1), encoded.metrics, encoded.data.labels
            )
        else:
            judged[suffix] = judge_numbers(truth, logits[:, 0], encoded.metrics)
    rows = np.concatenate(states)
    if len(rows) > HIDDEN_ROWS:
        rows = rows[np.random.default_rng(0).choice(len(rows), HIDDEN_ROWS, replace=False)]
    return judged, rows


def predicted(
    network: Any, run: Run, examples: Sequence[dict[str, Any]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs for every example, and last hidden states of about as many as asked."""
    network.eval()
    collate: Any = DataCollatorWithPadding(run.model.tokenizer)
    outputs: dict[int, np.ndarray] = {}
    states, held = [], 0
    for places in batches_by_length(examples):
        batch = collate([examples[k] for k in places]).to(network.device)
        batch.pop("labels")
        wanted = held < HIDDEN_ROWS
        with torch.inference_mode():
            found = network(**batch, output_hidden_states=wanted)
        outputs.update(zip(places, found.logits.float().cpu().numpy(), strict=True))
        if wanted:
            kept = found.hidden_states[-1][batch["attention_mask"].bool()].float().cpu().numpy()
            states.append(kept)
            held += len(kept)
    return np.stack([outputs[k] for k in range(len(examples))]), np.concatenate(states)


def batches_by_length(examples: Sequence[dict[str, Any]]) -> Iterator[list[int]]:
    """Deal examples to batches of like lengths, in an order that mixes lengths.

    Hidden states are taken from the first batches, which should not be the shortest texts.
    """
    order = sorted(range(len(examples)), key=lambda k: len(examples[k]["input_ids"]))
    batches = [order[k : k + SCORED_AT_ONCE] for k in range(0, len(order), SCORED_AT_ONCE)]
    for k in np.random.default_rng(0).permutation(len(batches)):
        yield batches[k]
