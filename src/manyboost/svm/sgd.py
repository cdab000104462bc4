"""The linear machine by stochastic gradient descent on its primal objective, with averaging.

| lecture, and what is right in it | here |
|---|---|
| lambda / 2 sum_k \\|w_k\\|^2 + mean hinge loss, lambda = 1 / (C n) (the slide's 1 / C belongs to the sum of the losses) | ``decay`` |
| draw i; l = argmax over k != y_i of w_k x_i | an epoch is n draws at even distances on the cumulated weights, in random order |
| eta = 1 / (lambda (t + t_0)), t_0 = 10 | ``delay``: at least 10, and as large as keeps a first step from overshooting |
| w *= 1 - eta lambda | ``scale``: the weights are ``scale * V`` |
| if w_y x - w_l x < 1: w_y += eta x, w_l -= eta x | two columns of ``V`` |
| average over the last half of the steps | ``total * V + U`` is the sum of the weights since the average began |

An average over the steps costs no more than the steps: with c the sum of the scales so far, a change d of V at a step is in all later
terms of the sum but in none before, so the sum is c V - sum c_before d. The average begins anew in epochs 1, 2, 4, 8, ..., and so always
covers the last half.
"""

from __future__ import annotations

import numpy as np

from manyboost.compiled import compiled, compiled_part
from manyboost.svm.linear_dual import add_row, add_scores
from manyboost.svm.row_problem import next_word


@compiled_part
def best_other(G, own):
    """The class of the highest score beside the own."""
    best = 1 if own == 0 else 0
    for k in range(G.size):
        if k != own and G[k] > G[best]:
            best = k
    return best


@compiled
def hinge_loss(dense, data, indices, starts, y, share, W):
    """The mean of the hinge losses, row i with the share ``share[i]``."""
    K = W.shape[1]
    G, full, classes = np.empty(K), np.empty(K), np.arange(K).astype(np.int32)
    total = 0.0
    for i in range(y.size):
        G[:] = 0.0
        add_scores(dense, data, indices, starts, i, W, classes, K, full, G)
        total += share[i] * max(0.0, 1.0 - G[y[i]] + G[best_other(G, y[i])])
    return total


@compiled
def epoch(dense, data, indices, starts, y, share, V, U, scale, total, decay, t, seed):
    """One pass over the rows; returns the scale of V, the sum of scales, and the number of steps made so far."""
    n, K = y.size, V.shape[1]
    G, full, classes = np.empty(K), np.empty(K), np.arange(K).astype(np.int32)
    pair, steps = np.empty(2, np.int32), np.empty(2)
    state = next_word(np.uint64(seed) | np.uint64(1))
    order = np.empty(n, np.int64)
    i, reached, first = 0, share[0], np.float64(state >> np.uint64(11)) / 9007199254740992.0
    for s in range(n):
        while reached < (s + first) / n and i < n - 1:
            i += 1
            reached += share[i]
        order[s] = i
    for s in range(n - 1, 0, -1):
        state = next_word(state)
        other = np.int64((state >> np.uint64(33)) % np.uint64(s + 1))
        order[s], order[other] = order[other], order[s]
    for s in range(n):
        i = order[s]
        own = y[i]
        G[:] = 0.0
        add_scores(dense, data, indices, starts, i, V, classes, K, full, G)
        rival = best_other(G, own)
        rate = 1.0 / (decay * t)
        violated = scale * (G[own] - G[rival]) < 1.0
        scale *= 1.0 - rate * decay
        t += 1.0
        if violated:
            pair[0], pair[1] = own, rival
            steps[0] = rate / scale
            steps[1] = -steps[0]
            add_row(dense, data, indices, starts, i, V, pair, steps, 2)
            steps[0] *= -total
            steps[1] *= -total
            add_row(dense, data, indices, starts, i, U, pair, steps, 2)
        total += scale
    return scale, total, t
