"""Variants of I1 and I2."""

from __future__ import annotations

from why_different.variant import Measured, Variant

I1 = Measured("i1")
SIGNS = [
    Variant("the definition", "i1(X, turn(X, eigenvectors(X)))", I1),
    Variant("every direction turned the other way", "i1(X, -C)", I1),
    Variant(
        "the largest entry of each direction positive",
        "i1(X, C * np.sign(C[abs(C).argmax(axis=0), range(d)]))",
        I1,
        "scikit-learn's `PCA` chooses the signs in this way",
    ),
    Variant("the first entry of each direction positive", "i1(X, C * np.sign(C[0]))", I1),
    Variant(
        "the signs with the lowest I1",
        "min(i1(X, C * s) for s in signs)",
        Measured("i1", field="sign_low"),
    ),
    Variant(
        "the signs with the highest I1",
        "max(i1(X, C * s) for s in signs)",
        Measured("i1", field="sign_high"),
    ),
    Variant("both signs of every direction", "i1(X, np.hstack((C, -C)))", Measured("i1_symmetric")),
]

SCALE = [
    Variant("half as long", "isotropy(X / 2)", Measured("i1", cloud="X / 2")),
    Variant("as they are", "isotropy(X)", I1),
    Variant("twice as long", "isotropy(2 * X)", Measured("i1", cloud="2 * X")),
    Variant(
        "every vector with norm 1",
        "isotropy(U)",
        Measured("i1", cloud="U"),
        "encoders that normalise their output",
    ),
    Variant(
        "root mean square norm 1",
        "isotropy(X / np.sqrt((X**2).sum(axis=1).mean()))",
        Measured("i1_scaled"),
    ),
]

DIRECTIONS = [
    Variant(
        "rows of the matrix of eigenvectors",
        "i1(X, C.T)",
        I1,
        "`for c in C` iterates over rows, and `numpy.linalg.eigh` puts eigenvectors in columns; "
        "the same happens with the columns of the third result of `numpy.linalg.svd`. "
        "The arbitrary signs change this number too: here they are isoscope's",
    ),
    Variant(
        "principal components (eigenvectors of the covariance)",
        "i1(X, turn(X, V))",
        I1,
        "scripts that take `PCA(...).components_`",
    ),
    Variant(
        "1,000 random directions",
        "i1(X, (lambda R: R / np.linalg.norm(R, axis=0))"
        "(np.random.default_rng(1).standard_normal((d, 1000))))",
        I1,
        "scripts that follow the definition over all unit vectors c",
    ),
    Variant(
        "after centring, the directions of the raw cloud",
        "i1(M, turn(M, C))",
        Measured("i1", "center"),
        "scripts that compute eigenvectors once",
    ),
    Variant(
        "after centring, the directions of the centred cloud",
        "isotropy(M)",
        Measured("i1", "center"),
    ),
]

PRODUCTS = [
    Variant(
        "exp of every single product, then the sum",
        "ratio([np.exp(X * c).sum() for c in C.T])",
        I1,
        "`X * c` is element by element; `X @ c` is the inner product",
    ),
    Variant(
        "the products summed over the vectors, not over the dimensions",
        "ratio([np.exp((X * c).sum(axis=0)).sum() for c in C.T])",
        I1,
        "`axis=0` where `axis=1` is meant",
    ),
    Variant(
        "the products summed over the dimensions",
        "ratio([np.exp((X * c).sum(axis=1)).sum() for c in C.T])",
        I1,
    ),
]

OVERFLOW = [
    Variant(
        "exp in float32, vectors 60 times as long",
        "ratio([np.exp(np.float32(60 * X) @ np.float32(c)).sum() for c in turn(60 * X, C).T])",
        Measured("i1", cloud="60 * X"),
        "`exp` of float32 is infinite from 88.8 on, of float64 from 709.8 on",
    ),
    Variant(
        "exp in float64, vectors 60 times as long",
        "ratio([np.exp(60 * X @ c).sum() for c in turn(60 * X, C).T])",
        Measured("i1", cloud="60 * X"),
    ),
    Variant(
        "exp in float64, vectors 500 times as long",
        "ratio([np.exp(500 * X @ c).sum() for c in turn(500 * X, C).T])",
        Measured("i1", cloud="500 * X"),
    ),
    Variant(
        "the same in logarithms (base 10)",
        "(lambda z: (z.min() - z.max()) / np.log(10))(log_z(500 * X, turn(500 * X, C)))",
        Measured("i1", cloud="500 * X", field="log10"),
    ),
]

I2 = [
    Variant(
        "the definition: divided by d",
        "np.exp(log_z(X, C)).std() / np.exp(log_z(X, C)).mean()",
        Measured("i2"),
        "`numpy.std`",
    ),
    Variant(
        "divided by d − 1",
        "np.exp(log_z(X, C)).std(ddof=1) / np.exp(log_z(X, C)).mean()",
        Measured("i2"),
        "the default of `torch.std` and `pandas`",
    ),
]
