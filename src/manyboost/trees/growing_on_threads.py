"""Grow a tree with its large nodes shared among threads: Python stands between the compiled steps and deals out what they do.

By histogram the columns of a node are dealt out, at random thresholds its rows. Sums are of whole numbers and ties go to the lowest
feature, so the tree is the one that a single thread grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manyboost.threads import Threads
from manyboost.trees import steps_of_growing as steps
from manyboost.trees.binning import ROW_MAJOR, Table
from manyboost.trees.criteria import Rule
from manyboost.trees.histogram_splits import COLUMNS_PER_PASS
from manyboost.trees.node_sums import Grid
from manyboost.trees.nodes import SMALL, SMALL_OPEN, Growth, Limits
from manyboost.trees.random_categories import Categories
from manyboost.trees.root_histogram import Changes

THREAD_WORK = 1 << 22  # rows times columns from which on it is worth waking a thread, which may take a quarter of a millisecond
CELLS_AT_RANDOM = 8  # are compared with thresholds while one is counted in a histogram
Workspace = tuple[Any, ...]


class Context(NamedTuple):
    """What all steps of growing a tree are told."""

    table: Table
    grid: Grid
    rule: Rule
    limits: Limits
    growth: Growth


def is_worth_sharing(n_rows: int, table: Table) -> bool:
    """Are these rows so many that threads finish sooner than one?"""
    return n_rows * (len(table.columns) - 1) >= THREAD_WORK * (CELLS_AT_RANDOM if table.layout == ROW_MAJOR else 1)


def _job_is_worth_sharing(context: Context) -> bool:
    nodes, now = context.growth.nodes, context.growth.now
    numbers = [now[SMALL + which] for which in range(2) if now[SMALL_OPEN + which]]
    return is_worth_sharing(sum(int(nodes[n]["end"] - nodes[n]["start"]) for n in numbers), context.table)


def grow_by_histogram(
    team: Threads,
    context: Context,
    whole: bool,
    changes: Changes,
    labels: Any,
    weights: Any,
    pool: Any,
    workspaces: Sequence[Workspace],
) -> None:
    """:func:`manyboost.trees.histogram_splits.grow_by_histogram` with the columns of large nodes dealt out, a workspace for each."""
    table, grid, rule, limits, growth = context
    p = len(table.columns) - 1
    # labels are counted in two columns at once as fast as in four, but where there are two of them
    together = 2 if grid.n_dense == 0 and grid.n_labels > 2 and not grid.counted else COLUMNS_PER_PASS
    passes = -(-p // together)
    parts: list[tuple[Any, ...]] = []  # first and last column, then the workspace of a thread
    for part, workspace in enumerate(workspaces):
        first, last = (min(p, together * (passes * at // len(workspaces))) for at in (part, part + 1))
        if first < last:
            parts.append((first, last, *workspace))
    shared = *context, labels, weights, pool
    if whole:
        steps.look_at_all_rows(table, grid, growth)
    if len(growth.root):
        list(team.map(lambda part: steps.count_root(table, grid, changes, growth, *part[:2]), parts))
    more = steps.start_tree(grid, rule, limits, growth, whole)
    while more:
        steps.prepare_job(table, grid, growth, labels, weights)
        best, lefts = parts[0][2:4]
        if _job_is_worth_sharing(context):
            list(team.map(lambda part: steps.evaluate_features(*shared, *part), parts))
            for other in parts[1:]:  # in the order of columns and so of features, so that ties go to the lowest
                better = other[2]["gain"] > best["gain"]
                best[better], lefts[better] = other[2][better], other[3][better]
        else:
            steps.evaluate_features(*shared, 0, p, *parts[0][2:])
        steps.settle(grid, rule, growth, best, lefts)
        more = steps.split_next(*context)


def grow_at_random(team: Threads, context: Context, whole: bool, workspaces: Sequence[Workspace], categories: Categories | None) -> None:
    """:func:`manyboost.trees.random_splits.grow_at_random` with the rows of large nodes dealt out, a workspace for each."""
    table, grid, rule, limits, growth = context
    n_threads = len(workspaces)
    draws, compare = [space[:3] for space in workspaces], (*workspaces[0][3:], categories)
    ranges, _, sums = draws[0]
    best, lefts = compare[:2]
    any_numbers = categories is None or len(categories.features) < table.n_features
    more = steps.start_tree(grid, rule, limits, growth, whole)
    while more:
        if not _job_is_worth_sharing(context):
            steps.evaluate_at_random(*context, *draws[0], *compare)
        else:
            best["gain"], best["feature"] = 0.0, -1
            steps.sum_categories(categories, table, grid, growth)
            for which in range(2):
                if not growth.now[SMALL_OPEN + which]:
                    continue
                node = int(growth.now[SMALL + which])
                if any_numbers:
                    cuts = np.linspace(growth.nodes[node]["start"], growth.nodes[node]["end"], n_threads + 1).astype(int)
                    work = [(int(cuts[k]), int(cuts[k + 1]), *draws[k]) for k in range(n_threads)]
                    list(team.map(lambda w: steps.find_ranges(table, growth.rows, *w[:3]), work))
                    ranges[0] = np.min([draw[0][0] for draw in draws], axis=0)
                    ranges[1] = np.max([draw[0][1] for draw in draws], axis=0)
                    steps.draw_thresholds(table, limits, node, ranges)
                    for draw in draws[1:]:
                        draw[0][:] = ranges
                    list(team.map(lambda w: steps.sum_below(table, grid, growth.rows, *w), work))
                    for draw in draws[1:]:
                        sums += draw[2]
                steps.choose(*context, which, ranges, sums, best[which], lefts[which], *compare[2:])
        steps.settle(grid, rule, growth, best, lefts)
        more = steps.split_next(*context)
