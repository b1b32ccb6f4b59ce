"""A comparison of two clouds as rows of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.results.differed import DIFFERENT, KEEPING, SAME, SUPPORT
from isoscope.results.result import Row
from isoscope.verbs.diff.names import (
    COVARIANCES,
    LENGTHS,
    MEANS,
    NEIGHBOURS,
    PERMUTATIONS,
    QUANTILES,
)

if TYPE_CHECKING:
    from isoscope.compute.stats.estimates import Estimate
    from isoscope.verbs.diff.effects import Effects
    from isoscope.verbs.diff.permutation import EqualityTest
    from isoscope.verbs.diff.reuse import Kept
    from isoscope.verbs.diff.same_rows import SameRows
    from isoscope.verbs.diff.support import Outside
    from isoscope.verbs.diff.two_clouds import TwoSides


NO_INTERVAL = {"no_interval": "over all rows; a test says whether it is chance"}


class Filing:
    """Collects the rows of a comparison.

    Parameters
    ----------
    two : TwoSides
        What was compared.
    """

    def __init__(self, two: TwoSides) -> None:
        self._two = two
        self._subject = f"{two.a.name} (A) and {two.b.name} (B)"
        self.rows: list[Row] = []

    def _add(
        self,
        part: str,
        measure: str,
        found: Estimate | float | None,
        n: int,
        protocol: str,
        *,
        correction: str = "none",
        note: str = "",
        **extra: Any,
    ) -> None:
        low = high = None
        if found is not None and not isinstance(found, float):
            low, high, note = found.low, found.high, note or found.note
            found = found.value
        self.rows.append(
            Row(
                self._subject, part, correction, measure, found, low=low, high=high, n=n,
                protocol=protocol, note=note, extra=extra,
            )
        )  # fmt: skip

    def same_rows(self, same: SameRows) -> None:
        """File how alike two spaces with the same rows are."""
        sampled = (
            f"exact, among {same.sampled:,} sampled rows; interval for further rows among them"
        )
        lost = same.without_direction
        note = f"{lost:,} sampled rows without a direction in one of them are left out"
        self._add(
            SAME, f"neighbour_overlap@{same.k}", same.overlap, same.sampled, sampled,
            note=note if lost else "", chance=same.chance,
        )  # fmt: skip
        everything = {"no_interval": "over all rows"}
        for name, value in (
            ("linear_cka_debiased", same.cka.debiased),
            ("linear_cka", same.cka.plain),
        ):
            self._add(SAME, name, value, same.rows, "all rows", note=same.cka.note, **everything)
        pairs = same.rank_correlation
        self._add(
            SAME, "cosine_rank_correlation", pairs, pairs.n, "Spearman's ρ over disjoint pairs"
        )
        if same.to_partner is not None:
            self._add(SAME, "cosine_to_partner", same.to_partner, same.sampled, "sampled rows")

    def differences(self, found: Effects | None, tests: dict[str, EqualityTest] | None) -> None:
        """File how far two clouds lie apart, with the tests."""
        two = self._two
        n = two.a.moments.rows + two.b.moments.rows
        if found is None:
            self._add(DIFFERENT, "mean_shift", None, n, "all rows", note="undefined: no variance")
            return
        ranks, lengths = found.effective_ranks, found.mean_lengths
        self._add(
            DIFFERENT, "mean_shift", found.mean_shift, n, "all rows",
            share_of_variance=found.mean_share, **NO_INTERVAL, **fields_of_test(tests, MEANS),
        )  # fmt: skip
        self._add(
            DIFFERENT, "covariance_distance", found.covariance_distance, n, "all rows",
            **NO_INTERVAL, **fields_of_test(tests, COVARIANCES),
        )  # fmt: skip
        self._add(DIFFERENT, "total_variance_ratio", found.total_variance_ratio, n, "all rows")
        for side, rank in zip("AB", ranks, strict=True):
            self._add(DIFFERENT, f"effective_rank/{side}", rank, n, "all rows")
        ratio = lengths[1] / lengths[0] if lengths[0] > 0 else None
        self._add(
            DIFFERENT, "mean_length_ratio", ratio, n, "all rows",
            **NO_INTERVAL, **fields_of_test(tests, LENGTHS),
        )  # fmt: skip
        for side, length, quantiles in zip("AB", lengths, found.length_quantiles, strict=True):
            self._add(DIFFERENT, f"mean_length/{side}", length, n, "all rows")
            for percent, value in zip(QUANTILES, quantiles, strict=True):
                self._add(
                    DIFFERENT, f"length_quantile/{side}/{percent}%", float(value), n, "sampled rows"
                )

    def support(self, found: dict[str, list[Outside]]) -> None:
        """File shares outside each other's support."""
        for direction, shares in found.items():
            for one in shares:
                self._add(
                    SUPPORT, f"{direction}@{one.level:.0%}", one.share, one.rows,
                    f"{one.held_out:,} held-out rows of the other set the limit",
                    note=one.note, expected=one.expected,
                )  # fmt: skip
                last = self.rows[-1].to_dict()
                self.rows[-1] = Row.from_dict({**last, "low": one.low, "high": one.high})

    def keeping(self, kept: Kept) -> None:
        """File what keeping a correction and a threshold does."""
        judged, how = kept.correction, "sampled rows of B"
        if judged is not None:
            for measure, found in (
                ("mean_cosine/old", judged.old_cosine),
                ("mean_cosine/refitted", judged.new_cosine),
                ("mean_cosine/difference", judged.cosine_change),
                (f"neighbours_kept@{NEIGHBOURS}", judged.kept),
                (f"neighbours_kept@{NEIGHBOURS}/by_chance", judged.by_chance),
                (f"neighbours_kept@{NEIGHBOURS}/lost_beyond_chance", judged.beyond_chance),
            ):
                self._add(
                    KEEPING, measure, found, kept.rows, how,
                    correction=kept.space, keep=judged.keep,
                )  # fmt: skip
        cut = kept.threshold
        for measure, found in (
            ("pairs_above_threshold/A", cut.share_a),
            ("pairs_above_threshold/B", cut.share_b),
            ("pairs_above_threshold/difference", cut.change),
        ):
            self._add(
                KEEPING, measure, found, kept.rows, "random pairs of sampled rows",
                correction=kept.space, threshold=cut.threshold, keep=cut.keep,
            )  # fmt: skip


def fields_of_test(tests: dict[str, EqualityTest] | None, name: str) -> dict[str, Any]:
    """Return what a test found as fields of a row."""
    if tests is None:
        return {"no_test": "too few documents"}
    found = tests[name]
    if found.p_value is None:
        return {"no_test": found.note}
    return {"p": found.p_value, "p_holm": found.p_holm, "permutations": PERMUTATIONS}
