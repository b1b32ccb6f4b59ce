"""What a paper claims, and how likely the figures of a model are to support it.

A claim is judged for one model at a time, and only for models that it is about. Its cases (the
layers, sets or methods that it speaks of) are each weighed with an interval (`evidence`), and put
together by partial conjunction (Benjamini & Heller 2008): with p₍₁₎ ≤ … ≤ p₍ₘ₎, that at least k of
m cases are true has the p-value (m − k + 1) p₍ₖ₎. For a claim that must be true in all cases this
is the largest p-value; that one of them is false has m times the smallest. Both directions are
looked at, so that p-values are doubled. `judge` decides, and corrects for the number of claims.

References
----------
Benjamini & Heller (2008), Screening for partial conjunction hypotheses, Biometrics 64.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from isoscope.results.fields import DIFFERENCE, UNCORRECTED
from isoscope.results.result import Row
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.evidence import EXACT, NOTHING, evidence, is_known
from isoscope.verbs.study.judgement.flags import flags_of
from isoscope.verbs.study.judgement.rows import (
    ALL_MODELS,
    FIELDS,
    OPERATORS,
    WITHIN,
    Operator,
    all_names,
    compare,
    describe,
    fits,
    in_words,
    matches,
    negated,
    row_key,
    subjects_of,
    what_of,
)
from isoscope.verbs.study.judgement.scope import ANY_TRANSFORMER, Scope, facts_of
from isoscope.verbs.study.judgement.verdicts import (
    NOT_APPLICABLE,
    NOT_RUN,
    NOT_RUN_FIELD,
    TOO_WEAK,
    UNDECIDED,
    Case,
    Verdict,
)

if TYPE_CHECKING:
    from isoscope.results.result import Result


UNKNOWN_STRUCTURE = "the result does not say what the model is: run the study again"


@dataclass(frozen=True)
class Floor:
    """What figures without a correction must be, so that a claim about it can be judged.

    A model of 2.4 BLEU cannot lose 6, whatever is done to it: neither that it loses them nor that
    it does not would say anything about the claim.

    Attributes
    ----------
    op : str
        One of >= and <=.
    number : float
        What the figure is compared with.
    part : str
        Where the baseline is another part of the model: a probe that does not read positions from
        the input, which has them, shows nothing about the layers behind it.
    of : mapping
        Where the baseline is another figure: the fields of its row. Of several the weakest counts.
    """

    op: Literal[">=", "<="]
    number: float
    part: str = ""
    of: Mapping[str, str] = field(default_factory=dict)

    def baseline(self, left: Row, lookup: Mapping[tuple[str, ...], Row]) -> Row | None:
        """Return the figure that a case is taken from, where there is one."""
        if not self.of:
            measure = left.measure.removesuffix(DIFFERENCE)
            return lookup.get((left.subject, self.part or left.part, UNCORRECTED, measure))
        found = [
            row
            for row in lookup.values()
            if row.subject == left.subject and matches(row, self.of) and is_known(row.value)
        ]
        weakest = min if self.op == ">=" else max
        return weakest(found, key=lambda row: row.value or 0.0, default=None)

    def refusal(self, baseline: Row | None) -> str:
        """Return why a baseline says nothing, in a few words; empty where it does."""
        if baseline is None or not is_known(baseline.value):
            return f"{TOO_WEAK}: there is no figure without correction"
        if OPERATORS[self.op](baseline.value, self.number):
            return ""
        least = {">=": "at least", "<=": "at most"}[self.op]
        where = "" if self.part or self.of else " without correction"
        return (
            f"{TOO_WEAK}: {what_of(baseline)} is {baseline.value:.3g}{where}, and the claim takes "
            f"{least} {self.number:g}"
        )


@dataclass(frozen=True)
class Claim:
    """A comparison that a paper says is true.

    Rows of a result are chosen by ``select`` and brought together in groups: rows that agree in
    every field that neither side names. In each group every row that ``left`` names is compared
    with every other one that ``right`` names, or with a number, or with a range of two numbers.
    Fields are subject, part, correction and measure; values are patterns with ``*``, in any case;
    ``a|b`` is one or the other, ``!a|b`` none of them. A claim whose ``select`` names subjects is
    about models of these names only.

    Attributes
    ----------
    text : str
        The claim in words.
    select : mapping
        Which rows it is about.
    left, right : mapping, float or pair of floats
        The two sides: fields that pick rows of a group, or (right) a number or a range.
    op : str
        One of > >= < <= within.
    over : {"all", "share"}
        Whether every case must be true, or at least ``share`` of them.
    share : float
        The share of cases that must be true when ``over`` is "share".
    excluding : tuple of mapping
        Rows that the paper itself excepts.
    min_subjects : int
        Models that a figure over models needs.
    scope : Scope
        The models that it is about.
    opposite : float, optional
        Beyond this number a claim about a size is not just false but reversed: zero, where the
        claim is that a difference is at least 0.2.
    counts_tokens : bool
        Whether another tokenizer than the paper's changes what is counted.
    takes_weights : bool
        Whether its figures depend on the weights of a model.
    floor : Floor, optional
        What the same figure without correction must be; where the claim is about a difference, the
        figure that it is taken from.
    sets : tuple of str
        Sets that it speaks of. It takes all of them to support the claim, and one to contradict it.

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
    right: Mapping[str, str] | float | tuple[float, float]
    over: Literal["all", "share"] = "all"
    share: float = 1.0
    excluding: tuple[Mapping[str, str], ...] = ()
    min_subjects: int = 1
    scope: Scope = ANY_TRANSFORMER
    opposite: float | None = None
    counts_tokens: bool = False
    takes_weights: bool = True
    floor: Floor | None = None
    sets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern in (self.select, self.left, self.right_fields, *self.excluding):
            unknown = set(pattern) - set(FIELDS)
            if unknown:
                raise ValueError(f"claim {self.text!r}: rows have no field {unknown}")
        if self.op not in (*OPERATORS, WITHIN):
            raise ValueError(f"claim {self.text!r}: no operator {self.op!r}")
        if (self.op == WITHIN) != isinstance(self.right, tuple):
            raise ValueError(f"claim {self.text!r}: {WITHIN} takes a range, and nothing else does")

    @property
    def right_fields(self) -> Mapping[str, str]:
        """Fields that the right side names; none where it is a number."""
        return self.right if isinstance(self.right, Mapping) else {}

    @property
    def about(self) -> Scope:
        """The models that it is about: of its scope, named by ``select``, not excepted by name."""
        excepted = [out["subject"] for out in self.excluding if set(out) == {"subject"}]
        scope = replace(self.scope, but=(*self.scope.but, *excepted))
        wanted = self.select.get("subject", "")
        if not wanted or wanted.startswith("!") or wanted == ALL_MODELS:
            return scope
        return replace(scope, models=(wanted,))

    @property
    def compares_models(self) -> bool:
        """Whether it is about several models at once."""
        sides = {*self.left, *self.right_fields}
        return "subject" in sides or self.min_subjects > 1 or self._of_all_models

    @property
    def _of_all_models(self) -> bool:
        return self.select.get("subject") == ALL_MODELS

    def judge(self, result: Result, models: Collection[str] = ()) -> list[Verdict]:
        """Judge the claim on a result, model by model, before Holm's correction.

        Parameters
        ----------
        result : Result
            Figures of models, with what is known about them.
        models : collection of str
            Those that the paper looked at.
        """
        own = {name.casefold() for model in models for name in model.split("|")}
        claim = self.known_as(models)
        if claim.compares_models:
            return [claim._of_several(result, own)]
        failed = result.extra.get(NOT_RUN_FIELD, {})
        subjects = dict.fromkeys([*subjects_of(result), *failed])
        return [claim._of_one(result, name, own) for name in subjects]

    def known_as(self, models: Collection[str]) -> Claim:
        """Return the claim with every name that its models have; a paper's list says which."""

        def wider(side: Mapping[str, str]) -> dict[str, str]:
            spelled = {"subject": all_names(side["subject"], models)} if "subject" in side else {}
            return {**side, **spelled}

        scope = self.scope
        named, but = (tuple(all_names(n, models) for n in ns) for ns in (scope.models, scope.but))
        return replace(
            self, select=wider(self.select), left=wider(self.left),
            right=wider(self.right) if isinstance(self.right, Mapping) else self.right,
            excluding=tuple(map(wider, self.excluding)),
            scope=replace(scope, models=named, but=but),
        )  # fmt: skip

    def _of_one(self, result: Result, subject: str, own: Collection[str]) -> Verdict:
        """Judge the claim for one model."""
        others = () if subject.casefold() in own else (subject,)
        blank = Verdict(self.text, NOT_RUN, "", others, [], subject)
        facts = facts_of(result, subject)
        outside = self.about.excludes(subject, facts)
        if outside:
            return replace(blank, outcome=NOT_APPLICABLE, reason=outside)
        if subject in result.extra.get(NOT_RUN_FIELD, {}):
            return replace(blank, reason=str(result.extra[NOT_RUN_FIELD][subject]))
        if self.about.needs_structure and facts.is_unknown:
            return replace(blank, reason=UNKNOWN_STRUCTURE)
        rows = [row for row in result.rows if row.subject == subject]
        return self._weighed(rows, blank, result)

    def _of_several(self, result: Result, own: Collection[str]) -> Verdict:
        """Judge a claim that compares models, or a figure over all of them."""
        subjects = subjects_of(result)
        others = tuple(name for name in subjects if name.casefold() not in own)
        blank = Verdict(self.text, NOT_RUN, "", others, [], ALL_MODELS)
        sides = [side["subject"] for side in (self.left, self.right_fields) if "subject" in side]
        missing = [side for side in sides if not any(fits(name, side) for name in subjects)]
        if missing:
            named = [side for side in sides if not side.startswith("!") and side != "*"]
            if set(named) <= set(missing):
                return replace(blank, outcome=NOT_APPLICABLE, reason="names other models")
            return replace(blank, reason=f"needs {in_words(missing[0])} to compare with")
        about = self.meant(result)
        if not about:
            reasons = [self.about.excludes(name, facts_of(result, name)) for name in subjects]
            if not any(reasons):
                return replace(blank, reason="no figures of any model")
            return replace(blank, outcome=NOT_APPLICABLE, reason=reasons[0])
        if len(about) < self.min_subjects:
            return replace(
                blank,
                reason=f"needs at least {self.min_subjects} models, got {len(about)}; name more "
                "of them with --model",
            )
        rows = [row for row in result.rows if row.subject in {*about, ALL_MODELS}]
        return self._weighed(rows, blank, result)

    def meant(self, result: Result) -> list[str]:
        """Return the models of a result that the claim is about; those it names always count."""
        sides = [side["subject"] for side in (self.left, self.right_fields) if "subject" in side]
        named = [side for side in sides if not side.startswith("!") and side != "*"]
        return [
            name
            for name in subjects_of(result)
            if any(fits(name, side) for side in named)
            or (
                not self.about.excludes(name, facts_of(result, name))
                # Both sides may name models: then no other one is looked at.
                and (len(sides) < 2 or any(fits(name, side) for side in sides))
            )
        ]

    def _weighed(self, rows: Sequence[Row], blank: Verdict, result: Result) -> Verdict:
        """Weigh all cases, and put them together."""
        kept = [row for row in rows if not any(matches(row, out) for out in self.excluding)]
        select = {k: v for k, v in self.select.items() if k != "subject" or self._of_all_models}
        chosen = [row for row in kept if matches(row, select)]
        lookup = {row_key(row): row for row in rows}
        cases = [c for group in self._groups(chosen) for c in self._cases(group, lookup)]
        flags = flags_of(self, [pair for pair, _ in cases], lookup, blank, result)
        missing = tuple(name for name in self.sets if not any(of_set(row, name) for row in chosen))
        found = replace(blank, cases=[case for _, case in cases], flags=flags, sets_missing=missing)
        if not cases:
            return replace(found, reason=f"no figures for {self._wanted()}")
        # What is undefined in some cases says nothing there, and the others can still contradict.
        if all(case.true is None for case in found.cases):
            note = next(case.note for case in found.cases if case.true is None)
            return replace(found, outcome=NOT_RUN, reason=note or "a figure is undefined")
        return self._put_together(found)

    def _put_together(self, found: Verdict) -> Verdict:
        """Return the p-values of a claim from those of its cases."""
        cases, m = found.cases, len(found.cases)
        needed = m if self.over == "all" else max(1, math.ceil(self.share * m - 1e-9))
        holds = conjunction([case.p_true for case in cases], needed)
        fails = conjunction([case.p_false for case in cases], m - needed + 1)
        reverse = max(case.p_opposite for case in cases)
        if found.sets_missing:
            # What was not looked at may be otherwise: no number of other sets can show that it is
            # not. One set that contradicts a claim about all of them is enough.
            holds = reverse = 1.0
        return replace(
            found, outcome=UNDECIDED, p_holds=min(1.0, 2 * holds), p_fails=min(1.0, 2 * fails),
            p_reversed=min(1.0, 2 * reverse),
        )  # fmt: skip

    def _groups(self, rows: list[Row]) -> list[list[Row]]:
        shared = [name for name in FIELDS if name not in {*self.left, *self.right_fields}]
        groups = grouped(rows, lambda row: tuple(getattr(row, name) for name in shared))
        return list(groups.values())

    def _cases(
        self, group: list[Row], lookup: Mapping[tuple[str, ...], Row]
    ) -> list[tuple[tuple[Row, Row | None], Case]]:
        """Compare the two sides; none where a side has no row."""
        lefts = [row for row in group if matches(row, self.left)]
        pairs: list[tuple[Row, Row | None]] = [(left, None) for left in lefts]
        if isinstance(self.right, Mapping):
            rights = [row for row in group if matches(row, self.right)]
            pairs = [(left, right) for left in lefts for right in rights if left is not right]
        found = []
        for left, right in pairs:
            difference = None if right is None else self._difference(left, right, lookup)
            case = self._case(left, right, difference)
            found.append(((left, right), self._above_floor(case, left, lookup)))
        return found

    def _above_floor(self, case: Case, left: Row, lookup: Mapping[tuple[str, ...], Row]) -> Case:
        """Leave a case open whose baseline could not show what the claim says."""
        if self.floor is None:
            return case
        why = self.floor.refusal(self.floor.baseline(left, lookup))
        if not why:
            return case
        return replace(
            case, p_true=1.0, p_false=1.0, p_opposite=1.0, how=TOO_WEAK, note=why,
            low=None, high=None,
        )  # fmt: skip

    def _difference(
        self, left: Row, right: Row, lookup: Mapping[tuple[str, ...], Row]
    ) -> Row | None:
        """Find the row of the difference of two scores of the same items, where there is one."""
        for row, other, sign in ((left, right, 1), (right, left, -1)):
            if other.correction == "none" and row.measure == other.measure:
                key = (row.subject, row.part, row.correction, row.measure + DIFFERENCE)
                found = lookup.get(key)
                if found is not None and is_known(found.value) and is_known(found.low):
                    return found if sign > 0 else negated(found)
        return None

    def _case(self, left: Row, right: Row | None, difference: Row | None) -> Case:
        named = self.right if right is None else right.value
        assert not isinstance(named, Mapping)
        true = self.compared(left, right)
        reason = ""
        if true is None:
            reason = left.note if not is_known(left.value) or right is None else right.note
        case = Case(
            left.subject, describe(left), left.value, self.op,
            "" if right is None else describe(right),
            named if not isinstance(named, tuple) else None, true, reason,
            "" if right is None or right.subject == left.subject else right.subject,
            bounds=named if isinstance(named, tuple) else None,
        )  # fmt: skip
        return case if true is None else self._weigh(case, left, right, difference)

    def compared(self, left: Row, right: Row | None) -> bool | None:
        """Compare the figures as they stand."""
        one = left.value, left.log10
        if right is not None:
            return compare(self.op, one, (right.value, right.log10))
        if isinstance(self.right, tuple):
            low, high = self.right
            return None if not is_known(left.value) else low <= left.value <= high
        assert not isinstance(self.right, Mapping)
        number = float(self.right)
        return compare(self.op, one, (number, math.log10(number) if number > 0 else None))

    def _weigh(self, case: Case, left: Row, right: Row | None, difference: Row | None) -> Case:
        """Give a case its p-values."""
        if isinstance(self.right, tuple):
            return self._weigh_range(case, left, self.right)
        other: Row | float = right if right is not None else float(self.right)  # type: ignore[arg-type]
        found = evidence(left, other, difference)
        upward = self.op in (">", ">=")
        p_true, p_false = (found.above, found.below) if upward else (found.below, found.above)
        p_opposite = self._p_opposite(left, p_false, upward=upward)
        if found.how == EXACT:
            if found.low == 0.0:
                # Equal sides without any error decide a claim that allows or forbids equality.
                p_true, p_false = (0.0, 1.0) if self.op in (">=", "<=") else (1.0, 0.0)
            case = replace(case, true=p_true == 0.0)
        return replace(
            case, p_true=p_true, p_false=p_false, p_opposite=p_opposite,
            how=found.how, low=found.low, high=found.high,
        )  # fmt: skip

    def _weigh_range(self, case: Case, left: Row, ends: tuple[float, float]) -> Case:
        """Give a case of a range its p-values: above one end and below the other (Schuirmann)."""
        low, high = (evidence(left, end) for end in ends)
        inside = max(low.above, high.below)
        if low.how == high.how == EXACT:
            # Both ends belong to the range.
            within = low.low is not None and high.high is not None and low.low >= 0 >= high.high
            return replace(
                case, true=within, p_true=float(not within), p_false=float(within), how=EXACT
            )
        how = low.how if high.how != NOTHING.how else high.how
        return replace(case, p_true=inside, p_false=min(low.below, high.above), how=how)

    def _p_opposite(self, left: Row, p_false: float, *, upward: bool) -> float:
        """Return the p-value of the opposite: beyond equality, or beyond a stated number."""
        if isinstance(self.right, Mapping) or self.right == 0.0:
            return p_false
        if self.opposite is None:
            return 1.0
        beyond = evidence(left, self.opposite)
        return beyond.below if upward else beyond.above

    def _wanted(self) -> str:
        return ", ".join(
            f"{key} {in_words(value)}"
            for side in (self.select, self.left, self.right_fields)
            for key, value in side.items()
        )


def of_set(row: Row, name: str) -> bool:
    """Whether a figure is about a set, which its measure or its part begins with."""
    return name in (row.measure.partition("/")[0], row.part.partition("/")[0])


def conjunction(p_values: Sequence[float], least: int) -> float:
    """Return the p-value of at least so many of several statements being true.

    Examples
    --------
    >>> conjunction([0.01, 0.2, 0.03], 3)
    0.2
    >>> conjunction([0.01, 0.2, 0.03], 1)
    0.03
    """
    ordered = sorted(p_values)
    return min(1.0, (len(ordered) - least + 1) * ordered[least - 1])
