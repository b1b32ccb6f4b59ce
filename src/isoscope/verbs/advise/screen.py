"""What a terminal shows of an advice: what to do, then why, and the command that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.results.fields import DIFFERENCE, UNCORRECTED
from isoscope.results.screen.blocks import Fact, Screen, Text
from isoscope.results.screen.commands import ABOUT_THE_SOURCE, given, next_step, quoted
from isoscope.results.screen.forest import Entry, forest
from isoscope.verbs.advise.text import alpha_of

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row


def advice_screen(result: Result) -> Screen:
    """Return the screen of an advice on a task."""
    scores = [row for row in result.rows if not row.measure.endswith(DIFFERENCE)]
    first = scores[0]
    task, _, metric = first.measure.partition("/")
    title = f"{first.subject} · {task}, {metric} · {first.n or 0:,} {first.extra['unit']}"
    told: dict[str, Any] = result.extra["recommendation"]
    changes = [row for row in result.rows if row.measure.endswith(DIFFERENCE)]
    alpha = alpha_of(result)
    chosen = {row.correction for row in scores if row.extra.get("recommended")}
    entries = [
        Entry(row.correction, row.value, row.low, row.high, about(row, chosen, alpha))
        for row in changes
    ]
    caption = Text(f"Gain over the vectors as they are, which score {first.value:.3f}:")
    return Screen(
        title,
        [str(told["sentence"])],
        [[caption, forest(entries, digits="+.3f")]] if entries else [],
        facts_of(result, told),
    )


def about(row: Row, chosen: set[str], alpha: float) -> str:
    """Say whether a gain is the recommended one, and whether it is significant."""
    if row.correction in chosen:
        return "recommended"
    chance = row.extra.get("p_holm")
    if chance is None or chance > alpha:
        return "not significant"
    return "significant loss" if (row.value or 0.0) < 0 else ""


def facts_of(result: Result, told: dict[str, Any]) -> list[Fact]:
    """Return caveats, the file that was written, and the command to run next."""
    facts = [Fact("Note", str(one)) for one in result.extra.get("caveats", [])]
    written = told.get("written")
    places, options = given(result.command)
    source = quoted(places[0]) if places else "SOURCE"
    if written:
        facts.append(Fact("Wrote", str(written)))
        if beside := told.get("written_for_queries"):
            facts.append(Fact("Wrote", f"{beside} (for queries)"))
        text = f"isoscope correct apply {quoted(str(written))} {source} --out OUT"
        facts.append(Fact("Next", text, command=True))
    elif told.get("correction") not in (None, UNCORRECTED) and result.command:
        text = f"{result.command} --out correction.safetensors"
        facts.append(Fact("Next", text, "write the correction", command=True))
    elif "--pairs" in options:
        # Without the pairs, the cosines of a model would be those of its vocabulary, not of texts.
        graded = not any(row.measure.endswith("/auc") for row in result.rows)
        more = ("--positive", quoted(">=4")) if graded else ()
        keep = (*ABOUT_THE_SOURCE, "--pairs")
        remark = "which threshold separates matches?"
        facts.append(next_step(result, "threshold", *more, remark=remark, keep=keep))
    else:
        facts.append(next_step(result, "threshold", remark="which cosines are more than chance?"))
    return [*facts, Fact("More", "--details  scores, p-values, settings     --html FILE  a page")]
