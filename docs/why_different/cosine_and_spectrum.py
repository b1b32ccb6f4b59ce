"""Variants of the mean cosine and of measures of the spectrum."""

from __future__ import annotations

from why_different.variant import Measured, Variant

COSINE = Measured("mean_cosine")
COSINES = [
    Variant("the definition: all pairs of different vectors", "mean_cosine(X)", COSINE),
    Variant(
        "each vector with itself left in",
        "(U @ U.T).mean()",
        COSINE,
        "`cosine_similarity(X).mean()` of scikit-learn; the larger n, the smaller the error",
    ),
    Variant(
        "norm of the mean unit vector",
        "np.linalg.norm(U.mean(axis=0))",
        COSINE,
        "its square is the line above",
    ),
    Variant(
        "mean cosine with the mean vector",
        "(U @ X.mean(axis=0)).mean() / np.linalg.norm(X.mean(axis=0))",
        COSINE,
    ),
    Variant(
        "inner products in place of cosines",
        "(X @ X.T)[~np.eye(n, dtype=bool)].mean()",
        COSINE,
        "`X @ X.T` of vectors whose norm is not 1",
    ),
    Variant(
        "columns scaled to norm 1",
        "mean_cosine(X.T)",
        COSINE,
        "a transposed cloud (d × n), or `axis=0` instead of `axis=1`",
    ),
    Variant(
        "negative values set to 0 (centred cloud)",
        "max(mean_cosine(M), 0.0)",
        Measured("mean_cosine", "center"),
        "spectralyte 0.4.0",
    ),
    Variant(
        "the same with negative values kept", "mean_cosine(M)", Measured("mean_cosine", "center")
    ),
]

ISO, RATIO = Measured("iso_score"), Measured("participation_ratio")
RANK, TOP = Measured("effective_rank"), Measured("top_variance_share")
SPECTRUM = [
    Variant("iso_score: the definition", "iso_score(S)", ISO),
    Variant("iso_score without centring", "iso_score(X.T @ X / n)", ISO),
    Variant("iso_score of vectors with norm 1", "iso_score(np.cov(U.T))", ISO),
    Variant(
        "iso_score of the transposed cloud (d × n)",
        "iso_score(np.cov(X))",
        ISO,
        "`numpy.cov` takes rows as variables, so it needs `X.T`",
    ),
    Variant("participation ratio: the definition", "1 / (shares(S)**2).sum()", RATIO),
    Variant(
        "participation ratio of vectors with norm 1",
        "1 / (shares(np.cov(U.T))**2).sum()",
        RATIO,
        "vecscope 0.2.0, which calls it `effective_rank`",
    ),
    Variant("effective rank: entropy of the variances", "entropy_rank(shares(S))", RANK),
    Variant(
        "effective rank: entropy of the singular values",
        "(lambda s: entropy_rank(s / s.sum()))(np.sqrt(variances))",
        RANK,
        "Roy & Vetterli 2007, here of the centred cloud",
    ),
    Variant(
        "effective rank: the same without centring",
        "(lambda s: entropy_rank(s / s.sum()))(np.linalg.svd(X)[1])",
        RANK,
    ),
    Variant("first share: λ₁ / Σλ", "shares(S)[0]", TOP),
    Variant(
        "first share of singular values: σ₁ / Σσ",
        "(lambda s: s[0] / s.sum())(np.sqrt(variances))",
        TOP,
    ),
    Variant("first share without centring", "shares(X.T @ X)[0]", TOP),
]

DIVISOR = [
    Variant("iso_score", "iso_score(np.cov(X.T))", ISO),
    Variant("participation_ratio", "1 / (shares(np.cov(X.T))**2).sum()", RATIO),
    Variant("effective_rank", "entropy_rank(shares(np.cov(X.T)))", RANK),
    Variant("top_variance_share", "shares(np.cov(X.T))[0]", TOP),
    Variant(
        "first variance λ₁ (table `spectrum`)",
        "np.linalg.eigvalsh(np.cov(X.T))[-1]",
        Measured("spectrum", field="variance"),
    ),
    Variant(
        "mean_norm after whitening",
        "np.linalg.norm(M @ V / np.sqrt(variances * n / (n - 1)), axis=1).mean()",
        Measured("mean_norm", "whiten"),
        "scikit-learn's `PCA(whiten=True)`",
    ),
    Variant(
        "mean_cosine after whitening",
        "mean_cosine(M @ V / np.sqrt(variances * n / (n - 1)))",
        Measured("mean_cosine", "whiten"),
    ),
    Variant(
        "i1 after whitening",
        "i1(*(lambda Y: (Y, turn(Y, np.eye(d))))(M @ V / np.sqrt(variances * n / (n - 1))))",
        Measured("i1", "whiten"),
    ),
]
