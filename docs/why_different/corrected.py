"""Variants of corrections."""

from __future__ import annotations

from why_different.variant import Corrected

W = "eigenvectors(X)"
TOPS = [
    Corrected(
        "components of the centred cloud, taken from the centred vector",
        "remove(M, V[:, :1])",
        "all-but-the-top",
    ),
    Corrected(
        "components of the centred cloud, taken from the vector itself",
        "M - X @ V[:, :1] @ V[:, :1].T",
        "all-but-the-top:project=original",
    ),
    Corrected(
        "components of the raw cloud, taken from the centred vector", f"remove(M, {W}[:, :1])", ""
    ),
    Corrected(
        "components of the raw cloud, taken from the vector itself, centred",
        f"M - X @ {W}[:, :1] @ {W}[:, :1].T",
        "",
    ),
    Corrected("components of the raw cloud, no centring", f"remove(X, {W}[:, :1])", ""),
    Corrected(
        "two components instead of one", "remove(M, V[:, :2])", "all-but-the-top:n_components=2"
    ),
    Corrected(
        "three components (the default of spectralyte 0.4.0)",
        "remove(M, V[:, :3])",
        "all-but-the-top:n_components=3",
    ),
    Corrected(
        "rows of V instead of its columns (signs: the largest entry positive)",
        "remove(M, (V * np.sign(V[abs(V).argmax(axis=0), range(d)])).T[:, :1])",
        "",
    ),
]

WHITENED = [
    Corrected("principal axes, divided by n", "M @ V / np.sqrt(variances)", "whiten"),
    Corrected("principal axes, divided by n − 1", "M @ V / np.sqrt(variances * n / (n - 1))", ""),
    Corrected("turned back to the old axes (ZCA)", "M @ V / np.sqrt(variances) @ V.T", ""),
    Corrected(
        "then every vector scaled to norm 1",
        "(lambda Y: Y / np.linalg.norm(Y, axis=1, keepdims=True))(M @ V / np.sqrt(variances))",
        "",
    ),
    Corrected("not centred", "X @ V / np.sqrt(variances)", ""),
    Corrected("divided by λ instead of √λ", "M @ V / variances", ""),
]
