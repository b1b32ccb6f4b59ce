"""Every promise of the documentation stands beside the test that shows it.

A sentence that is changed or removed, and a test that is renamed, fail here; and so does a promise
that is added to one of the sections below without a test.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINES, RAY = "tests/verbs/profile/test_engines.py", "tests/compute/test_ray.py"
PROCESSES = "tests/compute/test_processes.py"
README, SCALE, SECURITY = "README.md", "docs/scale.md", "SECURITY.md"

PROMISES = (
    (README, "It reads files that do not fit into memory,", "tests/test_package.py",
     "test_memory_does_not_grow_with_the_file"),
    (README, "names the likely cause of an uneven space", "tests/measures/test_diagnosis.py",
     "test_the_same_mean_cosine_from_two_causes"),
    (README, "tests on your own task whether a correction helps, with an interval for the "
     "difference", "tests/verbs/advise/test_text.py",
     "test_an_interval_excludes_zero_exactly_where_the_gain_is_significant"),
    (README, "They install the versions that are locked in `requirements/`",
     "tests/tools/test_lock.py", "test_every_package_has_one_version_and_hashes"),
    (README, "They install the versions that are locked in `requirements/`, so that they give the "
     "same result at any time.", "tests/tools/test_conventions.py",
     "test_only_the_lock_chooses_versions"),
    (README, "shows the output of every command", "tests/docs/test_screens.py",
     "test_the_page_has_every_command"),
    (README, "the [glossary](docs/glossary.md) explains the terms", "tests/docs/test_glossary.py",
     "test_every_measure_has_a_title_and_says_when_to_look_at_it"),
    (README, "`isoscope COMMAND --help` lists the options of a command",
     "tests/cli/test_help.py", "test_defaults_and_examples_are_shown"),
    (README, "`isoscope.measure` returns a `Result`", "tests/tools/test_docs_commands.py",
     "test_blocks_of_the_readme_run"),
    (README, "measuring a file of 6 GB takes less than 200 MB of memory",
     "tests/docs/test_readme.py", "test_the_memory_of_a_large_file_is_that_of_the_record"),
    (README, "measured side by side on 2 cores", "tests/docs/test_readme.py",
     "test_times_are_those_of_the_record"),
    (README, "They can be fitted on files that do not fit into memory",
     "tests/test_package.py", "test_memory_does_not_grow_with_the_file"),
    (README, "`isoscope list measures --details` names them", "tests/cli/test_catalogue.py", ""),
    (README, "In Python, commands are functions.", "tests/test_parity.py",
     "test_every_option_is_a_parameter_of_the_function"),
    (README, "`isoscope doctor` reports what is installed and what is missing",
     "tests/cli/test_doctor.py", "test_what_is_installed"),
    (README, "`isoscope completion bash` prints a completion script (also for zsh and fish)",
     "tests/cli/test_help.py", "test_completion_knows_every_option"),
    (README, "Vectors are read from files", "tests/data/formats/test_round_trips.py", ""),
    (README, "text formats may be compressed", "tests/data/test_location.py", "test_compressed"),
    (README, "from patterns of files", "tests/data/test_location.py",
     "test_a_pattern_of_addresses"),
    (README, "from fsspec addresses", "tests/data/test_location.py", "test_behind_an_address"),
    (README, "and from PostgreSQL tables", "tests/data/postgres/test_cloud.py", ""),
    (README, "They agree where the definitions agree.", "tests/docs/test_why_different.py",
     "test_other_packages_still_print_what_is_stored"),
    (README, "The corrections of isoscope are scikit-learn transformers",
     "tests/corrections/test_estimator_checks.py", "test_scikit_learn_accepts_it"),
    (README, "updated with new vectors", "tests/corrections/test_refresh.py",
     "test_old_and_new_vectors_give_what_a_fit_on_all_of_them_gives"),
    (README, "they are saved as `.safetensors`, without pickle",
     "tests/corrections/test_storage.py", "test_sealed_nonsense_raises_nothing_else"),
    (README, "isoscope names every measure by its formula and never uses that word for a number.",
     "tests/measures/test_titles.py",
     "test_no_number_is_called_anisotropy_and_every_measure_has_a_formula"),
    (README, "It downloads no data, and a model only if you name it by its hub id.",
     "tests/cli/test_no_network.py", "test_files_and_folders_are_read_without_a_network"),
    (README, "its diagnosis does not change if all vectors are multiplied by the same number",
     "tests/measures/test_diagnosis.py", "test_no_verdict_rests_on_length"),
    (README, "It does not call an evenly filled space better.",
     "tests/verbs/measure/test_caveats.py", ""),
    (README, "never runs code that comes with a model",
     "tests/models/test_configuration.py",
     "test_code_is_not_run_where_transformers_has_the_architecture"),
    (README, "It never runs code that comes with a model.", "tests/models/test_configuration.py",
     "test_code_on_the_hub_is_not_loaded"),
    (README, "it reads and writes the formats of those that you use",
     "tests/data/formats/test_round_trips.py", ""),
    (README, "It gives no interval where none is valid",
     "tests/measures/test_intervals.py", "test_reasons_are_given_where_there_is_no_interval"),
    (README, "Files are streamed", "tests/test_package.py",
     "test_memory_does_not_grow_with_the_file"),
    (README, "The core needs no deep-learning framework.",
     "tests/test_package.py", "test_importing_pulls_in_no_heavy_library"),
    ("docs/tour.md", "the same numbers, bit by bit, whatever the number of workers, also if some "
     "are killed", ENGINES, "test_workers_that_are_killed_again_and_again_change_no_bit"),
    (SCALE, "local with any number of `--workers` and Ray with any",
     RAY, "test_measures_are_those_of_threads_bit_by_bit"),
    (SCALE, "after any number of kills and `--resume`",
     ENGINES, "test_killed_three_times_is_as_if_it_never_was"),
    (SCALE, "another `--shard` size", "tests/compute/test_map_reduce.py", ""),
    (SCALE, "it gives the same bits as any number of workers",
     ENGINES, "test_this_process_finds_the_same_with_any_number_of_threads"),
    (SCALE, "vectors that are in the vector cache are used as they are",
     "tests/models/test_encoding_shards.py",
     "test_a_shard_is_computed_whole_and_what_is_held_stays"),
    (SCALE, "gives the same bits with any number of them",
     "tests/models/test_encoding_engines.py", "test_this_process_finds_the_same"),
    (SCALE, "A worker with another version of isoscope is refused.",
     RAY, "test_another_version_on_a_node_is_refused"),
    (SCALE, "How it is divided depends only on the source", "tests/data/test_shards.py", ""),
    (SCALE, "Shards of texts are whole windows of 4,096 texts", "tests/data/texts/test_shards.py",
     ""),
    (SCALE, "finished shards are not read again",
     "tests/compute/test_sharded.py", "test_finished_shards_are_not_read_again"),
    (SCALE, "saving takes at most one part in a hundred of the time",
     "tests/compute/test_shard_journal.py", "test_saving_takes_a_hundredth_of_the_time"),
    (SCALE, "A file that has changed since (size or time, ETag on S3) is refused.",
     "tests/verbs/profile/test_resume.py", "test_another_option_or_text_is_refused"),
    (SCALE, "is started again and its shard repeated, up to 5 times on this machine",
     PROCESSES, "test_a_worker_that_is_killed_lives_again_and_its_shard_counts_once"),
    (SCALE, "and 20 times on Ray",
     RAY, "test_a_worker_that_is_killed_lives_again_and_its_shard_counts_once"),
    (SCALE, "the run ends with a message that names the shard",
     PROCESSES, "test_a_shard_that_kills_every_worker_is_one_clear_line"),
    (SCALE, "of a local Ray is killed, all workers end with it, and the run ends with a message of "
     "one line.", RAY, "test_an_agent_that_is_killed_is_one_line"),
    (SCALE, "files that unpack to more than 100 times their size are refused",
     "tests/data/test_unpacking.py", "test_streams"),
    (SCALE, "as are Parquet and Arrow files beyond 1,000 times",
     "tests/data/test_unpacking.py", "test_columns"),
    (SCALE, "`--on-error skip` leaves it out, names it, and counts it in the result",
     ENGINES, "test_a_bad_file_is_named_and_counted"),
    (SCALE, "writes JSON lines to standard error for schedulers",
     "tests/cli/test_progress_lines.py", "test_what_a_line_says"),
    (SCALE, "refuses work whose matrices, rows or weights would not fit",
     "tests/cli/test_memory_limits.py", "test_commands_on_models"),
    (SCALE, "draw as many rows as fit into half of it",
     "tests/cli/test_memory_limits.py", "test_explore_draws_what_fits"),
    (SCALE, "Nothing is left behind but the journal, from which `--resume` continues.",
     "tests/cli/test_deadline.py",
     "test_a_run_that_takes_longer_keeps_its_journal_and_goes_on"),
    (SECURITY, "Reading vectors, results and fitted corrections executes no code",
     "tests/corrections/test_storage.py", "test_sealed_nonsense_raises_nothing_else"),
    (SECURITY, "Code that comes with a model is not executed.",
     "tests/models/test_opening.py", "test_a_pickle_with_code_is_refused"),
    (SECURITY, "listens on this machine only, requires a token, and answers only read requests",
     "tests/verbs/explore/test_server.py", "test_without_the_token_nothing_is_answered"),
    (SECURITY, "Passwords in database addresses are not written to results, pages, logs or error "
     "messages.", "tests/data/test_addresses.py", "test_no_password_is_shown"),
)  # fmt: skip

# Where every point of a list must hold a sentence from above.
SECTIONS = (
    (README, "## How it compares"),
    (README, "## What it does not do"),
    (SCALE, "## What is the same, and what is not"),
    (SCALE, "## Shards, journals, bad files"),
    (SECURITY, "## What isoscope promises"),
)


def plain(text: str) -> str:
    """Return text without ends of lines and emphasis."""
    return " ".join(text.replace("**", "").split())


def document(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize(("name", "sentence", "path", "test"), PROMISES)
def test_a_promise_stands_beside_its_test(name: str, sentence: str, path: str, test: str) -> None:
    assert sentence in plain(document(name)), f"{name} no longer says so: change its test as well"
    code = (ROOT / path).read_text("utf-8")
    assert f"def {test or 'test_'}" in code, f"{path} no longer has the test of this sentence"


@pytest.mark.parametrize(("name", "heading"), SECTIONS)
def test_every_point_has_a_test(name: str, heading: str) -> None:
    section = document(name).split(f"{heading}\n")[1].split("\n## ")[0].split("```")[0]
    points = [plain(point) for point in re.split(r"\n- ", section)[1:]]
    assert len(points) >= 3
    sentences = [sentence for where, sentence, *_ in PROMISES if where == name]
    for point in points:
        assert any(sentence in point for sentence in sentences), f"no test is named for: {point}"


def test_the_threat_model_names_tests_that_are_there() -> None:
    rows = [line for line in document(SECURITY).splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 9
    for row in rows[1:]:
        named = re.findall(r"`(tests/[^`]*)`", row)
        assert named, row
        assert all((ROOT / one).exists() for one in named), row
