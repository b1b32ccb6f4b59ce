"""How fast a machine computes, for a rough time that is said before a long run starts.

How fast a machine is shows a product of two matrices; a network reaches between a sixth and two
thirds of this speed, as much of its time goes into small operations.
"""

from __future__ import annotations

import time

from isoscope.models.runtime import device_name, library

GIB = 2**30

# Shares of the speed of a matrix product that networks reach.
FASTEST, SLOWEST = 2 / 3, 1 / 6

# Width of the matrices that are multiplied, and how often.
WIDTH, TIMES = 512, 8


def between(low: float, high: float) -> str:
    """Return a range of times, both ends in one unit.

    Examples
    --------
    >>> between(50, 200), between(400, 1600), between(4000, 16000)
    ('50 to 200 s', '7 to 27 min', '1.1 to 4.4 h')
    """
    if high < 300:
        return f"{low:.0f} to {high:.0f} s"
    if high < 7200:
        return f"{low / 60:.0f} to {high / 60:.0f} min"
    return f"{low / 3600:.1f} to {high / 3600:.1f} h"


def speed_of(device: str | None) -> float:
    """Return how many operations a second a product of two matrices does."""
    torch = library("torch")
    where = device_name(device)
    one = torch.ones(WIDTH, WIDTH, device=where)
    float((one @ one)[0, 0])  # the first product also starts threads
    took = []
    for _ in range(TIMES):
        started = time.perf_counter()
        float((one @ one)[0, 0])  # an accelerator has finished once a number is here
        took.append(time.perf_counter() - started)
    # The fastest is the one that nothing else on the machine came between.
    return 2 * WIDTH**3 / max(min(took), 1e-9)
