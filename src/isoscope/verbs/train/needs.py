"""What a training will need, said before its first step: time, memory, data.

A step on T tokens takes about 6 P T operations, P the parameters that multiply every token (Kaplan
et al. 2020, section 2.1), and reading a token once takes 2 P. How fast a machine is shows a product
of two matrices; a training reaches between a sixth and two thirds of this speed, as much of its
time goes into small operations. Memory holds weights, gradients and the two moments of Adam in
float32, and what the layers keep for the backward pass.

References
----------
Kaplan et al. (2020), Scaling laws for neural language models, arXiv:2001.08361.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.models.speed import FASTEST, GIB, SLOWEST, between, speed_of
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.verbs.train.pretrain.plan import Plan

# Python, torch and the data; bytes of a parameter with gradient and moments; numbers that a layer
# keeps for each entry of its hidden states.
BASE, OF_PARAMETER, KEPT = 0.5 * GIB, 16, 24

# Seconds of work below which nothing is said.
SHORT = 10.0


@dataclass(frozen=True)
class Need:
    """What runs of one kind need.

    Attributes
    ----------
    runs, steps : int
        How many runs there are, and the steps of each.
    operations : float
        Of all runs together.
    memory : float
        Bytes that one run needs.
    reads : str
        What one run learns from.
    """

    runs: int
    steps: int
    operations: float
    memory: float
    reads: str


def announced(
    needs: list[Need], device: str | None, announce: Callable[[str], None] | None
) -> None:
    """Say what runs will need, where they are long enough to be worth a line."""
    if announce is None or not any(one.runs for one in needs):
        return
    speed = speed_of(device)
    operations = sum(one.operations for one in needs)
    if operations / (speed * SLOWEST) < SHORT:
        return
    announce(line_of(needs, speed))


def line_of(needs: list[Need], speed: float) -> str:
    """Return what runs will need on a machine of some speed, in a sentence."""
    operations = sum(one.operations for one in needs)
    low, high = (operations / (speed * share) for share in (FASTEST, SLOWEST))
    runs = sum(one.runs for one in needs)
    steps = sum(one.runs * one.steps for one in needs)
    memory = max(one.memory for one in needs) / GIB
    reads = "; ".join(dict.fromkeys(one.reads for one in needs))
    return (
        f"{counted(runs, 'run')}, {counted(steps, 'step')} in all: roughly {between(low, high)} "
        f"on this machine, and about {memory:.1f} GiB of memory. Each is trained on {reads}."
    )


def plan_need(plan: Plan, runs: int, reads: str) -> Need:
    """Return what trainings from scratch need."""
    shape = plan.shape
    of_layers = shape.layers * (4 * shape.width**2 + 2 * shape.width * shape.feed_forward)
    of_words = shape.vocabulary * shape.width
    tokens = shape.batch_size * shape.context
    parameters = of_layers + of_words * (1 if plan.tie else 2) + shape.context * shape.width
    kept = tokens * (shape.layers * (KEPT * shape.width + shape.heads * shape.context * 2)
                     + 3 * shape.vocabulary)  # fmt: skip
    return Need(
        runs, plan.length, 6.0 * (of_layers + of_words) * tokens * plan.length * runs,
        BASE + OF_PARAMETER * parameters + 4 * kept, reads,
    )  # fmt: skip


def network_need(
    network: Any, config: Any, runs: int, batch: int, learned: list[int], read: int, epochs: int,
    reads: str, *, writes: bool,
) -> Need:  # fmt: skip
    """Return what fine-tuning needs.

    Parameters
    ----------
    network, config
        What is trained, with its configuration.
    runs, batch, epochs : int
        How many there are, examples a step, passes.
    learned : list of int
        Tokens of every example to learn from.
    read : int
        Tokens that are read, or written, once after training.
    reads : str
        What is learned from, in words.
    writes : bool
        Whether every token is a choice among all words.
    """
    every = sum(parameter.numel() for parameter in network.parameters())
    words = int(getattr(config, "vocab_size", 0)) * width_of(config)
    # Looking a word up multiplies nothing; choosing one does.
    multiplied = every - (0 if writes else words)
    steps = -(-len(learned) // batch) * epochs
    longest = max(learned, default=0)
    entries = batch * longest * layers_of(config)
    kept = entries * (KEPT * width_of(config) + 2 * longest)
    kept += 3 * batch * longest * int(getattr(config, "vocab_size", 0)) if writes else 0
    operations = multiplied * (6.0 * sum(learned) * epochs + 2.0 * read)
    return Need(runs, steps, operations * runs, BASE + OF_PARAMETER * every + 4 * kept, reads)


def width_of(config: Any) -> int:
    """Return the width of hidden states."""
    return int(getattr(config, "hidden_size", 0) or getattr(config, "d_model", 0))


def layers_of(config: Any) -> int:
    """Return the number of layers, of encoder and decoder together."""
    both = [getattr(config, name, 0) or 0 for name in ("encoder_layers", "decoder_layers")]
    return int(sum(both) or getattr(config, "num_hidden_layers", 1))
