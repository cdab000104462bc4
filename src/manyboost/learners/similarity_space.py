"""Coordinates in which localized similarities measure distances: numbers scaled, categories one-hot, missing values at the mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from manyboost.learners.similarity_kernels import mix_coordinates

Floats = NDArray[np.float64]
METRICS = ("standard", "within", "none")
FARTHEST = 1e100  # of a coordinate: its square is finite
BLOCK = 1 << 20  # numbers transformed at a time


@dataclass(frozen=True)
class Space:
    """How rows become coordinates.

    A numeric column gives one coordinate, ``(x / 2^exponent - centre) * scale``; a column of n categories gives n, ``scale`` at its
    category less their mean. Columns of scale zero give none. ``matrix`` then mixes all coordinates; an empty one does nothing.

    Attributes
    ----------
    metric : one of METRICS, or several joined by "+", of whose squared distances it is the mean
    exponent, centre, scale : (p,)
    n_categories : (p,), 0 where a column is numeric
    shares : the categories' shares of the rows, column after column
    matrix : (c, c), or (0, 0)
    """

    metric: str
    exponent: NDArray[np.int32]
    centre: Floats
    scale: Floats
    n_categories: NDArray[np.int32]
    shares: Floats
    matrix: Floats

    @property
    def n_features(self) -> int:
        return len(self.scale)

    @property
    def column(self) -> NDArray[np.intp]:
        """The column that each coordinate comes from, before they are mixed."""
        used = np.flatnonzero(self.scale > 0)
        return np.repeat(used, np.maximum(self.n_categories[used], 1))

    def coordinates(self, X: Any) -> Floats:
        """(c, n) of rows as they come, every row by itself. A row is a column here."""
        out = np.empty((len(self.column), X.shape[0]))
        n_rows = max(1, BLOCK // max(self.n_features, len(out), 1))
        for begin in range(0, X.shape[0], n_rows):
            part = X[begin : begin + n_rows]
            part = np.asarray(part.toarray() if sparse.issparse(part) else part, np.float64)
            out[:, begin : begin + n_rows] = self._mixed(self._plain(part))
        return out

    def _plain(self, X: Floats) -> Floats:
        if not self.n_categories.any():
            return self._of_numbers(X, np.flatnonzero(self.scale > 0))
        out, share = [np.empty((0, len(X)))], 0
        for at, (n, scale) in enumerate(zip(self.n_categories.tolist(), self.scale.tolist(), strict=True)):
            values = X[:, at]
            if n and scale > 0:
                one_hot = (values == np.arange(n)[:, None]) - self.shares[share : share + n, None]
                out.append(np.where(np.isnan(values), 0.0, one_hot * scale))
            elif scale > 0:
                out.append(self._of_numbers(X, np.array([at])))
            share += n
        return np.concatenate(out)

    def _of_numbers(self, X: Floats, columns: NDArray[np.intp]) -> Floats:
        with np.errstate(over="ignore"):
            numbers = (np.ldexp(X[:, columns], -self.exponent[columns]) - self.centre[columns]) * self.scale[columns]
        return np.clip(np.where(np.isnan(numbers), 0.0, numbers), -FARTHEST, FARTHEST).T

    def _mixed(self, coordinates: Floats) -> Floats:
        if not len(self.matrix):
            return coordinates
        out = np.empty_like(coordinates)
        mix_coordinates(np.ascontiguousarray(coordinates), self.matrix, out)
        return out


def learn_space(
    X: Any,
    y: NDArray[np.intp],
    weight: Floats,
    n_categories: NDArray[np.int32],
    metrics: tuple[str, ...],
    feature_weights: Any,
    n_counted: float,
) -> Space:
    """The coordinates of a metric, or of the mean of several, from rows in an order that depends on what is in them alone.

    ``n_counted`` is how many rows these are, a weight of two being two rows.
    """
    p = X.shape[1]
    exponent, centre, scale = np.zeros(p, np.int32), np.zeros(p), np.zeros(p)
    shares: list[Floats] = []
    relevance, learns = np.zeros(p), isinstance(feature_weights, str)
    for at in range(p):
        values = np.asarray(X[:, [at]].toarray()[:, 0] if sparse.issparse(X) else X[:, at], np.float64)
        known = ~np.isnan(values)
        values, w, classes = values[known], weight[known], y[known]
        total = w.sum()
        if n_categories[at]:
            share = np.bincount(values.astype(np.intp), w, n_categories[at]) / (total if total > 0 else 1.0)
            shares.append(share)
            spread = 1.0 - (share**2).sum()  # how often two rows differ
            scale[at] = 0.0 if spread <= 1e-12 else 1.0 / np.sqrt(spread)
            if learns:
                relevance[at] = _relevance((values[:, None] == np.arange(n_categories[at])).astype(np.float64), w, classes)
            continue
        if not len(values) or values.min() == values.max():
            continue
        exponent[at] = np.frexp(np.abs(values).max())[1]
        small = np.ldexp(values, -exponent[at])
        centre[at] = (small * w).sum() / total
        deviation = np.sqrt((w * (small - centre[at]) ** 2).sum() / total)
        if deviation > 0:
            scale[at] = 1.0 / deviation
            if learns:
                relevance[at] = _relevance(small[:, None], w, classes)
    unscaled = _unscaled(exponent, n_categories, scale > 0)
    if feature_weights is not None:
        factors = relevance if learns else np.asarray(feature_weights, np.float64)
        if learns and not factors.any():  # no column is relevant, so that none is more so than others
            factors = np.ones(p)
        if factors.shape != (p,) or not (np.isfinite(factors) & (factors >= 0)).all() or not factors.any():
            raise ValueError(
                f"feature_weights must be one finite factor of at least 0 for each of the {p} columns, not all of them 0; "
                f"it has the shape {factors.shape}."
            )
        factors = np.sqrt(factors / factors.max())
        scale, unscaled = scale * factors, unscaled * factors
    categories = n_categories.astype(np.int32), np.concatenate([np.empty(0), *shares])
    space = Space("+".join(metrics), exponent, centre, unscaled if metrics == ("none",) else scale, *categories, np.empty((0, 0)))
    if metrics == ("within",):
        return replace(space, matrix=_whitening(space.coordinates(X).T, y, weight, n_counted))
    return space if len(metrics) == 1 else _mean_of(metrics, space, unscaled, X, y, weight, n_counted)


def _unscaled(exponent: NDArray[np.int32], n_categories: NDArray[np.int32], used: NDArray[np.bool_]) -> Floats:
    """Scales by which columns keep their proportions; one power of two for all keeps their squares finite."""
    numeric = used & (n_categories == 0)
    unit = int(exponent[numeric].max()) if numeric.any() else 0
    return np.where(used, np.ldexp(1.0, np.where(numeric, exponent, 0) - unit), 0.0)


def _mean_of(
    metrics: tuple[str, ...], space: Space, unscaled: Floats, X: Any, y: NDArray[np.intp], weight: Floats, n_counted: float
) -> Space:
    """From a space of standard coordinates z, one whose squared distances are the mean of those of the metrics, each in units of its own.

    All metrics are linear in z, so that their squared distances are forms z'Az, and the sum of these has a root.
    """
    Z, column, share = space.coordinates(X), space.column, weight / weight.sum()
    if not len(column):
        return space
    variance = np.bincount(column, (Z**2 * share).sum(axis=1), space.n_features)
    form = np.zeros(space.n_features)  # the diagonal of A, of each column
    if "standard" in metrics:
        form += 1.0 / variance.sum()
    if "none" in metrics:
        squared = np.divide(unscaled, space.scale, out=np.zeros_like(unscaled), where=space.scale > 0) ** 2
        form += squared / (squared * variance).sum()
    if "within" not in metrics:
        return replace(space, scale=space.scale * np.sqrt(form))
    whitening = _whitening(Z.T, y, weight, n_counted)
    with threadpool_limits(1, "blas"):  # threads would change the order of sums
        mixed = whitening @ whitening
        spread = float((mixed * ((Z * share) @ Z.T)).sum())
        values, vectors = np.linalg.eigh(np.diag(form[column]) + mixed / spread)
        return replace(space, matrix=np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T))


def _relevance(values: Floats, weight: Floats, y: NDArray[np.intp]) -> float:
    """The share of the variance of some coordinates that lies between the classes."""
    total = weight.sum()
    centred = values - (weight[:, None] * values).sum(axis=0) / total
    of_class = np.bincount(y, weight)
    means = np.stack([np.bincount(y, weight * column, len(of_class)) for column in centred.T]) / np.where(of_class > 0, of_class, 1.0)
    between, everything = (means**2 * of_class).sum(), (weight[:, None] * centred**2).sum()
    return float(between / everything) if everything > 0 else 0.0


def _whitening(Z: Floats, y: NDArray[np.intp], weight: Floats, n_counted: float) -> Floats:
    """The inverse root of the covariance within the classes, drawn towards its mean variance where rows are few."""
    c = Z.shape[1]
    centred = Z.copy()
    for k in np.unique(y):
        rows = y == k
        centred[rows] -= (weight[rows, None] * Z[rows]).sum(axis=0) / weight[rows].sum()
    with threadpool_limits(1, "blas"):  # threads would change the order of sums
        covariance = (centred * (weight / weight.sum())[:, None]).T @ centred
        even = c / (c + n_counted)
        mean = float(np.trace(covariance)) / max(c, 1)
        if not mean > 0:
            return np.eye(c)
        values, vectors = np.linalg.eigh((1 - even) * covariance + even * mean * np.eye(c))
        return np.ascontiguousarray((vectors / np.sqrt(values)) @ vectors.T)
