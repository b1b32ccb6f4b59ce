"""What reading texts with a model will need, said before a long run starts: time and memory.

Reading a token takes about 2 P operations, P the parameters that multiply every token (Kaplan et
al. 2020, section 2.1). How many tokens a text has is taken from its length: about one for four
characters, and no more than the model reads.

References
----------
Kaplan et al. (2020), Scaling laws for neural language models, arXiv:2001.08361.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.models.speed import FASTEST, GIB, SLOWEST, between, speed_of
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.models.model import Model

# Characters of a token, roughly.
PER_TOKEN = 4

# Python, torch and the texts; bytes of a parameter.
BASE, OF_PARAMETER = 0.5 * GIB, 4

# Seconds of work, at the slowest, below which nothing is said.
SHORT = 30.0


def announce_reading(
    model: Model,
    texts: int,
    characters: int,
    announce: Callable[[str], None] | None,
    *,
    remark: str = "",
) -> None:
    """Say what reading texts will need, where it takes long enough to be worth a line.

    Parameters
    ----------
    model : Model
        What reads them.
    texts, characters : int
        How many texts there are, and how long they are together.
    announce : callable or None
        Called with the line; None where nobody wants it.
    remark : str
        What else is said.
    """
    if announce is None or not texts:
        return
    parameters = sum(one.numel() for one in model.network.parameters())
    of_words = model.embedding_cloud("input")
    multiplied = parameters - (of_words.rows or 0) * of_words.widths[0]
    tokens = characters / PER_TOKEN
    operations = 2.0 * multiplied * tokens
    speed = speed_of(str(model.device))
    low, high = (operations / (speed * share) for share in (FASTEST, SLOWEST))
    if high < SHORT:
        return
    memory = (BASE + OF_PARAMETER * parameters) / GIB
    line = (
        f"{model.name} reads {counted(texts, 'text')}: roughly {between(low, high)} on this "
        f"machine, and about {memory:.1f} GiB of memory. {remark}"
    )
    announce(line.rstrip())
