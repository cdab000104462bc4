"""Kernels of localized similarities: distances, responses, and how much a response tells of the weights.

With squared distances D_i, D_j of a row to the points i and j, and e = |d|^2 a quarter of theirs to each other, the two-point similarity
of Appel and Perona needs nothing else: <d, x - m> = (D_j - D_i) / 4 and |x - m|^2 = (D_i + D_j) / 2 - e. In units of e and with a factor
that makes its largest value one it is

    f = PEAK / 4 (v - u) / (4 + s^2),    u = D_i / e,  v = D_j / e,  s = (u + v) / 2 - 1.

Every row is worked on by itself and every sum is made in one order, so neither threads nor blocks change a bit.
"""

from __future__ import annotations

import numpy as np

from manyboost.compiled import compiled, compiled_part

# The largest value of t / (4 + t^4) is at t^4 = 4/3 (|x - m| = t |d|): there 4 + t^4 = 16/3.
PEAK = 16.0 / 3.0 / (4.0 / 3.0) ** 0.25
LANES = 8  # sums side by side, always the same eight
FAR = 1e100  # in units of e: there the response is nothing, and its square is still a number


@compiled_part
def two_point(to_first, to_second, e):
    u, v = to_first / e, to_second / e
    s = 0.5 * (u + v) - 1.0
    return 0.25 * PEAK * (v - u) / (4.0 + s * s) if s < FAR else 0.0


@compiled_part
def one_point(distance, tau):
    if distance > tau:
        share = tau / distance
        return (share - 1.0) / (share + 1.0)
    share = distance / tau
    return (1.0 - share) / (1.0 + share)


@compiled_part
def respond(distance, i, first, second, scale, hard):
    """The answer of one member to row i of ``distance`` (n, m); ``first`` < 0 is the one that says +1 of everything."""
    if first < 0:
        return 1.0
    f = one_point(distance[i, first], scale) if second < 0 else two_point(distance[i, first], distance[i, second], scale)
    if hard:
        return 1.0 if f >= 0.0 else -1.0
    return f


@compiled
def add_distances(rows, points, begin, end, out):
    """Squared distances of rows ``begin`` to ``end`` to the points, which are columns of ``points`` (c, m): ``out`` (n, m)."""
    m = points.shape[1]
    for i in range(begin, end):
        row = out[i]
        for p in range(m):
            row[p] = 0.0
        for c in range(points.shape[0]):
            x = rows[i, c]
            at = points[c]
            for p in range(m):
                t = x - at[p]
                row[p] += t * t


@compiled
def add_responses(distance, first, second, scale, hard, begin, end, out):
    """The answer of one member to rows ``begin`` to ``end``."""
    for i in range(begin, end):
        out[i] = respond(distance, i, first, second, scale, hard)


@compiled
def add_scores(distance, first, second, scale, hard, vectors, column, begin, end, columns):
    """Add members ``begin`` to ``end`` to the columns of each row."""
    for i in range(distance.shape[0]):
        for t in range(begin, end):
            f = respond(distance, i, first[t], second[t], scale[t], hard[t])
            for k in range(vectors.shape[1]):
                columns[i, column[t] + k] += f * vectors[t, k]


@compiled
def screen_pairs(distance, first, second, e, v, h, hard, gain):
    """For each pair the Newton gain (sum f v)^2 / sum f^2 h over the rows, which are columns of ``distance`` (m, n).

    A pair of no distance gains nothing. The number of rows is a multiple of eight.
    """
    n = distance.shape[1]
    top, bottom = np.empty(LANES), np.empty(LANES)
    for p in range(first.size):
        gain[p] = 0.0
        if not e[p] > 0.0:
            continue
        to_first, to_second, unit = distance[first[p]], distance[second[p]], 1.0 / e[p]
        top[:] = 0.0
        bottom[:] = 0.0
        for r in range(0, n, LANES):
            for lane in range(LANES):
                u, w = to_first[r + lane] * unit, to_second[r + lane] * unit
                s = min(0.5 * (u + w) - 1.0, FAR)
                f = (w - u) / (4.0 + s * s)
                if hard:
                    f = 1.0 if f >= 0.0 else -1.0
                top[lane] += f * v[r + lane]
                bottom[lane] += f * f * h[r + lane]
        above = ((top[0] + top[1]) + (top[2] + top[3])) + ((top[4] + top[5]) + (top[6] + top[7]))
        below = ((bottom[0] + bottom[1]) + (bottom[2] + bottom[3])) + ((bottom[4] + bottom[5]) + (bottom[6] + bottom[7]))
        if below > 0.0:
            gain[p] = above * above / below


@compiled
def add_signed_weights(W, y, point, out):
    """Add ``Y_nk W_nk``, Y = +1 at the row's class and -1 elsewhere, to the row's point: (points, K)."""
    for i in range(y.size):
        row = out[point[i]]
        own = W[i, y[i]]
        for k in range(W.shape[1]):
            row[k] -= W[i, k]
        row[y[i]] += 2.0 * own


@compiled
def add_products(signed, begin, end, out):
    """Add ``u_k u_m``, m up to k, of the rows ``begin`` to ``end``: the lower half of (K, K)."""
    for i in range(begin, end):
        u = signed[i]
        for k in range(u.size):
            a = u[k]
            row = out[k]
            for m in range(k + 1):
                row[m] += a * u[m]


@compiled
def add_along(values, direction, begin, end, out):
    """``values @ direction`` of rows ``begin`` to ``end``."""
    for i in range(begin, end):
        total = 0.0
        for k in range(direction.size):
            total += values[i, k] * direction[k]
        out[i] = total


@compiled
def isolator_losses(signed, totals, differences, losses):
    """The loss after the best step along +1 at one point and -1 elsewhere, of every point: ``sum_k sqrt(S_k^2 - D_k^2)``."""
    for g in range(signed.shape[0]):
        loss = 0.0
        for k in range(totals.size):
            apart = 2.0 * signed[g, k] - differences[k]
            loss += np.sqrt(max(totals[k] * totals[k] - apart * apart, 0.0))
        losses[g] = loss


@compiled
def mix_coordinates(rows, matrix, out):
    """``rows @ matrix``, every row by itself in one order of its coordinates."""
    for i in range(rows.shape[0]):
        row = out[i]
        for m in range(matrix.shape[1]):
            row[m] = 0.0
        for c in range(rows.shape[1]):
            x = rows[i, c]
            at = matrix[c]
            for m in range(matrix.shape[1]):
                row[m] += x * at[m]
