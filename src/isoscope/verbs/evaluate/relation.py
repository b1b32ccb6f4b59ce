"""``relate()``: does isotropy go with better scores, over many spaces, by measure and by task?

The answer depends on what is compared, and papers disagree partly because they compare different
things. So there is one table per question:

- *all spaces*: models, layers and corrections together;
- *uncorrected layers*: layers of all models as they are;
- *layers of a model*: within each model, then the mean over models (where there are several);
- *corrections of a layer*: within each layer, over its corrections, then the mean over layers. Only
  this one is about what changing a space does.

Correlations are Spearman's, of the score with *isotropy*: measures that fall as a space fills more
evenly are turned around, so that above 0 always means "the more isotropic, the better".

Spaces are not independent of each other: those of one layer under several corrections share the
layer, neighbouring layers are alike, and all layers of a model share the model. A relation is the
mean over groups of spaces of Spearman's ρ in each; with one group that is ρ itself. Its error is
what leaving out a whole cluster of spaces does, never a single space:

    s² = Σ_h (G_h − 1) / G_h Σ_g (ρ₋g − ρ̄₋h)²

over the G_h clusters of stratum h: all of them, or those of one group where groups hold several.
The interval is symmetric on Fisher's scale artanh ρ, where the error is s / (1 − ρ²), with
Student's quantile for Σ G_h − H − 1 degrees of freedom, H the number of strata. Resampling
clusters instead gives intervals that are too short where clusters are few: in simulations of 5 to
30 clusters of four spaces, percentiles of the bootstrap held the truth 75 to 95 % of the time, and
these 93 to 98 %.

Clusters of layers are runs of neighbours. What changes slowly with depth correlates with anything
else that does: of two unrelated random walks over 31 layers, 48 % of the intervals leave out 0 when
single layers are left out, and 9 % with six runs of layers. Where layers are independent, runs
make intervals a quarter longer.

References
----------
Efron & Stein (1981), The jackknife estimate of variance. Shao & Tu (1995), The jackknife and
bootstrap, ch. 6, on sample surveys. Fisher (1921), On the "probable error" of a
coefficient of correlation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import (
    FEWEST,
    ROUNDING,
    Estimate,
    check_level,
    interval_within,
    is_constant,
    quantile,
    spearman_influences,
)
from isoscope.corrections.named import NONE
from isoscope.errors import UsageError
from isoscope.measures.registry import Direction, all_measures
from isoscope.results.fields import DIFFERENCE, KIND, MAIN, PART_OF_TASK, base_name
from isoscope.results.merge import joined
from isoscope.results.result import Result, Row, Table
from isoscope.results.tables import grouped
from isoscope.verbs.evaluate.text import DIRECTION, ISOTROPY, RELATION, SCORE, verdict
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.typing import Mask, Vector

    Key = tuple[str, str, str]


# Below this many clusters the spread of what leaving one out does says little.
FEWEST_CLUSTERS = 5

# Clusters that the layers of a model make.
RUNS = 6


def mean_rank_correlation(
    x: Vector,
    y: Vector,
    groups: Sequence[Hashable],
    clusters: Sequence[Hashable],
    *,
    unit: str = "layer",
    level: float = 0.95,
) -> tuple[Estimate, int]:
    """Return the mean rank correlation within groups with its interval, and how many groups count.

    Parameters
    ----------
    x, y : array
        Two numbers of every space; spaces without one (NaN) are left out.
    groups : sequence
        The group of every space. Groups in which x or y is constant have no ρ and are left out;
        of two spaces it is the sign.
    clusters : sequence
        What a space is left out with. Clusters lie within groups, or groups within clusters.
    unit : str
        What a cluster is, for notes.
    level : float
        Coverage of the interval.
    """
    check_level(level)
    usable = np.isfinite(x) & np.isfinite(y)
    members = places_of(groups)
    varying = {
        name: mask
        for name, mask in members.items()
        if rank_correlation(x, y, mask & usable) is not None
    }
    n, value, kept = int(usable.sum()), None, usable
    why = f"fewer than {FEWEST} spaces"
    if n >= FEWEST and not varying:
        alone = all((mask & usable).sum() < 2 for mask in members.values())
        why = "no two spaces to compare" if alone else "score or isotropy is the same everywhere"
    elif n >= FEWEST:
        kept = usable & np.logical_or.reduce(list(varying.values()))
        value = mean_over(x, y, list(varying.values()), kept)
        n = int(kept.sum())
    if value is None or n < FEWEST:
        return Estimate(None, None, None, n, f"undefined: {why}"), 0
    low, high, why = interval(x, y, varying, clusters, kept, value, unit, level)
    without = len(usable) - int(usable.sum())
    left = f"{counted(without, 'space')} without score or isotropy left out" if without else ""
    return Estimate(value, low, high, n, "; ".join(filter(None, (why, left)))), len(varying)


def interval(
    x: Vector,
    y: Vector,
    groups: dict[Hashable, Mask],
    clusters: Sequence[Hashable],
    kept: Mask,
    value: float,
    unit: str,
    level: float,
) -> tuple[float | None, float | None, str]:
    """Return both ends of the interval, or why there is none."""
    masks = {name: mask & kept for name, mask in places_of(clusters).items() if (mask & kept).any()}
    if len(masks) < FEWEST_CLUSTERS:
        return None, None, f"no interval from fewer than {counted(FEWEST_CLUSTERS, unit)}"
    # On Fisher's scale a perfect correlation is infinitely far from all others.
    if 1 - abs(value) < ROUNDING:
        return None, None, "no interval around a perfect correlation"
    strata = strata_of(groups, masks)
    left: dict[Hashable, list[float]] = {}
    for name, mask in masks.items():
        rest = kept & ~mask
        without = mean_over(x, y, list(groups.values()), rest) if rest.any() else None
        if without is None:
            return None, None, f"no interval: undefined without some {unit}s"
        left.setdefault(strata[name], []).append(without)
    if any(len(found) < 2 for found in left.values()):
        return None, None, f"no interval: a group with one {unit} tells no error"
    variance = sum(
        (len(found) - 1) / len(found) * float(np.sum((np.array(found) - np.mean(found)) ** 2))
        for found in left.values()
    )
    if variance <= ROUNDING**2:
        return None, None, f"no interval: no {unit} changes the correlation"
    # One degree for the mean of every stratum, and one for the correlation.
    freedom = max(len(masks) - len(left) - 1, 1)
    # Student's quantile is asked for by the number of items, which is two more.
    reach = quantile(level, freedom + 2) * math.sqrt(variance)
    return *interval_within(value, reach), ""


def strata_of(
    groups: dict[Hashable, Mask], clusters: dict[Hashable, Mask]
) -> dict[Hashable, Hashable]:
    """Return the stratum of every cluster: its group where that holds several, else one for all."""
    within = {
        name: next(group for group, mask in groups.items() if (mask & places).any())
        for name, places in clusters.items()
    }
    inside = all(not (clusters[name] & ~groups[group]).any() for name, group in within.items())
    # One cluster per group says nothing about the spread within groups.
    sizes = Counter(within.values())
    if inside and any(size > 1 for size in sizes.values()):
        return within
    return dict.fromkeys(clusters)


def mean_over(x: Vector, y: Vector, groups: list[Mask], kept: Mask) -> float | None:
    """Return the mean of the groups' correlations; None where one that has spaces has none."""
    found = [rank_correlation(x, y, mask & kept) for mask in groups if (mask & kept).any()]
    values = [value for value in found if value is not None]
    return float(np.mean(values)) if values and len(values) == len(found) else None


def rank_correlation(x: Vector, y: Vector, chosen: Mask) -> float | None:
    """Return Spearman's ρ of some spaces, None where it is undefined."""
    first, second = x[chosen], y[chosen]
    if len(first) < 2 or is_constant(first) or is_constant(second):
        return None
    return spearman_influences(first, second)[0]


def runs_of_layers(layers: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """Return the run of neighbours that each layer of a model belongs to.

    Layers are neighbours in the order in which they first appear; runs are as equal as can be.
    """
    run = {
        layer: (model, place * min(RUNS, len(own)) // len(own))
        for model, own in grouped(dict.fromkeys(layers), lambda layer: layer[0]).items()
        for place, layer in enumerate(own)
    }
    return [run[layer] for layer in layers]


def places_of(names: Sequence[Hashable]) -> dict[Hashable, Mask]:
    """Return for every name where it stands, in the order in which they first appear."""
    return {
        name: np.array([other == name for other in names], bool) for name in dict.fromkeys(names)
    }


SECONDS = "/seconds"


@dataclass(frozen=True)
class ScoredSpaces:
    """All spaces that one task was scored in, by model, layer and correction.

    ``score`` is the one that decides, as results name it, such as ``sts-b/cosine/spearman``;
    ``isotropy`` has the rows of every measure of these spaces.
    """

    task: str
    score: str
    scores: Mapping[Key, Row]
    isotropy: Mapping[str, Mapping[Key, Row]]

    def score_values(self) -> Vector:
        """Return the score of every space, NaN where it is undefined."""
        return np.array([number(row.value) for row in self.scores.values()])

    def isotropy_values(self, measure: str) -> Vector:
        """Return how isotropic every space is by a measure: the higher, the more; NaN if undefined.

        Measures that fall as a space fills more evenly are turned around. Those that may be below
        the smallest double are taken by their logarithm, which has the same ranks.
        """
        rows = [self.isotropy[measure].get(key) for key in self.scores]
        by_power = all(row.log10 is not None for row in rows if row is not None)
        values = [
            math.nan if row is None else number(row.log10 if by_power else row.value)
            for row in rows
        ]
        return np.array(values) * (-1.0 if direction(measure) == "lower" else 1.0)

    def table_rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for every space, with its score and all measures as they are."""
        found = []
        for key, row in self.scores.items():
            about: dict[str, Any] = {
                "task": self.task, "score": self.score, "model": key[0], "layer": key[1],
                "correction": key[2], "value": row.value, "low": row.low, "high": row.high,
            }  # fmt: skip
            for name, rows in self.isotropy.items():
                one = rows.get(key)
                about[name] = one.value if one else None
                about[f"{name}_log10"] = one.log10 if one else None
            found.append(about)
        return found


def number(value: float | None) -> float:
    """Return a finite number, or NaN: what is infinite does not survive being saved."""
    return value if value is not None and math.isfinite(value) else math.nan


def direction(measure: str) -> Direction:
    """Return which way a more evenly filled space moves a measure."""
    return next(item.direction for item in all_measures() if item.name == base_name(measure))


def scored_spaces(results: Iterable[Result]) -> list[ScoredSpaces]:
    """Return the main score of every task with the isotropy of the same spaces."""
    rows = distinct_rows(row for result in results for row in result.rows)
    measures = {item.name for item in all_measures()}
    isotropy: dict[str, dict[str, dict[Key, Row]]] = {}
    for row in rows:
        task, name = task_and_measure(row.measure, measures)
        if "unit" not in row.extra and name:
            isotropy.setdefault(task, {}).setdefault(name, {})[key_of(row)] = row
    scores: dict[str, list[Row]] = {task: [] for task in isotropy}
    for row in rows:
        # The longest: one task may be called as another is with something behind a slash.
        owner = max((t for t in isotropy if row.measure.startswith(f"{t}/")), key=len, default=None)
        if owner is not None and is_score(row):
            scores[owner].append(row)
    found = []
    for task, many in scores.items():
        if many:
            # What was saved without a mark has the score that decides first.
            main = next((row for row in many if row.extra.get(MAIN)), many[0]).measure
            of_main = {key_of(row): row for row in many if row.measure == main}
            found.append(ScoredSpaces(task, main, of_main, isotropy[task]))
    if not found:
        raise UsageError(
            "there are no scores with isotropy beside them; relate takes results of evaluate on "
            "texts, with --isotropy (isotropy=) naming at least one measure"
        )
    return found


def distinct_rows(rows: Iterable[Row]) -> list[Row]:
    """Return every row once; two numbers for one thing cannot both count."""
    known: dict[tuple[str, ...], Row] = {}
    for row in rows:
        if row.measure.endswith(SECONDS):
            continue
        other = known.setdefault((*key_of(row), row.measure), row)
        if (other.value, other.log10) != (row.value, row.log10):
            where = ", ".join(word for word in key_of(row) if word)
            raise UsageError(
                f"there are two values of {row.measure} for {where}; they come from two results: "
                "name one of them"
            )
    return list(known.values())


def key_of(row: Row) -> Key:
    """Return model, layer and correction."""
    return row.subject, row.part, row.correction


def is_score(row: Row) -> bool:
    """Whether a row is a score of a whole task, neither of a subset nor a difference."""
    return (
        "unit" in row.extra
        and PART_OF_TASK not in row.extra
        and not row.measure.endswith(DIFFERENCE)
    )


def task_and_measure(name: str, measures: set[str]) -> tuple[str, str]:
    """Split ``sts-b/i1_scaled`` into the task and the measure of isotropy; "" where it is none."""
    words = name.split("/")
    for place in range(1, len(words)):
        if base_name(words[place]) in measures:
            return "/".join(words[:place]), "/".join(words[place:])
    return name, ""


ALL, UNCORRECTED = "all spaces", "uncorrected layers"
WITHIN_MODELS, WITHIN_LAYERS = "layers of a model", "corrections of a layer"
SPACES = "spaces"


@dataclass(frozen=True)
class Question:
    """Which spaces are compared with which; ``name`` is what results call the question."""

    name: str
    corrected: bool
    """Whether corrected spaces take part."""
    group: int
    """How much of model, layer and correction the spaces that are compared have in common: with 0
    all are compared, with 1 those of a model, with 2 those of a layer."""

    def takes(self, key: Key) -> bool:
        """Whether a space takes part."""
        return self.corrected or key[2] == NONE

    def describe(self, keys: list[Key]) -> str:
        """Describe in a few words what was correlated."""
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
    >>> from isoscope import evaluate, relate
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
    spaces = [row for task in tasks for row in task.table_rows()]
    keys = dict.fromkeys(key for row in spaces for key in row)
    whole = joined(every)
    return Result(
        rows,
        # Tasks may have been measured differently: all rows of the table get the same keys.
        [Table(ALL, "", NONE, SPACES, [{key: row.get(key) for key in keys} for row in spaces])],
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
    protocol = f"{question.describe(chosen)}; {100 * level:.0f} % intervals from leaving out {how}"
    scores = task.score_values()[taking_part]
    rows = []
    for measure in task.isotropy:
        isotropy = task.isotropy_values(measure)[taking_part]
        found, used = mean_rank_correlation(
            isotropy, scores, groups, clusters, unit=unit, level=level
        )
        extra: dict[str, Any] = {
            SCORE: task.score, ISOTROPY: measure, DIRECTION: direction(measure),
            "unit": SPACES, "models": len(models), "groups": used,
            "left_out_together": unit,
        }  # fmt: skip
        name = f"{task.score} ~ {measure}"
        rows.append(Row.of(found, question.name, "", NONE, name, protocol=protocol, extra=extra))
    return rows
