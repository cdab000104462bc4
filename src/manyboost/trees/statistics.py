"""What is known of each row when a tree is grown or its leaves are summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manyboost.threads import LINE

Floats = NDArray[np.float64]
ROWS_OF_BLOCK = LINE


class Lasting(NamedTuple):
    """Which weights have stayed what they were.

    Attributes
    ----------
    changed : the turn at which each block of rows was last changed; another array belongs to other weights
    turn : the last one
    """

    changed: NDArray[np.int64]
    turn: int


@dataclass(frozen=True)
class Statistics:
    """Numbers per row that add up over the rows of a node.

    A row has ``V`` dense numbers and, if it has a label, one weight that counts for that label. A node's sums are therefore
    ``V`` dense totals followed by one total per label: ``S = V + n_labels``. Class weights (Gini) have no dense part, gradients no
    labels, and AdaBoost.MH's weights for and against each class have both.

    Attributes
    ----------
    dense : (n, V) array
    label : (n,) array of uint16, or of length 0 when there are no labels
    weight : (n,) array, the weight that goes to the label
    n_labels : int
    lasting : where labels and most weights stay the same from round to round; the labels are then the same array
    own : each weight is the row's dense number of its label
    """

    dense: Floats
    label: NDArray[np.uint16]
    weight: Floats
    n_labels: int
    lasting: Lasting | None = None
    own: bool = False

    @classmethod
    def of_labels(cls, label: NDArray[np.integer], weight: Floats, n_labels: int, lasting: Lasting | None = None) -> Statistics:
        """The weight of each label."""
        return cls(np.empty((len(weight), 0)), label.astype(np.uint16, copy=False), np.ascontiguousarray(weight), n_labels, lasting)

    @classmethod
    def of_rows(cls, dense: Floats) -> Statistics:
        """Dense numbers, one column each."""
        return cls(np.ascontiguousarray(dense), np.empty(0, np.uint16), np.empty(0), 0)

    @classmethod
    def of_both(cls, dense: Floats, label: NDArray[np.integer], weight: Floats, n_labels: int, own: bool = False) -> Statistics:
        """Dense numbers and, beside them, the weight of each label."""
        codes, weight = label.astype(np.uint16, copy=False), np.ascontiguousarray(weight)
        return cls(np.ascontiguousarray(dense), codes, weight, n_labels, own=own)

    @property
    def n_rows(self) -> int:
        return len(self.dense)

    @property
    def n_dense(self) -> int:
        return int(self.dense.shape[1])

    @property
    def size(self) -> int:
        """S, the number of sums of a node."""
        return self.n_dense + self.n_labels

    def row_weight(self) -> Floats:
        """One non-negative number per row by which rows may be drawn: its label's weight, else the size of its dense part."""
        return self.weight if self.n_labels else np.abs(self.dense).sum(axis=1)

    def missed(self, rows: NDArray[np.integer], said: NDArray[np.integer]) -> float:
        """The weight of labels of these rows that is not at the labels said."""
        if self.n_labels:
            return float(self.weight[rows][said != self.label[rows]].sum())
        weight = self.dense[rows]
        return float((weight.sum(axis=1) - np.take_along_axis(weight, said[:, None], axis=1)[:, 0]).sum())

    def per_unit_weight(self) -> Statistics:
        """The statistics of rows drawn in proportion to their weight: the draw has used the weight up."""
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = np.nan_to_num(1.0 / self.row_weight(), posinf=0.0)
        # exactly one, and not a rounded product: counts of labels that are equal must stay so
        return Statistics(self.dense * unit[:, None], self.label, np.sign(self.weight), self.n_labels)
