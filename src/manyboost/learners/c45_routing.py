"""Rows down a C4.5 tree: a row without a value goes down all branches, by their weight."""

from __future__ import annotations

import numpy as np

from manyboost.compiled import compiled


@compiled
def leaf_averages(table, feature, first_child, n_children, threshold, weight, answer, out):
    """Add to each row of ``out`` the answers of the leaves that the row reaches, by the share of it that does."""
    stack, shares = np.empty(len(feature) + 1, np.int64), np.empty(len(feature) + 1, np.float64)
    for i in range(len(table)):
        stack[0], shares[0], depth = 0, 1.0, 1
        while depth > 0:
            depth -= 1
            node, share = stack[depth], shares[depth]
            while feature[node] >= 0:
                value = table[i, feature[node]]
                if np.isnan(value):
                    break
                if np.isnan(threshold[node]):
                    node = first_child[node] + np.int64(value)
                else:
                    node = first_child[node] + (0 if value <= threshold[node] else 1)
            if feature[node] < 0:
                for k in range(out.shape[1]):
                    out[i, k] += share * answer[node, k]
                continue
            for c in range(n_children[node] - 1, -1, -1):
                child = first_child[node] + c
                if weight[child] > 0:
                    stack[depth], shares[depth] = child, share * (weight[child] / weight[node])
                    depth += 1
