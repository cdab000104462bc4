"""The problem of one row in the Crammer-Singer dual, solved exactly.

| paper (Crammer and Singer 2001; Keerthi et al. 2008) | here |
|---|---|
| alpha_i, one entry for each class, sum 0, alpha_ik <= C [k = y_i] | a row of ``alpha``; the bound is ``bound`` at the own class, else 0 |
| A = K(x_i, x_i) | ``A`` |
| B_k = G_k - A alpha_ik | ``B`` |
| beta with sum_k min(C [k = y_i], (beta - B_k) / A) = 0 | ``beta`` |

The sum rises with beta and is concave, with one corner for each class. Newton's method from the left of the root therefore never passes
it, fixes at least one more class at its bound in each step, and ends on the root itself after K steps at most; sorting is not needed.
"""

from __future__ import annotations

from manyboost.compiled import compiled_part


@compiled_part
def solve_row(A, B, own, bound, n_open, out):
    """Write the best alpha of a row into ``out``; ``own`` is the place of its own class among the open ones.

    It is -1 where the own class is not open: that is at its bound then.
    """
    rest = A * bound if own < 0 else 0.0
    total, n_free = -rest, n_open
    for m in range(n_open):
        total += B[m]
    beta = total / n_free
    while True:
        total, free = -rest, 0
        for m in range(n_open):
            limit = bound if m == own else 0.0
            if beta - B[m] < A * limit:
                total += B[m]
                free += 1
            else:
                total -= A * limit
        if free >= n_free or free == 0:  # more than before: a class stands on its corner to the last bit, and would go to and fro for ever
            break
        n_free = free
        beta = total / n_free
    for m in range(n_open):
        limit = bound if m == own else 0.0
        out[m] = min(limit, (beta - B[m]) / A)


@compiled_part
def next_word(state):
    """The next of a stream of 64-bit words (xorshift)."""
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
