"""Semantic textual similarity: SICK, SemEval's yearly tests of 2012 to 2016, the STS benchmark.

SICK, sentences that involve compositional knowledge, was another task of SemEval's in 2014. The
same rows serve ``sick-r`` (relatedness, a score) and ``sick-e`` (entailment, one of three classes).

The yearly tests have a file of texts and a file of scores for each source of text. In 2015 and 2016
only some of the pairs were scored: the others' lines of scores are blank. Files named ``ALL``
repeat the others and are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from isoscope.errors import DataError
from isoscope.tasks.datasets.lines import (
    as_label,
    as_score,
    check_texts,
    parallel_lines,
    tab_fields,
    tab_rows,
)
from isoscope.tasks.problems.classification import TextClassification
from isoscope.tasks.problems.pairs import SentenceSimilarity
from isoscope.tasks.registry import DataFile, LabelledText, TextPair, part_files, register

METRICS = ("cosine/spearman", "cosine/pearson")

SICK_SCALE = (1.0, 5.0)
SICK_LABELS = ("ENTAILMENT", "NEUTRAL", "CONTRADICTION")
SICK_HEADER = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
SICK_FILES = (
    DataFile("SICK_train.txt", 4_500, "train"),
    DataFile("SICK_trial.txt", 500, "trial"),
    DataFile("SICK_test_annotated.txt", 4_927, "test"),
)
SICK_LAYOUT = (
    "five columns with tabs between them, pair_ID, sentence_A, sentence_B, relatedness_score (1-5) "
    "and entailment_judgment, and a header"
)
SICK_LICENCE = "CC BY-NC-SA 3.0; not redistributed here"
SICK_CITATION = (
    "Marelli et al. (2014), A SICK cure for the evaluation of compositional distributional "
    "semantic models, LREC"
)


def sick_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Give out the place and the fields of every pair; a header may come first."""
    for number, fields in tab_rows(path, (5, 5), ", ".join(SICK_HEADER)):
        if number == 1 and fields[0].lower() == SICK_HEADER[0].lower():
            if [name.lower() for name in fields] != [name.lower() for name in SICK_HEADER]:
                raise DataError(f"{path}: line 1 should name the columns {', '.join(SICK_HEADER)}")
            continue
        where = f"{path}: line {number}"
        check_texts(fields[1:3], where)
        yield where, fields


def read_relatedness(path: Path, file: DataFile) -> list[TextPair]:
    """Read the pairs of a split with their score."""
    return [
        TextPair(first, second, as_score(score, SICK_SCALE, where), file.part)
        for where, (_, first, second, score, _) in sick_rows(path)
    ]


def read_entailment(path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
    """Read the pairs of a split with their class."""
    return [
        LabelledText(first, second, as_label(label, labels, where), file.part)
        for where, (_, first, second, _, label) in sick_rows(path)
    ]


register(
    SentenceSimilarity(
        "sick-r", "sts", SICK_FILES, SICK_LAYOUT, "pairs", SICK_LICENCE, SICK_CITATION,
        "cosine of the two texts' vectors against the human score; all three splits together, as "
        "leaderboards do, and each by itself: papers often print test alone",
        METRICS, read_relatedness,
    ),
    TextClassification(
        "sick-e", "classification", SICK_FILES, SICK_LAYOUT, "pairs", SICK_LICENCE, SICK_CITATION,
        "a classifier of the two texts' frozen features, fitted on train, chosen on trial, scored "
        "on test",
        ("accuracy",), read_entailment, SICK_LABELS, True,
    ),
)  # fmt: skip


SCALE = (0.0, 5.0)
PROTOCOL = (
    "cosine of the two texts' vectors against the human score; correlations of all pairs together "
    "and the mean of those of the subsets"
)
SCORE, FIRST, SECOND = 4, 5, 6


def read_year(path: Path, file: DataFile) -> list[TextPair]:
    """Read the scored pairs of one source of text.

    A line of texts has two columns, or four with the sources of both (2016).
    """
    gold = path.with_name(file.beside)
    pairs = []
    for number, line, score in parallel_lines(path, gold):
        where = f"{path}: line {number}"
        first, second, *_ = tab_fields(line, (2, 4), "two texts, and perhaps their sources", where)
        check_texts((first, second), where)
        if score.strip():
            human = as_score(score.strip(), SCALE, f"{gold}: line {number}")
            pairs.append(TextPair(first, second, human, file.part))
    return pairs


def read_benchmark(path: Path, file: DataFile) -> list[TextPair]:
    """Read a split of the STS benchmark, a ``.csv`` with tabs in which nothing is quoted.

    Columns are genre, source, year, number, score and two texts; some rows name the sources of
    both texts after that.
    """
    wanted = "genre, file, year, number, score and two texts"
    pairs = []
    for number, fields in tab_rows(path, (7, 9), wanted):
        where = f"{path}: line {number}"
        check_texts(fields[FIRST : SECOND + 1], where)
        score = as_score(fields[SCORE], SCALE, where)
        pairs.append(TextPair(fields[FIRST], fields[SECOND], score, file.part))
    return pairs


# Scored pairs of every source of text.
SUBSETS = {
    2012: {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750,
           "surprise.SMTnews": 399},
    2013: {"FNWN": 189, "OnWN": 561, "headlines": 750},
    2014: {"OnWN": 750, "deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750,
           "tweet-news": 750},
    2015: {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750,
           "images": 750},
    2016: {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244,
           "question-question": 209},
}  # fmt: skip

CITATIONS = {
    2012: "Agirre, Cer, Diab & Gonzalez-Agirre (2012), SemEval-2012 task 6: A pilot on semantic "
    "textual similarity, *SEM",
    2013: "Agirre, Cer, Diab, Gonzalez-Agirre & Guo (2013), *SEM 2013 shared task: Semantic "
    "textual similarity, *SEM",
    2014: "Agirre et al. (2014), SemEval-2014 task 10: Multilingual semantic textual similarity, "
    "SemEval",
    2015: "Agirre et al. (2015), SemEval-2015 task 2: Semantic textual similarity, English, "
    "Spanish and pilot on interpretability, SemEval",
    2016: "Agirre et al. (2016), SemEval-2016 task 1: Semantic textual similarity, monolingual "
    "and cross-lingual evaluation, SemEval",
}
NOTES = {
    2013: "; the subset SMT is left out, as its texts are not in the release",
    2015: "; pairs without a score are left out",
    2016: "; pairs without a score are left out",
}

for _year, _sizes in SUBSETS.items():
    _prefix = "STS2016" if _year == 2016 else "STS"
    register(
        SentenceSimilarity(
            f"sts-{_year % 100}", "sts",
            part_files(
                f"STS{_year % 100}-en-test/{_prefix}.input.{{}}.txt", _sizes,
                beside=f"{_prefix}.gs.{{}}.txt",
            ),
            "STS.input.X.txt with two texts per line and a tab between them, and STS.gs.X.txt "
            "beside it with one score (0-5) per line, blank where there is none"
            + ("; both names begin with STS2016" if _year == 2016 else ""),
            "pairs", "each source of text has terms of its own; not redistributed here",
            CITATIONS[_year], PROTOCOL + NOTES.get(_year, ""), METRICS, read_year,
        )
    )  # fmt: skip

register(
    SentenceSimilarity(
        "sts-b", "sts",
        part_files("STSBenchmark/sts-{}.csv", {"train": 5_749, "dev": 1_500, "test": 1_379}),
        "seven to nine columns with tabs between them and nothing quoted: the score (0-5) in the "
        "fifth, the texts in the sixth and seventh",
        "pairs",
        "scores CC BY-SA 4.0, each source of text with terms of its own (LICENSE.txt of the "
        "release); not redistributed here",
        "Cer, Diab, Agirre, Lopez-Gazpio & Specia (2017), SemEval-2017 task 1: Semantic textual "
        "similarity, multilingual and crosslingual focused evaluation, SemEval",
        "cosine of the two texts' vectors against the human score, on the test split", METRICS,
        read_benchmark, scored=("test",),
    )
)  # fmt: skip
