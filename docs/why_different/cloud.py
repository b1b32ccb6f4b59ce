"""One small cloud, off its centre and unevenly spread, and the definitions in plain numpy."""

from itertools import product

import numpy as np
from scipy.special import logsumexp

random = np.random.default_rng(0)
X = random.standard_normal((200, 6)) * [1.5, 1.0, 0.7, 0.5, 0.3, 0.2]
X = X @ random.standard_normal((6, 6)) / 2 + [1.2, -0.9, 0.6, 0.5, -0.3, 0.2]
n, d = X.shape
M = X - X.mean(axis=0)  # centred
U = X / np.linalg.norm(X, axis=1, keepdims=True)  # norm 1


def log_z(X, C):  # ln Z(c) = ln Σ exp(c·x) for every column c of C
    return logsumexp(X @ C, axis=0)


def ratio(z):
    return min(z) / max(z)


def i1(X, C):
    z = log_z(X, C)
    return np.exp(z.min() - z.max())


def eigenvectors(X):  # in columns, the largest eigenvalue first; signs are arbitrary
    return np.linalg.eigh(X.T @ X)[1][:, ::-1]


def turn(X, C):  # the sign of every column for which Z(c) ≥ Z(−c)
    return np.where(log_z(X, C) >= log_z(X, -C), C, -C)


def isotropy(X):  # isoscope's i1
    return i1(X, turn(X, eigenvectors(X)))


def mean_cosine(X):
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    return (U @ U.T)[~np.eye(len(X), dtype=bool)].mean()


def shares(S):  # of a covariance matrix: λ / Σλ
    values = np.linalg.eigvalsh(S)[::-1]
    return values / values.sum()


def iso_score(S):
    p = shares(S)
    return (1 / (p @ p) - 1) / (len(p) - 1)


def entropy_rank(p):
    return np.exp(-(p @ np.log(p)))


def remove(Y, V):  # without the projections on the columns of V
    return Y - Y @ V @ V.T


C = turn(X, eigenvectors(X))
signs = list(product((1, -1), repeat=d))
V = eigenvectors(M)  # principal components
S = np.cov(X.T, ddof=0)
variances = np.linalg.eigvalsh(S)[::-1]
