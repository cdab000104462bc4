"""Which pairs of training rows are worth a look: drawn by weight, compared by the Newton gain on a sample of the rows.

All of a round's search is one kernel, in single precision: it decides what is looked at more closely, and nothing that is stored.
Coordinates are centred, so that single precision loses no more than differences in the seventh digit of the largest one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled, compiled_part
from manyboost.learners.localized_similarity import LocalizedSimilarity
from manyboost.learners.similarity_kernels import distances_between

Floats = NDArray[np.float64]
LANES = 16  # sums side by side, always the same
FAR = np.float32(1e18)  # in units of e: there the response is nothing, and its square is still a number
NEAR = np.float32(1e-30)  # a smaller e, in units of the largest coordinate, is none
ZERO, HALF, ONE, FOUR = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(4.0)
TRIES = 4  # draws for each partner of either group
MOST = 1e30  # of h in units of |v|
BLOCK = 4096  # rows that are converted together


@compiled_part
def _drawn_by(below, number):
    """Where the sum of the weights passes a share of it: the first place whose ``below`` is above."""
    wanted = min(number * below[-1], np.nextafter(below[-1], 0.0))
    low, high = 0, below.size - 1
    while low < high:
        middle = (low + high) // 2
        if below[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@compiled_part
def _draw(below, v, drawn, numbers, n_anchors, n_partners, points):
    """Anchors, the heaviest first, and partners of either group, negative ones first: how many of each group stand in ``points``."""
    heaviest = 0.0
    for i in range(v.size):
        if drawn[i] and abs(v[i]) > heaviest:
            heaviest, points[0] = abs(v[i]), i
    for at in range(1, n_anchors):
        points[at] = _drawn_by(below, numbers[1 + at])
    n_points, n_down = n_anchors, 0
    for group in range(2):
        wanted = n_points + n_partners
        for at in range(1 + n_anchors, numbers.size):
            one = _drawn_by(below, numbers[at])
            if n_points < wanted and (v[one] < 0.0 if group == 0 else v[one] > 0.0):
                points[n_points] = one
                n_points += 1
        if group == 0:
            n_down = n_points - n_anchors
    return n_down, n_points - n_anchors - n_down


@compiled_part
def _sample(below, v, h, number, wanted, sample, sign, weight):
    """Points to compare pairs on, with v and h of each in units of the mean of |v|: all, or some drawn evenly along the sum of |v|."""
    unit = below[-1] / wanted
    for r in range(wanted):
        at = r
        if wanted < v.size:
            at = _drawn_by(below, (r + number) / wanted)
            sign[r], weight[r] = np.sign(v[at]), min(h[at] / abs(v[at]), MOST)
        else:
            sign[r], weight[r] = v[at] / unit, min(h[at] / unit, MOST)
        sample[r] = at
    return unit


@compiled_part
def _gain(to_first, to_second, e, v, h, hard, top, bottom):
    """The Newton gain (sum f v)^2 / sum f^2 h of a pair; the factor that makes the largest response one cancels out."""
    unit = ONE / e
    top[:] = 0.0
    bottom[:] = 0.0
    for r in range(0, v.size, LANES):
        for lane in range(LANES):
            i = r + lane
            u, w = to_first[i] * unit, to_second[i] * unit
            s = min(HALF * (u + w) - ONE, FAR)
            f = (w - u) / (FOUR + s * s)
            if hard:
                f = ONE if f >= ZERO else -ONE
            top[lane] += f * v[i]
            bottom[lane] += f * f * h[i]
    above, below = 0.0, 0.0
    for lane in range(LANES):
        above += top[lane]
        below += bottom[lane]
    return above * above / below if below > 0.0 else 0.0


@compiled
def _search(points, v, h, drawn, numbers, n_anchors, n_partners, n_screened, hard, pairs, gains):
    """Fill ``pairs`` (f, 2) and ``gains`` with the best, and return how many there are."""
    n, c = points.shape
    heavy, below = np.empty(n), np.empty(n)
    total, total_drawn = 0.0, 0.0
    for i in range(n):
        total += abs(v[i])
        total_drawn += abs(v[i]) if drawn[i] else 0.0
        heavy[i], below[i] = total, total_drawn
    if not total_drawn > 0.0:
        return 0
    some = np.empty(n_anchors + 2 * n_partners, np.int64)
    n_down, n_up = _draw(below, v, drawn, numbers, n_anchors, n_partners, some)
    if n_down == 0 or n_up == 0:
        return 0
    n_some = n_anchors + n_down + n_up
    n_sample = min(n, -(-n_screened // LANES) * LANES)
    n_padded = -(-n_sample // LANES) * LANES
    sample = np.zeros(n_padded, np.int64)
    sign, weight = np.zeros(n_padded, np.float32), np.zeros(n_padded, np.float32)
    unit = _sample(heavy, v, h, numbers[0], n_sample, sample, sign, weight)
    rows, at = np.empty((c, n_padded), np.float32), np.empty((n_some, c), np.float32)
    for start in range(0, n_padded, LANES):  # so many at a time, as they go to memory together
        for k in range(c):
            for r in range(start, start + LANES):
                rows[k, r] = points[sample[r], k]
    for p in range(n_some):
        at[p] = points[some[p]]
    distance = np.empty((n_some, n_padded), np.float32)
    distances_between(rows, at, 0, n_padded, distance)
    gain = np.zeros((n_anchors, n_some))
    top, bottom = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for p in range(n_anchors):
        up = v[some[p]] < 0.0
        for q in range(n_anchors + n_down if up else n_anchors, n_some if up else n_anchors + n_down):
            e = ZERO
            for k in range(c):
                t = at[p, k] - at[q, k]
                e += t * t
            e /= FOUR
            if e > NEAR:
                gain[p, q] = _gain(distance[p], distance[q], e, sign, weight, hard, top, bottom)
    n_found = 0
    while n_found < gains.size:
        p, q = divmod(gain.argmax(), n_some)
        if not gain[p, q] > 0.0:
            break
        pairs[n_found, 0], pairs[n_found, 1], gains[n_found] = some[p], some[q], gain[p, q] * unit
        for i in range(n_anchors):  # an anchor, or a partner, may have been drawn twice
            for j in range(n_anchors, n_some):
                if some[i] == some[p] and some[j] == some[q]:
                    gain[i, j] = 0.0
        n_found += 1
    return n_found


def single_precision(Z: Floats, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Some columns of the coordinates (c, n) as :func:`best_pairs` takes them, (P, c), in units of the largest: no square overflows."""
    largest = max(float(Z.max(initial=0.0)), -float(Z.min(initial=0.0))) or 1.0
    out = np.empty((len(rows), len(Z)), np.float32)
    for begin in range(0, len(rows), BLOCK):
        out[begin : begin + BLOCK] = (np.take(Z, rows[begin : begin + BLOCK], axis=1) / largest).T
    return out


def best_pairs(
    points: NDArray[np.float32], v: Floats, h: Floats, drawn: NDArray[np.bool_], numbers: Floats, learner: LocalizedSimilarity
) -> tuple[NDArray[np.int64], Floats]:
    """The ``n_finalists`` best of the pairs of anchors and partners, (f, 2) points by number, and their gains.

    Parameters
    ----------
    points : (P, c), from :func:`single_precision`
    v, h : (P,) first and second derivative of the loss at each point
    drawn : (P,) points that a pair may consist of
    numbers : :func:`n_numbers` of them, in [0, 1)
    """
    pairs, gains = np.empty((learner.n_finalists, 2), np.int64), np.empty(learner.n_finalists)
    hard = learner.response == "sign"
    found = _search(points, v, h, drawn, numbers, learner.n_anchors, learner.n_partners, learner.n_screened, hard, pairs, gains)
    return pairs[:found], gains[:found]


def n_numbers(learner: LocalizedSimilarity) -> int:
    """Random numbers that a search takes: one for the sample, one for each anchor, some for the partners."""
    return 1 + learner.n_anchors + TRIES * learner.n_partners
