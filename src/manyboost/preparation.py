"""What is learnt of the columns before boosting, and rows made ready by it for the weak learner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import Columns
from manyboost.committee import PlainRows
from manyboost.learners import LocalizedSimilarity
from manyboost.learners.similarity_space import Space
from manyboost.parameters import check_parameters
from manyboost.protocol import Floats
from manyboost.similarity_learner import SimilarityRows
from manyboost.similarity_metric import space_for
from manyboost.threads import Threads
from manyboost.tree_learner import BinnedRows
from manyboost.trees.binning import Binning, Table, apply_bins, find_cuts, take_rows
from manyboost.weak_learning import Rows, Settings


@dataclass(frozen=True)
class BinnedTable:
    """A table that was read and binned once, of which several models are fitted to some rows each: ``fit(table[rows], ...)``.

    Attributes
    ----------
    numeric : the table as numbers
    columns : what was learnt about its columns
    names : of the columns, if they had any
    binning, table : the bins, and the rows in them
    """

    numeric: Any
    columns: Columns
    names: NDArray[Any] | None
    binning: Binning
    table: Table

    @classmethod
    def of(
        cls, numeric: Any, columns: Columns, names: NDArray[Any] | None, weight: Floats, max_bins: int, settings: Settings, threads: Threads
    ) -> BinnedTable:
        binning = find_cuts(numeric, weight, columns.n_categories, max_bins, threads.map)
        return cls(numeric, columns, names, binning, apply_bins(numeric, binning, settings.limits.layout, threads.map))

    @property
    def shape(self) -> tuple[int, int]:
        return (self.numeric.shape[0], self.numeric.shape[1])

    def __getitem__(self, rows: NDArray[np.intp]) -> BinnedTable:
        return replace(self, numeric=self.numeric[rows], table=take_rows(self.table, rows))

    def read(self, weight: Floats) -> tuple[BinnedTable, Columns]:
        """What has been read; weights were asked for before it was binned."""
        return self, self.columns

    def seen_by(self, estimator: Any) -> None:
        """Leave in an estimator what it would have learnt about the columns by reading them."""
        estimator.n_features_in_ = self.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if self.names is not None:
            estimator.feature_names_in_ = self.names

    def rows(self, labels: NDArray[np.intp], settings: Settings) -> BinnedRows:
        table = self.table._replace(bins=self.table.bins.copy())  # theirs: they will be put in order
        return BinnedRows.binned(table, self.numeric, labels, self.binning, settings)


@dataclass(frozen=True)
class Preparation:
    """Bins for our trees, coordinates for similarities, and neither for a classifier, which sees the numbers themselves.

    Attributes
    ----------
    estimator : the weak learner that was asked for; None are our trees
    n_categories : of each column, 0 where it is numeric
    binning : where members are trees
    space : where they are similarities
    """

    estimator: Any
    n_categories: NDArray[np.int32]
    binning: Binning | None
    space: Space | None

    @classmethod
    def learnt(
        cls, estimator: Any, numeric: Any, labels: NDArray[np.intp], weight: Floats, n_categories: NDArray[np.int32], max_bins: int,
        threads: Threads,
    ) -> Preparation:  # fmt: skip
        if estimator is None:
            binned = isinstance(numeric, BinnedTable)
            binning = numeric.binning if binned else find_cuts(numeric, weight, n_categories, max_bins, threads.map)
            return cls(None, n_categories, binning, None)
        if not isinstance(estimator, LocalizedSimilarity):
            return cls(estimator, n_categories, None, None)
        check_parameters(estimator)
        return cls(estimator, n_categories, None, space_for(estimator, numeric, labels, weight, n_categories))

    def decoder(self, K: int) -> Floats | None:
        """What columns mean for the scores where the weak learner tells more classes apart than there are; None where it does not."""
        return None if self.space is None else self.estimator.decoder(K)

    def rows(
        self, numeric: Any, labels: NDArray[np.intp], weight: Floats, number: NDArray[np.intp] | None, settings: Settings, threads: Threads
    ) -> tuple[Rows, NDArray[np.uint16], Floats, NDArray[np.intp]]:
        """Rows, labels, weights and where they stood, in an order that depends on what is in the rows alone.

        So does, from there on, everything that is drawn or added up. ``number`` of each row; None where they are counted through.
        """
        rows: Rows
        if self.space is not None:
            number = np.arange(len(labels)) if number is None else number
            rows = SimilarityRows.of(numeric, labels, number, self.estimator, self.space)
        elif isinstance(numeric, BinnedTable):
            rows = numeric.rows(labels, settings)
        elif self.binning is not None:
            rows = BinnedRows.of(numeric, labels, self.binning, settings, threads)
        else:
            rows = PlainRows.of(numeric, labels, self.estimator, self.n_categories > 0)
        codes = labels.astype(np.uint16)
        # where trees count labels, those of one label stand together; rows that are drawn by weight are drawn by where they stand
        by_label = self.binning is not None and not settings.limits.random and settings.sampling != "weight"
        order = np.lexsort((weight, rows.keys, codes) if by_label else (weight, rows.keys))
        codes = codes[order]
        return rows.in_order(order, codes), codes, weight[order], order
