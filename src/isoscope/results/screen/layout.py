"""Arranges a screen in lines that fit a terminal.

No line is wider than the terminal, and there are no more than ``HEIGHT`` lines: tables lose their
last rows, which a line below them counts, before anything else does. No word and no number is
broken over two lines. One thing may be wider than the terminal: a word of a command, such as the
path of a file, which has a line of its own then, because a shell would not join its pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from isoscope.results.line import Line
from isoscope.results.screen.blocks import Block, Fact, Numbers, Picture, Screen, Text
from isoscope.results.screen.cells import padded, shortened, to_ascii, width, words_of, wrapped
from isoscope.wording import command_lines

# Lines of a screen; a prompt and the command above it take two more.
HEIGHT = 38

# Sentences are hard to read in longer lines.
LONGEST_LINE = 100

INDENT, GAP = 2, 3
BOLD, DIM, COMMAND = "bold", "dim", "cyan"
FEWEST_ROWS = 3


def lay_out(
    screen: Screen, cells: int = 80, *, plain: bool = False, height: int = HEIGHT
) -> list[Line]:
    """Return the lines of a screen.

    Parameters
    ----------
    screen : Screen
        What is shown.
    cells : int
        Width of the terminal.
    plain : bool
        Whether only ASCII is used, apart from names.
    height : int
        Most lines.
    """
    return _Layout(cells, plain).lines(screen, height)


class _Layout:
    """How everything is drawn on a terminal of one kind."""

    def __init__(self, cells: int, plain: bool) -> None:
        self.cells = max(cells, 40)
        self.plain = plain
        self.text_cells = min(self.cells, LONGEST_LINE) - INDENT

    def lines(self, screen: Screen, height: int) -> list[Line]:
        """Return all lines; tables are given the room that the rest leaves."""
        rows = height
        found = self._once(screen, rows)
        while len(found) > height and rows > FEWEST_ROWS:
            rows -= 1
            found = self._once(screen, rows)
        if len(found) > height:  # pictures are in the page, numbers in --details
            bare = [without_pictures(group) for group in screen.body]
            fewer = Screen(screen.title, screen.answer, bare, screen.facts)
            found = self._once(fewer, FEWEST_ROWS)
        return found

    def _once(self, screen: Screen, rows: int) -> list[Line]:
        found = [Line(self._title(screen.title), BOLD)]
        for paragraph in screen.answer:
            found += [Line(""), *self._sentences(paragraph, BOLD)]
        for group in screen.body:
            drawn = self._group(group, rows)
            found += [Line(""), *drawn] if drawn else []
        if screen.facts:
            found += [Line(""), *self._facts(screen.facts)]
        return found

    def _words(self, text: str) -> str:
        return to_ascii(text) if self.plain else text

    def _title(self, title: str) -> str:
        """Shorten the name, not what follows it."""
        name, point, rest = title.partition(" · ")
        tail = self._words(point + rest)
        room = max(self.cells - width(tail), self.cells // 3)
        dots = self._words("…")
        return shortened(shortened(name, room, dots) + tail, self.cells, dots)

    def _sentences(self, text: str, style: str = "") -> list[Line]:
        lines = wrapped(self._words(text), self.text_cells)
        return [Line(" " * INDENT + line, style) for line in lines]

    def _group(self, group: Sequence[Block], rows: int) -> list[Line]:
        found: list[Line] = []
        pictures = [one for one in group if isinstance(one, Picture)]
        labels = max((width(self._words(one.label)) for one in pictures), default=0)
        for one in group:
            if isinstance(one, Numbers):
                found += self._numbers(one, rows)
            elif isinstance(one, Picture):
                found += self._picture(one, labels)
            elif isinstance(one, Text):
                found += self._sentences(one.text)
            else:
                found += self._facts([one])
        return found

    def _picture(self, picture: Picture, labels: int) -> list[Line]:
        before = labels + GAP if labels else 0
        drawn = picture.draw(self.cells - INDENT - before, self.plain)
        label = self._words(picture.label)
        return [
            Line((" " * INDENT + padded(label if k == 0 else "", before) + line).rstrip())
            for k, line in enumerate(map(self._words, drawn))
        ]

    def _facts(self, facts: Iterable[Fact]) -> list[Line]:
        found = []
        listed = list(facts)
        labels = max(width(one.label) for one in listed) + 2
        for one in listed:
            label = " " * INDENT + padded(one.label, labels)
            room = self.cells - width(label)
            if one.command:
                found += self._command(label, one, room)
                continue
            lines = wrapped(self._words(one.text), min(room, LONGEST_LINE - width(label)))
            found += [
                Line((label if k == 0 else " " * width(label)) + line)
                for k, line in enumerate(lines)
            ]
        return found

    def _command(self, label: str, fact: Fact, room: int) -> list[Line]:
        """Return a command on a line of its own where it fits, so that it can be pasted."""
        remark = self._words(fact.remark)
        blank = " " * width(label)
        if remark and width(fact.text) + GAP + width(remark) <= room:
            return [Line(f"{label}{fact.text}{' ' * GAP}{remark}", COMMAND)]
        if width(fact.text) > room:  # a shell joins lines that end in a backslash
            first, *rest = command_lines(fact.text, room, width)
            lines = [label + first]
            for piece in rest:  # a word too long for a line begins further to the left
                spare = max(self.cells - width(piece), INDENT)
                lines.append(" " * min(spare, width(label)) + piece)
        else:
            lines = [label + fact.text]
        remarks = wrapped(remark, room) if remark else []
        return [Line(line, COMMAND) for line in lines] + [Line(blank + one) for one in remarks]

    def _numbers(self, table: Numbers, rows: int) -> list[Line]:
        found: list[Line] = []
        for one in self._fitting(table) if table.rows else ():
            drawn = self._table(one, rows)
            found += ([Line("")] if found else []) + drawn
        return found

    def _fitting(self, table: Numbers) -> list[Numbers]:
        """Return a table that fits: as it is, turned, or in several pieces."""
        table = Numbers(
            [self._words(text) for text in table.header],
            [[self._words(text) for text in row] for row in table.rows],
            table.marked, table.left, table.turn,
        )  # fmt: skip
        if sum(self._widths(table)) <= self._room(table):
            return [table]
        names = self._with_short_names(table)
        sideways = turned(table)
        tried = [sideways, self._with_short_names(sideways)] if table.turn else []
        for one in (*tried, names):
            if sum(self._widths(one)) <= self._room(one):
                return [one]
        return self._cut(names)

    def _room(self, table: Numbers) -> int:
        return self.cells - INDENT - GAP * (len(table.header) - 1)

    def _with_short_names(self, table: Numbers) -> Numbers:
        """Shorten the names to what the numbers leave, but to no less than a fifth of a line."""
        room = max(self._room(table) - sum(self._widths(table)[1:]), self.cells // 5)
        dots = self._words("…")
        rows = [[shortened(row[0], room, dots), *row[1:]] for row in table.rows]
        header = [shortened(table.header[0], room, dots), *table.header[1:]]
        return Numbers(header, rows, table.marked, table.left, table.turn)

    def _cut(self, table: Numbers) -> list[Numbers]:
        """Cut a table into several with the same names, each as wide as the screen allows."""
        taken = self._widths(table)
        pieces: list[list[int]] = [[]]
        for k in range(1, len(table.header)):
            used = INDENT + taken[0] + sum(GAP + taken[c] for c in pieces[-1])
            if pieces[-1] and used + GAP + taken[k] > self.cells:
                pieces.append([])
            pieces[-1].append(k)
        room = self.cells - INDENT - taken[0] - GAP
        dots = self._words("…")
        return [
            Numbers(
                [table.header[0], *(self._heading(table.header[k], room) for k in chosen)],
                [[row[0], *(shortened(row[k], room, dots) for k in chosen)] for row in table.rows],
                table.marked,
                frozenset(place for place, k in enumerate(chosen, start=1) if k in table.left),
            )
            for chosen in pieces
        ]

    def _heading(self, text: str, room: int) -> str:
        """Shorten a heading that has a word wider than a whole line has room for."""
        return text if longest_word(text) <= room else shortened(text, room, self._words("…"))

    def _widths(self, table: Numbers) -> list[int]:
        """Return the widths of columns; headings are broken at spaces where that saves room."""
        return [
            max(longest_word(head), *(width(row[k]) for row in table.rows))
            for k, head in enumerate(table.header)
        ]

    def _table(self, table: Numbers, rows: int) -> list[Line]:
        taken = self._widths(table)
        # Headings stay on one line where there is room for them.
        spare = self._room(table) - sum(taken)
        for k, head in enumerate(table.header):
            missing = width(head) - taken[k]
            if 0 < missing <= spare:
                taken[k] += missing
                spare -= missing
        kept = table.rows if len(table.rows) <= rows else table.rows[: rows - 1]
        found = [
            Line(self._line(cells, taken, table.left), DIM) for cells in headings(table, taken)
        ]
        found += [
            Line(self._line(row, taken, table.left), BOLD if k in table.marked else "")
            for k, row in enumerate(kept)
        ]
        if len(kept) < len(table.rows):
            more = self._words(f"… {len(table.rows) - len(kept):,} more rows: --details")
            found.append(Line(" " * INDENT + more, DIM))
        return found

    def _line(self, cells: Sequence[str], taken: Sequence[int], left: frozenset[int]) -> str:
        texts = [
            padded(text, room, right=k > 0 and k not in left)
            for k, (text, room) in enumerate(zip(cells, taken, strict=True))
        ]
        return (" " * INDENT + (" " * GAP).join(texts)).rstrip()


def without_pictures(group: Sequence[Block]) -> list[Block]:
    """Return a group without its pictures, and without the heading of nothing else."""
    if all(isinstance(one, Picture | Text) for one in group):
        pictures = any(isinstance(one, Picture) for one in group)
        return [] if pictures else list(group)
    return [one for one in group if isinstance(one, Numbers | Text)]


def turned(table: Numbers) -> Numbers:
    """Return a table whose columns are rows."""
    header = [table.header[0], *(row[0] for row in table.rows)]
    columns = list(zip(*(row[1:] for row in table.rows), strict=True))
    rows = [[head, *cells] for head, cells in zip(table.header[1:], columns, strict=True)]
    return Numbers(header, rows, turn=False)


def headings(table: Numbers, taken: Sequence[int]) -> list[list[str]]:
    """Return the lines of headings; the last lines of all are level."""
    if not any(table.header):
        return []
    broken = [wrapped(head, room) for head, room in zip(table.header, taken, strict=True)]
    reversed_lines = zip_longest(*(reversed(one) for one in broken), fillvalue="")
    return [list(line) for line in reversed_lines][::-1]


def longest_word(text: str) -> int:
    """Return the width of the longest word."""
    return max((width(word) for word in words_of(text)), default=0)
