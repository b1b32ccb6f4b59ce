"""What a paper claims, as something that can hold or fail on anybody's model."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from isoscope.results.result import Row
from isoscope.results.tables import grouped

if TYPE_CHECKING:
    from isoscope.results.result import Result


Operator = Literal[">", ">=", "<", "<="]
Outcome = Literal["holds", "fails", "cannot be judged"]

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
HOLDS, FAILS, UNJUDGED = OUTCOMES = ("holds", "fails", "cannot be judged")
# Subject of a figure over models, such as a correlation; it is no model itself.
ALL_MODELS = "all models"

FIELDS = ("subject", "part", "correction", "measure")


@dataclass(frozen=True)
class Claim:
    """A comparison that a paper says is true.

    Rows of a result are chosen by ``select`` and brought together in groups: rows that agree in
    every field that neither side names. In each group every row that ``left`` names is compared
    with every other one that ``right`` names, or with a number. Fields are subject, part,
    correction and measure; values are patterns with ``*``, in any case; ``a|b`` is one or the
    other, ``!a|b`` none of them. Where ``select`` names a model of the paper that a result has not,
    the claim is tested on the models that the paper did not look at, and the verdict says so.

    Attributes
    ----------
    text : str
        The claim in words.
    select : mapping
        Which rows it is about.
    left, right : mapping or float
        The two sides: fields that pick rows of a group, or (right) a number.
    op : str
        One of > >= < <=.
    over : {"all", "share"}
        Whether every case must be true, or at least ``share`` of them.
    share : float
        The share of cases that must be true when ``over`` is "share".
    excluding : tuple of mapping
        Rows that the paper itself excepts.
    min_subjects : int
        Subjects that a result must hold before anything can be said.

    Examples
    --------
    >>> Claim("centring raises I1", {"measure": "i1"}, {"correction": "center"}, ">",
    ...       {"correction": "none"}).op
    '>'
    """

    text: str
    select: Mapping[str, str]
    left: Mapping[str, str]
    op: Operator
    right: Mapping[str, str] | float
    over: Literal["all", "share"] = "all"
    share: float = 1.0
    excluding: tuple[Mapping[str, str], ...] = ()
    min_subjects: int = 1

    def __post_init__(self) -> None:
        right = self.right if isinstance(self.right, Mapping) else {}
        for pattern in (self.select, self.left, right, *self.excluding):
            unknown = set(pattern) - set(FIELDS)
            if unknown:
                raise ValueError(f"claim {self.text!r}: rows have no field {unknown}")
        if self.op not in OPERATORS:
            raise ValueError(f"claim {self.text!r}: no operator {self.op!r}")

    def judge(self, result: Result, models: Collection[str] = ()) -> Verdict:
        """Judge the claim on a result; ``models`` are those that the paper looked at."""
        subjects = {row.subject for row in result.rows} - {"", ALL_MODELS}
        if len(subjects) < self.min_subjects:
            return self._unjudged(
                f"it is about at least {self.min_subjects} models, and there "
                f"{'is' if len(subjects) == 1 else 'are'} {len(subjects)}"
            )
        own = {name.casefold() for model in models for name in model.split("|")}
        chosen = self._chosen(result.rows, own)
        cases = [case for group in self._groups(chosen) for case in self._cases(group)]
        if not cases:
            return self._unjudged(f"no figures for {self._wanted()}")
        undefined = [case for case in cases if case.true is None]
        about = {name for case in cases for name in (case.subject, case.right_subject)}
        # A figure over models is about all of them, so that all must be the paper's.
        about = subjects if ALL_MODELS in about else about - {""}
        others = sorted(name for name in about if name.casefold() not in own)
        if undefined:
            return self._unjudged(undefined[0].note or "a figure is undefined", cases, others)
        true = sum(case.true is True for case in cases)
        holds = true == len(cases) if self.over == "all" else true >= self.share * len(cases)
        reason = f"true in {true} of {len(cases)}"
        return Verdict(self.text, "holds" if holds else "fails", reason, tuple(others), cases)

    def _chosen(self, rows: Collection[Row], own: Collection[str]) -> list[Row]:
        """Return the rows that the claim is about.

        A claim about one of the paper's models is tested as it stands on models that the paper did
        not look at, where its own is not there.
        """
        kept = [row for row in rows if not any(matches(row, out) for out in self.excluding)]
        found = [row for row in kept if matches(row, self.select)]
        if found or "subject" not in self.select or self.select["subject"].startswith("!"):
            return found
        rest = {field: wanted for field, wanted in self.select.items() if field != "subject"}
        others = [row for row in kept if row.subject.casefold() not in {*own, "", ALL_MODELS}]
        return [row for row in others if matches(row, rest)]

    def _groups(self, rows: list[Row]) -> list[list[Row]]:
        right = self.right if isinstance(self.right, Mapping) else {}
        shared = [field for field in FIELDS if field not in self.left and field not in right]
        groups = grouped(rows, lambda row: tuple(getattr(row, field) for field in shared))
        return list(groups.values())

    def _cases(self, group: list[Row]) -> list[Case]:
        """Compare the two sides; none where a side has no row."""
        lefts = [row for row in group if matches(row, self.left)]
        if not isinstance(self.right, Mapping):
            number = float(self.right)
            log10 = math.log10(number) if number > 0 else None
            rights = [Row("", "", "", "", number, log10=log10)]
        else:
            rights = [row for row in group if matches(row, self.right)]
        return [self._case(left, right) for left in lefts for right in rights if left is not right]

    def _case(self, left: Row, right: Row) -> Case:
        true = compare(self.op, (left.value, left.log10), (right.value, right.log10))
        reason = (left.note if left.value is None else right.note) if true is None else ""
        other = "" if right.subject == left.subject else right.subject
        return Case(
            left.subject, describe(left), left.value, self.op, describe(right), right.value, true,
            reason, other,
        )  # fmt: skip

    def _wanted(self) -> str:
        sides = [self.select, self.left, self.right if isinstance(self.right, Mapping) else {}]
        return ", ".join(
            f"{key} {value.replace('!', 'not ').replace('|', ' or ')}"
            for side in sides
            for key, value in side.items()
        )

    def _unjudged(
        self, reason: str, cases: list[Case] | None = None, others: Collection[str] = ()
    ) -> Verdict:
        return Verdict(self.text, "cannot be judged", reason, tuple(others), cases or [])


@dataclass(frozen=True)
class Case:
    """Two figures that a claim compares; ``true`` is None where one is undefined."""

    subject: str
    left: str
    left_value: float | None
    op: str
    right: str
    right_value: float | None
    true: bool | None
    note: str = ""
    right_subject: str = ""
    """The model of the right side, where it is another one."""


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, with the figures it was judged on."""

    text: str
    outcome: Outcome
    reason: str
    other_models: tuple[str, ...]
    """Subjects that the paper did not look at."""
    cases: list[Case]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain dictionaries and lists."""
        return {**asdict(self), "other_models": list(self.other_models)}


def matches(row: Row, pattern: Mapping[str, str]) -> bool:
    """Whether every named field of a row fits its pattern, in any case."""
    return all(fits(getattr(row, field), wanted) for field, wanted in pattern.items())


def fits(text: str, wanted: str) -> bool:
    """Whether a text fits one of several patterns, or with ``!`` before them none."""
    negated = wanted.startswith("!")
    patterns = wanted.removeprefix("!").casefold().split("|")
    return any(fnmatchcase(text.casefold(), pattern) for pattern in patterns) != negated


def describe(row: Row) -> str:
    """Return what a figure is of, in a few words."""
    correction = f"({row.correction})" if row.correction else ""
    return " ".join(word for word in (what_of(row), correction) if word)


def what_of(row: Row) -> str:
    """Return part and measure, once where the measure begins with the part, as scores may."""
    if row.part and row.measure.startswith(f"{row.part}/"):
        return row.measure
    return " ".join(word for word in (row.part, row.measure) if word)


def is_known(value: float | None) -> TypeGuard[float]:
    """Whether a figure is a number; what is not finite is undefined, as in a saved result."""
    return value is not None and math.isfinite(value)


def compare(
    op: str, left: tuple[float | None, float | None], right: tuple[float | None, float | None]
) -> bool | None:
    """Compare two figures, given as value and log10; by logarithm where both have one.

    I1 may be below the smallest double: its value is then 0, its logarithm is not.
    """
    if not is_known(left[0]) or not is_known(right[0]):
        return None
    if is_known(left[1]) and is_known(right[1]):
        return bool(OPERATORS[op](left[1], right[1]))
    # A number of numpy's would compare to a truth value of numpy's, which is not True.
    return bool(OPERATORS[op](left[0], right[0]))
