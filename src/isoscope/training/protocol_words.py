"""What results say of a training: settings in a line, and all of them by task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.measures.registry import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.training.outcomes import Outcome


def protocols(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Return a line about the settings of every task."""
    return {outcome.task: line(outcome) for outcome in outcomes}


def line(outcome: Outcome) -> str:
    """Say how a run was trained and scored."""
    used = outcome.settings
    examples, epochs = counted(used["train"], "example"), counted(used["epochs"], "epoch")
    schedule = "" if used["schedule"] == "constant" else " falling to 0"
    return (
        f"fine-tuned on {examples}, {epochs}, rate {used['learning_rate']:g}{schedule}, batch "
        f"{used['batch_size']}, at most {used['longest']} tokens; {used['scored']:,} scored"
    )


def used_settings(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the settings of every task, and the options of every calibration on it."""
    found: dict[str, Any] = {}
    for outcome in outcomes:
        task = found.setdefault(outcome.task, {"calibrations": {}})
        task.update({name: v for name, v in outcome.settings.items() if name != "options"})
        task["calibrations"][outcome.calibration] = outcome.settings.get("options", {})
    return found
