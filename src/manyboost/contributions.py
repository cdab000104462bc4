"""Why a model of trees decides as it does: what each feature adds to each score, and why one class and not another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyboost.columns import Columns, dense_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DecidedRow:
    """One row and what was decided for it: what an ensemble that is asked why is told.

    Attributes
    ----------
    numeric : (1, p) the row as numbers, dense or sparse
    columns : which of them are categories
    features : names of the p features
    classes : the K class labels
    decoder : (C, K) what the ensemble's columns mean for the scores
    scores, probability : (K,)
    """

    numeric: Any
    columns: Columns
    features: list[str]
    classes: NDArray[Any]
    decoder: Floats
    scores: Floats
    probability: Floats

    @property
    def predicted(self) -> Any:
        return self.classes[int(self.scores.argmax())]

    def by_features(self, added: Floats, start: Floats) -> TreeExplanation:
        """The explanation by what the features add to the columns, (p, C), and where these start, (C,)."""
        values = self.columns.decoded(dense_rows(self.numeric))[0]
        added, start = added @ self.decoder, start @ self.decoder
        return TreeExplanation(self.classes, self.features, values, start, added, self.probability, self.predicted)


@dataclass(frozen=True)
class Reason:
    """A feature, its value in the row, and what it adds to a score or to the difference of two."""

    feature: str
    value: Any
    contribution: float


@dataclass(frozen=True)
class Contrast:
    """Why one class and not another.

    Attributes
    ----------
    this, other : the classes
    start : the difference of their scores before any feature is looked at
    reasons : the features by how much they speak for ``this`` (positive) or for ``other`` (negative), the largest amounts first
    """

    this: Any
    other: Any
    start: float
    reasons: tuple[Reason, ...]

    @property
    def difference(self) -> float:
        """Of the scores."""
        return self.start + sum(reason.contribution for reason in self.reasons)

    def summary(self, most: int = 5) -> str:
        """In words, with the features that count most."""
        lines = [f"{self.this} and not {self.other}: the scores of the trees differ by {self.difference:+.3g}."]
        lines += [f"    {reason.contribution:+.3g}  {reason.feature} = {_shown(reason.value)}" for reason in self.reasons[:most]]
        rest = self.reasons[most:]
        if rest:
            lines.append(f"    {sum(reason.contribution for reason in rest):+.3g}  {len(rest)} more features")
        lines.append(f"    {self.start:+.3g}  before any feature is looked at")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True)
class TreeExplanation:
    """One row and what its features add to the scores.

    Attributes
    ----------
    classes : the K class labels
    features : names of the p features
    values : its p values, as they were given
    start : (K,) scores before any feature has been looked at
    contributions : (p, K) what each feature adds; ``start + contributions.sum(axis=0)`` are the scores
    probability : (K,)
    predicted : the class that is decided for
    """

    classes: NDArray[Any]
    features: list[str]
    values: tuple[Any, ...]
    start: Floats
    contributions: Floats
    probability: Floats
    predicted: Any

    @property
    def scores(self) -> Floats:
        return np.asarray(self.start + self.contributions.sum(axis=0))

    def _place(self, label: Any) -> int:
        found = np.flatnonzero(self.classes == label)
        if not len(found):
            raise ValueError(f"{label!r} is no class of this model; its classes are {', '.join(map(repr, self.classes.tolist()))}.")
        return int(found[0])

    @property
    def runner_up(self) -> Any:
        """The most probable class that was not decided for; of equals, that of the highest score."""
        order = np.lexsort((self.scores, self.probability))[::-1]
        return self.classes[order[self.classes[order] != self.predicted][0]]

    def why(self, this: Any = None, other: Any = None) -> Contrast:
        """Why one class (by default the predicted one) and not another (by default the most probable of the rest)."""
        this = self.predicted if this is None else this
        if other is None:
            other = self.runner_up if this == self.predicted else self.predicted
        a, b = self._place(this), self._place(other)
        if a == b:
            raise ValueError(f"this and other are both {this!r}; name two different classes.")
        added = self.contributions[:, a] - self.contributions[:, b]
        order = np.argsort(-np.abs(added), kind="stable")
        reasons = tuple(Reason(self.features[j], self.values[j], float(added[j])) for j in order if added[j] != 0)
        return Contrast(this, other, float(self.start[a] - self.start[b]), reasons)

    def __str__(self) -> str:
        sure = float(self.probability[self._place(self.predicted)])
        return f"Predicted: {self.predicted} (probability {sure:.2f}).\n{self.why()}"


@dataclass(frozen=True)
class BlendExplanation:
    """One row as the parts of a blend see it; ``print`` it, or ask its ``why``.

    Attributes
    ----------
    by_features : what the features add, by the trees
    by_examples : one explanation for each model of similarities, by training examples
    """

    by_features: TreeExplanation
    by_examples: tuple[Any, ...]

    @property
    def predicted(self) -> Any:
        return self.by_features.predicted

    def why(self, this: Any = None, other: Any = None) -> str:
        """Why one class (by default the predicted one) and not another (by default the most probable of the rest), in words."""
        this = self.predicted if this is None else this
        contrast = self.by_features.why(this, other)
        return "\n".join(map(str, [contrast, *(part.why(this, contrast.other) for part in self.by_examples)]))

    def __str__(self) -> str:
        return "\n".join(map(str, [self.by_features, *(part.why(self.predicted, self.by_features.runner_up) for part in self.by_examples)]))


def one_row(X: Any) -> Any:
    """A table of one row, from such a table or from its values."""
    if np.ndim(X) == 1:
        X = X.to_frame().T if hasattr(X, "to_frame") else np.asarray(X)[None]  # a row of a frame knows the columns' names
    if X.shape[0] != 1:
        raise ValueError(f"explain takes one row, not {X.shape[0]}; give X[[i]] for row i.")
    return X


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
