"""What a terminal shows of a measurement: the diagnosis, the numbers behind it, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isoscope.measures.titles import title_of
from isoscope.results.fields import RANDOM_SAMPLE, REMARKS, UNCORRECTED
from isoscope.results.merge import SKIPPED
from isoscope.results.numbers import UNKNOWN, brief, in_percent
from isoscope.results.screen.blocks import Block, Fact, Numbers, Picture, Screen, Text
from isoscope.results.screen.commands import next_step
from isoscope.results.screen.densities import DENSITY, density_picture
from isoscope.results.screen.diagnoses import short_cause, without_limits
from isoscope.results.screen.pictures import bar, pooled, sparkline
from isoscope.results.tables import grouped
from isoscope.verbs.measure.names import ALIKE, APART, BETWEEN, DOCUMENTS, PART
from isoscope.verbs.measure.search.text import AGAINST, RECALL_LEGEND, SEARCH_GRIDS, search_grids
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row, Table

# The numbers that carry a diagnosis, with what they mean.
CARRYING = {
    "mean_cosine": "mean cosine of random pairs",
    "cosine_quantiles/99%": "99 % of random pairs are below",
    "top_variance_share": "share of variance, top direction",
    "effective_rank": "effective rank",
    "iso_score": "IsoScore (1: even)",
    "i1_scaled": "I1 at unit scale (1: even)",
}
MOST_NUMBERS = 8
AS_IS = "as is"

# Columns of a table of several clouds.
OF_CLOUDS = {
    "effective_rank": "effective rank",
    "iso_score": "IsoScore",
    "i1_scaled": "I1 at unit scale",
}
BAR_CELLS, PICTURE_CELLS = 8, 40

# Sentences about what corrections do to a search; the table has the others.


# Clouds of one diagnosis that are named.
MOST_NAMED = 3

# Notes that are shown; of more the number is told.
MOST_NOTES = 4

# What a source and its reads are, which no reader of a screen needs.
HOW = ("two reads", "one read", "sums in", "projections in")

# What to do next, by the cause of the diagnosis: a command, and what it answers.
ADVISE = ("advise", ("--pairs", "PAIRS.tsv"), "does a correction help?")
NEXT: dict[str, tuple[str, tuple[str, ...], str]] = {
    "none": ("threshold", (), "which cosines are more than chance?"),
    "undecided": ("threshold", (), "which cosines are more than chance?"),
    "low rank": ("measure", ("--reduce", "64,128"), "how short can the vectors be?"),
}


def measure_screen(result: Result) -> Screen:
    """Return the screen of a measurement of one cloud or of several."""
    kinds = tuple(f"{kind}/" for kind in SEARCH_GRIDS)
    every = [row for row in result.rows if not row.measure.startswith(kinds)]
    rows = [row for row in every if row.part != PART]
    clouds = {(row.subject, row.part) for row in rows}
    if len(clouds | {(table.subject, table.part) for table in result.tables}) > 1:
        return clouds_screen(result, rows)
    about = next((one for one in result.verdicts if one.get("part") != PART), {})
    title, said = title_of_cloud(result, rows), notes(result, rows)
    # Who asks about a search is answered about the search.
    told = [str(one["sentence"]) for one in result.verdicts if one.get("part") == PART]
    if searched := search_blocks(result):
        answer = [*diagnosis(about), *told]
        return Screen(title, answer, searched, [*said, *more(result, about)])
    numbers: list[Block] = [number_table(rows)] if rows else table_preview(result)
    pictures: list[Block] = [*density_pictures(result), *spectrum_pictures(result)]
    facts = [*meaning(about), *said, *more(result, about)]
    answer, body = diagnosis(about), [numbers, pictures]
    if is_advice(result):
        answer += [" ".join(map(str, result.extra.get(REMARKS, [])))]
    if between := [row for row in every if row.part == PART]:
        answer, body = [*answer, *told], [numbers, [query_table(between)]]
    return Screen(title, answer, body, facts)


# Numbers about queries beside documents.
OF_QUERIES = {
    BETWEEN: "mean cosine of query and document",
    ALIKE: "mean cosine of two queries",
    DOCUMENTS: "mean cosine of two documents",
    APART: "distance of the means, of the spread",
}


def query_table(rows: Sequence[Row]) -> Numbers:
    """Arrange the numbers about queries beside documents; spaces are many, so they go down."""
    cells = {(row.correction, row.measure): row for row in rows}
    body = [
        [AS_IS if space == UNCORRECTED else space,
         *(brief(cells.get((space, name))) for name in OF_QUERIES)]
        for space in dict.fromkeys(row.correction for row in rows)
    ]  # fmt: skip
    return Numbers(["", *OF_QUERIES.values()], body, turn=False)


def title_of_cloud(result: Result, rows: Sequence[Row]) -> str:
    """Return name, size and number type of a cloud, and that it is a sample."""
    if not rows:
        return next((one.subject or one.part for one in result.tables), "empty result")
    first = rows[0]
    count = max((row.n or 0 for row in rows if "unit" not in row.extra), default=0)
    width, _, number_type = first.protocol.split(";")[0].partition(", ")
    width = "1 dimension" if width == "1 dimensions" else width
    parts = [first.subject or first.part, f"{counted(count, 'vector')} × {width}", number_type]
    if RANDOM_SAMPLE in first.protocol:
        parts.append("random sample")
    return " · ".join(part for part in parts if part)


def diagnosis(verdict: dict[str, Any]) -> list[str]:
    """Return the sentence of a verdict and its further findings, without limits."""
    if not verdict.get("sentence"):
        return []
    return [
        " ".join(without_limits(one) for one in (verdict["sentence"], *verdict.get("also", [])))
    ]


def number_table(rows: Sequence[Row]) -> Numbers:
    """Arrange the numbers that carry the diagnosis, or the first of those that were asked for."""
    known = list(dict.fromkeys(row.measure for row in rows))
    chosen = list(CARRYING) if set(CARRYING) <= set(known) else known[:MOST_NUMBERS]
    spaces = list(dict.fromkeys(row.correction for row in rows))
    cells = {(row.measure, row.correction): row for row in rows}
    header = ["", *(AS_IS if space == UNCORRECTED else space for space in spaces)]
    body = [
        [named(measure, rows), *(number(cells.get((measure, space))) for space in spaces)]
        for measure in chosen
    ]
    if len(known) > len(chosen) and chosen != list(CARRYING):
        body.append([f"… {len(known) - len(chosen)} more: --details", *("" for _ in spaces)])
    return Numbers(header, body)


def named(measure: str, rows: Sequence[Row]) -> str:
    """Return the title of a measure; of a rank with what it can be at most."""
    title = CARRYING.get(measure, title_of(measure))
    if measure == "effective_rank":
        row = next(row for row in rows if row.measure == measure)
        width = row.protocol.split(" ")[0].replace(",", "")
        if width.isdecimal():
            title += f" (of {min(int(width), max((row.n or 1) - 1, 1)):,})"
    return title


def number(row: Row | None) -> str:
    """Return a number for a small table; shares of the variance in percent."""
    if row is not None and row.measure == "top_variance_share" and row.value is not None:
        return in_percent(row.value)
    return brief(row)


def density_pictures(result: Result) -> list[Picture]:
    """Draw how the cosines of random pairs of the cloud as it is are distributed."""
    table = own_table(result, DENSITY)
    return [density_picture(table)] if table is not None and table.rows else []


def spectrum_pictures(result: Result) -> list[Picture]:
    """Draw the variances of the cloud as it is, from the largest to the smallest."""
    table = own_table(result, "spectrum")
    if table is None or len(table.rows) < 2:
        return []
    variances = [float(row["variance"]) for row in table.rows]

    def draw(room: int, plain: bool) -> list[str]:
        blocks = sparkline(pooled(variances, min(PICTURE_CELLS, room - 14)), 0.0, plain=plain)
        return [f"{'':>5} {blocks}"]

    return [Picture("spectrum (variances)", draw)]


def own_table(result: Result, measure: str) -> Table | None:
    """Return a structured measure of the cloud as it is."""
    return next(
        (one for one in result.tables
         if one.measure == measure and one.correction == UNCORRECTED), None
    )  # fmt: skip


def table_preview(result: Result) -> list[Block]:
    """Return the first rows of structured measures, where nothing else was asked for."""
    found: list[Block] = []
    for table in result.tables[:2]:
        count = counted(len(table.rows), "row")
        found.append(Text(f"{title_of(table.measure)} ({table.correction}): {count}"))
        if table.rows:
            names = list(table.rows[0])[:6]
            rows = [[entry(row.get(name)) for name in names] for row in table.rows[:10]]
            found.append(Numbers([name.replace("_", " ") for name in names], rows, turn=False))
    return found


def entry(value: Any) -> str:
    """Return one entry of a structured measure."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return UNKNOWN if value is None else str(value)


def meaning(verdict: dict[str, Any]) -> list[Fact]:
    """Say what a diagnosis implies and what it does not."""
    if "implies" not in verdict:
        return []
    implied = str(verdict["implies"])
    said = f"{implied[:1].upper()}{implied[1:]}. It does not mean {verdict['does_not_imply']}."
    return [Fact("Meaning", said)]


def notes(result: Result, rows: Sequence[Row]) -> list[Fact]:
    """Say which rows were excluded, why numbers are undefined, and what is known of the source."""
    said = [
        f"{n:,} {SKIPPED}" if why == SKIPPED else f"{counted(n, 'row')} excluded: {why}"
        for why, n in result.left_out.items()
    ]
    for row in rows[:1]:
        parts = [part.strip() for part in row.protocol.split(";")[1:]]
        said += [part for part in parts if not part.startswith((*HOW, RANDOM_SAMPLE))]
    undefined = grouped(
        (row for row in rows if row.value is None and row.correction == UNCORRECTED),
        lambda row: row.note,
    )
    said += [f"{title_of(some[0].measure)}: {why}" for why, some in undefined.items() if why]
    if not is_advice(result):  # whose remarks are the answer
        said += [str(line) for line in result.extra.get(REMARKS, [])]
    shown = said[:MOST_NOTES]
    if len(said) > len(shown):
        shown.append(f"{counted(len(said) - len(shown), 'more note')}: --details")
    return [Fact("Note", one if one.endswith(".") else f"{one}.") for one in shown]


def more(result: Result, verdict: dict[str, Any]) -> list[Fact]:
    """Return the command to run next, and where everything else is."""
    cause = str(verdict.get("cause", "none"))
    # Who asked for advice and had no labels needs labels next.
    verb, words, remark = ADVISE if is_advice(result) else NEXT.get(cause, ADVISE)
    facts = [] if cause == "constant" else [next_step(result, verb, *words, remark=remark)]
    return [*facts, Fact("More", "--details  all numbers and notes     --html FILE  a page")]


def is_advice(result: Result) -> bool:
    """Whether ``isoscope advise`` measured, as it does without labels."""
    return result.command.startswith("isoscope advise")


def search_blocks(result: Result) -> list[list[Block]]:
    """Return what was found about a search: the sentences about it, then its numbers."""
    found: list[list[Block]] = []
    for one in search_grids(result):
        rows = [[cell.split(" ±")[0] for cell in row] for row in one.rows]
        # A screen has no room for all rows, and beside five columns "binary codes" would be cut.
        rows = [
            [row[0].removesuffix(" codes"), *row[1:]]
            for before, row in pairwise([[""], *rows])
            if not before[0].endswith(AGAINST) or row[0].endswith(AGAINST)
        ]
        told: list[Block] = [Text(line) for line in one.verdict]
        found += [told, [Numbers(one.header, rows)]]
        if any(row[0].endswith(AGAINST) for row in rows):
            found.append([Text(RECALL_LEGEND)])
    return found


def clouds_screen(result: Result, rows: Sequence[Row]) -> Screen:
    """Return the screen of several clouds, such as layers: one line for each."""
    raw = [row for row in rows if row.correction == UNCORRECTED]
    names = list(dict.fromkeys((row.subject, row.part) for row in rows))
    causes = {(one.get("subject"), one.get("part")): one for one in result.verdicts}
    cells = {((row.subject, row.part), row.measure): row for row in raw}
    known = {row.measure for row in raw}
    columns = [name for name in OF_CLOUDS if name in known]
    if "mean_cosine" not in known and not columns:
        columns = list(dict.fromkeys(row.measure for row in raw))[:4]
    cosines = {one: cells.get((one, "mean_cosine")) for one in names}
    highest = max((row.value or 0.0 for row in cosines.values() if row), default=0.0)
    body = []
    for one in names:
        line = [" ".join(word for word in one if word)]
        if "mean_cosine" in known:
            row = cosines[one]
            value = None if row is None else row.value
            line.append(f"{brief(row)} {bar(value, max(highest, 0.1), BAR_CELLS)}")
        line += [brief(cells.get((one, name))) for name in columns]
        line += [short_cause(causes.get(one, {}))] if causes else []
        body.append(line)
    header = ["cloud", *(["mean cosine"] if "mean_cosine" in known else [])]
    header += [OF_CLOUDS.get(name, title_of(name)) for name in columns]
    header += ["diagnosis"] if causes else []
    left = frozenset(k for k, head in enumerate(header) if head in ("mean cosine", "diagnosis"))
    widths = {row.protocol.split(";")[0] for row in rows}
    title = " · ".join([counted(len(names), "cloud"), *(widths if len(widths) == 1 else ())])
    table = Numbers(header, body, left=left, turn=False)
    return Screen(
        title, about_clouds(result), [[table]], [*notes(result, rows), *more(result, {})[1:]]
    )


def about_clouds(result: Result) -> list[str]:
    """Count the diagnoses of several clouds, and name those of a rare one."""
    found = grouped(
        (one for one in result.verdicts if one.get("cause")), lambda one: short_cause(one)
    )
    total = sum(map(len, found.values()))
    said = []
    for cause, some in sorted(found.items(), key=lambda item: -len(item[1])):
        names = [" ".join(filter(None, (one.get("subject"), one.get("part")))) for one in some]
        which = f" ({', '.join(names)})" if len(names) <= MOST_NAMED < total else ""
        said.append(f"{cause[:1].upper()}{cause[1:]} in {len(some)} of {total} clouds{which}.")
    return [" ".join(said)] if said else []
