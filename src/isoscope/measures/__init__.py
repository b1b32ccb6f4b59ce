"""What is computed from two reads of a cloud.

Importing the package registers every measure; the order here is the order of display.
"""

from isoscope.measures import (  # noqa: F401, I001
    cosine,
    sampled,
    neighbours,
    lengths,
    variance,
    partition,
    local,
    dimensions,
)
