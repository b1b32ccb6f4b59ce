"""Fine-tuning an encoder-decoder to write: data, one run, what it writes, and how that is scored.

BLEU and ROUGE depend on how texts are cut into words, so that home-made figures compare with
nobody's: they are left to the packages that papers cite. BLEU is sacrebleu's, of the whole corpus,
from 0 to 100; its signature says how. ROUGE is the mean F-measure of ``rouge-score`` with its
stemmer, from 0 to 1.

Models of many languages such as mBART mark a source and a target by codes of their own, such as
``de_DE`` and ``en_XX``: the tokenizer writes them, and the decoder starts from the target's.

References
----------
Papineni et al. (2002), BLEU: a method for automatic evaluation of machine translation, ACL. Post
(2018), A call for clarity in reporting BLEU scores, WMT. Lin (2004), ROUGE: a package for automatic
evaluation of summaries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers
from transformers import DataCollatorForSeq2Seq, GenerationConfig

from isoscope.errors import UsageError, require, unknown_name
from isoscope.models.model import Model
from isoscope.verbs.train.finetune import parallel_data
from isoscope.verbs.train.finetune.parallel_data import PairData, WrittenPair, hold_out
from isoscope.verbs.train.finetune.run import (
    HIDDEN_ROWS,
    Lengths,
    Outcome,
    Run,
    Settings,
    batches_by_length,
    teach,
)
from isoscope.verbs.train.regularizers.base import NO_TOKEN, hidden_states
from isoscope.verbs.train.trainer import evenness, matrix_evenness, silently


def set_languages(tokenizer: Any, languages: tuple[str, str] | None) -> str | None:
    """Tell a tokenizer its languages; return the target's code, None where it has no codes."""
    if languages is None or not hasattr(tokenizer, "src_lang"):
        return None
    codes = [code_of(tokenizer, language) for language in languages]
    tokenizer.src_lang, tokenizer.tgt_lang = codes
    return codes[1]


def code_of(tokenizer: Any, language: str) -> str:
    """Find the code of a language: itself, or itself with a country behind it."""
    if language in tokenizer.all_special_tokens:
        return language
    wanted = re.compile(rf"{re.escape(language)}_[A-Z]{{2}}")
    found = sorted(str(token) for token in tokenizer.get_vocab() if wanted.fullmatch(token))
    if not found:
        raise UsageError(
            f"the model has no code for the language {language!r}, such as {language}_XX; name "
            "the files by a language that it knows"
        )
    return found[0]


def decoder_start(labels: list[int], code: int | None) -> dict[str, int]:
    """Say how a text in the target's language begins, as its tokenizer marks it.

    With the code behind the text (mBART), the decoder starts from the code; with the code before
    it (mBART-50), the code is the first token that is written.
    """
    if code is None:
        return {}
    if labels[-1] == code:
        return {"decoder_start_token_id": code}
    if labels[0] == code:
        return {"forced_bos_token_id": code}
    return {}


ROUGE = ("rouge1", "rouge2", "rougeL")

# Modules of the packages that score.
SACREBLEU, ROUGE_SCORER = "sacrebleu.metrics", "rouge_score.rouge_scorer"


@dataclass(frozen=True)
class WrittenScore:
    """Scores by metric, the first decides; and how they were computed."""

    scores: dict[str, float]
    signature: str


def bleu(written: Sequence[str], references: Sequence[str]) -> WrittenScore:
    """Return BLEU of translations, one reference each."""
    metric = scoring_library(SACREBLEU).BLEU()
    found = metric.corpus_score(list(written), [list(references)])
    return WrittenScore({"bleu": float(found.score)}, f"sacrebleu {metric.get_signature()}")


def rouge(written: Sequence[str], references: Sequence[str]) -> WrittenScore:
    """Return ROUGE-1, ROUGE-2 and ROUGE-L of summaries, one reference each."""
    scorer = scoring_library(ROUGE_SCORER).RougeScorer(ROUGE, use_stemmer=True)
    found = [scorer.score(*pair) for pair in zip(references, written, strict=True)]
    means = {name: sum(one[name].fmeasure for one in found) / len(found) for name in ROUGE}
    return WrittenScore(means, "rouge-score, F-measure, stemmed, mean over texts")


def scoring_library(name: str) -> Any:
    """Import a package that scores, or say what to install."""
    package = name.partition(".")[0].replace("_", "-")
    return require(name, f"written texts are scored by {package}; pip install 'isoscope[training]'")


FAMILIES = (parallel_data.TRANSLATE, parallel_data.SUMMARIZE)


def family_of(task: str) -> str:
    """Return ``translate`` or ``summarize``, or say that there is no such task."""
    family = task.partition(":")[0]
    if family not in FAMILIES or (family == parallel_data.SUMMARIZE and task != family):
        raise unknown_name("task in which a model writes", task, FAMILIES)
    return family


def is_pair_task(task: str) -> bool:
    """Whether a model writes in a task; where languages are missing, its data will say so."""
    return task.partition(":")[0] in FAMILIES


@lru_cache(maxsize=2)
def pair_data(task: str, data: str | Path | None = None) -> PairData:
    """Return the pairs of a task; runs of one task share them."""
    if family_of(task) == parallel_data.SUMMARIZE:
        return parallel_data.summary_data(data)
    return parallel_data.translation_data(task, data)


def check_scorer(task: str) -> None:
    """Say that a package is missing before a model is trained, not after."""
    scoring_library(ROUGE_SCORER if family_of(task) == parallel_data.SUMMARIZE else SACREBLEU)


Part = Literal["test", "dev"]

# One in so many training pairs is scored where settings are chosen and there is no dev part.
HELD_OUT = 10


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs of a run as lists of tokens, ready for a collator.

    Attributes
    ----------
    train, scored : list of dict
        Tokens of the source (``input_ids``, ``attention_mask``) and of the target (``labels``).
    references : tuple of str
        What should be written for each text that is scored, uncut.
    notes : tuple of str
        About the data.
    start : dict
        How the decoder begins, where the language of the target decides it.
    """

    train: list[dict[str, Any]]
    scored: list[dict[str, Any]]
    references: tuple[str, ...]
    notes: tuple[str, ...]
    start: dict[str, int]


def encoded_pairs(run: Run, part: Part = "test") -> EncodedPairs:
    """Return the pairs of a run; runs of one task share them."""
    settings = run.settings
    most = run.model.longest or max(settings.longest, settings.longest_target)
    lengths = min(settings.longest, most), min(settings.longest_target, most)
    return _encoded(run.model, run.task, run.data, lengths, settings.limit, part)


@lru_cache(maxsize=2)
def _encoded(
    model: Model,
    task: str,
    data: Path | None,
    lengths: tuple[int, int],
    limit: int | None,
    part: Part,
) -> EncodedPairs:
    if not model.is_seq2seq:
        raise UsageError(
            f"{model.name} has no encoder and decoder: {task} needs a model such as BART or mBART"
        )
    found = pair_data(task, data)
    if part == "dev":
        # The dev part, or else the end of the training pairs, takes the place of the test set.
        kept = (found.train, found.dev) if found.dev else hold_out(found.train, HELD_OUT, task)
        found = replace(found, train=kept[0], scored=kept[1], dev=())
    tokenizer = model.tokenizer
    # Before any text is cut: some tokenizers write the codes of languages into the tokens.
    code = set_languages(tokenizer, found.languages)
    scored = tokens_of(tokenizer, found.scored, lengths)
    marked = None if code is None else int(tokenizer.convert_tokens_to_ids(code))
    return EncodedPairs(
        tokens_of(tokenizer, found.first(limit), lengths),
        scored,
        tuple(pair.target for pair in found.scored),
        found.notes,
        decoder_start(scored[0]["labels"], marked),
    )


def tokens_of(
    tokenizer: Any, pairs: Sequence[WrittenPair], lengths: tuple[int, int]
) -> list[dict[str, Any]]:
    """Cut both texts of every pair into tokens."""
    sources = tokenizer([pair.source for pair in pairs], truncation=True, max_length=lengths[0])
    targets = tokenizer(
        text_target=[pair.target for pair in pairs], truncation=True, max_length=lengths[1]
    )
    names = ("input_ids", "attention_mask")
    return [
        {name: sources[name][k] for name in names} | {"labels": targets["input_ids"][k]}
        for k in range(len(pairs))
    ]


def pair_collator(tokenizer: Any) -> Any:
    """Return what makes a batch of pairs, each side as long as its longest text."""
    return DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=NO_TOKEN)


def generation_settings(network: Any, settings: Settings, start: dict[str, int]) -> Any:
    """Return how texts are written: the likeliest beam, and nothing that a checkpoint adds.

    Checkpoints bring lengths, penalties and beams of their own, with which runs of two models
    would differ in more than their weights.
    """
    config, own = network.config, network.generation_config
    positions = getattr(config, "max_position_embeddings", None) or settings.longest_target + 1
    wanted = {
        "max_new_tokens": min(settings.longest_target, positions - 1),
        "num_beams": settings.beams,
        "do_sample": False,
        "pad_token_id": config.pad_token_id,
        "bos_token_id": own.bos_token_id,
        "eos_token_id": own.eos_token_id,
        "decoder_start_token_id": own.decoder_start_token_id,
    }
    return GenerationConfig(**{**wanted, **start})  # type: ignore[no-untyped-call]


def write_texts(
    network: Any, tokenizer: Any, examples: Sequence[dict[str, Any]], how: Any
) -> list[str]:
    """Return what a network writes for every example."""
    network.eval()
    written: dict[int, str] = {}
    for places, batch in batches(network, tokenizer, examples):
        batch.pop("labels")
        with torch.inference_mode():
            tokens = network.generate(**batch, generation_config=how)
        texts = tokenizer.batch_decode(tokens, skip_special_tokens=True)
        written.update(zip(places, (text.strip() for text in texts), strict=True))
    return [written[k] for k in range(len(examples))]


def decoder_states(
    network: Any, tokenizer: Any, examples: Sequence[dict[str, Any]], most: int, seed: int
) -> np.ndarray:
    """Return the decoder's last hidden states at some tokens, when it reads the references.

    Parameters
    ----------
    network, tokenizer
        The model.
    examples : sequence of dict
        What is scored.
    most : int
        Tokens at most; which of them is drawn with the seed.
    seed : int
        Of the draw.
    """
    network.eval()
    total = sum(len(example["labels"]) for example in examples)
    drawn = np.zeros(total, bool)
    drawn[np.random.default_rng(seed).permutation(total)[:most]] = True
    states, first = [], 0
    for _, batch in batches(network, tokenizer, examples):
        with torch.inference_mode():
            found = hidden_states(network(**batch, output_hidden_states=True))
        rows = found[batch["labels"] != NO_TOKEN]
        kept = torch.from_numpy(drawn[first : first + len(rows)]).to(rows.device)
        states.append(rows[kept].float().cpu().numpy())
        first += len(rows)
    return np.concatenate(states)


def batches(
    network: Any, tokenizer: Any, examples: Sequence[dict[str, Any]]
) -> Iterator[tuple[list[int], Any]]:
    """Give out examples of like lengths together, with their places."""
    collate = pair_collator(tokenizer)
    for places in batches_by_length(examples):
        yield places, collate([dict(examples[k]) for k in places]).to(network.device)


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
    summarizes = family_of(run.task) == parallel_data.SUMMARIZE
    pairs = encoded_pairs(run, part)
    tokenizer = run.model.tokenizer
    transformers.set_seed(run.seed)
    network = with_output_matrix(run.model)
    collator = pair_collator(tokenizer)
    outcome = teach(run, network, pairs.train, collator, scored=len(pairs.scored), part=part)
    if outcome.stopped_at is not None:
        names = ROUGE if summarizes else ("bleu",)
        notes = (*pairs.notes, *outcome.notes)
        return replace(outcome, scores=dict.fromkeys(names), notes=notes)
    how = generation_settings(network, run.settings, pairs.start)
    with silently():
        written = write_texts(network, tokenizer, pairs.scored, how)
    judged = (rouge if summarizes else bleu)(written, pairs.references)
    states = decoder_states(network, tokenizer, pairs.scored, HIDDEN_ROWS, run.seed)
    same = len(set(written)) == 1 < len(written)
    return replace(
        outcome,
        settings={**outcome.settings, "signature": judged.signature},
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


def lengths_of(run: Run) -> Lengths:
    """Return how many tokens a run learns from, and how many it reads and writes once."""
    encoded = encoded_pairs(run, "test")

    def length(one: dict[str, Any]) -> int:
        return len(one["input_ids"]) + len(one["labels"])

    return Lengths(list(map(length, encoded.train)), sum(map(length, encoded.scored)))


def with_output_matrix(model: Model) -> Any:
    """Load an encoder-decoder with its map to words."""
    kind = transformers.AutoModelForSeq2SeqLM
    return model.load(kind, " with an encoder and a decoder", trained=True, dtype=torch.float32)
