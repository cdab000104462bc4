"""From scores to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from manyboost.compiled import compiled
from manyboost.maths.codes import Masks, are_single, separator_codes

Floats = NDArray[np.float64]
MAX_STEPS = 200
ROWS_IN_CACHE = 4096
CHUNK = 256  # rows whose scores stay in the first-level cache


@compiled
def _less_largest(columns: Floats, start: int, end: int, out: Floats) -> None:
    largest = np.empty(CHUNK)
    for begin in range(start, end, CHUNK):
        n = min(CHUNK, end - begin)
        largest[:n] = columns[0, begin : begin + n]
        for k in range(1, columns.shape[0]):
            part = columns[k, begin : begin + n]
            for r in range(n):
                largest[r] = max(largest[r], part[r])
        for k in range(columns.shape[0]):
            part, less = columns[k, begin : begin + n], out[k, begin : begin + n]
            for r in range(n):
                less[r] = part[r] - largest[r]


@compiled
def _divide_by_total(columns: Floats, start: int, end: int) -> None:
    total = np.empty(CHUNK)
    for begin in range(start, end, CHUNK):
        n = min(CHUNK, end - begin)
        total[:n] = 0.0
        for k in range(columns.shape[0]):
            part = columns[k, begin : begin + n]
            for r in range(n):
                total[r] += part[r]
        for k in range(columns.shape[0]):
            part = columns[k, begin : begin + n]
            for r in range(n):
                part[r] /= total[r]


def softmax(scores: Floats) -> Floats:
    """Proportional to the exponential of the scores."""
    # scipy's softmax to the last bit, in a third of its time on large tables: rows stay in cache from one operation to the next
    p = np.empty_like(scores, np.float64)
    by_column = scores.flags.f_contiguous and len(p) > ROWS_IN_CACHE
    for start in range(0, len(p), ROWS_IN_CACHE):
        end = min(start + ROWS_IN_CACHE, len(p))
        given, part = scores[start:end], p[start:end]
        if by_column:
            _less_largest(scores.T, start, end, p.T)
            np.exp(part, out=part)
            _divide_by_total(p.T, start, end)
        else:
            np.subtract(given, reduce(np.maximum, given.T)[:, None], out=part)
            np.exp(part, out=part)
            part /= part.sum(axis=1, keepdims=True)
    return p


def normalised_sigmoid(scores: Floats) -> Floats:
    """Proportional to the sigmoid of the scores, also where all of them vanish. The largest is that of the highest score, by a last bit."""
    # ln sigma(x) = -ln(1 + e^-x); its softmax divides by the sum without underflow
    p = softmax(-np.logaddexp(0.0, -scores))
    best, said = scores.argmax(axis=1), p.argmax(axis=1)
    level = np.flatnonzero(best != said)  # several sigmoids are one to the last bit
    p[level, best[level]] = np.nextafter(p[level, said[level]], 1.0)
    return p


def couple_separators(inside: Floats, masks: Masks) -> Floats:
    """Class probabilities from those of sets of classes, by expectation maximisation.

    ``inside`` (n, G) is the probability that the class is in the set. Each step raises the likelihood and keeps the sum at one.
    """
    n_sets, K = masks.shape
    p = np.full((len(inside), K), 1.0 / K)
    member = masks.astype(float)
    moving = np.arange(len(inside))  # rows stop one by one, so that none depends on the others
    for _ in range(MAX_STEPS):
        old, given = p[moving], inside[moving]
        mass = np.clip(old @ member.T, 1e-300, None)
        rest = np.clip(old @ (1 - member).T, 1e-300, None)
        new = old / n_sets * ((given / mass) @ member + ((1 - given) / rest) @ (1 - member))
        p[moving] = new / new.sum(axis=1, keepdims=True)
        moving = moving[np.abs(new - old).max(axis=1) >= 1e-10]
        if not len(moving):
            break
    return p


def separator_logit(h: Floats, sizes: NDArray[np.integer], K: int) -> Floats:
    """The logit of the probability that the class is in each set, whose size is s and whose score h has its population minimum there."""
    s = sizes.astype(float)
    return np.asarray(K * h / (s * (K - s) * (K - 1)) + logit(s / K))


def separator_probabilities(h: Floats, masks: Masks, how: str) -> Floats:
    """Class probabilities from the scores of separators: those of single classes normalised, of others by what ``how`` names.

    "scores": softmax of the scores of the classes; "separators": most likely to give the probabilities of the sets.
    """
    logits = separator_logit(h, masks.sum(axis=1), masks.shape[1])
    if are_single(masks):
        return normalised_sigmoid(logits)
    return couple_separators(expit(logits), masks) if how == "separators" else softmax(h @ separator_codes(masks))


def log_loss(probability: Floats, y: NDArray[np.integer], weight: Floats) -> float:
    """The weighted mean of the negative log-probability of the true class."""
    tiny = np.finfo(float).tiny
    return float(-(np.log(np.maximum(probability[np.arange(len(y)), y], tiny)) * weight).sum() / weight.sum())


def careful_log_loss(probability: Floats, y: NDArray[np.integer], weight: Floats, n_rows: float) -> float:
    """The log-loss, if beside ``n_rows`` rows there is half of one more of the same kind whose class is another than theirs, whichever.

    So being sure is never free. Without it, where all rows are told right, no factor of the scores would be large enough.
    """
    logs = np.log(np.maximum(probability, np.finfo(float).tiny))
    own = logs[np.arange(len(y)), y]
    others = (logs.sum(axis=1) - own) / (logs.shape[1] - 1)
    return float(-((n_rows * own + 0.5 * others) @ weight) / ((n_rows + 0.5) * weight.sum()))


def best_temperature(
    probability_at: Callable[[float], Floats], y: NDArray[np.integer], weight: Floats, n_rows: float | None = None
) -> float:
    """The factor of the scores that gives the least log-loss; ``probability_at(factor)`` are the probabilities.

    With ``n_rows``, how many rows the weights stand for, it is the least :func:`careful_log_loss`.
    """

    def loss(probability: Floats) -> float:
        return log_loss(probability, y, weight) if n_rows is None else careful_log_loss(probability, y, weight, n_rows)

    found = minimize_scalar(
        lambda log_factor: loss(probability_at(float(np.exp(log_factor)))),
        bounds=(-9.0, 4.0), method="bounded", options={"xatol": 1e-4},
    )  # fmt: skip
    return float(np.exp(found.x))
