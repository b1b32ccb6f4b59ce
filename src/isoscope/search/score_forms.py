"""One threshold in the forms in which stores want it.

For unit vectors u and v with cosine s: the inner product is s, the cosine distance 1 − s, the
Euclidean distance ‖u − v‖ = √(2 − 2s), and its square 2 − 2s. Search engines that allow no negative
score report (1 + s) / 2.
"""

from __future__ import annotations

import math

FORMS = ("cosine_distance", "euclidean_of_unit", "halved_score")
"""Names of the other forms of a cosine, as fields of a row."""


def forms_of(cosine: float | None) -> dict[str, float | None]:
    """Return what stores call a cosine: distances fall where it rises.

    Examples
    --------
    >>> {name: round(value, 3) for name, value in forms_of(0.82).items()}
    {'cosine_distance': 0.18, 'euclidean_of_unit': 0.6, 'halved_score': 0.91}
    """
    if cosine is None:
        return dict.fromkeys(FORMS)
    distance = 1 - cosine
    return dict(
        zip(FORMS, (distance, math.sqrt(max(2 * distance, 0.0)), (1 + cosine) / 2), strict=True)
    )
