"""The papers and their studies, as the catalogue has them: listing them loads none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen
from isoscope.verbs.study.reference import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping


def list_screen(last: Mapping[str, str], chosen: str = "") -> Screen:
    """Return the papers with their studies, or the studies of one paper with their titles."""
    studies, papers = catalogue()["studies"], catalogue()["papers"]
    if chosen:
        own = [one for one in studies if one[0] == chosen]
        rows = [[one, studies[one]["title"], last.get(one, "")] for one in own]
        return Screen(
            f"{papers[chosen]['document']} · {len(own)} studies",
            [],
            [[Numbers(["study", "what it looks at", "last run"] if last else ["study", "title"],
                      rows if last else [row[:2] for row in rows],
                      left=frozenset({1, 2}), turn=False)]],
            [
                Fact("Next", f"isoscope study show {own[0]}", "claims, needs, cost", command=True),
                Fact("More", "--details  every study with what it needs"),
            ],
        )  # fmt: skip
    names = {letter: str(paper["document"]) for letter, paper in sorted(papers.items())}
    room = max(map(len, names.values()))
    body: list[list[Block]] = [
        [
            Fact(name.ljust(room), " ".join(one for one in studies if one[0] == letter))
            for letter, name in names.items()
        ]
    ]
    facts = [Fact("Run here", f"{study_id}: {words}") for study_id, words in list(last.items())[:6]]
    rest = len(last) - 6
    facts += [Fact("Run here", f"{rest} more: --details")] if rest > 0 else []
    return Screen(
        f"studies · {len(studies)} experiments of {len(names)} papers",
        [
            "Each is a recipe of a paper, with the numbers that it prints and claims that your "
            "models can contradict."
        ],
        body,
        [
            *facts,
            Fact("Next", f"isoscope study list {next(iter(names))}", "one paper, with titles",
                 command=True),
            Fact("", "isoscope study show B-T1", "claims, needs, cost", command=True),
            Fact("More", "--details  every study with what it needs"),
        ],
    )  # fmt: skip
