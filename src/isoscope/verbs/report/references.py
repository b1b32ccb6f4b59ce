"""What to cite: BibTeX of the papers behind measures and corrections."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from importlib.resources import files

from isoscope.errors import UsageError
from isoscope.measures.registry import find_measure

# What is cited for a measure that no paper defines.
OWN = "isoscope"

# Where corrections come from, in the form in which measures say it.
CORRECTIONS = {
    "center": "Mu & Viswanath 2018; Biś et al. 2021",
    "center-scaled": "Biś et al. 2021",
    "all-but-the-top": "Mu & Viswanath 2018",
    "cluster-pc-removal": "Rajaee & Pilehvar 2021",
    "whiten": "Su et al. 2021",
    "clip": "Luo et al. 2021",
    "standardize": "Timkey & van Schijndel 2021",
    "flow": "Li et al. 2020; Kingma & Dhariwal 2018",
}

CITATION = re.compile(r"(\w+)(?: et al\.| & [^\d,;()]+)? (\d{4})\b")
ENTRY = re.compile(r"@\w+\{(?P<key>\w+),.*?\n\}", re.DOTALL)


def entries() -> dict[str, str]:
    """Return every BibTeX entry under its key, such as ``bis2021``."""
    text = (files("isoscope.verbs.report") / "references.bib").read_text("utf-8")
    return {match["key"]: match[0] for match in ENTRY.finditer(text)}


def cited(reference: str) -> list[str]:
    """Return the keys of the papers that a reference names, as in "Biś et al. 2021, table 1".

    A key is the first author's surname in plain letters and the year. A reference that names no
    paper is isoscope's own.
    """
    return [plain(author) + year for author, year in CITATION.findall(reference)] or [OWN]


def plain(name: str) -> str:
    """Return a name in small letters without accents."""
    letters = unicodedata.normalize("NFKD", name.lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def bibliography(measures: Iterable[str], corrections: Iterable[str]) -> str:
    """Return the BibTeX entries of what a table shows, each once, by key."""
    keys: set[str] = set()
    for name in measures:
        try:
            keys.update(cited(find_measure(name.split("/")[0]).reference))
        except UsageError:  # a score of a benchmark, or a measure of a later version
            continue
    for name in corrections:
        reference = CORRECTIONS.get(name.split(":")[0])
        if reference is not None:
            keys.update(cited(reference))
    known = entries()
    return "\n\n".join(known[key] for key in sorted(keys & known.keys()))
