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
CHUNK = 512  # rows whose distances to four points stay in the first-level cache
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
def _add_to_four(row, next_row, points, p, c, sums):
    """Add the squares of two coordinates to the sums of four points, so that rows are read from memory once for all of these."""
    a0, a1, a2, a3 = points[p, c], points[p + 1, c], points[p + 2, c], points[p + 3, c]
    b0, b1, b2, b3 = points[p, c + 1], points[p + 1, c + 1], points[p + 2, c + 1], points[p + 3, c + 1]
    for i in range(row.size):
        x, y = row[i], next_row[i]
        s, t = x - a0, y - b0
        sums[i] += s * s + t * t
        s, t = x - a1, y - b1
        sums[CHUNK + i] += s * s + t * t
        s, t = x - a2, y - b2
        sums[2 * CHUNK + i] += s * s + t * t
        s, t = x - a3, y - b3
        sums[3 * CHUNK + i] += s * s + t * t


@compiled_part
def _add_to_one(row, next_row, a, b, sums):
    for i in range(row.size):
        s, t = row[i] - a, next_row[i] - b
        sums[i] += s * s + t * t


@compiled_part
def _add_last(row, a, sums):
    for i in range(row.size):
        s = row[i] - a
        sums[i] += s * s


@compiled_part
def distances_between(rows, points, begin, end, out):
    """Squared distances of rows ``begin`` to ``end``, columns of ``rows`` (c, n), to ``points`` (m, c): ``out`` (m, n).

    Whether a point is one of four or by itself, its coordinates are added two at a time in the same order.
    """
    n_coordinates, m = rows.shape[0], points.shape[0]
    even, fours = n_coordinates // 2 * 2, m // 4 * 4
    sums = np.empty(4 * CHUNK, out.dtype)
    for start in range(begin, end, CHUNK):  # slices of whole rows: the compiler must see that numbers stand side by side
        last = min(start + CHUNK, end)
        n = last - start
        for p in range(0, fours, 4):
            sums[:] = 0.0
            for c in range(0, even, 2):
                _add_to_four(rows[c][start:last], rows[c + 1][start:last], points, p, c, sums)
            for q in range(4):
                if even < n_coordinates:
                    _add_last(rows[even][start:last], points[p + q, even], sums[q * CHUNK :])
                out[p + q][start:last] = sums[q * CHUNK : q * CHUNK + n]
        for p in range(fours, m):
            sums[:n] = 0.0
            for c in range(0, even, 2):
                _add_to_one(rows[c][start:last], rows[c + 1][start:last], points[p, c], points[p, c + 1], sums)
            if even < n_coordinates:
                _add_last(rows[even][start:last], points[p, even], sums)
            out[p][start:last] = sums[:n]


@compiled
def add_distances(rows, points, begin, end, out):
    """:func:`distances_between`, to be called from Python."""
    distances_between(rows, points, begin, end, out)


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
    """Add ``u_k u_m``, m up to k, of the rows ``begin`` to ``end``: the lower half of (K, K). Eight rows go to memory together."""
    last = begin + (end - begin) // 8 * 8
    for i in range(begin, last, 8):
        u0, u1, u2, u3 = signed[i], signed[i + 1], signed[i + 2], signed[i + 3]
        u4, u5, u6, u7 = signed[i + 4], signed[i + 5], signed[i + 6], signed[i + 7]
        for k in range(u0.size):
            a0, a1, a2, a3, a4, a5, a6, a7 = u0[k], u1[k], u2[k], u3[k], u4[k], u5[k], u6[k], u7[k]
            row = out[k]
            for m in range(k + 1):
                row[m] += ((a0 * u0[m] + a1 * u1[m]) + (a2 * u2[m] + a3 * u3[m])) + ((a4 * u4[m] + a5 * u5[m]) + (a6 * u6[m] + a7 * u7[m]))
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
    """``matrix.T @ rows``, every row (a column here) by itself in one order of its coordinates, four of which go to memory together."""
    whole = rows.shape[0] // 4 * 4
    for m in range(matrix.shape[1]):
        mixed = out[m]
        mixed[:] = 0.0
        for c in range(0, whole, 4):
            row_0, row_1, row_2, row_3 = rows[c], rows[c + 1], rows[c + 2], rows[c + 3]
            a_0, a_1, a_2, a_3 = matrix[c, m], matrix[c + 1, m], matrix[c + 2, m], matrix[c + 3, m]
            for i in range(mixed.size):
                mixed[i] += (row_0[i] * a_0 + row_1[i] * a_1) + (row_2[i] * a_2 + row_3[i] * a_3)
        for c in range(whole, rows.shape[0]):
            row, a = rows[c], matrix[c, m]
            for i in range(mixed.size):
                mixed[i] += row[i] * a
