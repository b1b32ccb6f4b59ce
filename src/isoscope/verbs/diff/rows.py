"""What a comparison of two clouds found, as rows of a result."""

from __future__ import annotations

from functools import partial
from typing import Any

from isoscope.compute.stats.estimates import Estimate
from isoscope.results.result import Row
from isoscope.verbs.diff import names
from isoscope.verbs.diff.effects import Effects
from isoscope.verbs.diff.paired.same_rows import SameRows
from isoscope.verbs.diff.permutation import EqualityTest
from isoscope.verbs.diff.reuse import SpaceReuse
from isoscope.verbs.diff.support import Outside

NO_INTERVAL = {"no_interval": "over all rows; a test says whether it is chance"}


class ComparisonRows:
    """Collects the rows of a comparison.

    Parameters
    ----------
    subject : str
        What rows call the two clouds.
    """

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self.rows: list[Row] = []

    def _add(
        self,
        part: str,
        n: int,
        protocol: str,
        measure: str,
        found: Estimate | float | None,
        *,
        correction: str = "none",
        note: str = "",
        **extra: Any,
    ) -> None:
        self.rows.append(
            Row.of(
                found, self._subject, part, correction, measure,
                n=n, protocol=protocol, note=note, extra=extra,
            )
        )  # fmt: skip

    def add_same_rows(self, same: SameRows) -> None:
        """Add how alike two spaces with the same rows are."""
        add = partial(self._add, names.SAME)
        how = f"exact, among {same.sampled:,} sampled rows; interval for further rows among them"
        lost = same.without_direction
        note = f"{lost:,} sampled rows without a direction in one of them are left out"
        add(
            same.sampled, how, f"neighbour_overlap@{same.k}", same.overlap,
            note=note if lost else "", chance=same.chance,
        )  # fmt: skip
        about_cka: dict[str, Any] = {"note": same.cka.note, "no_interval": "over all rows"}
        add(same.rows, "all rows", "linear_cka_debiased", same.cka.debiased, **about_cka)
        add(same.rows, "all rows", "linear_cka", same.cka.plain, **about_cka)
        pairs = same.rank_correlation
        add(pairs.n, "Spearman's ρ over disjoint pairs", "cosine_rank_correlation", pairs)
        if same.to_partner is not None:
            add(same.sampled, "sampled rows", "cosine_to_partner", same.to_partner)

    def add_differences(
        self, found: Effects | None, tests: dict[str, EqualityTest] | None, n: int
    ) -> None:
        """Add how far two clouds of so many rows lie apart, with the tests."""
        add = partial(self._add, names.DIFFERENT, n, "all rows")
        if found is None:
            add("mean_shift", None, note="undefined: no variance")
            return

        def add_tested(measure: str, value: float | None, test: str, **extra: Any) -> None:
            size, limit = found.sizes[test]
            extra |= {"effect_size": size, "limit": limit, "negligible": size < limit}
            add(measure, value, **extra, **NO_INTERVAL, **fields_of_test(tests, test))

        share = found.mean_share
        add_tested("mean_shift", found.mean_shift, names.MEANS, share_of_variance=share)
        add_tested("covariance_distance", found.covariance_distance, names.COVARIANCES)
        add("total_variance_ratio", found.total_variance_ratio)
        for side, rank in zip("AB", found.effective_ranks, strict=True):
            add(f"effective_rank/{side}", rank)
        norms = found.mean_lengths
        ratio = norms[1] / norms[0] if norms[0] > 0 else None
        add_tested("mean_length_ratio", ratio, names.LENGTHS)
        add_tested("length_distance", found.length_distance, names.LENGTHS)
        add_sampled = partial(self._add, names.DIFFERENT, n, "sampled rows")
        for side, norm, quantiles in zip("AB", norms, found.length_quantiles, strict=True):
            add(f"mean_length/{side}", norm)
            for percent, value in zip(names.QUANTILES, quantiles, strict=True):
                add_sampled(f"length_quantile/{side}/{percent}%", float(value))

    def add_support(self, found: dict[str, list[Outside]]) -> None:
        """Add shares outside each other's support."""
        for direction, shares in found.items():
            for one in shares:
                how = f"{one.held_out:,} held-out rows of the other set the limit"
                name = f"{direction}@{one.level:.0%}"
                answer: dict[str, Any] = {"expected": one.expected, "differs": one.differs}
                self._add(names.SUPPORT, one.n, how, name, one, **answer)

    def add_reuse(self, kept: SpaceReuse) -> None:
        """Add what keeping a correction and a threshold does."""
        judged, cut = kept.correction, kept.threshold
        if judged is not None:
            add = partial(self._add, names.KEEPING, kept.rows, "sampled rows of B")
            neighbours = f"neighbours_kept@{names.NEIGHBOURS}"
            scores = {
                "mean_cosine/old": judged.old_cosine,
                "mean_cosine/refitted": judged.new_cosine,
                "mean_cosine/difference": judged.cosine_change,
                neighbours: judged.kept,
                f"{neighbours}/by_chance": judged.by_chance,
                f"{neighbours}/lost_beyond_chance": judged.beyond_chance,
            }
            answer = fields_of_answer(judged.keep, judged.no_statement)
            tests = {
                "mean_cosine/difference": judged.p_cosine,
                f"{neighbours}/lost_beyond_chance": judged.p_lost,
            }
            for measure, found in scores.items():
                more = {**answer, **fields_of_p(tests.get(measure))}
                add(measure, found, correction=kept.space, **more)
        how = "random pairs of sampled rows"
        if cut.folds > 1:
            how += f" within {cut.folds} folds, corrected by fits on A without the fold"
        add = partial(self._add, names.KEEPING, kept.rows, how)
        answer = fields_of_answer(cut.keep, cut.no_statement)
        cuts = {"A": cut.share_a, "B": cut.share_b, "difference": cut.change}
        for name, share in cuts.items():
            measure = f"pairs_above_threshold/{name}"
            more = {**answer, **fields_of_p(cut.p_holm if share is cut.change else None)}
            add(measure, share, correction=kept.space, threshold=cut.threshold, **more)


def fields_of_p(p: float | None) -> dict[str, Any]:
    """Return an adjusted p-value as a field of a row, where there is one."""
    return {} if p is None else {"p_holm": p}


def fields_of_answer(keep: bool | None, no_statement: str) -> dict[str, Any]:
    """Return an answer as fields of a row: None, with the reason, where there is no answer."""
    return {"keep": keep, "no_statement": no_statement} if keep is None else {"keep": keep}


def fields_of_test(tests: dict[str, EqualityTest] | None, name: str) -> dict[str, Any]:
    """Return what a test found as fields of a row."""
    if tests is None:
        return {"no_test": "too few documents"}
    found = tests[name]
    if found.p_value is None:
        return {"no_test": found.note}
    return {"p": found.p_value, "p_holm": found.p_holm, "permutations": names.PERMUTATIONS}
