"""Kernels of localized similarities: distances, responses, and how much a response tells of the weights.

With squared distances D_i, D_j of a row to the points i and j, and e = |d|^2 a quarter of theirs to each other, the two-point similarity
of Appel and Perona needs nothing else: <d, x - m> = (D_j - D_i) / 4 and |x - m|^2 = (D_i + D_j) / 2 - e. In units of e and with a factor
that makes its largest value one it is

    f = PEAK / 4 (v - u) / (4 + s^2),    u = D_i / e,  v = D_j / e,  s = (u + v) / 2 - 1.

Rows are columns of the tables here, so that the compiler can work on several at a time. Each is still worked on by itself, and every sum is
made in one order: neither threads nor blocks change a bit.
"""

from __future__ import annotations

import numpy as np

from manyboost.compiled import compiled, compiled_part

# The largest value of t / (4 + t^4) is at t^4 = 4/3 (|x - m| = t |d|): there 4 + t^4 = 16/3.
PEAK = 16.0 / 3.0 / (4.0 / 3.0) ** 0.25
CHUNK = 512  # rows whose distances stay in the first-level cache
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
def _add_distances(rows, points, p, begin, end, out):
    """Squared distances of rows ``begin`` to ``end`` to point p, coordinate by coordinate, several rows at a time."""
    out[:] = 0.0
    for c in range(rows.shape[0]):
        row, x = rows[c][begin:end], points[c, p]  # rows first: the compiler must see that these stand side by side
        for i in range(out.size):
            t = row[i] - x
            out[i] += t * t


@compiled
def add_distances(rows, points, begin, end, out):
    """Squared distances of rows ``begin`` to ``end``, columns of ``rows`` (c, n), to the columns of ``points``: ``out`` (m, n)."""
    for start in range(begin, end, CHUNK):
        for p in range(points.shape[1]):
            last = min(start + CHUNK, end)
            _add_distances(rows, points, p, start, last, out[p][start:last])


@compiled_part
def _respond(distance, first, second, scale, hard, out):
    """``first`` < 0 is the one that says +1 of everything."""
    if first < 0:
        out[:] = 1.0
    elif second < 0:
        near = distance[first]
        for i in range(out.size):
            out[i] = one_point(near[i], scale)
    else:
        near, far = distance[first], distance[second]
        for i in range(out.size):
            out[i] = two_point(near[i], far[i], scale)
    if hard:
        for i in range(out.size):
            out[i] = 1.0 if out[i] >= 0.0 else -1.0


@compiled
def add_responses(distance, first, second, scale, hard, out):
    """The answer of one member to the rows, which are columns of ``distance``."""
    _respond(distance, first, second, scale, hard, out)


@compiled
def add_scores(distance, first, second, scale, hard, vectors, column, columns):
    """Add what all members say of the rows, which are columns of ``distance``, to ``columns`` (C, n)."""
    n = distance.shape[1]
    f = np.empty(n)
    for t in range(first.size):
        _respond(distance, first[t], second[t], scale[t], hard[t], f)
        for k in range(vectors.shape[1]):
            a = vectors[t, k]
            row = columns[column[t] + k]
            for i in range(n):
                row[i] += f[i] * a


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
def add_signed_weights(W, y, point, totals, out):
    """Add ``Y_nk W_nk``, Y = +1 at the row's class and -1 elsewhere, to the row's point, (points, K), and the weights to their totals."""
    for i in range(y.size):
        row = out[point[i]]
        own = W[i, y[i]]
        for k in range(W.shape[1]):
            row[k] -= W[i, k]
            totals[k] += W[i, k]
        row[y[i]] += 2.0 * own


@compiled
def add_products(signed, begin, end, out):
    """Add ``u_k u_m``, m up to k, of the rows ``begin`` to ``end``: the lower half of (K, K). Four rows go to memory together."""
    last = begin + (end - begin) // 4 * 4
    for i in range(begin, last, 4):
        u0, u1, u2, u3 = signed[i], signed[i + 1], signed[i + 2], signed[i + 3]
        for k in range(u0.size):
            a0, a1, a2, a3 = u0[k], u1[k], u2[k], u3[k]
            row = out[k]
            for m in range(k + 1):
                row[m] += (a0 * u0[m] + a1 * u1[m]) + (a2 * u2[m] + a3 * u3[m])
    for i in range(last, end):
        u = signed[i]
        for k in range(u.size):
            for m in range(k + 1):
                out[k, m] += u[k] * u[m]


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
    """``matrix.T @ rows``, every row (a column here) by itself in one order of its coordinates."""
    for m in range(matrix.shape[1]):
        mixed = out[m]
        mixed[:] = 0.0
        for c in range(rows.shape[0]):
            row, a = rows[c], matrix[c, m]
            for i in range(mixed.size):
                mixed[i] += row[i] * a
