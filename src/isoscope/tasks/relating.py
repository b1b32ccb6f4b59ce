"""Does isotropy go with better scores? Over many spaces, measure by measure and task by task.

The answer depends on what is compared, and papers disagree partly because they compare different
things. So there is one table a question:

- *all spaces*: models, layers and corrections together;
- *uncorrected layers*: layers of all models as they are;
- *layers of a model*: within each model, then the mean over models (where there are several);
- *corrections of a layer*: within each layer, over its corrections, then the mean over layers. Only
  this one is about what changing a space does.

Correlations are Spearman's, of the score with *isotropy*: measures that fall as a space fills more
evenly are turned around, so that above 0 always means "the more isotropic, the better".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import check_level
from isoscope.corrections.named import NONE
from isoscope.measures.registry import counted
from isoscope.results.joining import joined
from isoscope.results.related import DIRECTION, ISOTROPY, RELATION, SCORE
from isoscope.results.result import Result, Row, Table
from isoscope.results.scored import KIND
from isoscope.tasks.rank_relations import FEWEST_CLUSTERS, mean_rank_correlation, runs_of_layers
from isoscope.tasks.related_spaces import ScoredSpaces, direction, scored_spaces
from isoscope.tasks.relation_words import verdict

if TYPE_CHECKING:
    from isoscope.tasks.related_spaces import Key


ALL, UNCORRECTED = "all spaces", "uncorrected layers"
WITHIN_MODELS, WITHIN_LAYERS = "layers of a model", "corrections of a layer"
SPACES = "spaces"


@dataclass(frozen=True)
class Question:
    """Which spaces are compared with which.

    Attributes
    ----------
    name : str
        What results call it.
    corrected : bool
        Whether corrected spaces take part.
    group : int
        How much of model, layer and correction the spaces that are compared have in common: with
        0 all are compared, with 1 those of a model, with 2 those of a layer.
    """

    name: str
    corrected: bool
    group: int

    def takes(self, key: Key) -> bool:
        """Whether a space takes part."""
        return self.corrected or key[2] == NONE

    def describe(self, keys: list[Key]) -> str:
        """Say in a few words what was correlated."""
        compared = "the rank correlation of isotropy and score"
        if self.group:
            of = "model" if self.group == 1 else "layer"
            number = len({key[: self.group] for key in keys})
            compared = f"the mean of rank correlations within {counted(number, of)}"
        models, layers = (len({key[:k] for key in keys}) for k in (1, 2))
        return (
            f"{compared}, over {counted(len(keys), 'space')} of {counted(layers, 'layer')} of "
            f"{counted(models, 'model')}"
        )


QUESTIONS = (
    Question(ALL, corrected=True, group=0),
    Question(UNCORRECTED, corrected=False, group=0),
    Question(WITHIN_MODELS, corrected=False, group=1),
    Question(WITHIN_LAYERS, corrected=True, group=2),
)


def relate(results: Result | Iterable[Result], level: float = 0.95, *, command: str = "") -> Result:
    """Correlate the isotropy of spaces with their scores.

    Spaces of one layer are not independent, nor are layers of one model. Intervals come from
    leaving out runs of neighbouring layers, at most six a model, with all their corrections; from
    five models on, whole models with all their layers. With fewer models they say nothing about
    other models. With fewer than five layers there are none.

    Parameters
    ----------
    results : Result or iterable of Result
        What ``evaluate`` returned for models on texts, with measures of isotropy beside the scores.
    level : float
        Coverage of the intervals.
    command : str
        Kept in the result, so that it can be made again.

    Returns
    -------
    Result
        Rows such as ``sts-b/cosine/spearman ~ i1_scaled``, whose subject is the question; ``n``
        counts spaces. The score of a task is the one that decides. The table ``spaces`` has all
        scores and measures as they are.

    Examples
    --------
    >>> from isoscope.tasks import evaluate, relate
    >>> relate([evaluate(one, "sts-b") for one in models])  # doctest: +SKIP
    """
    check_level(level)
    every = [results] if isinstance(results, Result) else list(results)
    tasks = scored_spaces(every)
    several = any(len({key[0] for key in task.scores}) > 1 for task in tasks)
    questions = [one for one in QUESTIONS if several or one.name != WITHIN_MODELS]
    rows = [
        row
        for question in questions
        for task in tasks
        for row in relation_rows(task, question, level)
    ]
    whole = joined(every)
    return Result(
        rows,
        [Table(ALL, "", NONE, SPACES, same_keys([r for task in tasks for r in task.table_rows()]))],
        [verdict(one.name, [row for row in rows if row.subject == one.name]) for one in questions],
        seeds=whole.seeds,
        versions=whole.versions,
        command=command,
        extra={KIND: RELATION, "models": whole.extra.get("models", {})},
    )


def relation_rows(task: ScoredSpaces, question: Question, level: float) -> list[Row]:
    """Answer a question for one task, by every measure."""
    taking_part = np.array([question.takes(key) for key in task.scores], bool)
    chosen = [key for key in task.scores if question.takes(key)]
    models = {key[0] for key in chosen}
    groups: list[Hashable] = [key[: question.group] for key in chosen]
    clusters: list[Hashable]
    if len(models) >= FEWEST_CLUSTERS:
        unit, how = "model", "one model at a time"
        clusters = [key[0] for key in chosen]
    else:
        unit, how = "layer", "runs of neighbouring layers, which says nothing about other models"
        clusters = [*runs_of_layers([key[:2] for key in chosen])]
    protocol = f"{question.describe(chosen)}; {level:.0%} intervals from leaving out {how}"
    rows = []
    for measure in task.isotropy:
        found, used = mean_rank_correlation(
            task.isotropy_values(measure)[taking_part],
            task.score_values()[taking_part],
            groups,
            clusters,
            unit=unit,
            level=level,
        )
        extra: dict[str, Any] = {
            SCORE: task.score, ISOTROPY: measure, DIRECTION: direction(measure),
            "unit": SPACES, "models": len(models), "groups": used,
            "left_out_together": unit,
        }  # fmt: skip
        rows.append(
            Row(
                question.name, "", NONE, f"{task.score} ~ {measure}", found.value,
                low=found.low, high=found.high, n=found.n, protocol=protocol, note=found.note,
                extra=extra,
            )
        )  # fmt: skip
    return rows


def same_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give all rows the keys of each: tasks may have been measured differently."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]
