"""The linear Crammer-Singer machine by sequential dual ascent: one loop for dense and sparse rows.

| paper (Keerthi et al. 2008, "A sequential dual method for large scale multi-class linear SVMs") | here |
|---|---|
| w_k = sum_i alpha_ik x_i | column k of ``W`` (p, K) |
| G_k = w_k x_i + 1 - [k = y_i] | ``G``, for the open classes of a row |
| v = max_k G_k - min over alpha_ik < C [k = y_i] of G_k | ``violation`` |
| shrinking: k with alpha_ik at its bound and G_k below that minimum | leaves the open classes of the row |

A row with one open class leaves the sweeps. When all violations are small, everything is opened again, until a sweep over all rows and
classes finds none above ``tol``.

A sweep visits a row as often as its bound is a multiple of the usual one. Equal rows are one row here, of their weight in all; where they
are visited but once, sweeps are cheaper and many more are needed (on letter, 17,000 instead of 6,500).

Rows are either ``dense`` (n, p), or ``data``, ``indices`` and ``starts`` of a CSR matrix; the others are None, and the compiler leaves out
the branches for them.
"""

from __future__ import annotations

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.svm.row_problem import next_word, solve_row

NO_STEP = 1e-12  # violations and steps below this are rounding
MOST_VISITS = 4  # of a row in a sweep


@compiled_part
def add_scores(dense, data, indices, starts, i, W, classes, n_open, full, G):
    """Add the scores of row i to G, which is as long as there are open classes."""
    K = W.shape[1]
    if dense is not None:
        p = dense.shape[1]
        if 3 * n_open > K:  # all classes side by side, four features at a time
            for k in range(K):
                full[k] = 0.0
            j = 0
            while j + 4 <= p:
                a, b, c, d = dense[i, j], dense[i, j + 1], dense[i, j + 2], dense[i, j + 3]
                if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                    for k in range(K):
                        full[k] += a * W[j, k] + b * W[j + 1, k] + c * W[j + 2, k] + d * W[j + 3, k]
                j += 4
            while j < p:
                a = dense[i, j]
                for k in range(K):
                    full[k] += a * W[j, k]
                j += 1
            for m in range(n_open):
                G[m] += full[classes[m]]
        else:
            for j in range(p):
                a = dense[i, j]
                if a != 0.0:
                    for m in range(n_open):
                        G[m] += a * W[j, classes[m]]
    if data is not None:
        if 3 * n_open > K:
            for k in range(K):
                full[k] = 0.0
            for at in range(starts[i], starts[i + 1]):
                a, j = data[at], indices[at]
                for k in range(K):
                    full[k] += a * W[j, k]
            for m in range(n_open):
                G[m] += full[classes[m]]
        else:
            for at in range(starts[i], starts[i + 1]):
                a, j = data[at], indices[at]
                for m in range(n_open):
                    G[m] += a * W[j, classes[m]]


@compiled_part
def add_row(dense, data, indices, starts, i, W, classes, steps, n_steps):
    """W gains x_i times the steps of the classes."""
    if dense is not None:
        for j in range(dense.shape[1]):
            a = dense[i, j]
            if a != 0.0:
                for m in range(n_steps):
                    W[j, classes[m]] += a * steps[m]
    if data is not None:
        for at in range(starts[i], starts[i + 1]):
            a, j = data[at], indices[at]
            for m in range(n_steps):
                W[j, classes[m]] += a * steps[m]


@compiled
def ascend(dense, data, indices, starts, y, bounds, norms, alpha, W, tol, max_iter, seed):
    """Change ``alpha`` (n, K) and ``W`` (p, K) until no violation is above ``tol``; returns the sweeps made and the largest one left.

    Rows with a bound or a norm of zero are left alone.
    """
    n, K = alpha.shape
    usual = np.median(bounds[bounds > 0.0])
    order = np.empty(MOST_VISITS * n, np.int64)
    n_visits = 0
    for i in range(n):
        if bounds[i] > 0.0 and norms[i] > 0.0:
            for _ in range(round(min(MOST_VISITS, max(1.0, bounds[i] / usual)))):
                order[n_visits] = i
                n_visits += 1
    n_active = n_visits
    classes = np.empty((n, K), np.int32)
    n_open = np.full(n, K, np.int32)
    for i in range(n):
        for k in range(K):
            classes[i, k] = k
    G, B, full, new, steps = np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    moved = np.empty(K, np.int32)
    state = np.uint64(seed) | np.uint64(1)
    loose, from_all = max(10.0 * tol, 1.0), True
    for sweep in range(max_iter):
        worst = 0.0
        for s in range(n_active - 1, 0, -1):
            state = next_word(state)
            t = np.int64((state >> np.uint64(33)) % np.uint64(s + 1))
            order[s], order[t] = order[t], order[s]
        s = 0
        while s < n_active:
            i = order[s]
            A, bound, own, open_ = norms[i], bounds[i], y[i], classes[i]
            count = n_open[i]
            for m in range(count):
                G[m] = 0.0 if open_[m] == own else 1.0
            add_scores(dense, data, indices, starts, i, W, open_, count, full, G)
            highest, lowest = -np.inf, np.inf
            for m in range(count):
                k = open_[m]
                if G[m] > highest:
                    highest = G[m]
                if G[m] < lowest and alpha[i, k] < (bound if k == own else 0.0):
                    lowest = G[m]
            m = 0
            while m < count:
                k = open_[m]
                if G[m] < lowest and alpha[i, k] == (bound if k == own else 0.0):
                    count -= 1
                    open_[m], open_[count] = open_[count], k
                    G[m] = G[count]
                else:
                    m += 1
            n_open[i] = count
            if count < 2:
                n_active -= 1
                order[s], order[n_active] = order[n_active], i
                continue
            s += 1
            violation = highest - lowest
            if violation <= NO_STEP:
                continue
            worst = max(worst, violation)
            place = -1
            for m in range(count):
                B[m] = G[m] - A * alpha[i, open_[m]]
                if open_[m] == own:
                    place = m
            solve_row(A, B, place, bound, count, new)
            n_steps = 0
            for m in range(count):
                k = open_[m]
                step = new[m] - alpha[i, k]
                alpha[i, k] = new[m]
                if abs(step) >= NO_STEP * bound:
                    moved[n_steps], steps[n_steps] = k, step
                    n_steps += 1
            add_row(dense, data, indices, starts, i, W, moved, steps, n_steps)
        if worst < loose:
            if worst < tol and from_all:
                return sweep + 1, worst
            n_active = n_visits
            n_open[:] = K
            loose, from_all = max(loose / 2.0, tol), True
        else:
            from_all = False
    return max_iter, worst


@compiled
def squared_norms(dense, data, indices, starts, n):
    """The squared length of each row."""
    out = np.zeros(n)
    if dense is not None:
        for i in range(n):
            for j in range(dense.shape[1]):
                out[i] += dense[i, j] * dense[i, j]
    if data is not None:
        for i in range(n):
            for at in range(starts[i], starts[i + 1]):
                out[i] += data[at] * data[at]
    return out
