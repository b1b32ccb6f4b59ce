"""One module per family of measures; the order here is the order of display."""

from isoscope.measures.families import (  # noqa: F401, I001
    cosine,
    neighbours,
    norms,
    spectrum,
    partition,
    dimensions,
)
