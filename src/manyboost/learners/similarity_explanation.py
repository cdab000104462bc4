"""Why a model of similarities decides as it does: the training examples that a row was compared with, and what each comparison adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_SHOWN = 5


@dataclass(frozen=True)
class Example:
    """A training example that members compare with.

    Attributes
    ----------
    row : its place in the table that was fitted, or None where that is not known, as in a model that was loaded
    values : of its columns, as they were given
    label : its class
    distance : of the row that is explained, in the model's metric
    """

    row: int | None
    values: tuple[Any, ...]
    label: Any
    distance: float

    def __str__(self) -> str:
        name = "a training example" if self.row is None else f"training row {self.row}"
        return f"{name} ({self.label}, at distance {self.distance:.3g})"


@dataclass(frozen=True)
class Comparison:
    """All members that compare with the same examples.

    Attributes
    ----------
    first, second : the examples; None where there is none
    answer : in [-1, 1], the mean over the members: positive where the row is more like the first
    members : their numbers
    votes : (K,) what they add to the scores together
    """

    first: Example | None
    second: Example | None
    answer: float
    members: tuple[int, ...]
    votes: Floats = field(repr=False)

    def __str__(self) -> str:
        if self.first is None:
            return "whatever the row"
        if self.second is None:
            return f"{'like' if self.answer >= 0 else 'not like'} {self.first}"
        near, far = (self.first, self.second) if self.answer >= 0 else (self.second, self.first)
        return f"more like {near} than {far}"


@dataclass(frozen=True)
class Contrast:
    """Why one class and not another.

    Attributes
    ----------
    this, other : the classes
    difference : of their scores
    comparisons : (amount, comparison), the largest amounts first; positive ones speak for ``this``, negative ones for ``other``
    examples : (for, against, example): what the comparisons add in which the row is more like that example, the largest sums first
    """

    this: Any
    other: Any
    difference: float
    comparisons: tuple[tuple[float, Comparison], ...]
    examples: tuple[tuple[float, float, Example], ...]

    def summary(self, most: int = MOST_SHOWN) -> str:
        """In words, with the comparisons that count most on either side."""
        lines = [f"{self.this} and not {self.other}: the scores differ by {self.difference:+.3g}."]
        for title, sign in (("for", 1), ("against", -1)):
            some = [(amount, one) for amount, one in self.comparisons if amount * sign > 0]
            total = sum(amount for amount, _ in some)
            lines.append(f"  {title} it, {total:+.3g} by {len(some)} comparisons:")
            lines += [f"    {amount:+.3g}  {one}" for amount, one in some[:most]]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True)
class Explanation:
    """Why a model decides as it does for one row; ``print`` it, or ask :meth:`why`.

    Attributes
    ----------
    classes : the K classes
    scores, probability : (K,)
    predicted : the class decided for
    comparisons : all comparisons with stored examples, of which every member is in one
    """

    classes: tuple[Any, ...]
    scores: Floats
    probability: Floats
    predicted: Any
    comparisons: tuple[Comparison, ...] = field(repr=False)

    def why(self, this: Any = None, other: Any = None) -> Contrast:
        """Why one class (by default the predicted one) and not another (by default the best of the rest).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from manyboost import RebelClassifier
        >>> from manyboost.learners import LocalizedSimilarity
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RebelClassifier(estimator=LocalizedSimilarity(), random_state=0).fit(X, y)
        >>> contrast = model.explain(X[100]).why(2, 1)
        >>> contrast.this, contrast.other, contrast.difference > 0
        (2, 1, True)
        """
        this = self.predicted if this is None else this
        at = self._number(this, "this")
        rest = np.where(np.arange(len(self.classes)) == at, -np.inf, self.scores)
        against = int(rest.argmax()) if other is None else self._number(other, "other")
        if at == against:
            raise ValueError(f"this and other are both {this!r}; name two different classes.")
        amounts = [float(one.votes[at] - one.votes[against]) for one in self.comparisons]
        order = np.argsort(-np.abs(amounts), kind="stable")
        found = tuple((amounts[i], self.comparisons[i]) for i in order)
        return Contrast(this, self.classes[against], float(self.scores[at] - self.scores[against]), found, _by_example(found))

    def _number(self, label: Any, name: str) -> int:
        if label not in self.classes:
            raise ValueError(f"{name}={label!r} is no class of the model; the classes are {', '.join(map(repr, self.classes))}.")
        return self.classes.index(label)

    def __str__(self) -> str:
        sure = float(self.probability[self.classes.index(self.predicted)])
        return f"Predicted: {self.predicted} (probability {sure:.2f}).\n{self.why()}"


def _by_example(comparisons: Sequence[tuple[float, Comparison]]) -> tuple[tuple[float, float, Example], ...]:
    totals: dict[int, list[Any]] = {}
    for amount, one in comparisons:
        example = one.first if one.second is None or one.answer >= 0 else one.second
        if example is not None:
            entry = totals.setdefault(id(example), [0.0, 0.0, example])
            entry[0 if amount > 0 else 1] += amount
    return tuple(tuple(entry) for entry in sorted(totals.values(), key=lambda entry: -abs(entry[0] + entry[1])))
