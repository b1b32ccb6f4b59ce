"""Parts of speech of SemCor, for classifying tokens.

SemCor's tags are those of the Penn treebank, but words with a sense have lost their inflection:
a tagged verb is ``VB`` and a noun ``NN`` whatever its form. Only coarse classes are therefore
meaningful; they follow Petrov, Das & McDonald (2012), A universal part-of-speech tagset, LREC.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from isoscope.data.location import Location
from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.lines import wrong_columns
from isoscope.tasks.problems.classification import PUNCTUATION, TokenClassification
from isoscope.tasks.registry import DataFile, TaggedSentence, register

COLUMNS = ("document", "sentence", "position", "form", "lemma", "pos", "sense")
CLASSES = {
    "NOUN": "NN NNS NNP NNPS NP NPS",
    "VERB": "VB VBD VBG VBN VBP VBZ MD",
    "ADJ": "JJ JJR JJS",
    "ADV": "RB RBR RBS WRB",
    "PRON": "PRP PRP$ PP PR WP WP$",
    "DET": "DT PDT WDT EX",
    "ADP": "IN",
    "NUM": "CD",
    "CONJ": "CC",
    "PRT": "RP TO POS",
    "X": "FW LS SYM UH",
    PUNCTUATION: "",
}
COARSE = {tag: name for name, tags in CLASSES.items() for tag in tags.split()}
WHOLE_TEXTS = ("brown1", "brown2")
VERBS_ONLY = "brownv"


def read_semcor(path: Path, file: DataFile) -> list[TaggedSentence]:
    """Read every sentence: a token a line, sentences one after the other."""
    del file
    return [
        TaggedSentence(document, *zip(*((form, tag) for _, form, tag in tokens), strict=True))
        for (document, _), tokens in groupby(read_tokens(path), key=lambda token: token[0])
    ]


def read_tokens(path: Path) -> Iterator[tuple[tuple[str, str], str, str | None]]:
    """Give out every token: its document and sentence, its form, and its class."""
    for where, (document, sentence, _, form, _, tag, _) in token_fields(path):
        if not form:
            raise DataError(f"{where} has no word in column 4")
        yield (document, sentence), form, coarse(form, tag, where)


def token_fields(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield where every token stands in the file, for messages, and its columns."""
    for number, line in enumerate(unpacked(path).removesuffix("\n").split("\n"), start=1):
        fields = line.removesuffix("\r").split("\t")
        if number == 1 and tuple(fields) == COLUMNS:
            continue
        where = f"{path}: line {number}"
        if len(fields) != len(COLUMNS):
            wanted = (len(COLUMNS), len(COLUMNS))
            raise wrong_columns(len(fields), wanted, ", ".join(COLUMNS), where)
        yield where, fields


def coarse(form: str, tag: str, where: str) -> str | None:
    """Return the class of a token; None for a word that SemCor leaves without a tag.

    Of two tags, as in ``NN|SYM``, the first counts. Punctuation has no tag.
    """
    if not tag:
        return None if any(letter.isalnum() for letter in form) else PUNCTUATION
    first = tag.partition("|")[0]
    if first not in COARSE:
        raise DataError(f"{where}: the part of speech {tag!r} is unknown; expected Penn's, as NN")
    return COARSE[first]


def unpacked(path: Path) -> str:
    """Return the text of a gzip file."""
    try:
        with Location(str(path)).stream() as file:
            return file.read().decode("utf-8")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is no complete gzip file: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


@dataclass(frozen=True)
class SemCor(TokenClassification):
    """SemCor in its three parts, which are in one file."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Every part of the corpus."""
        return (*WHOLE_TEXTS, VERBS_ONLY)

    def load(self, folder: Path | None, parts: Sequence[str] | None = None) -> list[TaggedSentence]:
        """Read the sentences of some parts, by default of those whose words are all tagged."""
        wanted = self.wanted_parts(parts)
        sentences = self.read_files(self.paths(folder))
        return [sentence for sentence in sentences if sentence.part in wanted]


register(
    SemCor(
        "semcor-pos", "token-classification", (DataFile("semcor3.tsv.gz", 37_176),),
        f"gzip, one token per line, {len(COLUMNS)} columns with tabs between them and a header: "
        f"{', '.join(COLUMNS)}; a multiword is one token, joined by _",
        "sentences", "Princeton's terms for WordNet and SemCor; not redistributed here",
        "Miller, Leacock, Tengi & Bunker (1993), A semantic concordance, HLT",
        "a classifier of tokens' frozen features, coarse parts of speech, documents kept on one "
        f"side of a split; {' and '.join(WHOLE_TEXTS)}, as people tagged only verbs in "
        f"{VERBS_ONLY}",
        ("accuracy", "f1"), read_semcor, tuple(CLASSES), scored=WHOLE_TEXTS,
    )
)  # fmt: skip
