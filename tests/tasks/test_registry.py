"""Tasks have complete metadata and names of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isoscope.errors import UsageError
from isoscope.tasks import all_tasks, find_task
from isoscope.tasks.datasets.word_similarity import own_pairs
from isoscope.tasks.registry import own_kinds, register, register_opener


def test_every_task_says_what_a_reader_must_know() -> None:
    names = [task.name for task in all_tasks()]
    assert {"simlex-999", "men", "wordsim-similarity", "wordsim-relatedness", "rare-words"} <= set(
        names
    )
    assert len(set(names)) == len(names)
    for task in all_tasks():
        for text in (task.family, task.file, task.layout, task.licence, task.citation):
            assert text
        assert task.protocol
        assert task.metrics
        assert task.size
        assert all(file.size for file in task.files)
    for task in all_tasks():
        if task.family == "word-similarity":
            assert "whole vocabulary" in task.protocol
        if task.family in ("word-similarity", "sts"):
            assert "cosine/spearman" in task.metrics


def test_names_are_taken_once() -> None:
    task = find_task("men")
    with pytest.raises(ValueError, match="registered twice"):
        register(task)
    with pytest.raises(ValueError, match="registered twice"):
        register(replace(task, name="word-similarity"))
    with pytest.raises(ValueError, match="registered twice"):
        register_opener("men", own_pairs)


def test_finding() -> None:
    assert find_task(" SimLex-999 ").name == "simlex-999"
    own = find_task("word-similarity:some/where/pairs.tsv")
    assert (own.name, own.file) == ("word-similarity:pairs", "some/where/pairs.tsv")
    written = [kind.written for kind in own_kinds()]
    assert {"word-similarity:FILE", "pairs:FILE", "retrieval:FOLDER", "cluster:TASK"} <= {*written}
    with pytest.raises(UsageError, match="did you mean simlex-999.*known: .*pairs:FILE"):
        find_task("simlex")
    with pytest.raises(UsageError, match="did you mean .*word-similarity:FILE.*known"):
        find_task("word-similarity")
    with pytest.raises(UsageError, match="after the colon"):
        find_task("word-similarity:")
    with pytest.raises(UsageError, match="name a folder after the colon"):
        find_task("retrieval:")


def test_a_missing_file_is_one_line_with_its_layout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="SimLex-999.txt.*ten columns"):
        find_task("simlex-999").find(tmp_path)
    with pytest.raises(UsageError, match="no file .*pairs.tsv.*three columns"):
        find_task(f"word-similarity:{tmp_path}/pairs.tsv").find(None)
