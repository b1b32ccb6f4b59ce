"""The command line and the Python API offer the same, under the same names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import pytest

import isoscope
from isoscope.cli.app import COMMANDS, loaded
from isoscope.compute.execution import Execution, RunOptions
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.training import Plan
from isoscope.verbs.profile.profile_options import ProfileOptions
from isoscope.verbs.train.pretrain.plan import SIZES, Size

VERBS: dict[str, Callable[..., Any]] = {
    "measure": isoscope.measure,
    "profile": isoscope.profile,
    "evaluate": isoscope.evaluate,
    "advise": isoscope.advise,
    "explain": isoscope.explain,
    "explore": isoscope.explore,
    "threshold": isoscope.threshold,
    "diff": isoscope.diff,
    "correct fit": isoscope.fit_correction,
    "correct apply": isoscope.apply_correction,
    "correct refresh": isoscope.refresh_correction,
    "report": isoscope.report,
    "train finetune": isoscope.finetune,
    "train pretrain": isoscope.pretrain,
    "train ablate": isoscope.ablate,
    "study run": isoscope.run_study,
    "verify": isoscope.verify,
}

FIELDS: dict[str, tuple[type, ...]] = {
    "profile": (ProfileOptions,),
    "evaluate": (SentenceProtocol,),
    "advise": (SentenceProtocol,),
    "threshold": (SentenceProtocol,),
    "diff": (SentenceProtocol,),
    "train pretrain": (Plan, Size),
    "train ablate": (Plan, Size),
}
"""What a function takes as keywords that a class describes, or as an object of that class."""

SHOWING = {
    *("as_json", "html", "figures", "progress", "quiet", "debug", "help", "details", "ascii"),
    *("max_memory", "timeout"),
}
"""Options about what is shown, which the Python API leaves to who calls it; and the limits
of the process: a program sets ISOSCOPE_MAX_MEMORY, and ends what takes too long itself.
"""

ONLY_SHOWN = {
    ("measure", "fail_if"): "the exit code of a build; Python compares result.value()",
    ("evaluate", "relation"): "isoscope.relate(isoscope.evaluate(...))",
    ("evaluate", "out"): "Result.save",
    ("threshold", "out"): "Thresholds.save",
    ("diff", "out"): "Result.save",
    ("explain", "out"): "Result.save",
    ("advise", "save"): "Advice.result.save",
    ("study run", "seeds"): "run_study with each seed",
    ("study run", "out"): "StudyRun.save; folder= for what trainings leave",
}
"""Further options that no function takes, and what a program does instead."""

RENAMED = {
    ("measure", "--shard"): "shard_rows",
    ("profile", "--shard"): "shard_texts",
    ("profile", "--sample"): "sample_texts",
    ("profile", "--spool"): "spool_limit",
    ("profile", "--group-memory"): "group_limit",
    ("explain", "--topic"): "topics",
    ("explore", "--open"): "open_browser",
    ("threshold", "--map"): "map_file",
    ("correct fit", "--shard"): "shard_rows",
    ("correct refresh", "--shard"): "shard_rows",
    ("report", "--correction"): "corrections",
    ("train finetune", "--task"): "tasks",
    ("train finetune", "--calibration"): "calibrations",
    ("train pretrain", "--text-column"): "column",
    ("train ablate", "--text-column"): "column",
    ("study run", "names"): "study",
    ("study run", "--model"): "sources",
    ("study run", "--from"): "reuse",
}
"""Options that a function calls otherwise: as it did before, or in the plural of a list."""

SAME = {
    "none,center,all-but-the-top,whiten": None,
    "none,center": ("none", "center"),
    "none,cosreg,spectrum-pol,spectrum-exp,flow": None,
    "mean_cosine,i1_scaled": ("mean_cosine", "i1_scaled"),
    "model,part": ("model", "part"),
    "*": ("*",),
    "none": ("none",),
    "float32": None,  # in which models compute unless told otherwise
}
"""Defaults that the command line writes as text, and the same in Python."""

OTHER_DEFAULTS = {
    ("threshold", "at"): (None, ()),
    ("threshold", "centres"): (None, "both"),
    ("evaluate", "layers"): (None, "last"),  # all with --relate
    ("profile", "spool_limit"): (4.0, 4_000_000_000),
    ("profile", "group_limit"): (1.0, 2**30),
    ("report", "format"): (None, "markdown"),  # a screen without
    ("study run", "reuse"): (None, ()),
    ("study run", "sources"): (None, ()),
}
"""Defaults that are the same in other units, or where nothing is an empty list."""


def options_of(verb: str) -> list[Any]:
    """Return the parameters of a command as click has them."""
    name, _, part = verb.partition(" ")
    command = loaded(name)
    return list((command.commands[part] if part else command).params)


def parameters_of(verb: str) -> dict[str, Any]:
    """Return what the function of a verb takes, with defaults."""
    found = {
        parameter.name: parameter.default
        for parameter in inspect.signature(VERBS[verb]).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    if VERBS[verb].__annotations__.get("run") == "Unpack[RunOptions]":
        packed = inspect.signature(Execution).parameters
        for name in RunOptions.__annotations__:
            found[name] = packed[{"shard_rows": "shard"}.get(name, name)].default
    for kind in FIELDS.get(verb, ()):
        for field in fields(kind):
            default = None if kind is Size else field.default
            found.setdefault(field.name, inspect.Parameter.empty if default is MISSING else default)
    return found


def python_name(verb: str, option: Any) -> str:
    """Return what the function calls an option."""
    long = next((text for text in option.opts if text.startswith("--")), option.name)
    return RENAMED.get((verb, long), long.removeprefix("--").replace("-", "_"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_a_parameter_of_the_function(verb: str) -> None:
    taken = parameters_of(verb)
    for option in options_of(verb):
        if option.name in SHOWING or (verb, option.name) in ONLY_SHOWN:
            continue
        name = python_name(verb, option)
        assert name in taken, f"{VERBS[verb].__name__}() does not take {name}"
        if option.param_type_name == "argument" or option.required:
            continue
        written, default = option.default, taken[name]
        if isinstance(written, str) and written in SAME and written != default:
            assert default == SAME[written], f"{verb}: {name}"
        else:
            expected = OTHER_DEFAULTS.get((verb, name), (default, default))
            assert (written, default) == expected, f"{verb}: {name}"


def test_every_command_is_there() -> None:
    groups = {"correct", "train", "study", "list"}
    about_the_command_line = {"doctor", "completion"}
    assert {name for name in COMMANDS if name not in groups | about_the_command_line} <= set(VERBS)
    assert {"fit", "apply", "refresh"} == set(loaded("correct").commands)
    assert {"finetune", "pretrain", "ablate"} == set(loaded("train").commands)
    assert {verb.__name__ for verb in VERBS.values()} <= set(isoscope.__all__)


@pytest.mark.parametrize("table", [RENAMED, ONLY_SHOWN, OTHER_DEFAULTS])
def test_exceptions_are_about_options_that_exist(table: dict[tuple[str, str], Any]) -> None:
    for verb, name in table:
        options = options_of(verb)
        known = {text for option in options for text in option.opts}
        known |= {option.name for option in options}
        known |= {python_name(verb, option) for option in options}
        assert name in known, f"{verb} has no {name}"


def test_sizes_have_all_that_a_plan_may_change() -> None:
    for size in SIZES.values():
        for name in ("vocabulary", "batch_size", "context", "learning_rate"):
            assert getattr(size, name) > 0
