"""Slow, obvious twins of the kernels of localized similarities, written from the formulas of Appel and Perona (2017)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

LARGEST = 0.50 * np.log((1 - 1e-6) / 1e-6)


def two_point(x: Any, first: Any, second: Any) -> float:
    """The paper's f_ij, times the constant that makes its largest value one."""
    d, m = (first - second) / 2, (first + second) / 2
    f = d @ (x - m) / (4 * (d @ d) ** 2 + ((x - m) @ (x - m)) ** 2)
    return float(f * (d @ d) / 0.20148186221691)


def one_point(x: Any, anchor: Any, tau: float) -> float:
    distance = (x - anchor) @ (x - anchor)
    return float((tau - distance) / (tau + distance))


def signs(y: Any, K: int) -> Any:
    """Y: +1 at the class, -1 elsewhere."""
    return 2.0 * (np.arange(K) == np.asarray(y)[:, None]) - 1


def loss_of(f: Any, W: Any, y: Any, a: Any) -> float:
    return float((W * np.exp(-signs(y, W.shape[1]) * np.outer(f, a))).sum())


def best_steps(f: Any, W: Any, y: Any) -> Any:
    """One line search for each class."""
    Y = signs(y, W.shape[1])

    def step(k: int) -> float:
        found = minimize_scalar(
            lambda a: (W[:, k] * np.exp(-Y[:, k] * f * a)).sum(), bounds=(-LARGEST, LARGEST), method="bounded", options={"xatol": 1e-12}
        )
        return float(found.x)

    return np.array([step(k) for k in range(W.shape[1])])


def eigenvector(W: Any, y: Any) -> Any:
    """v of eq. 8, from the N x N matrix itself."""
    N = len(W)
    U = (-signs(y, W.shape[1]) * W / np.sqrt(N * W.sum(axis=0))).T
    values, vectors = np.linalg.eigh(U.T @ U)
    return values, vectors[:, -1]


def least_loss_of_signs(f: Any, W: Any, y: Any) -> float:
    """Eq. 5 for f in {-1, +1}."""
    right = (signs(y, W.shape[1]) * f[:, None]) > 0
    return float(2 * np.sqrt((W * right).sum(axis=0) * (W * ~right).sum(axis=0)).sum())


def pairs_by_newton_gain(at: Any, v: Any, h: Any, drawn: Any, numbers: Any, learner: Any) -> dict[tuple[int, int], float]:
    """The gain of every pair of an anchor and a partner that the random numbers draw."""

    def places(weight: Any, shares: Any) -> Any:
        return np.searchsorted(np.cumsum(weight), np.asarray(shares) * weight.sum(), side="right")

    heavy = np.where(drawn, np.abs(v), 0.0)
    n = learner.n_anchors
    anchors = [int(heavy.argmax()), *places(heavy, numbers[2 : 1 + n])]
    others = places(heavy, numbers[1 + n :])
    sample, sign, weight = np.arange(len(v)), v, h
    if len(v) > learner.n_screened:
        m = learner.n_screened
        sample = places(np.abs(v), (np.arange(m) + numbers[0]) / m)
        share = np.abs(v).sum() / m
        sign, weight = np.sign(v[sample]) * share, h[sample] / np.abs(v[sample]) * share
    out = {}
    for i in anchors:
        for j in [j for j in others if v[j] * np.sign(v[i]) < 0][: learner.n_partners]:
            f = np.array([two_point(x, at[i], at[j]) for x in at[sample]])
            f = np.where(f >= 0, 1.0, -1.0) if learner.response == "sign" else f
            out[int(i), int(j)] = float((f @ sign) ** 2 / (f**2 @ weight))
    return out
