"""Fine-tuning an encoder-decoder to write: one run, from the model's own weights to scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers

from isoscope.errors import DataError
from isoscope.models.model import refuse_missing
from isoscope.models.runtime import first_line, quietly
from isoscope.training.encoded_pairs import encoded_pairs
from isoscope.training.epoch_log import matrix_evenness
from isoscope.training.evenness import evenness
from isoscope.training.outcomes import Outcome
from isoscope.training.pair_tasks import check_scorer, metrics_of, score_written
from isoscope.training.silence import silently
from isoscope.training.teaching import teach
from isoscope.training.writing import (
    decoder_states,
    generation_settings,
    pair_collator,
    write_texts,
)

if TYPE_CHECKING:
    from isoscope.models.model import Model
    from isoscope.training.encoded_pairs import Part
    from isoscope.training.run import Run


HIDDEN_ROWS = 5_000
"""Tokens of what is scored whose last hidden states are measured."""


def finetune_generation(run: Run, part: Part = "test") -> Outcome:
    """Train an encoder-decoder on pairs of texts, and score what it writes.

    Order of pairs and dropout come from the run's seed: the same run gives the same numbers again,
    on the same machine with the same number of threads.

    Parameters
    ----------
    run : Run
        Of the task ``translate:SOURCE-TARGET`` or ``summarize``.
    part : {"test", "dev"}
        What is scored; settings are chosen on dev.
    """
    check_scorer(run.task)
    pairs = encoded_pairs(run, part)
    tokenizer = run.model.tokenizer
    transformers.set_seed(run.seed)
    network = with_output_matrix(run.model)
    taught = teach(
        run, network, pairs.train, pair_collator(tokenizer), scored=len(pairs.scored), part=part
    )
    if taught.stopped is not None:
        return taught.failed(metrics_of(run.task), pairs.notes)
    how = generation_settings(network, run.settings, pairs.start)
    with silently():
        written = write_texts(network, tokenizer, pairs.scored, how)
    judged = score_written(run.task, written, pairs.references)
    states = decoder_states(network, tokenizer, pairs.scored, HIDDEN_ROWS, run.seed)
    same = len(set(written)) == 1 < len(written)
    return Outcome(
        **taught.saying(signature=judged.signature),
        scores=judged.scores,
        evenness={**matrix_evenness(network), "hidden": evenness(states)},
        notes=(*pairs.notes, *((f"every text is answered by {written[0]!r:.60}",) if same else ())),
        constant=same,
    )


def untrained(run: Run) -> Any:
    """Return the network of a run as it is before training; its data are read."""
    check_scorer(run.task)
    encoded_pairs(run, "test")
    return with_output_matrix(run.model)


def with_output_matrix(model: Model) -> Any:
    """Load an encoder-decoder with its map to words."""
    model.source.fetch_weights()
    try:
        with quietly():
            network, loading = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                model.source.folder,
                dtype=torch.float32,
                output_loading_info=True,
                **model.source.arguments,
            )
    except Exception as error:
        raise DataError(
            f"{model.name} cannot be loaded with an encoder and a decoder: {first_line(error)}"
        ) from error
    refuse_missing(model.name, loading["missing_keys"])
    return network.to(model.device)
