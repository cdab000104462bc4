"""What makes a split good: the loss of a node as a function of its sums.

A tree is grown so that the total of the losses of its leaves falls fastest. Each criterion reads the sums of
:class:`~manyboost.trees.statistics.Statistics` in its own way:

    criterion                  sums of a node                                loss
    gini                       w_k, weight of label k; W = sum w_k           sum_{j<k} 2 w_j w_k / W
    entropy                    the same                                      sum_k w_k ln(W / w_k)
    exponential (Z)            T_k, then w_k, weight for class k of T_k      2 sum_k sqrt(w_k (T_k - w_k))
    newton                     g_1..g_m, then h_1..h_m                       - sum_k g_k^2 / (h_k + l2)
    least_squares              g_1..g_m, then one h                          - sum_k g_k^2 / (h + l2)
    shared_sign (REBEL)        D_1..D_K, then W                              sum_k sqrt(T_k^2 - D_k^2), D over the whole tree
    pair_of_classes (AOSO)     q_1..q_K = w p, then w_k, weight of class k   - (g_r - g_s)^2 / h_rs for the node's own pair (r, s)

Label weights are those of rows with a label, or, where rows have none, the dense numbers: then a row may speak for several labels, as when
each label has its own reward. Likewise the w_k of Z may be labels or, as for the columns of a code, m dense numbers behind the m totals.
Z is that of Schapire and Singer (1999). The one of REBEL is no sum over leaves: every leaf says +1 or -1, one vector of K coefficients is
shared by all, and D is the signed sum over all leaves; the grower carries it (see :mod:`manyboost.trees.growing`). In the last each node
looks at the classes through one pair of its own: the grower brings the rows' statistics down to that pair's two, and from there on it is
newton with one output (see :func:`manyboost.trees.node_sums.look_through_best_pair`).

Losses are taken of the integer sums, in one fixed order. All are homogeneous of degree one, so the unit of the grid does not matter;
constants (``l2``, ``T_k``) are given in the unit of the statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.compiled import compiled_part

GINI, ENTROPY, EXPONENTIAL, NEWTON, LEAST_SQUARES, SHARED_SIGN, PAIR_OF_CLASSES = range(7)


@dataclass(frozen=True)
class Criterion:
    """A criterion and its constants, in the unit of the statistics."""

    code: int
    n_outputs: int = 0
    constants: tuple[float, ...] = ()

    @property
    def of_labels(self) -> bool:
        """Is it a criterion of label weights, so that a leaf says the label of most weight?"""
        return self.code in (GINI, ENTROPY)


GINI_CRITERION = Criterion(GINI)
ENTROPY_CRITERION = Criterion(ENTROPY)


def exponential(n_classes: int) -> Criterion:
    """Schapire and Singer's Z with one weight for and one against each class, or column of a code."""
    return Criterion(EXPONENTIAL, n_classes)


def newton(n_outputs: int, l2: float) -> Criterion:
    """The decrease of a quadratic model of the loss, with a curvature for each output."""
    return Criterion(NEWTON, n_outputs, (l2,))


def least_squares(n_outputs: int, l2: float = 0.0) -> Criterion:
    """The decrease of weighted squares, with one curvature for all outputs."""
    return Criterion(LEAST_SQUARES, n_outputs, (l2,))


def shared_sign(totals: NDArray[np.float64]) -> Criterion:
    """REBEL's loss of a tree whose leaves say +1 or -1; ``totals`` are the weights of the K classes."""
    return Criterion(SHARED_SIGN, len(totals), tuple(float(total) for total in totals))


def pair_of_classes(l2: float = 0.0) -> Criterion:
    """AOSO's: Newton's decrease when the score of one class is raised and that of another lowered, the best pair chosen for each node."""
    return Criterion(PAIR_OF_CLASSES, 1, (l2,))


NO_CONSTANTS = np.zeros(1)


class Rule(NamedTuple):
    """A criterion as the kernels see it: constants in units of the grid."""

    code: int
    n_outputs: int
    constants: NDArray[np.float64]

    @classmethod
    def on_grid(cls, criterion: Criterion, exponent: int) -> Rule:
        constants = np.ldexp(np.array(criterion.constants, np.float64), exponent) if criterion.constants else NO_CONSTANTS
        code = NEWTON if criterion.code == PAIR_OF_CLASSES else criterion.code  # of the two statistics of the node's pair
        return cls(code, criterion.n_outputs, constants)


@compiled_part
def label_range(n_dense, n_labels):
    """Where the weights of labels stand among the sums: behind the dense numbers, or these themselves where there are no labels."""
    return (n_dense, n_dense + n_labels) if n_labels > 0 else (0, n_dense)


@compiled_part
def gini(sums, first, n_labels):
    """Gini's loss of label weights ``sums[first : first + n_labels]``; squares add up in four lanes that do not wait for each other."""
    q0, q1, q2, q3 = 0.0, 0.0, 0.0, 0.0
    whole = np.int64(0)
    k = np.uint64(first)
    for _ in range(n_labels >> 2):
        w0, w1, w2, w3 = sums[k], sums[k + np.uint64(1)], sums[k + np.uint64(2)], sums[k + np.uint64(3)]
        whole += (w0 + w1) + (w2 + w3)
        q0 += np.float64(w0) * np.float64(w0)
        q1 += np.float64(w1) * np.float64(w1)
        q2 += np.float64(w2) * np.float64(w2)
        q3 += np.float64(w3) * np.float64(w3)
        k += np.uint64(4)
    rest = n_labels & 3
    for lane in range(rest):
        w = sums[k + np.uint64(lane)]
        whole += w
        if lane == 0:
            q0 += np.float64(w) * np.float64(w)
        elif lane == 1:
            q1 += np.float64(w) * np.float64(w)
        else:
            q2 += np.float64(w) * np.float64(w)
    total = np.float64(whole)
    return total - ((q0 + q1) + (q2 + q3)) / total if whole > 0 else 0.0


@compiled_part
def node_loss(rule, sums, n_dense, n_labels):
    """The loss of a node with these integer sums."""
    code, m = rule.code, rule.n_outputs
    loss = 0.0
    first, last = label_range(n_dense, n_labels)
    if code == GINI:
        if last - first == 2:  # 2 a b / (a + b)
            a = np.float64(sums[first])
            b = np.float64(sums[first + 1])
            return 2.0 * a * b / (a + b) if a + b > 0 else 0.0
        return gini(sums, first, last - first)
    if code == ENTROPY:
        total = node_weight(rule, sums, n_dense, n_labels)
        for k in range(first, last):
            w = np.float64(sums[k])
            if w > 0:
                loss += w * np.log(total / w)
        return loss
    if code == EXPONENTIAL:
        for k in range(m):
            w = np.float64(sums[m + k])
            loss += np.sqrt(max(w * np.float64(sums[k] - sums[m + k]), 0.0))
        return 2.0 * loss
    l2 = rule.constants[0]
    shared = code == LEAST_SQUARES
    for k in range(m):
        g = np.float64(sums[k])
        h = np.float64(sums[m if shared else m + k]) + l2
        if h > 0:
            loss -= g * g / h
    return loss


@compiled_part
def node_weight(rule, sums, n_dense, n_labels):
    """The weight of a node: positive unless it is empty, and the scale its gains are compared on."""
    code, m = rule.code, rule.n_outputs
    total = 0.0
    if code == GINI or code == ENTROPY:
        first, last = label_range(n_dense, n_labels)
        whole = np.int64(0)
        for k in range(first, last):
            whole += sums[k]
        total = np.float64(whole)
    elif code == EXPONENTIAL:
        for k in range(m):
            total += np.float64(sums[k])
    elif code == NEWTON:
        for k in range(m):
            total += np.float64(sums[m + k])
    else:  # the last dense column is the row's weight
        total = np.float64(sums[m])
    return total


@compiled_part
def signed_loss(rule, rest, sums, other, sign):
    """REBEL's loss when ``sign * (sums - other)`` is added to the signed sums ``rest`` of the other leaves."""
    loss, constants = 0.0, rule.constants
    for k in range(rule.n_outputs):
        total = constants[k]
        d = np.float64(rest[k] + sign * (sums[k] - other[k]))
        loss += np.sqrt(max(total * total - d * d, 0.0))
    return loss


@compiled_part
def profile(rule, sums, n_dense, n_labels, out):
    """What a node with these sums would answer: the coordinates in which categories are put in order."""
    code = rule.code
    weight = node_weight(rule, sums, n_dense, n_labels)
    if weight <= 0:
        out[:] = 0.0
        return
    if code == GINI or code == ENTROPY:
        first, last = label_range(n_dense, n_labels)
        for k in range(first, last):
            out[k - first] = np.float64(sums[k]) / weight
    elif code == EXPONENTIAL:
        for k in range(rule.n_outputs):
            total = np.float64(sums[k])
            out[k] = (2.0 * np.float64(sums[rule.n_outputs + k]) - total) / total if total > 0 else 0.0
    else:
        m = rule.n_outputs
        for k in range(m):
            h = np.float64(sums[m + k]) if code == NEWTON else weight
            if code != SHARED_SIGN:
                h += rule.constants[0]
            out[k] = np.float64(sums[k]) / h if h > 0 else 0.0


@compiled_part
def profile_size(code, n_outputs, n_dense, n_labels):
    """The number of coordinates of a profile."""
    first, last = label_range(n_dense, n_labels)
    return last - first if code == GINI or code == ENTROPY else n_outputs
