"""``--fail-if``: conditions on the numbers, with which a measurement is a gate in a build."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.corrections.registry import parse_corrections
from isoscope.errors import DataError, UsageError
from isoscope.measures.registry import default_measures, find_measure
from isoscope.wording import listed

if TYPE_CHECKING:
    from isoscope.results.result import Result

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
PATTERN = re.compile(
    r"\s*([A-Za-z0-9_]+)(/\d+%)?\s*(?:@\s*([^<>=\s][^<>]*?))?\s*(>=|<=|>|<)\s*(\S+)\s*"
)


@dataclass(frozen=True)
class Gate:
    """A condition that fails the run when it is true."""

    text: str
    measure: str
    correction: str
    operator: str
    bound: float

    def tripped_by(self, result: Result) -> list[str]:
        """Return a line for every cloud for which the condition is true."""
        lines = []
        if not any(row.measure == self.measure for row in result.rows):
            raise UsageError(f"--fail-if {self.text!r}: {self.measure} is not one number")
        for row in result.rows:
            if (row.measure, row.correction) != (self.measure, self.correction):
                continue
            if row.value is None:
                raise DataError(f"--fail-if {self.text!r} cannot be judged: {row.note}")
            if OPERATORS[self.operator](row.value, self.bound):
                where = " ".join(word for word in (row.subject, row.part) if word)
                lines.append(
                    f"{where}: {self.measure} ({self.correction}) is {row.value:.6g}, "
                    f"which is {self.operator} {self.bound:g}"
                )
        return lines


def read_gates(texts: Sequence[str], corrections: str) -> list[Gate]:
    """Read conditions; one on a space that is not measured is refused."""
    gates = [parse_gate(text) for text in texts]
    spaces = [correction.text for correction in parse_corrections(listed(corrections, ()))]
    for gate in gates:
        if gate.correction not in spaces:
            raise UsageError(
                f"--fail-if {gate.text!r} looks at {gate.correction}, which is not measured; "
                f"--corrections has {', '.join(spaces)}"
            )
    return gates


def with_gates(measures: str | None, gates: Sequence[Gate]) -> list[str]:
    """Return the names of the measures that are asked for, and of those that conditions need."""
    names = listed(measures, [item.name for item in default_measures()])
    return names + [gate.measure.split("/")[0] for gate in gates]


def parse_gate(text: str) -> Gate:
    """Take ``mean_cosine>0.6`` or ``mean_cosine@center>0.1`` apart."""
    match = PATTERN.fullmatch(text)
    bound = None
    if match:
        try:
            bound = float(match[5])
        except ValueError:
            bound = None
    if match is None or bound is None or bound != bound:
        raise UsageError(
            f"--fail-if {text!r}: write MEASURE[@CORRECTION], one of > >= < <=, and a number, "
            "for example 'mean_cosine>0.6' or 'mean_cosine@center>0.1'"
        )
    measure = find_measure(match[1])
    if measure.table:
        raise UsageError(f"--fail-if {text!r}: {measure.name} is a table, not a number")
    name = measure.name + (match[2] or "")
    return Gate(text, name, (match[3] or "none").strip(), match[4], bound)
