"""Texts, pairs of texts, and words in two sentences, to be classified on frozen features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError
from isoscope.models.tokens import Mention
from isoscope.tasks.class_problem import ClassProblem, numbered
from isoscope.tasks.probes.logistic import LogisticProbe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.tasks.examples import LabelledText, WordInContext
    from isoscope.tasks.pair_features import PairFeatures
    from isoscope.tasks.probes.contract import Probe
    from isoscope.tasks.text_tasks import TextClassification


SENSES = ("F", "T")
"""Another meaning, the same meaning, as WiC writes them."""


def text_problem(
    task: TextClassification,
    examples: Sequence[LabelledText],
    probe: Probe | None = None,
    *,
    pairs: PairFeatures = "ordered",
) -> ClassProblem:
    """Return texts, or pairs of texts, to be classified.

    Parameters
    ----------
    task : TextClassification
        Whose classes, and whose first score, which decides: Matthews' correlation for CoLA,
        accuracy for the others.
    examples : sequence of LabelledText
        As the task loads them; texts that are empty get no class and are not learned from.
    probe : Probe, optional
        Logistic regression by default.
    pairs : {"ordered", "symmetric"}
        What the features of two texts are.
    """
    if not examples:
        raise DataError(f"{task.name} has no {task.unit} to score")
    if task.pairs:
        sides = [side or "" for example in examples for side in (example.first, example.second)]
        texts, rows = numbered(sides)
        first, second = rows[::2], rows[1::2]
    else:
        texts, first = numbered([example.first for example in examples])
        second = None
    codes = {label: code for code, label in enumerate(task.labels)}
    return ClassProblem(
        task.name,
        task.unit,
        tuple(texts),
        task.labels,
        first,
        second,
        np.array([codes[example.label] for example in examples], np.intp),
        np.array([example.split for example in examples], object),
        task.metrics[0],
        probe=LogisticProbe() if probe is None else probe,
        pairs=pairs,
    )


def sense_problem(
    name: str,
    examples: Sequence[WordInContext],
    probe: Probe | None = None,
    *,
    pairs: PairFeatures = "ordered",
) -> ClassProblem:
    """Return words in two sentences, to be classified as of one meaning or of two.

    Parameters
    ----------
    name : str
        What results call the task.
    examples : sequence of WordInContext
        As WiC's task loads them; the features are those of the word's two vectors.
    probe, pairs
        As in ``text_problem``.
    """
    if not examples:
        raise DataError(f"{name} has no pairs to score")
    sides = [
        side
        for example in examples
        for side in ((example.first, example.first_span), (example.second, example.second_span))
    ]
    texts, _ = numbered([text for text, _ in sides])
    words, rows = numbered([(texts[text], *span) for text, span in sides])
    first, second = rows[::2], rows[1::2]
    return ClassProblem(
        name,
        "pairs",
        tuple(texts),
        SENSES,
        first,
        second,
        np.array([example.same for example in examples], np.intp),
        np.array([example.split for example in examples], object),
        mentions=tuple(Mention(*word) for word in words),
        probe=LogisticProbe() if probe is None else probe,
        pairs=pairs,
    )
